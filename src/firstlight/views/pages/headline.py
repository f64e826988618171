"""What a search was asked for and what it found, in one sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.options import UNITS
from firstlight.scoring.costs import written
from firstlight.search.run_folder import asks_truth, is_turned
from firstlight.storage.records import Run, Trial
from firstlight.views.pages.networks import Column


def turned(utility: float | None, run: Run) -> float | None:
    """What the proxy says of a network, as it says it."""
    return -utility if utility is not None and is_turned(run) else utility


def limits(settings: Mapping[str, Any]) -> str:
    """In words, such as `at most 100,000 parameters and at least 1,000 MACs`; nothing without limits."""
    words = {"max": "at most", "min": "at least"}
    known = [
        f"{words[kind]} {written(name, settings[f'{kind}_{name}'])}"
        for kind in words
        for name in UNITS
        if settings.get(f"{kind}_{name}") is not None
    ]
    return " and ".join(known)


def headline(
    run: Run, best: Trial | None, score: Column, *, networks: int, costs: tuple[str, ...], front: int, steps: int
) -> str:
    settings, bounds = run.settings, limits(run.settings)
    space, proxy = settings["space"], settings["proxy"]
    within = f" with {bounds}" if bounds else ""
    now = "" if run.finished else "so far, "
    size = "" if best is None or proxy == "params" else f" with {written('params', best.amount('params'))}"
    reached = "" if best is None else f"{score.written(turned(best.utility, run))}{size}"
    if steps:
        what = f"Asked {settings['algorithm'].split(':')[0]} for a network of {space}{within}"
        chose = "it chose one" if run.finished else "it would choose one"
        return f"{what}: after {steps:,} steps {chose}{f' that has {proxy} {reached}' if best else ''}."
    if costs:
        what = (
            f"Asked for trade-offs between {_enumerated([proxy, *(UNITS[cost] for cost in costs)])} in {space}{within}"
        )
    elif asks_truth(settings):
        what = f"Asked which network of {space}{within} does best when trained"
    else:
        what = f"Asked for the network of {space}{within} that is best by {proxy}, {_trained(settings)}"
    if best is None:
        return f"{what}: no network has a score yet."
    if costs:
        unbeaten = f"{front:,} of {networks:,} networks are beaten by none"
        return f"{what}: {now}{unbeaten}, and the best of them by {proxy} has {reached}."
    if asks_truth(settings):
        first = f"the best of {networks:,} that were asked about" if networks > 1 else "the only one asked about"
        return f"{what}: {now}{first} has a validation accuracy of {reached.replace(' with', ' % with', 1)}."
    first = f"the best of {networks:,}" if networks > 1 else "the only one looked at"
    return f"{what}: {now}{first} has {proxy} {reached}."


def _trained(settings: Mapping[str, Any]) -> str:
    """How far networks were trained before the proxy saw them."""
    share = str(settings.get("warmup", "")).partition("%")[0]
    if share in ("", "0"):
        return "before any training"
    return f"after a warm-up on {share} % of {str(settings['input']).partition(':')[0]}"


def _enumerated(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"
