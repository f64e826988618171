"""Whole data sets to train on: one part to learn from, another to be judged by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from firstlight.core.errors import DataError, SettingError, TooFewError
from firstlight.core.seeds import torch_generator
from firstlight.data.images import read_samples, read_test_samples
from firstlight.data.inputs import SYNTHETIC
from firstlight.data.samples import Array, Normalizer, Samples, digest


@dataclass(frozen=True)
class Dataset:
    """Images and labels for training and for validation, and a text that stands for exactly these numbers.

    `ignored` counts the files of a folder that were no images. The test part is there if it was asked for; it is to be
    looked at once, when all is decided. `mean` and `deviation` are those that each channel was brought to 0 and 1 from.
    """

    x_train: Tensor
    y_train: Tensor
    x_val: Tensor
    y_val: Tensor
    classes: int
    fingerprint: str
    ignored: int = 0
    x_test: Tensor | None = None
    y_test: Tensor | None = None
    mean: tuple[float, ...] = ()
    deviation: tuple[float, ...] = ()
    class_names: tuple[str, ...] = ()

    @property
    def preparation(self) -> dict[str, Any]:
        """What must be done to an image, in the numbers that it is read with, before a network is shown it."""
        names = {"class_names": list(self.class_names)} if self.class_names else {}
        return {"mean": list(self.mean), "deviation": list(self.deviation), **names}

    @property
    def input_shape(self) -> tuple[int, ...]:
        return tuple(self.x_train.shape[1:])


# Of data without a test part of its own, this share is held out
TEST_SHARE = 0.2


def load_dataset(
    source_name: str, *, seed: int = 0, samples: int | None = None, validation: float = 0.25, test: bool = False
) -> Dataset:
    """All samples of a source, or `samples` of them, split by the seed; a share of `validation` is not learned from.

    All parts have the classes in the proportions of the whole, and each channel is at mean 0 and deviation 1 by what
    the training part knows. With `test` there is a third part: `x_test` of an `.npz` file, or `test` beside a folder
    `train`, which are not read otherwise; else a fifth of the source, the same whatever the seed, so that networks
    which were trained with different ones can be compared.
    """
    if not 0 < validation < 1:
        raise SettingError(f"validation is {validation!r}; it must be a share between 0 and 1, such as 0.25.")
    if source_name == SYNTHETIC:
        raise DataError("There is nothing to learn from noise. Name data to train on: digits, npz:PATH or folder:PATH.")
    found = read_samples(source_name)
    if len(np.unique(found.labels)) < 2:
        raise DataError(f"All samples of {source_name!r} are of one class; there must be two or more to tell apart.")
    order = torch.randperm(len(found), generator=torch_generator(seed, "split")).numpy()
    tested = read_test_samples(source_name) if test else None
    held_out = np.arange(0)
    if tested is not None:
        held_out = np.arange(len(tested))
    elif test:
        tested, (held_out, order) = found, without_test_part(order, found.labels)
    count = len(order) if samples is None else samples
    held_back = round(count * validation)
    if not 0 < count <= len(order) or held_back < 1 or count - held_back < 2:
        raise TooFewError(
            f"{source_name!r} has {len(order)} samples, of which {count} are asked for, {held_back} of them for "
            "validation; at least two must be left to train on and one to validate with."
        )
    chosen, _ = _divided(order, found.labels, count)
    val, train = _divided(chosen, found.labels, held_back)
    images_train, images_val = found.images(train), found.images(val)
    normalizer = Normalizer.of(images_train)
    x_train, y_train = found.tensors(train, images_train, normalizer)
    x_val, y_val = found.tensors(val, images_val, normalizer)
    parts, numbers = f"{len(train)}+{len(val)}", [images_train, y_train.numpy(), images_val, y_val.numpy()]
    x_test = y_test = None
    if tested is not None:
        images_test = tested.images(held_out)
        _check_alike(source_name, found, images_train, tested, images_test)
        x_test, y_test = tested.tensors(held_out, images_test, normalizer)
        parts, numbers = f"{parts}+{len(held_out)}", [*numbers, images_test, y_test.numpy()]
    fingerprint = f"{found.title}:{parts}:{digest(*numbers)}"
    mean, deviation = (tuple(map(float, part.ravel())) for part in (normalizer.mean, normalizer.deviation))
    return Dataset(
        x_train,
        y_train,
        x_val,
        y_val,
        found.classes,
        fingerprint,
        found.ignored,
        x_test,
        y_test,
        mean,
        deviation,
        found.class_names,
    )


def without_test_part(order: Array, labels: Array) -> tuple[Array, Array]:
    """The numbers that are held out, and the others in the order they came in."""
    fixed = torch.randperm(len(order), generator=torch_generator(0, "test")).numpy()
    held_out, _ = _divided(fixed, labels, round(len(order) * TEST_SHARE))
    if not len(held_out):
        raise TooFewError(f"There are {len(order)} samples, too few to hold out a fifth for a final test.")
    return held_out, order[~np.isin(order, held_out)]


def _check_alike(name: str, found: Samples, images: Array, tested: Samples, images_test: Array) -> None:
    if images_test.shape[1:] != images.shape[1:]:
        raise DataError(
            f"Images of {name!r} to learn from are of {images.shape[1:]}, those to test with of "
            f"{images_test.shape[1:]} (channels, height, width). Bring them to one size."
        )
    if tested.classes > found.classes:
        raise DataError(
            f"The test part of {name!r} has the label {tested.classes - 1}; labels to learn from end at "
            f"{found.classes - 1}."
        )


def _divided(numbers: Array, labels: Array, count: int) -> tuple[Array, Array]:
    """`count` of the numbers and the rest, each class as much as any other, both in the order they came in."""
    by_class = np.argsort(labels[numbers], kind="stable")
    steps = np.arange(len(numbers) + 1) * count // len(numbers)
    picked = np.zeros(len(numbers), dtype=bool)
    picked[by_class[np.diff(steps) == 1]] = True  # evenly spaced, which is in proportion to the length of each class
    return numbers[picked], numbers[~picked]
