"""A share of the training data, for networks to be warmed up on; and the part of a source that is left for tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from firstlight.core.errors import DataError, TooFewError
from firstlight.core.seeds import torch_generator
from firstlight.data.datasets import without_test_part
from firstlight.data.images import has_test_part, read_samples, read_test_samples
from firstlight.data.inputs import CIRCLE, SYNTHETIC, TRUE_LABELS, InputSource, reduced
from firstlight.data.samples import Array, Normalizer, Samples, digest
from firstlight.data.sources import data_kind


@runtime_checkable
class DataShare(Protocol):
    """A share of the training data of any kind. Its length is the number of samples; the whole has `of` samples."""

    @property
    def of(self) -> int: ...

    @property
    def fingerprint(self) -> str:
        """A text that changes with the data."""

    def __len__(self) -> int: ...

    def batches(self, size: int, *, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the samples in random order, in batches of exactly `size`; a smaller rest is left out."""


def open_share(source: InputSource, share: float, *, seed: int = 0) -> DataShare:
    """Open a share of the training data, whatever its kind.

    Args:
        source: The source that the inputs of proxies are drawn from.
        share: Share of the training data, above 0 and at most 1.
        seed: Seed that selects the samples.

    Returns:
        The share, which may be read from a file batch by batch.

    Raises:
        DataError: If nothing can be learned from the source.
    """
    kind = data_kind(source.name)
    if kind is None:
        return load_share(source, share, seed=seed)
    found: DataShare = import_module(kind.shares).load_share(source, share, seed=seed)
    return found


@dataclass(frozen=True)
class Share:
    """Images and labels, how many there are `of` that kind, and a text that stands for exactly these numbers."""

    x: Tensor
    y: Tensor
    of: int
    fingerprint: str

    def __len__(self) -> int:
        return len(self.y)

    def batches(self, size: int, *, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the images in random order, in batches of exactly `size`; a smaller rest is left out."""
        order = torch.randperm(len(self), generator=torch.Generator().manual_seed(seed))
        for chosen in order[: len(self) // size * size].split(size):
            yield self.x[chosen], self.y[chosen]


def load_share(source: InputSource, share: float, *, seed: int = 0) -> Share:
    """So much of what may be learned from, prepared as the images that proxies are shown.

    The seed puts all images in an order, and the first are taken: those of a small share are in every larger one, and
    the ones that proxies are shown are the first of all, as in the published code of SiGeo. What is kept for final
    tests is left out: `x_test` of an `.npz` file and the folder `test` are not read, and of data without such a part
    the fifth that `load_dataset` holds out is passed over.
    """
    found = _samples(source)
    order = torch.randperm(len(found), generator=torch_generator(seed, "choice of samples")).numpy()
    if not has_test_part(source.name):
        _, order = without_test_part(order, found.labels)
    taken = order[: round(share * len(order))]
    return _prepared(source, found, taken, found.normalizer, len(order))


def load_test_share(source: InputSource) -> Share:
    """All that `load_share` leaves for final tests."""
    found = _samples(source)
    tested, numbers = read_test_samples(source.name), np.arange(0)
    if tested is None:
        tested, (numbers, _) = found, without_test_part(np.arange(len(found)), found.labels)
    else:
        numbers = np.arange(len(tested))
    return _prepared(source, tested, numbers, found.normalizer, len(numbers))


def _samples(source: InputSource) -> Samples:
    if source.name in (SYNTHETIC, CIRCLE):
        raise DataError(
            f"There is nothing to learn from {source.name!r} inputs, and a warm-up is a training. Name data by input "
            "(--input digits, npz:PATH, folder:PATH or a name in $FIRSTLIGHT_DATA), or leave the warm-up out."
        )
    if source.labels != TRUE_LABELS:
        raise DataError(
            f"The labels are {source.labels!r}, and a warm-up is a training: there is nothing to learn from such. "
            "Leave the labels or the warm-up out."
        )
    return read_samples(source.name)


def _prepared(source: InputSource, samples: Samples, numbers: Array, normalizer: Normalizer, of: int) -> Share:
    if not len(numbers):
        raise TooFewError(f"{source.name!r} has {of} images to learn from, and the share asked for holds none of them.")
    x, y = samples.tensors(numbers, samples.images(numbers), normalizer)
    if source.side is not None:
        x = reduced(x, source.side)
    x = x.contiguous()
    side = "" if source.side is None else f"@{source.side}"
    return Share(x, y, of, f"{samples.title}{side}:{len(y)}:{digest(x.numpy(), y.numpy())}")
