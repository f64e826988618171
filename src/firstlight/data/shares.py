"""A share of the training data for a warm-up, and the part of a source that is kept for tests."""

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
    """Images and labels in memory; the whole has `of` of them."""

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
    """Load a share of the training images, prepared like the inputs of proxies.

    The seed shuffles all images, and the first ones are taken. A larger share contains a smaller one, and all shares
    begin with the inputs of proxies, as in the published code of SiGeo. Images for a final test are left out: those of
    a test set, or the fifth that `load_dataset` holds out.

    Args:
        source: The source that the inputs of proxies are drawn from.
        share: Share of the training images, above 0 and at most 1.
        seed: Seed of the order.

    Raises:
        DataError: If nothing can be learned from the source.
        TooFewError: If the share is empty.
    """
    found = _samples(source)
    order = torch.randperm(len(found), generator=torch_generator(seed, "choice of samples")).numpy()
    if not has_test_part(source.name):
        _, order = without_test_part(order, found.labels)
    taken = order[: round(share * len(order))]
    return _prepared(source, found, taken, found.normalizer, len(order))


def load_test_share(source: InputSource) -> Share:
    """Load all images that `load_share` leaves for a final test."""
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
            f"A warm-up trains networks, and nothing can be learned from {source.name!r} inputs. Name data as input "
            "(--input digits, npz:PATH, folder:PATH or a name in $FIRSTLIGHT_DATA), or leave out the warm-up."
        )
    if source.labels != TRUE_LABELS:
        raise DataError(
            f"A warm-up trains networks, and nothing can be learned from {source.labels} labels. Use the true "
            "labels, or leave out the warm-up."
        )
    return read_samples(source.name)


def _prepared(source: InputSource, samples: Samples, numbers: Array, normalizer: Normalizer, of: int) -> Share:
    if not len(numbers):
        raise TooFewError(
            f"{source.name!r} has {of} training images, and the requested share contains none of them. Use a larger "
            "share."
        )
    x, y = samples.tensors(numbers, samples.images(numbers), normalizer)
    if source.side is not None:
        x = reduced(x, source.side)
    x = x.contiguous()
    side = "" if source.side is None else f"@{source.side}"
    return Share(x, y, of, f"{samples.title}{side}:{len(y)}:{digest(x.numpy(), y.numpy())}")
