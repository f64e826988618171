"""Batches for proxies: noise (`synthetic`), points of a `circle`, or samples of a source of data."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from firstlight.core.errors import DataError, SettingError, TooFewError, UnknownNameError
from firstlight.core.seeds import torch_generator
from firstlight.data.samples import digest
from firstlight.data.sources import GENERATED, open_source, path_of

SYNTHETIC, CIRCLE = GENERATED
TRUE_LABELS, RANDOM_LABELS = LABELS = ("true", "random")


def check_source_name(argument: str, name: object) -> None:
    """Refuse what is no name, such as a tensor; None means that there is none."""
    if name is not None and not isinstance(name, str):
        raise SettingError(
            f"{argument} is a {type(name).__name__}; networks of a space are shown data by name: synthetic, circle, "
            "digits, npz:PATH, folder:PATH, or a name in $FIRSTLIGHT_DATA. Arrays that numpy.savez has written are "
            "npz:PATH. Tensors are for models of your own: firstlight.score(model, tensor)."
        )


@dataclass(frozen=True)
class InputSource:
    """Which samples to draw: `batches` batches of `batch_size` from the named source, picked by the run's seed.

    `labels` are those of the data, or "random": classes that have nothing to do with what is seen. Images are of the
    size that they have, or reduced to `side` x `side` pixels. `usual_batch_size` is what nobody asked for and the data
    have too few samples for.
    """

    name: str = SYNTHETIC
    batch_size: int = 1
    batches: int = 1
    labels: str = TRUE_LABELS
    side: int | None = None
    usual_batch_size: int | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        check_source_name("input", self.name)
        if self.labels not in LABELS:
            raise UnknownNameError("kind of labels", self.labels, LABELS)
        if self.batch_size < 1 or self.batches < 1:
            raise DataError(f"Batches must hold at least one sample; got {self.batches} batches of {self.batch_size}.")
        if self.side is not None and self.side < 1:
            raise DataError(f"Images cannot be reduced to {self.side}x{self.side} pixels.")

    def fitting(self, there: int | None = None) -> InputSource:
        """With batches as large as the data allow, of which so many samples are `there`, if these are too large."""
        if self.batch_size > 1 and there is None:
            there = _count_samples(self.name)
        if there is None or self.batch_size * self.batches <= there:
            return self
        usual = self.usual_batch_size or self.batch_size
        return replace(self, batch_size=max(1, min(self.batch_size, there // self.batches)), usual_batch_size=usual)

    @property
    def remark(self) -> str:
        """What must be known of batches that are smaller than usual; nothing of others."""
        if self.usual_batch_size is None:
            return ""
        return (
            f"{self.name!r} has too few samples for batches of {self.usual_batch_size}: proxies saw batches of "
            f"{self.batch_size}."
        )

    def check_count(self, there: int | None = None) -> None:
        """Refuse to draw more samples than are `there`."""
        there = _count_samples(self.name) if there is None else there
        if there is None or self.batch_size * self.batches <= there:
            return
        asked = f"1 batch of {self.batch_size} was"
        if self.batches > 1:
            asked = f"{self.batches} batches of {self.batch_size} were"
        option, most = ("batch-size", there // self.batches) if there >= self.batches else ("num-batches", there)
        raise TooFewError(
            f"{self.name!r} has {there} samples; {asked} asked for. Add --{option} {most} to the command, or in Python "
            f"{option.replace('-', '_')}={most}."
        )

    @property
    def files(self) -> list[Path]:
        """What it is read from, if anything."""
        path = path_of(self.name)
        return [] if path is None else [path]


@dataclass(frozen=True)
class Inputs:
    """Batches ready for a network, and a text that stands for exactly these numbers in the keys of scores.

    `skeleton` is what the data say besides of the networks that can be shown them.
    """

    batches: list[tuple[Tensor, Tensor | None]]
    fingerprint: str
    input_shape: tuple[int, ...]
    classes: int
    skeleton: dict[str, Any] = field(default_factory=dict)


def load_inputs(
    source: InputSource, *, seed: int = 0, input_shape: tuple[int, ...] = (3, 32, 32), classes: int = 10
) -> Inputs:
    """Draw the batches. Data sets bring their own shape and number of classes; noise takes those that are given."""
    count = source.batch_size * source.batches
    skeleton: dict[str, Any] = {}
    if source.side is not None and len(input_shape) == 3:
        input_shape = (input_shape[0], *(min(source.side, side) for side in input_shape[1:]))
    if source.name == SYNTHETIC:
        title = SYNTHETIC
        generator = torch_generator(seed, "synthetic input")
        try:  # one by one, so that the first are the same however many there are
            x = torch.stack([torch.randn(input_shape, generator=generator) for _ in range(count)])
        except RuntimeError as error:
            raise DataError(f"{count} inputs of {input_shape} do not fit into memory.") from error
        y = torch.randint(classes, (count,), generator=torch_generator(seed, "synthetic labels"))
    elif source.name == CIRCLE:
        title, x = CIRCLE, _on_circle(input_shape, count, seed)
        y = torch.randint(classes, (count,), generator=torch_generator(seed, "synthetic labels"))
    else:
        opened = open_source(source.name)
        assert opened is not None
        source.check_count(len(opened))
        x, y = opened.draw(count, seed=seed)
        title, classes, skeleton = opened.title, opened.classes, opened.skeleton
        if source.side is not None and x.dim() == 4:
            title, x = f"{title}@{source.side}", reduced(x, source.side)
    if source.labels == RANDOM_LABELS and source.name not in (SYNTHETIC, CIRCLE):  # whose labels are random anyway
        title += ":random labels"
        y = torch.randint(classes, (count,), generator=torch_generator(seed, "synthetic labels"))
    batches = [
        (x[start : start + source.batch_size], y[start : start + source.batch_size])
        for start in range(0, count, source.batch_size)
    ]
    fingerprint = f"{title}:{source.batches}x{source.batch_size}:{digest(x.numpy(), y.numpy())}"
    return Inputs([*batches], fingerprint, tuple(x.shape[1:]), classes, skeleton)


def _count_samples(name: str) -> int | None:
    """How many can be drawn from a source; None if they are made up, as many as are wanted."""
    opened = open_source(name)
    return None if opened is None else len(opened)


def reduced(x: Tensor, side: int) -> Tensor:
    """Each pixel is the mean of those in its place; sides that are small enough stay as they are."""
    height, width = (min(side, length) for length in x.shape[-2:])
    return x if (height, width) == x.shape[-2:] else F.adaptive_avg_pool2d(x, (height, width))


def _on_circle(shape: tuple[int, ...], count: int, seed: int) -> Tensor:
    """Random points of a random circle around 0, as far from it as noise is.

    So near to each other, some are not told apart by a network, and how many are is a measure of it; noise always is.
    """
    generator = torch_generator(seed, "circle")
    dimensions = math.prod(shape)
    basis = torch.linalg.qr(torch.randn(dimensions, 2, generator=generator, dtype=torch.float64)).Q
    angles = [2 * math.pi * float(torch.rand((), generator=generator)) for _ in range(count)]
    places = torch.tensor([(math.cos(angle), math.sin(angle)) for angle in angles], dtype=torch.float64)
    points: Tensor = math.sqrt(dimensions) * places @ basis.T
    return points.float().view(count, *shape)
