"""How networks are trained: everything that decides the outcome except network, data and seed."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

from firstlight.core.errors import SettingError

Schedule = Literal["cosine", "linear"]


def _later(default: Any) -> Any:
    """A setting that older recipes did not have: at its default it is not in their text, which the store knows."""
    return dataclasses.field(default=default, metadata={"later": True})


@dataclass(frozen=True)
class TrainingRecipe:
    """SGD with momentum; the learning rate falls along half a cosine to 0 at the end of the last epoch.

    `clip_norm` bounds the norm of all gradients together (0: no bound). `flip` mirrors half of the images, `crop` moves
    each by up to so many pixels; both are off, because mirrored digits are no digits. `cutout` blanks out a square of
    so many pixels. The rate first grows for `warm_up_epochs`, and falls to `min_learning_rate`, along a line if
    `schedule` says so. In training an edge of a network is left out for a sample with a chance that grows to
    `drop_path`, and the loss of an auxiliary head is added with `auxiliary_weight`; both are for networks that have
    such. `validation` is the share of the data that is not learned from.
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
    warm_up_epochs: int = _later(0)
    min_learning_rate: float = _later(0.0)
    schedule: Schedule = _later("cosine")
    drop_path: float = _later(0.0)
    auxiliary_weight: float = _later(0.0)
    validation: float = _later(0.25)

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, _checked(field.name, field.default, getattr(self, field.name)))
        for name in ("momentum", "label_smoothing", "drop_path", "validation"):
            if getattr(self, name) >= 1:
                raise SettingError(f"{name} is {getattr(self, name)!r}; it must be less than 1.")
        if self.learning_rate == 0:
            raise SettingError("learning_rate is 0; nothing would be learned.")
        if self.validation == 0:
            raise SettingError("validation is 0; some samples must be left to judge by, such as a share of 0.1.")
        if self.nesterov and self.momentum == 0:
            raise SettingError("nesterov looks ahead along the momentum, and momentum is 0. Set nesterov=False.")
        if self.min_learning_rate > self.learning_rate:
            raise SettingError(
                f"min_learning_rate is {self.min_learning_rate}, to which the rate is to fall from "
                f"{self.learning_rate}, the learning_rate; it must not be more."
            )
        if self.warm_up_epochs >= self.epochs:
            raise SettingError(
                f"warm_up_epochs is {self.warm_up_epochs}, and there are {self.epochs} epochs in all; it must be less."
            )

    def __str__(self) -> str:
        """All settings in order, each number exactly: what the store knows the recipe by."""
        shown = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if not (field.metadata.get("later") and getattr(self, field.name) == field.default)
        }
        return ",".join(f"{name}={value}" for name, value in sorted(shown.items()))

    def batches(self, samples: int) -> int:
        """How many batches an epoch has; their sizes differ by one at most, and none has a single sample."""
        return max(1, min(math.ceil(samples / self.batch_size), samples // 2))

    def learning_rate_at(self, step: int, steps: int) -> float:
        """The rate of a step counted from 0, of so many in all."""
        growing = steps * self.warm_up_epochs // self.epochs
        if step < growing:
            return self.learning_rate * (step + 1) / growing
        gone, all_steps = step - growing, steps - growing
        left = (1 + math.cos(math.pi * gone / all_steps)) / 2 if self.schedule == "cosine" else 1 - gone / all_steps
        return self.min_learning_rate + (self.learning_rate - self.min_learning_rate) * left

    def drop_path_at(self, epoch: int) -> float:
        """The chance in an epoch counted from 0: it grows along a line, and would be `drop_path` after the last."""
        return self.drop_path * epoch / self.epochs


# The smallest that whole numbers may be; BatchNorm learns nothing from a single sample
_LEAST = {"epochs": 1, "batch_size": 2}


def _checked(name: str, default: object, value: Any) -> Any:
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise SettingError(f"{name} is {value!r}; it must be True or False.")
    elif isinstance(default, str):
        if value not in get_args(Schedule):
            raise SettingError(f"{name} is {value!r}; allowed: {', '.join(get_args(Schedule))}.")
    elif isinstance(default, int):
        least = _LEAST.get(name, 0)
        if type(value) is not int or value < least:
            raise SettingError(f"{name} is {value!r}; it must be a whole number, {least} or more.")
    elif type(value) not in (int, float) or not (math.isfinite(value) and value >= 0):
        raise SettingError(f"{name} is {value!r}; it must be a number, 0 or more.")
    else:
        return float(value)  # 1 and 1.0 are the same recipe
    return value
