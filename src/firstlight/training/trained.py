"""The result of `firstlight.train`, and the folder that keeps it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import nn

from firstlight._version import __version__
from firstlight.core.errors import StoreError
from firstlight.storage.outcome import Epoch, TrainingResult
from firstlight.storage.tensor_files import read_tensors, write_tensors, write_whole
from firstlight.training.checkpoint import refuse_others

if TYPE_CHECKING:
    from firstlight.training.finalists import Compared

CHECKPOINT_NAME, WEIGHTS_NAME = "checkpoint.safetensors", "weights.safetensors"
RESULT_NAME, HISTORY_NAME = "result.json", "history.csv"


@dataclass(frozen=True)
class Trained:
    """The result of `firstlight.train`.

    Args:
        settings: Everything that determines the result.
        result: The epochs, and whether the training was completed.
        test_accuracy: The accuracy on the test set; None if the training was not completed.
        samples: The number of samples in each part of the data.
        notes: Settings of the recipe that were not used, and why.
        inputs: How images are prepared.
        model: The network with the weights of the last epoch, in eval mode.
        directory: The folder of the training, if there is one.
        known: The number of epochs that an earlier call with the same folder completed.
        right: Whether each test sample is classified correctly; None if several processes have tested their shares, or
            if the training was not completed.
        compared: How it compares with baselines, if any were asked for.

    >>> small = {"channels": 4, "cells": 1}
    >>> text = "|nor_conv_3x3~0|+|skip_connect~0|none~1|+|none~0|none~1|nor_conv_3x3~2|"
    >>> trained = firstlight.train("nasbench201", text, data="digits@8", epochs=1, data_samples=90, skeleton=small)
    >>> len(trained.result.epochs), trained.samples["test"]
    (1, 359)
    """

    settings: Mapping[str, Any]
    result: TrainingResult
    test_accuracy: float | None
    samples: Mapping[str, int]
    notes: tuple[str, ...] = ()
    inputs: Mapping[str, Any] = field(default_factory=dict)
    model: nn.Module | None = field(default=None, compare=False, repr=False)
    directory: Path | None = field(default=None, compare=False)
    known: int = field(default=0, compare=False)
    right: tuple[bool, ...] | None = field(default=None, repr=False)
    compared: Compared | None = field(default=None, compare=False, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return what the file `result.json` holds."""
        best, last = self.result.best, self.result.last
        return {
            "settings": dict(self.settings),
            "samples": dict(self.samples),
            "inputs": dict(self.inputs),
            "status": self.result.status,
            "note": self.result.note,
            "notes": list(self.notes),
            "best_epoch": None if best is None else self.result.epochs.index(best) + 1,
            "best_validation_accuracy": None if best is None else best.val_accuracy,
            "last_validation_accuracy": None if last is None else last.val_accuracy,
            "test_accuracy": self.test_accuracy,
            **({} if self.right is None else {"right": packed(self.right)}),
            "seconds": self.result.seconds,
            "epochs": [asdict(epoch) for epoch in self.result.epochs],
            **({} if self.compared is None else {"compared": self.compared.to_dict()}),
            "version": __version__,
        }

    def write(self, directory: Path) -> None:
        """Write weights, history and result. The result comes last: where it is, everything is."""
        if self.model is not None and self.result.ok:
            write_tensors(directory / WEIGHTS_NAME, self.model.state_dict(), {"settings": dict(self.settings)})
        write_whole(directory / HISTORY_NAME, _history(self.result.epochs).encode())
        self.write_result(directory)
        (directory / CHECKPOINT_NAME).unlink(missing_ok=True)

    def write_result(self, directory: Path) -> None:
        """Write the result alone."""
        write_whole(directory / RESULT_NAME, (json.dumps(self.to_dict(), indent=2) + "\n").encode())


def find_trained(directory: Path, settings: Mapping[str, Any], network: nn.Module) -> Trained | None:
    """Return the result in a folder, with its weights loaded into the network; None if there is none yet.

    Raises:
        StoreError: If the folder holds another training, or its result cannot be read.
    """
    path = directory / RESULT_NAME
    if not path.exists():
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        known = dict(content["settings"])
        epochs = tuple(Epoch(**epoch) for epoch in content["epochs"])
        result = TrainingResult(epochs, content["status"], content["note"], content["seconds"])
        test_accuracy, samples, notes = content["test_accuracy"], content["samples"], tuple(content["notes"])
        inputs = dict(content["inputs"])
        right = unpacked(content["right"], samples["test"]) if "right" in content else None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{path} is not the result of a training. Name another folder with --out.") from error
    refuse_others(directory, known, settings)
    if result.ok:
        network.load_state_dict(read_tensors(directory / WEIGHTS_NAME))
    return Trained(known, result, test_accuracy, samples, notes, inputs, network.eval(), directory, len(epochs), right)


def packed(right: Sequence[bool]) -> str:
    """Return which answers are right as hexadecimal digits, four answers each.

    >>> packed([True, False, False, True, True])
    '98'
    """
    return np.packbits(np.array(right, dtype=bool)).tobytes().hex()


def unpacked(text: str, count: int) -> tuple[bool, ...]:
    """Return which answers are right; the inverse of `packed`."""
    bits = np.unpackbits(np.frombuffer(bytes.fromhex(text), dtype=np.uint8), count=count)
    return tuple(bits.astype(bool).tolist())


def _history(epochs: Sequence[Epoch]) -> str:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["epoch", *(column.name for column in fields(Epoch))])
    rows.writerows([number, *asdict(epoch).values()] for number, epoch in enumerate(epochs, start=1))
    return text.getvalue()
