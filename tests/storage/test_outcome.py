"""What a training came to, in figures and as JSON."""

from __future__ import annotations

import json

from firstlight.storage.outcome import Epoch, TrainingResult


def test_best_and_last() -> None:
    epochs = tuple(Epoch(1.0, 0.5, 1.0, accuracy, 0.1) for accuracy in (0.5, 0.8, 0.8, 0.7))
    result = TrainingResult(epochs, seconds=1.0)
    assert (result.best, result.last, result.accuracy) == (epochs[1], epochs[3], 0.7)
    assert result.best is epochs[1]
    written = json.loads(json.dumps(result.to_dict()))
    assert (written["accuracy"], written["epochs"][1]["val_accuracy"], written["status"]) == (0.7, 0.8, "ok")


def test_errors_have_a_status() -> None:
    assert TrainingResult.of_error(MemoryError("full")).status == "out_of_memory"
    failed = TrainingResult.of_error(ValueError("no"))
    assert (failed.status, failed.note, failed.accuracy) == ("failed", "ValueError: no", None)
