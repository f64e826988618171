"""Baselines: the textbook network of each plain family, scaled to what is allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from firstlight.spaces.plain.perceptron import AVERAGES, Perceptron
from firstlight.spaces.plain.perceptron import widened as widened_perceptron
from firstlight.spaces.plain.scaling import widest
from firstlight.spaces.plain.shape import Plain, widened

# A hidden layer of fewer units passes on too little of its inputs
FEWEST_UNITS = 16


@dataclass(frozen=True)
class Baseline:
    """A network that people build by hand.

    Attributes:
        name: Its name, such as "resnet".
        title: What reports call it.
        space: The space that it belongs to.
        architecture: The text of the network at its usual size.
    """

    name: str
    title: str
    space: str
    architecture: str


BASELINES = {
    found.name: found
    for found in (
        Baseline("resnet", "plain ResNet", "plain-resnet", "textbook"),
        Baseline("bottleneck", "plain bottleneck ResNet", "plain-bottleneck", "textbook"),
        Baseline("mobile", "plain MobileNet", "plain-mobile", "textbook"),
        Baseline("convnext", "plain ConvNeXt", "plain-convnext", "textbook"),
        Baseline("vit", "plain vision transformer", "plain-vit", "textbook"),
        Baseline("mlp", "plain multilayer perceptron", "plain-mlp", "textbook"),
        Baseline("logistic", "logistic regression", "plain-mlp", "a1"),
    )
}
"""All baselines by name."""


def scaled_within(network: Any, fits: Callable[[Any], bool]) -> Any | None:
    """Return a network of a plain space with the largest widths that fit.

    If even the narrowest does not fit, the network gets shallower first: each stage has half of its blocks, and so on
    until each has one. Before a perceptron has layers of fewer than 16 units, it averages more pixels, and then has
    fewer layers.

    Args:
        network: The network at its usual size.
        fits: Returns whether a network is allowed. A wider one must not be if a narrower one is not.

    Returns:
        The network; None if none fits.
    """
    if isinstance(network, Perceptron):
        return _perceptron_within(network, fits)
    plain = (widest(smaller, widened, fits) for smaller in _shallower(network))
    found = next((entry for entry in plain if entry is not None), None)
    return None if found is None else _filled(found, network, fits)


def _perceptron_within(usual: Perceptron, fits: Callable[[Any], bool]) -> Perceptron | None:
    """Return the first that has enough units when it is as wide as allowed, else the first that fits at all."""
    narrow = None
    for smaller in _smaller_perceptrons(usual):
        found = widest(smaller, widened_perceptron, fits)
        if found is not None and min(found.widths, default=FEWEST_UNITS) >= FEWEST_UNITS:
            return found
        narrow = narrow or found
    return narrow


def _filled(shape: Plain, usual: Plain, fits: Callable[[Plain], bool]) -> Plain:
    """Widen single stages, the last first, while they fit: widths are multiples of 4, which leaves room in small ones.

    No stage gets wider, compared with the one before, than it usually is.
    """
    place = len(shape.stages) - 1
    while place >= 0:
        stage, before = shape.stages[place], shape.stages[place - 1].width if place else shape.stem.width
        usually = usual.stages[place].width / (usual.stages[place - 1].width if place else usual.stem.width)
        wider = replace(stage, width=stage.width + shape.family.width_step(stage))
        candidate = replace(shape, stages=(*shape.stages[:place], wider, *shape.stages[place + 1 :]))
        if wider.width <= usually * before and candidate.valid and fits(candidate):
            shape = candidate
        else:
            place -= 1
    return shape


def _shallower(shape: Plain) -> Iterator[Plain]:
    yield shape
    while any(stage.depth > 1 for stage in shape.stages):
        shape = replace(shape, stages=tuple(replace(stage, depth=-(-stage.depth // 2)) for stage in shape.stages))
        yield shape


def _smaller_perceptrons(shape: Perceptron) -> Iterator[Perceptron]:
    yield shape
    averages = [average for average in AVERAGES if average > shape.average]
    for average in averages:
        yield replace(shape, average=average)
    for count in reversed(range(1, len(shape.widths))):  # a perceptron keeps one hidden layer: it is not logistic
        yield replace(shape, average=AVERAGES[-1], widths=shape.widths[:count])
