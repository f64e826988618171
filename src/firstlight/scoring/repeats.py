"""How much of a score is luck: the same question asked of several initializations and inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, stdev

from firstlight.core.errors import SettingError
from firstlight.core.seeds import derive
from firstlight.proxies.base import Score


def draw_seeds(seed: int, repeats: int) -> list[int]:
    """The first draw is that of the seed itself, so that asking once and asking several times agree about it."""
    if not isinstance(repeats, int) or repeats < 1:
        raise SettingError(f"repeats is {repeats!r}; it must be a whole number, 1 or more.")
    return [seed, *(derive(seed, "repeat", str(number)) for number in range(1, repeats))]


def combine(scores: Sequence[Score]) -> Score:
    """Mean of value and parts, with the standard error of the value among the parts.

    A draw without a value leaves no mean to speak of: its status is the answer, and the note says how often it came.
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
