"""How the training of a network went."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from firstlight.core.errors import is_out_of_memory

Status = Literal["ok", "diverged", "out_of_memory", "failed"]


@dataclass(frozen=True)
class Epoch:
    """The results of one epoch.

    Attributes:
        train_loss: The mean loss of the training batches, each before its step.
        train_accuracy: Their accuracy.
        val_loss: The loss on the validation data after the epoch.
        val_accuracy: The accuracy on the validation data after the epoch.
        seconds: The duration.
    """

    train_loss: float
    train_accuracy: float
    val_loss: float
    val_accuracy: float
    seconds: float = field(compare=False)


@dataclass(frozen=True)
class TrainingResult:
    """The result of a training.

    Attributes:
        epochs: The completed epochs.
        status: "ok" if all epochs were completed; else "diverged", "out_of_memory" or "failed".
        note: Why it is not "ok".
        seconds: The duration.
    """

    epochs: tuple[Epoch, ...]
    status: Status = "ok"
    note: str = ""
    seconds: float = field(default=0.0, compare=False)

    @classmethod
    def of_error(cls, error: Exception) -> TrainingResult:
        return cls((), "out_of_memory" if is_out_of_memory(error) else "failed", f"{type(error).__name__}: {error}")

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    @property
    def last(self) -> Epoch | None:
        return self.epochs[-1] if self.epochs else None

    @property
    def best(self) -> Epoch | None:
        """The first epoch with the highest validation accuracy, which is therefore a little too optimistic."""
        return max(self.epochs, key=lambda epoch: epoch.val_accuracy, default=None)

    @property
    def accuracy(self) -> float | None:
        """The validation accuracy after the last epoch; None if the training was not completed."""
        return self.epochs[-1].val_accuracy if self.ok else None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"epochs": [asdict(epoch) for epoch in self.epochs], "accuracy": self.accuracy}
