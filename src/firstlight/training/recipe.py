"""The recipe of a training: everything that decides its outcome except the network, the data and the seed."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

from firstlight.core.errors import SettingError

OptimizerName = Literal["sgd", "adagrad", "adamw"]
Schedule = Literal["cosine", "linear", "constant", "warm-cosine"]


def _later(default: Any) -> Any:
    """A setting that older recipes did not have: at its default it is left out of the text that the store knows."""
    return dataclasses.field(default=default, metadata={"later": True})


@dataclass(frozen=True)
class TrainingRecipe:
    """How networks are trained.

    Warm-ups, weight-sharing networks, training from scratch and retraining all take a recipe. The defaults are those
    of `firstlight trust` and of searches that train networks.

    Args:
        epochs: Passes over the training set.
        batch_size: Samples per step, over all processes.
        learning_rate: Peak learning rate.
        momentum: Momentum of SGD.
        nesterov: Use Nesterov momentum.
        weight_decay: Weight decay, applied to all weights.
        label_smoothing: Label smoothing, as in `torch.nn.CrossEntropyLoss`.
        clip_norm: Maximum norm of the gradient of all weights; 0 for no clipping.
        flip: Random horizontal flips.
        crop: Shift each image by at most this many pixels.
        cutout: Side of the square that is erased in each image, in pixels.
        erasing: Probability that a rectangle of an image is erased: 2 to 33 % of its area, up to about three times as
            long in one direction as in the other.
        mix_up: Mix each image with another one of the batch, and their labels, by a share drawn for each batch from a
            beta distribution with this parameter. 0 for no mixing.
        warm_up_epochs: Epochs of linear learning rate warm-up.
        min_learning_rate: Final learning rate.
        schedule: How the learning rate changes from step to step. `cosine` and `linear` let it fall to
            `min_learning_rate`; `constant` keeps it; `warm-cosine` lets it rise from `min_learning_rate` over the
            first tenth of the steps and fall back along half a cosine.
        drop_path: Probability of dropping an edge for a sample; increases linearly from 0. For networks with edges
            that can be dropped.
        auxiliary_weight: Weight of the loss of the auxiliary head, for networks that have one.
        validation: Fraction of the samples that is held out for validation.
        optimizer: `sgd`, `adagrad` or `adamw`.
        eps: Added to the denominator of Adagrad.
        layer_norm: 0 builds networks without their layer norms, in spaces whose skeleton offers it.
        average: Decay of the moving average of the weights, which is what is validated and kept at the end; 0 for none.

    Raises:
        SettingError: If a value is not allowed.

    Example:
        >>> firstlight.TrainingRecipe(epochs=5, batch_size=64).learning_rate
        0.1
    """

    epochs: int = 3
    batch_size: int = 128
    learning_rate: float = 0.1
    momentum: float = 0.9
    nesterov: bool = True
    weight_decay: float = 5e-4
    label_smoothing: float = 0.0
    clip_norm: float = 5.0
    flip: bool = False
    crop: int = 0
    cutout: int = _later(0)
    erasing: float = _later(0.0)
    mix_up: float = _later(0.0)
    warm_up_epochs: int = _later(0)
    min_learning_rate: float = _later(0.0)
    schedule: Schedule = _later("cosine")
    drop_path: float = _later(0.0)
    auxiliary_weight: float = _later(0.0)
    validation: float = _later(0.25)
    optimizer: OptimizerName = _later("sgd")
    eps: float = _later(1e-2)
    layer_norm: int = _later(1)
    average: float = _later(0.0)

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, _checked(field.name, field.default, getattr(self, field.name)))
        for name in ("momentum", "label_smoothing", "drop_path", "validation", "average"):
            if getattr(self, name) >= 1:
                raise SettingError(f"{name} is {getattr(self, name)!r}; it must be less than 1.")
        if self.erasing > 1:
            raise SettingError(f"erasing is {self.erasing!r}; it is a probability, and at most 1.")
        if self.learning_rate == 0:
            raise SettingError("learning_rate is 0; nothing would be learned.")
        if self.eps == 0:
            raise SettingError("eps is 0; it must be positive, so that Adagrad never divides by 0.")
        if self.validation == 0:
            raise SettingError("validation is 0; hold out some samples for validation, such as a share of 0.1.")
        if self.nesterov and self.momentum == 0:
            raise SettingError("nesterov needs momentum, and momentum is 0. Set nesterov=False.")
        if self.min_learning_rate > self.learning_rate:
            raise SettingError(
                f"min_learning_rate is {self.min_learning_rate}; it must be at most the learning_rate, "
                f"{self.learning_rate}."
            )
        if self.warm_up_epochs >= self.epochs:
            raise SettingError(
                f"warm_up_epochs is {self.warm_up_epochs}; it must be less than epochs, which is {self.epochs}."
            )
        if self.warm_up_epochs and self.schedule == "warm-cosine":
            raise SettingError("The schedule warm-cosine has its own warm-up. Set warm_up_epochs=0.")
        if self.optimizer != "sgd" and (self.nesterov or self.momentum):
            raise SettingError(
                f"Momentum is for sgd, and the optimizer is {self.optimizer}. Set momentum=0 and nesterov=False."
            )
        if self.layer_norm > 1:
            raise SettingError(f"layer_norm is {self.layer_norm}; it must be 0 or 1.")

    def __str__(self) -> str:
        """Return all settings by name, each number exactly: the store knows the recipe by this text."""
        shown = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if not (field.metadata.get("later") and getattr(self, field.name) == field.default)
        }
        return ",".join(f"{name}={value}" for name, value in sorted(shown.items()))

    def num_batches(self, samples: int) -> int:
        """Return the number of batches in an epoch; their sizes differ by at most 1, and none has a single sample."""
        return max(1, min(math.ceil(samples / self.batch_size), samples // 2))

    def learning_rate_at(self, step: int, steps: int) -> float:
        """Return the learning rate of a step, counted from 0, of `steps` in all."""
        lowest, span = self.min_learning_rate, self.learning_rate - self.min_learning_rate
        if self.schedule == "warm-cosine":
            growing = max(1, steps // 10)
            if step < growing:
                return lowest + span * step / growing
        else:
            growing = steps * self.warm_up_epochs // self.epochs
            if step < growing:
                return self.learning_rate * (step + 1) / growing
        if self.schedule == "constant":
            return self.learning_rate
        gone, rest = step - growing, max(1, steps - growing)
        left = 1 - gone / rest if self.schedule == "linear" else (1 + math.cos(math.pi * gone / rest)) / 2
        return lowest + span * left

    def drop_path_at(self, epoch: int) -> float:
        """Return the probability in an epoch counted from 0: it grows linearly, to `drop_path` after the last one."""
        return self.drop_path * epoch / self.epochs


# The smallest allowed whole numbers. BatchNorm learns nothing from a single sample.
_LEAST = {"epochs": 1, "batch_size": 2}
_CHOICES = {"schedule": get_args(Schedule), "optimizer": get_args(OptimizerName)}


def _checked(name: str, default: object, value: Any) -> Any:
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise SettingError(f"{name} is {value!r}; it must be True or False.")
    elif isinstance(default, str):
        if value not in _CHOICES[name]:
            raise SettingError(f"{name} is {value!r}; allowed: {', '.join(_CHOICES[name])}.")
    elif isinstance(default, int):
        least = _LEAST.get(name, 0)
        if type(value) is not int or value < least:
            raise SettingError(f"{name} is {value!r}; it must be a whole number, {least} or more.")
    elif type(value) not in (int, float) or not (math.isfinite(value) and value >= 0):
        raise SettingError(f"{name} is {value!r}; it must be a number, 0 or more.")
    else:
        return float(value)  # 1 and 1.0 are the same recipe
    return value
