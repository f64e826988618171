"""The report of `trust`: which proxy to use on your own data, how certain that is, and why."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from markupsafe import Markup

from firstlight._version import __version__
from firstlight.core.wording import counted
from firstlight.evaluation.trust import Trust
from firstlight.views.charts.description import Bar, Bars
from firstlight.views.charts.svg import draw_svg
from firstlight.views.pages.correlation import study_content, write_files
from firstlight.views.pages.template import render_page


def write_trust(found: Trust, settings: Mapping[str, Any], directory: Path) -> Path:
    """Write the page, the statistics as JSON, and all scores as a table; return the path of the page."""
    content = {"settings": dict(settings), "version": __version__, **found.to_dict()}
    return write_files(found.study, content, trust_page(found, settings), directory)


def trust_page(found: Trust, settings: Mapping[str, Any]) -> str:
    """Render the page of `trust`."""
    space, data = settings["space"], settings["data"].partition(": ")[0]
    headline, *grounds = advise(found)
    commands, shares = [], found.advice.chosen if found.advice else {}
    if found.advice and found.is_of_use:
        choice, expected = found.advice.choice, found.advice.expected
        chance = ", may be chance" if expected.low <= 0 else ""
        interval = f"95% interval {expected.low:.2f} to {expected.high:.2f}{chance}"
        headline = f"Use {choice}: expected Spearman correlation {expected.value:.2f} ({interval})"
        commands.append(f"firstlight search {shlex.quote(space)} --proxy {shlex.quote(choice)}")
    return render_page(
        "trust.html",
        headline=headline,
        subtitle=f"{space} on {data}, {counted(len(found.accuracies), 'network')} trained",
        advice=grounds,
        facts=_facts(found),
        shares=_shares(shares) if shares else "",
        commands_given=commands,
        **study_content(found.study, settings),
    )


def _shares(shares: Mapping[str, float]) -> Markup:
    return draw_svg(Bars("share of resampled choices", [Bar(name, share) for name, share in shares.items()]))


def _facts(found: Trust) -> dict[str, str]:
    known = {"networks trained": f"{len(found.accuracies):,}", "best accuracy": f"{max(found.accuracies):.1%}"}
    if found.advice:
        known["expected Spearman correlation"] = f"{found.advice.expected.value:.2f}"
    seconds = sum(entry.result.seconds for entry in found.evaluations)
    return {**known, "seconds of training": f"{seconds:,.1f}"}


def advise(found: Trust) -> list[str]:
    """Say what to do, and why, a sentence or two each."""
    advice = found.advice
    if advice is None:
        none = "No proxy can rank these networks. Train more of them, or different ones."
        return [none, *_beside(found), *_unfinished(found)]
    expected = advice.expected
    if not found.have_learned:
        use = (
            f"No recommendation yet: the best network reached {max(found.accuracies):.1%}, which is no better than "
            f"guessing among {found.classes} classes. Train for more epochs, or on more data."
        )
    elif expected.value <= 0:
        use = "No proxy can be recommended: on held-out networks, the choice is no better than chance."
    else:
        use = f"Use {advice.choice}."
    alike = (
        "At least half of the networks reached the same accuracy. Make the task harder: use fewer epochs or less data."
    )
    return [
        use,
        f"Expected Spearman correlation of this choice on held-out networks: {expected.value:.2f} "
        f"(95% interval {expected.low:.2f} to {expected.high:.2f}).",
        *advice.warnings,
        *([alike] if found.have_learned and found.are_alike else []),
        *_beside(found),
        *_unfinished(found),
    ]


def _beside(found: Trust) -> list[str]:
    """Say how many of the random networks each baseline beats."""
    said = []
    for baseline in found.baselines:
        text = f"Baseline {baseline}"
        if baseline.accuracies:
            beaten = sum(accuracy < fmean(baseline.accuracies) for accuracy in found.accuracies)
            text += f", better than {beaten} of {len(found.accuracies)} random networks"
        said.append(f"{text}.")
    return said


def _unfinished(found: Trust) -> list[str]:
    without = [entry for entry in found.evaluations if not entry.result.ok]
    if not without:
        return []
    first = without[0]
    return [
        f"{len(without)} of {len(found.evaluations)} networks did not finish training and are excluded, such as "
        f"{first.architecture}: {first.result.status} ({first.result.note})"
    ]
