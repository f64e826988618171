"""How networks are trained: everything that decides the outcome except network, data and seed."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

from firstlight.errors import SettingError


@dataclass(frozen=True)
class TrainingRecipe:
    """SGD with momentum; the learning rate falls along half a cosine to 0 at the end of the last epoch.

    `clip_norm` bounds the norm of all gradients together (0: no bound). `flip` mirrors half of the images, `crop` moves
    each by up to so many pixels; both are off, because mirrored digits are no digits.
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

    def __post_init__(self) -> None:
        whole = {"epochs": 1, "batch_size": 2, "crop": 0}  # BatchNorm learns nothing from a single sample
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(field.default, bool):
                if not isinstance(value, bool):
                    raise SettingError(f"{field.name} is {value!r}; it must be True or False.")
            elif field.name in whole:
                if type(value) is not int or value < whole[field.name]:
                    raise SettingError(
                        f"{field.name} is {value!r}; it must be a whole number, {whole[field.name]} or more."
                    )
            elif type(value) not in (int, float) or not (math.isfinite(value) and value >= 0):
                raise SettingError(f"{field.name} is {value!r}; it must be a number, 0 or more.")
            else:
                object.__setattr__(self, field.name, float(value))  # 1 and 1.0 are the same recipe
        for name in ("momentum", "label_smoothing"):
            if getattr(self, name) >= 1:
                raise SettingError(f"{name} is {getattr(self, name)!r}; it must be less than 1.")
        if self.learning_rate == 0:
            raise SettingError("learning_rate is 0; nothing would be learned.")
        if self.nesterov and self.momentum == 0:
            raise SettingError("nesterov looks ahead along the momentum, and momentum is 0. Set nesterov=False.")

    def __str__(self) -> str:
        """All settings in order, each number exactly: what the store knows the recipe by."""
        return ",".join(f"{name}={value}" for name, value in sorted(dataclasses.asdict(self).items()))

    def batches(self, samples: int) -> int:
        """How many batches an epoch has; their sizes differ by one at most, and none has a single sample."""
        return max(1, min(math.ceil(samples / self.batch_size), samples // 2))

    def learning_rate_at(self, step: int, steps: int) -> float:
        """The rate of a step counted from 0, of so many in all."""
        return self.learning_rate * (1 + math.cos(math.pi * step / steps)) / 2
