"""The report of `trust`: which proxy to use on one's own data, how sure that is, and all that speaks for it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup

from firstlight._version import __version__
from firstlight.evaluation.trust import Trust
from firstlight.views.charts.description import Bar, Bars
from firstlight.views.charts.svg import draw_svg
from firstlight.views.pages.correlation import study_content, write_files
from firstlight.views.pages.template import render_page


def write_trust(found: Trust, settings: Mapping[str, Any], directory: Path) -> Path:
    """The page, the statistics as JSON, and the scores of all networks as a table, in the folder."""
    content = {"settings": dict(settings), "version": __version__, **found.to_dict()}
    return write_files(found.study, content, trust_page(found, settings), directory)


def trust_page(found: Trust, settings: Mapping[str, Any]) -> str:
    space = settings["space"]
    answer, *grounds = advise(found)
    commands, shares = [], found.advice.chosen if found.advice else {}
    if found.advice and found.is_of_use:
        choice, worth = found.advice.choice, found.advice.expected
        chance = ", which may be chance" if worth.low <= 0 else ""
        expected = f"{worth.value:.2f}, 95 % between {worth.low:.2f} and {worth.high:.2f}{chance}"
        answer = f"Use {choice} (expected Spearman correlation {expected})."
        commands.append(f"firstlight search {shlex.quote(space)} --proxy {shlex.quote(choice)}")
    asked = f"Asked which proxy to trust for {space} on {settings['data'].partition(': ')[0]}"
    return render_page(
        "trust.html",
        headline=f"{asked}, by training {len(found.evaluations)} networks: {answer[0].lower()}{answer[1:]}",
        advice=grounds,
        facts=_facts(found),
        shares=_shares(shares) if shares else "",
        commands_given=commands,
        **study_content(found.study, settings),
    )


def _shares(shares: Mapping[str, float]) -> Markup:
    return draw_svg(Bars("share of all choices", [Bar(name, share) for name, share in shares.items()]))


def _facts(found: Trust) -> dict[str, str]:
    known = {"networks trained": f"{len(found.accuracies):,}", "best accuracy": f"{max(found.accuracies):.1%}"}
    if found.advice:
        known["expected Spearman correlation"] = f"{found.advice.expected.value:.2f}"
    seconds = sum(entry.result.seconds for entry in found.evaluations)
    return {**known, "seconds of training": f"{seconds:,.1f}"}


def advise(found: Trust) -> list[str]:
    """What to do with the outcome, a sentence or two each."""
    advice = found.advice
    if advice is None:
        return ["No proxy tells these networks apart; train more of them, or others.", *_unfinished(found)]
    expected = advice.expected
    if not found.have_learned:
        use = (
            f"Nothing can be said yet: the best network reached {max(found.accuracies):.1%}, which is no better than "
            f"guessing among {found.classes} classes. Train for more epochs, or on more data."
        )
    elif expected.value <= 0:
        use = "No proxy can be recommended: on networks a choice was not made by, it is no better than chance."
    else:
        use = f"Use {advice.choice}."
    alike = "Half of the networks or more reached the same accuracy: make it harder, with fewer epochs or less data."
    return [
        use,
        f"A choice made like this has, on networks it was not made by, a Spearman correlation of about "
        f"{expected.value:.2f} (95 % between {expected.low:.2f} and {expected.high:.2f}).",
        *advice.warnings,
        *([alike] if found.have_learned and found.are_alike else []),
        *_unfinished(found),
    ]


def _unfinished(found: Trust) -> list[str]:
    without = [entry for entry in found.evaluations if not entry.result.ok]
    if not without:
        return []
    first = without[0]
    return [
        f"{len(without)} of {len(found.evaluations)} networks were not trained to the end and are left out, such as "
        f"{first.architecture}: {first.result.status} ({first.result.note})"
    ]
