"""Whole data sets to train on: one part to learn from, another to be judged by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from firstlight.data.inputs import SYNTHETIC
from firstlight.data.samples import Array, Normaliser, digest
from firstlight.data.sources import read_samples
from firstlight.errors import DataError, SettingError
from firstlight.seeds import torch_generator


@dataclass(frozen=True)
class Dataset:
    """Images and labels for training and for validation, and a text that stands for exactly these numbers.

    `ignored` counts the files of a folder that were no images.
    """

    x_train: Tensor
    y_train: Tensor
    x_val: Tensor
    y_val: Tensor
    classes: int
    fingerprint: str
    ignored: int = 0

    @property
    def input_shape(self) -> tuple[int, ...]:
        return tuple(self.x_train.shape[1:])


def load_dataset(source_name: str, *, seed: int = 0, samples: int | None = None, validation: float = 0.25) -> Dataset:
    """All samples of a source, or `samples` of them, split by the seed; a share of `validation` is not learned from.

    Both parts have the classes in the proportions of the whole, and each channel is at mean 0 and deviation 1 by what
    the training part knows. The `x_test` of an `.npz` file is not read: it is left for final tests.
    """
    if not 0 < validation < 1:
        raise SettingError(f"validation is {validation!r}; it must be a share between 0 and 1, such as 0.25.")
    if source_name == SYNTHETIC:
        raise DataError("There is nothing to learn from noise. Name data to train on: digits, npz:PATH or folder:PATH.")
    found = read_samples(source_name)
    if len(np.unique(found.labels)) < 2:
        raise DataError(f"All samples of {source_name!r} are of one class; there must be two or more to tell apart.")
    count = len(found) if samples is None else samples
    held_back = round(count * validation)
    if not 0 < count <= len(found) or held_back < 1 or count - held_back < 2:
        raise DataError(
            f"{source_name!r} has {len(found)} samples, of which {count} are asked for, {held_back} of them for "
            "validation; at least two must be left to train on and one to validate with."
        )
    order = torch.randperm(len(found), generator=torch_generator(seed, "split")).numpy()
    chosen, _ = _divided(order, found.labels, count)
    val, train = _divided(chosen, found.labels, held_back)
    images_train, images_val = found.images(train), found.images(val)
    normaliser = Normaliser.of(images_train)
    x_train, y_train = found.tensors(train, images_train, normaliser)
    x_val, y_val = found.tensors(val, images_val, normaliser)
    numbers = digest(images_train, y_train.numpy(), images_val, y_val.numpy())
    fingerprint = f"{found.title}:{len(train)}+{len(val)}:{numbers}"
    return Dataset(x_train, y_train, x_val, y_val, found.classes, fingerprint, found.ignored)


def _divided(numbers: Array, labels: Array, count: int) -> tuple[Array, Array]:
    """`count` of the numbers and the rest, each class as much as any other, both in the order they came in."""
    by_class = np.argsort(labels[numbers], kind="stable")
    steps = np.arange(len(numbers) + 1) * count // len(numbers)
    picked = np.zeros(len(numbers), dtype=bool)
    picked[by_class[np.diff(steps) == 1]] = True  # evenly spaced, which is in proportion to the length of each class
    return numbers[picked], numbers[~picked]
