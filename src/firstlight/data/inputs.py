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
    """Check that the name of a source is a string or None.

    Raises:
        SettingError: If it is something else, such as a tensor.
    """
    if name is not None and not isinstance(name, str):
        raise SettingError(
            f"{argument} is a {type(name).__name__}; for networks of a space, name the data: synthetic, circle, "
            "digits, npz:PATH, folder:PATH, or a name in $FIRSTLIGHT_DATA. Save arrays with numpy.savez to use them as "
            "npz:PATH. Tensors are for your own models: firstlight.score(model, tensor)."
        )


@dataclass(frozen=True)
class InputSource:
    """Which samples to draw for proxies; the run's seed selects them.

    Args:
        name: Name of the source, such as "digits" or "npz:PATH".
        batch_size: Samples in a batch.
        batches: Number of batches.
        labels: "true" for the labels of the data, or "random" to replace them by random classes.
        side: Height and width that images are reduced to, in pixels; None leaves them as they are.
        usual_batch_size: The default batch size, if the data has too few samples for it.

    Raises:
        SettingError: If the name is not a string.
        UnknownNameError: If the kind of labels is unknown.
        DataError: If a number is below 1.
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
            raise DataError(f"Batches need at least one sample; got {self.batches} batches of {self.batch_size}.")
        if self.side is not None and self.side < 1:
            raise DataError(f"Images cannot be downscaled to {self.side}x{self.side} pixels.")

    def fitting(self, there: int | None = None) -> InputSource:
        """Return the same source with smaller batches if the data has too few samples; it has `there`, if known."""
        if self.batch_size > 1 and there is None:
            there = _count_samples(self.name)
        if there is None or self.batch_size * self.batches <= there:
            return self
        usual = self.usual_batch_size or self.batch_size
        return replace(self, batch_size=max(1, min(self.batch_size, there // self.batches)), usual_batch_size=usual)

    @property
    def remark(self) -> str:
        """A note for users if the batches are smaller than usual; empty otherwise."""
        if self.usual_batch_size is None:
            return ""
        return (
            f"{self.name!r} has too few samples for batches of {self.usual_batch_size}, so proxies used batches of "
            f"{self.batch_size}."
        )

    def check_count(self, there: int | None = None) -> None:
        """Raise `TooFewError` if more samples are requested than are `there`."""
        there = _count_samples(self.name) if there is None else there
        if there is None or self.batch_size * self.batches <= there:
            return
        asked = f"1 batch of {self.batch_size} was"
        if self.batches > 1:
            asked = f"{self.batches} batches of {self.batch_size} were"
        option, most = ("batch-size", there // self.batches) if there >= self.batches else ("num-batches", there)
        raise TooFewError(
            f"{self.name!r} has {there} samples; {asked} requested. Use --{option} {most}, or in Python "
            f"{option.replace('-', '_')}={most}."
        )

    @property
    def files(self) -> list[Path]:
        """The file or folder that the samples are read from, if there is one."""
        path = path_of(self.name)
        return [] if path is None else [path]


@dataclass(frozen=True)
class Inputs:
    """Batches ready for a network.

    Attributes:
        batches: Pairs of inputs, of shape (samples, *input_shape), and labels, of shape (samples,).
        fingerprint: A text that changes with any value; part of the store's keys.
        input_shape: Shape of one input.
        classes: Number of classes.
        skeleton: Further settings of the skeleton that follow from the data.
    """

    batches: list[tuple[Tensor, Tensor | None]]
    fingerprint: str
    input_shape: tuple[int, ...]
    classes: int
    skeleton: dict[str, Any] = field(default_factory=dict)


def load_inputs(
    source: InputSource, *, seed: int = 0, input_shape: tuple[int, ...] = (3, 32, 32), classes: int = 10
) -> Inputs:
    """Draw batches from a source.

    Args:
        source: Which samples to draw.
        seed: Seed that selects or generates them.
        input_shape: Shape of generated inputs; data has its own.
        classes: Number of classes of generated labels; data has its own.

    Returns:
        The batches and their fingerprint.

    Raises:
        DataError: If the source cannot be read.
        TooFewError: If it has too few samples.

    Example:
        >>> inputs = load_inputs(InputSource("digits", batch_size=4))
        >>> tuple(inputs.batches[0][0].shape), inputs.classes
        ((4, 3, 32, 32), 10)
    """
    count = source.batch_size * source.batches
    skeleton: dict[str, Any] = {}
    if source.side is not None and len(input_shape) == 3:
        input_shape = (input_shape[0], *(min(source.side, side) for side in input_shape[1:]))
    if source.name == SYNTHETIC:
        title = SYNTHETIC
        generator = torch_generator(seed, "synthetic input")
        try:  # one by one, so that a larger count only adds inputs
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
    if source.labels == RANDOM_LABELS and source.name not in (SYNTHETIC, CIRCLE):  # generated labels are random anyway
        title += ":random labels"
        y = torch.randint(classes, (count,), generator=torch_generator(seed, "synthetic labels"))
    batches = [
        (x[start : start + source.batch_size], y[start : start + source.batch_size])
        for start in range(0, count, source.batch_size)
    ]
    fingerprint = f"{title}:{source.batches}x{source.batch_size}:{digest(x.numpy(), y.numpy())}"
    return Inputs([*batches], fingerprint, tuple(x.shape[1:]), classes, skeleton)


def _count_samples(name: str) -> int | None:
    """Return how many samples a source has; None for generated inputs."""
    opened = open_source(name)
    return None if opened is None else len(opened)


def reduced(x: Tensor, side: int) -> Tensor:
    """Reduce images to `side` pixels by averaging. Sides that are small enough do not change."""
    height, width = (min(side, length) for length in x.shape[-2:])
    return x if (height, width) == x.shape[-2:] else F.adaptive_avg_pool2d(x, (height, width))


def _on_circle(shape: tuple[int, ...], count: int, seed: int) -> Tensor:
    """Return random points on a random circle around 0, at the distance that noise has.

    The points are so close that a network does not separate all of them; how many it separates is a measure of its
    expressivity. It would separate all samples of noise.
    """
    generator = torch_generator(seed, "circle")
    dimensions = math.prod(shape)
    basis = torch.linalg.qr(torch.randn(dimensions, 2, generator=generator, dtype=torch.float64)).Q
    angles = [2 * math.pi * float(torch.rand((), generator=generator)) for _ in range(count)]
    places = torch.tensor([(math.cos(angle), math.sin(angle)) for angle in angles], dtype=torch.float64)
    points: Tensor = math.sqrt(dimensions) * places @ basis.T
    return points.float().view(count, *shape)
