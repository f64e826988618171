"""Durations of trainings: read from a table, or estimated from networks of known duration."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from firstlight.core.errors import SettingError, TableError
from firstlight.core.statistics import Numbers
from firstlight.spaces.base import Space
from firstlight.tables.table import Table
from firstlight.tables.targets import Target

# The number of networks for each coefficient of an estimate; with fewer, it uses fewer features
ROWS_FOR_EACH = 5


@dataclass(frozen=True)
class TrainingTimes:
    """Durations of trainings.

    Attributes:
        per_epoch: Seconds of one epoch by the text of the network.
        origin: Where they come from, in words.
        r_squared: How well the estimate fits the known durations; None if nothing was estimated.
    """

    per_epoch: Mapping[str, float]
    origin: str
    r_squared: float | None = None

    def seconds(self, architecture: str, epochs: int) -> float:
        """Return the duration of a training."""
        return epochs * self.per_epoch[architecture]


def training_times(
    table: Table, space: Space[Any], target: Target, networks: Sequence[str], asked: str | None = None
) -> TrainingTimes | None:
    """Return the durations of networks; None if the table has none.

    Args:
        table: The table.
        space: The space of its architectures.
        target: The target, whose trainings are timed.
        networks: The texts of the networks.
        asked: The column with the seconds; `COLUMN*0.5` if a training of the target takes half of that, because it sees
            half of the images. Default: the column that matches the target by its name.
    """
    found = _column(table, target, asked)
    if found is None:
        return None
    column, factor = found
    epochs = Target.of_column(column).epochs
    if not isinstance(epochs, int):
        raise TableError(
            f"The name of {column!r} does not state the number of epochs, as DATASET_train_seconds_200 does."
        )
    rows = table.join(space, column).rows
    known = {text: factor * value / epochs for text, value in zip(rows["architecture"], rows["value"], strict=True)}
    times = "" if factor == 1 else f"{factor:g} times "
    if all(text in known for text in networks):
        return TrainingTimes(known, f"{times}{column}, in proportion to the epochs")
    estimated, r_squared = _estimated(space, known, networks)
    origin = (
        f"{times}{column}, in proportion to the epochs; it covers {len(known):,} of the networks, and the others are "
        f"estimated from their cost and choices (R² {r_squared:.3f} on the known ones)"
    )
    return TrainingTimes(estimated | known, origin, r_squared)


def _column(table: Table, target: Target, asked: str | None) -> tuple[str, float] | None:
    if asked is not None:
        match = re.fullmatch(r"\s*(\w+)\s*(?:\*\s*(\d+\.?\d*|\.\d+)\s*)?", asked)
        if not match or (match[2] and not float(match[2]) > 0):
            raise SettingError(f"{asked!r} is not a column of seconds. Write COLUMN, or COLUMN*0.5 for half of it.")
        return table.target(match[1]).name, float(match[2] or 1)
    fitting = [
        other
        for other in table.targets()
        if other.dataset == target.dataset and other.figure == "seconds" and isinstance(other.epochs, int)
    ]
    fitting.sort(key=lambda other: other.epochs != target.epochs)  # the same epochs, if possible
    return (fitting[0].name, 1.0) if fitting else None


def _estimated(
    space: Space[Any], known: Mapping[str, float], networks: Sequence[str]
) -> tuple[dict[str, float], float]:
    """Estimate by least squares on MACs, parameters and, with enough networks, a term for each option of each choice.

    The choices account for layers without MACs and parameters, such as pooling.
    """
    texts = list(known)
    terms = sum(map(len, space.choices())) if space.has_choices else 0
    with_choices = space.has_choices and len(texts) >= ROWS_FOR_EACH * (terms + 3)
    if len(texts) < ROWS_FOR_EACH * 3:
        raise TableError(
            f"The table has training times of only {len(texts)} networks; {ROWS_FOR_EACH * 3} are needed to estimate "
            "the others."
        )
    facts = np.array([_facts(space, text, with_choices) for text in texts])
    scale = np.maximum(np.abs(facts).max(axis=0), 1e-12)
    seconds = np.array([known[text] for text in texts])
    weights = np.linalg.lstsq(facts / scale, seconds, rcond=None)[0]
    variance = float(((seconds - seconds.mean()) ** 2).sum())
    r_squared = 1 - float(((seconds - facts / scale @ weights) ** 2).sum()) / variance if variance else 1.0
    missing = [text for text in networks if text not in known]
    found = np.array([_facts(space, text, with_choices) for text in missing]) / scale @ weights
    fastest = seconds.min()  # a linear fit may be negative for networks smaller than all known ones
    return dict(zip(missing, np.maximum(found, fastest).tolist(), strict=True)), r_squared


def _facts(space: Space[Any], text: str, with_choices: bool) -> Numbers:
    architecture = space.parse(text)
    cost = space.cost(architecture)
    facts = [1.0, float(cost.macs), float(cost.params)]
    if with_choices:
        for options, chosen in zip(space.choices(), space.to_choices(architecture), strict=True):
            facts += [float(option == chosen) for option in range(len(options))]
    return np.array(facts)
