"""Repeats: scores averaged over several initializations and inputs, with their standard error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, stdev

from firstlight.core.errors import SettingError
from firstlight.core.seeds import derive
from firstlight.proxies.base import Score


def draw_seeds(seed: int, repeats: int) -> list[int]:
    """Return one seed for each repeat. The first is the seed itself, so one repeat gives the plain score."""
    if not isinstance(repeats, int) or repeats < 1:
        raise SettingError(f"repeats is {repeats!r}; it must be a whole number, 1 or more.")
    return [seed, *(derive(seed, "repeat", str(number)) for number in range(1, repeats))]


def combine(scores: Sequence[Score]) -> Score:
    """Average values and parts; the standard error of the value is one more part.

    If a repeat has no value, neither has the result: it has the status of that repeat, and the note counts them.
    """
    first = scores[0]
    if len(scores) == 1:
        return first
    seconds = sum(score.seconds for score in scores)
    unfit = [score for score in scores if not score.ok]
    if unfit:
        note = f"{len(unfit)} of {len(scores)} repeats: {unfit[0].note}"
        return replace(unfit[0], note=note, seconds=seconds)
    shared = [name for name in first.parts if all(name in score.parts for score in scores)]
    parts = {name: fmean(score.parts[name] for score in scores) for name in shared}
    error = stdev(score.value for score in scores) / math.sqrt(len(scores))
    notes = dict.fromkeys(score.note for score in scores if score.note)
    parts |= {"standard_error": error, "repeats": len(scores)}
    value = fmean(score.value for score in scores)
    return replace(first, value=value, parts=parts, note="; ".join(notes), seconds=seconds)
