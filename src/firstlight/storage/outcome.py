"""How the training of a network went."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from firstlight.core.errors import is_out_of_memory

Status = Literal["ok", "diverged", "out_of_memory", "failed"]


@dataclass(frozen=True)
class Epoch:
    """What one epoch came to. Figures of the training part are of the batches as they were learned from."""

    train_loss: float
    train_accuracy: float
    val_loss: float
    val_accuracy: float
    seconds: float = field(compare=False)


@dataclass(frozen=True)
class TrainingResult:
    """The epochs that were completed, and whether that was all of them; if not, `note` says why."""

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
        """The first with the highest validation accuracy; being chosen by it, it flatters the network a little."""
        return max(self.epochs, key=lambda epoch: epoch.val_accuracy, default=None)

    @property
    def accuracy(self) -> float | None:
        """That of the validation part after the last epoch; None if the network was not trained to the end."""
        return self.epochs[-1].val_accuracy if self.ok else None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"epochs": [asdict(epoch) for epoch in self.epochs], "accuracy": self.accuracy}
