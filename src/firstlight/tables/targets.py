"""Targets: columns of a table, whose names state data set, split, metric and number of epochs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

# dataset_split_epochs, such as cifar10_test_200, is an accuracy; other metrics are named between split and epochs
_NAME = re.compile(
    r"(?:(?P<dataset>\w+?)_)?(?P<split>train|val|valid|test)(?:_(?P<figure>[A-Za-z]\w*?))?(?:_(?P<epochs>[0-9]{1,9}|best))?"
)
Split = Literal["train", "val", "test"]
_SPLITS: dict[str, Split] = {"train": "train", "val": "val", "valid": "val", "test": "test"}
_WORDS = {"train": "training", "val": "validation", "test": "test"}


@dataclass(frozen=True)
class Target:
    """A column by which architectures can be compared. What its name does not state is None.

    Attributes:
        name: The name of the column, such as "cifar10_test_200".
        dataset: The data set, such as "cifar10".
        split: "train", "val" or "test".
        figure: The metric, such as "accuracy".
        epochs: The number of epochs after which it was measured, or "best".
    """

    name: str
    dataset: str | None = None
    split: Split | None = None
    figure: str | None = None
    epochs: int | Literal["best"] | None = None

    @classmethod
    def of_column(cls, name: str) -> Target:
        """Read the name of a column."""
        match = _NAME.fullmatch(name)
        if not match:
            return cls(name)
        figure = match["figure"] or "accuracy"
        epochs: int | Literal["best"] | None = None
        if match["epochs"]:
            epochs = "best" if match["epochs"] == "best" else int(match["epochs"])
        figure = "accuracy" if figure == "acc" else figure
        return cls(name, match["dataset"], _SPLITS[match["split"]], figure, epochs)

    @property
    def is_accuracy(self) -> bool:
        return self.figure == "accuracy"

    def __str__(self) -> str:
        """Return a description, such as `cifar10: test accuracy after 200 epochs`."""
        if self.split is None:
            return "a number; its name says no more"
        where = f"{self.dataset}: " if self.dataset else ""
        when = (
            " of the best epoch"
            if self.epochs == "best"
            else f" after {self.epochs} epoch{'s' * (self.epochs != 1)}"
            if self.epochs
            else ""
        )
        return f"{where}{_WORDS[self.split]} {(self.figure or '').replace('_', ' ')}{when}"
