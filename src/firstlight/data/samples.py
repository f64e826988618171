"""Labeled images of a source, and how they are normalized for networks."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from firstlight.core.errors import DataError
from firstlight.core.seeds import torch_generator

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Samples:
    """All images of a source.

    Attributes:
        name: The source as the user wrote it.
        title: A short name that does not depend on where the data is stored.
        labels: The labels, of shape (samples,).
        images: Function that reads the images with the given numbers, so that other files need not be opened.
        ignored: Number of files that are not images.
        representative: Number of images from which mean and deviation of the channels are estimated.
        class_names: Names of the classes, if the source has names.
    """

    name: str
    title: str
    labels: Array
    images: Callable[[Array], Array]
    ignored: int = 0
    representative: int = 10_000
    class_names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def classes(self) -> int:
        return int(self.labels.max()) + 1

    @functools.cached_property
    def normalizer(self) -> Normalizer:
        """Normalizes by mean and deviation of images from all over the set, fewer than twice `representative`."""
        return Normalizer.of(self.images(np.arange(0, len(self), max(1, len(self) // self.representative))))

    @property
    def skeleton(self) -> dict[str, Any]:
        """Nothing besides the shape and the classes."""
        return {}

    def draw(self, count: int, *, seed: int) -> tuple[Tensor, Tensor]:
        """Return `count` random images, normalized, and their labels."""
        picked = torch.randperm(len(self), generator=torch_generator(seed, "choice of samples"))[:count].numpy()
        x, y = self.tensors(picked, self.images(picked), self.normalizer)
        return x.contiguous(), y  # a measurement may write into its inputs

    def tensors(self, numbers: Array, images: Array, normalizer: Normalizer) -> tuple[Tensor, Tensor]:
        """Return images that were read under these numbers, normalized, and their labels."""
        x = normalizer(images)
        if not bool(x.isfinite().all()):
            raise DataError(f"{self.name!r} holds values that are NaN or infinite. Clean the data first.")
        return x, torch.from_numpy(self.labels[numbers].astype(np.int64))


@dataclass(frozen=True)
class Normalizer:
    """Normalizes images to mean 0 and deviation 1 in each channel. Gray images get three equal channels."""

    mean: Array
    deviation: Array

    @classmethod
    def of(cls, images: Array) -> Normalizer:
        values = images.astype(np.float32)
        return cls(values.mean((0, 2, 3), keepdims=True), np.maximum(values.std((0, 2, 3), keepdims=True), 1e-6))

    def __call__(self, images: Array) -> Tensor:
        x = torch.from_numpy((images.astype(np.float32) - self.mean) / self.deviation)
        return x.expand(-1, 3, -1, -1) if x.shape[1] == 1 else x


def digest(*arrays: Array) -> str:
    """Return a short hash of the values, types and shapes."""
    found = hashlib.blake2b(digest_size=8)
    for array in arrays:
        found.update(f"{array.dtype}{array.shape}".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()
