"""Data sets for training, split into parts for training, validation and a final test."""

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
    """Images and labels for training and validation, and for a final test if it was asked for.

    Attributes:
        x_train: Training images, normalized, of shape (samples, channels, height, width).
        y_train: Their labels, of shape (samples,).
        x_val: Validation images.
        y_val: Their labels.
        classes: Number of classes.
        fingerprint: A text that changes with any value.
        ignored: Number of files in a folder that are not images.
        x_test: Test images. Use them once, after all decisions are made.
        y_test: Their labels.
        mean: Mean of each channel before normalization.
        deviation: Standard deviation of each channel before normalization.
        class_names: Names of the classes, if the source has names.
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
        """How to prepare an image for a network: mean and deviation of each channel, and the names of the classes."""
        names = {"class_names": list(self.class_names)} if self.class_names else {}
        return {"mean": list(self.mean), "deviation": list(self.deviation), **names}

    @property
    def input_shape(self) -> tuple[int, ...]:
        return tuple(self.x_train.shape[1:])


# The share that is held out of data without a test set of its own
TEST_SHARE = 0.2


def load_dataset(
    source_name: str, *, seed: int = 0, samples: int | None = None, validation: float = 0.25, test: bool = False
) -> Dataset:
    """Load a data set and split it.

    The classes have the same proportions in all parts. Each channel is normalized by the mean and deviation of the
    training set.

    Args:
        source_name: Name of a source of images, such as "digits" or "npz:PATH".
        seed: Seed of the split into training and validation.
        samples: Number of samples to use; all if None.
        validation: Share of the samples for validation, between 0 and 1.
        test: Whether to load a test set too. It is `x_test` of an `.npz` file, or the folder `test` beside a folder
            `train`; without these, a fifth of the source, which does not depend on the seed, so that networks trained
            with different seeds can be compared.

    Returns:
        The data set.

    Raises:
        SettingError: If `validation` is not between 0 and 1.
        DataError: If the source cannot be read or has a single class.
        TooFewError: If there are too few samples.

    Example:
        >>> data = load_dataset("digits@8", samples=200)
        >>> tuple(data.x_train.shape), len(data.x_val), data.classes
        ((150, 3, 8, 8), 50, 10)
    """
    if not 0 < validation < 1:
        raise SettingError(f"validation is {validation!r}; it must be a share between 0 and 1, such as 0.25.")
    if source_name == SYNTHETIC:
        raise DataError("Nothing can be learned from noise. Name data to train on: digits, npz:PATH or folder:PATH.")
    found = read_samples(source_name)
    if len(np.unique(found.labels)) < 2:
        raise DataError(f"All samples of {source_name!r} belong to one class; training needs at least two.")
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
            f"{source_name!r} has {len(order)} samples. {count} were requested, {held_back} of them for validation; "
            "at least two are needed for training and one for validation."
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
    """Split sample numbers into those held out for a final test and the others, which keep their order."""
    fixed = torch.randperm(len(order), generator=torch_generator(0, "test")).numpy()
    held_out, _ = _divided(fixed, labels, round(len(order) * TEST_SHARE))
    if not len(held_out):
        raise TooFewError(f"{len(order)} samples are too few to hold out a fifth for a final test.")
    return held_out, order[~np.isin(order, held_out)]


def _check_alike(name: str, found: Samples, images: Array, tested: Samples, images_test: Array) -> None:
    if images_test.shape[1:] != images.shape[1:]:
        raise DataError(
            f"Training images of {name!r} have the shape {images.shape[1:]}, test images {images_test.shape[1:]} "
            "(channels, height, width). Resize them to the same size."
        )
    if tested.classes > found.classes:
        raise DataError(
            f"The test set of {name!r} has the label {tested.classes - 1}, but the largest label of the training set "
            f"is {found.classes - 1}. Every class needs training samples."
        )


def _divided(numbers: Array, labels: Array, count: int) -> tuple[Array, Array]:
    """Split off `count` of the numbers, in proportion from each class. Both parts keep their order."""
    by_class = np.argsort(labels[numbers], kind="stable")
    steps = np.arange(len(numbers) + 1) * count // len(numbers)
    picked = np.zeros(len(numbers), dtype=bool)
    picked[by_class[np.diff(steps) == 1]] = True  # evenly spaced, hence in proportion to the size of each class
    return numbers[picked], numbers[~picked]
