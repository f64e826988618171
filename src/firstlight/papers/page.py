"""The page of a reproduced table: what was published, what was measured, and whether they agree."""

from __future__ import annotations

from markupsafe import Markup

from firstlight.papers.base import Finding, Verdict
from firstlight.papers.experiment import Outcome
from firstlight.storage.environment import versions
from firstlight.views.pages.template import render_page

NO_VALUE = "not published"
HEADERS = ("what", "on", "published", "ours, 95 % interval", "verdict", "remarks")

# Of one figure, and of several
SAID: dict[Verdict, tuple[str, str]] = {
    "agrees": ("agrees", "agree"),
    "differs": ("differs", "differ"),
    "too wide to tell": ("is too uncertain to tell", "are too uncertain to tell"),
    "no published value": ("has nothing published to compare with", "have nothing published to compare with"),
    "not measured": ("was not measured", "were not measured"),
}


def cells(finding: Finding) -> tuple[str, ...]:
    """A line of the table, for the terminal and the page."""
    published = NO_VALUE if finding.published is None else str(finding.published)
    ours = "-" if finding.ours is None else str(finding.ours)
    return finding.what, finding.on, published, ours, finding.verdict, finding.note


def summary(outcome: Outcome) -> str:
    """How many lines came out which way."""
    verdicts = [finding.verdict for finding in outcome.findings.lines]
    counts = {verdict: verdicts.count(verdict) for verdict in dict.fromkeys(sorted(verdicts))}
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items())


def _answer(outcome: Outcome) -> str:
    """The same as a part of a sentence."""
    verdicts = [finding.verdict for finding in outcome.findings.lines]
    counts = {verdict: verdicts.count(verdict) for verdict in SAID if verdict in verdicts}
    said = [f"{count} {SAID[verdict][count != 1]}" for verdict, count in counts.items()]
    return f"of {len(verdicts)} figures, {', '.join(said)}" if said else "nothing was measured"


def reproduction_page(outcome: Outcome) -> str:
    return render_page(
        "reproduction.html",
        experiment=outcome.experiment,
        headline=f"{outcome.experiment.published_in}: {_answer(outcome)}",
        versions=versions(),
        headers=HEADERS,
        rows=[cells(finding) for finding in outcome.findings.lines],
        rule=rule(outcome),
        remarks=outcome.findings.remarks,
        missing=outcome.missing,
        settings={**outcome.settings, "date": outcome.date},
        command=outcome.command,
        charts=[(title, Markup(chart)) for title, chart in outcome.findings.charts],
    )


def rule(outcome: Outcome) -> str:
    """How the verdicts of these lines came about."""
    scales = dict.fromkeys(finding.scale for finding in outcome.findings.lines if finding.published is not None)
    if not scales:
        return "There are no published figures to compare with."
    widened = ", ".join(f"{scale.tolerance:g} ({scale.name})" for scale in scales)
    widest = ", ".join(f"{scale.widest:g} ({scale.name})" for scale in scales)
    return (
        f"Agrees: the published figure lies inside our 95 % interval widened by {widened}, and the interval is no "
        f"wider than {widest}; else it is too wide to tell. Differs: it lies outside."
    )
