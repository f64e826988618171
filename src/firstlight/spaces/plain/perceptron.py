"""Multilayer perceptrons of any size, and logistic regression."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from torch import Tensor, nn

from firstlight.core.errors import SettingError
from firstlight.probe.cost import Cost
from firstlight.spaces.base import Architecture, Drawing, Skeleton, Space
from firstlight.spaces.ops import Linear
from firstlight.spaces.plain.scaling import closest
from firstlight.spaces.plain.shape import WIDTH_STEP, WIDTHS
from firstlight.spaces.plain.space import LARGEST, REFERENCE_WIDTH, SCALES, SMALLEST
from firstlight.spaces.reading import Reader
from firstlight.spaces.tally import Tally

AVERAGES = (1, 2, 4, 8)
MOST_LAYERS = 8
SHRINKAGES = (1.0, 1 / 1.5, 1 / 2)


@dataclass(frozen=True)
class PerceptronSkeleton(Skeleton):
    """Inputs of any shape."""

    def __post_init__(self) -> None:
        if not self.input_shape or min(self.input_shape) < 1 or self.classes < 1:
            raise SettingError(
                f"A perceptron cannot be built with {self}. It takes inputs of any shape, such as 3x32x32, and needs "
                "at least one class."
            )


@dataclass(frozen=True)
class Perceptron(Architecture):
    """The side of the squares of pixels that are averaged, and the widths of the hidden layers."""

    average: int
    widths: tuple[int, ...] = ()

    def __str__(self) -> str:
        return "/".join([f"a{self.average}", *map(str, self.widths)])


def widened(shape: Perceptron, factor: float) -> Perceptron:
    """Multiply all widths, and round them."""

    def times(width: int) -> int:
        return min(max(round(width * factor / WIDTH_STEP), 1), WIDTHS[-1] // WIDTH_STEP) * WIDTH_STEP

    return replace(shape, widths=tuple(map(times, shape.widths)))


class PerceptronNetwork(nn.Module):
    """Averages pixels, and applies linear maps with BatchNorm and ReLU between them."""

    def __init__(self, shape: Perceptron, skeleton: PerceptronSkeleton) -> None:
        super().__init__()
        size = _averaged(shape, skeleton.input_shape)
        self.average = nn.AdaptiveAvgPool2d(size[1:]) if size != skeleton.input_shape else nn.Identity()
        self.flatten = nn.Flatten()
        self.body = nn.ModuleList()
        inputs = math.prod(size)
        for width in shape.widths:
            self.body.append(nn.Sequential(Linear(inputs, width, bias=False), nn.BatchNorm1d(width), nn.ReLU()))
            inputs = width
        self.head = Linear(inputs, skeleton.classes)

    def feature_blocks(self) -> list[nn.Module]:
        """Return the hidden layers, for proxies that compare features between blocks."""
        return list(self.body) or [self.flatten]

    def forward(self, x: Tensor) -> Tensor:
        x = self.flatten(self.average(x))
        for layer in self.body:
            x = layer(x)
        logits: Tensor = self.head(x)
        return logits


def _averaged(shape: Perceptron, input_shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape after averaging. Only images are averaged."""
    if len(input_shape) != 3:
        return input_shape
    channels, *sides = input_shape
    return channels, *(-(-side // shape.average) for side in sides)


class PlainMLP(Space[Perceptron]):
    """Multilayer perceptrons. The text is `aSIDE/WIDTH/WIDTH/...`: `a2/128/64` averages squares of 2x2 pixels.

    Then come hidden layers of 128 and 64 units, each with BatchNorm and ReLU. `a1` alone is logistic regression.
    Inputs that are not images are never averaged. `textbook` has two hidden layers of 512 units.
    """

    name = "plain-mlp"
    evidence = "none: there is no table of its networks"
    summary = "multilayer perceptrons of any size for inputs of any shape: averaged pixels, widths of the hidden layers"
    reference = "Rumelhart1986backpropagation"
    proxy = "params"
    initial = "a1"
    textbook = "a1/512/512"
    skeleton_type = PerceptronSkeleton
    layer_counts: tuple[int, ...] = (0, 1, 2, 3)

    def sample(self, rng: random.Random) -> Perceptron:
        """Draw the averaging and the number of hidden layers uniformly.

        The width shrinks by a factor of 1, 1.5 or 2 from layer to layer. Then all widths are scaled to a number of
        parameters between 5,000 and 5,000,000 in the default skeleton, whose logarithm is uniform.
        """
        average, widths, width = rng.choice(AVERAGES), [], float(2 * REFERENCE_WIDTH)
        for _ in range(rng.choice(self.layer_counts)):
            widths.append(round(width))
            width *= rng.choice(SHRINKAGES)
        drawn = widened(Perceptron(average, tuple(widths)), 1.0)
        return self.scaled(drawn, round(math.exp(rng.uniform(math.log(SMALLEST), math.log(LARGEST)))))

    def scaled(self, architecture: Perceptron, params: int, skeleton: Skeleton | None = None) -> Perceptron:
        """Multiply all widths by a common factor, so that the network has about as many parameters.

        Args:
            architecture: The network whose averaging and relative widths are kept.
            params: The number of parameters wanted.
            skeleton: The fixed part of the network; the default skeleton if None.

        Returns:
            The closest network found. Logistic regression stays as it is.

        Raises:
            SettingError: If `params` is not positive.
        """
        return closest(architecture, widened, lambda shape: self.cost(shape, skeleton).params, params)

    def mutate(self, architecture: Perceptron, rng: random.Random) -> Perceptron:
        """Change the averaging or a width, or add or remove a hidden layer."""
        while True:
            child = self._changed(architecture, rng)
            if child != architecture and len(child.widths) <= MOST_LAYERS and set(child.widths) <= set(WIDTHS):
                return child

    def _changed(self, shape: Perceptron, rng: random.Random) -> Perceptron:
        change = rng.choice(("average", "width", "width", "add", "remove"))
        if change == "average":
            return replace(shape, average=rng.choice(AVERAGES))
        if change == "add":
            place = rng.randrange(len(shape.widths) + 1)
            width = shape.widths[max(place - 1, 0)] if shape.widths else REFERENCE_WIDTH
            return replace(shape, widths=(*shape.widths[:place], width, *shape.widths[place:]))
        if not shape.widths:
            return shape
        place = rng.randrange(len(shape.widths))
        if change == "remove":
            return replace(shape, widths=shape.widths[:place] + shape.widths[place + 1 :])
        width = max(round(shape.widths[place] * rng.choice(SCALES) / WIDTH_STEP), 1) * WIDTH_STEP
        return replace(shape, widths=(*shape.widths[:place], width, *shape.widths[place + 1 :]))

    def parse(self, text: str) -> Perceptron:
        reader = Reader(text)
        reader.skip("a")
        average = reader.number(AVERAGES, "the side of averaged squares, one")
        widths: list[int] = []
        while not reader.at_end:
            reader.skip("/")
            if len(widths) == MOST_LAYERS:
                reader.fail(f"at most {MOST_LAYERS} hidden layers")
            widths.append(reader.number(WIDTHS, "a width"))
        return Perceptron(average, tuple(widths))

    def canonical(self, architecture: Perceptron) -> Perceptron:
        return architecture

    def network(self, architecture: Perceptron, skeleton: PerceptronSkeleton) -> nn.Module:
        return PerceptronNetwork(architecture, skeleton)

    def cost(self, architecture: Perceptron, skeleton: Skeleton | None = None) -> Cost:
        """Return the cost in closed form."""
        known, tally = skeleton or self.skeleton(), Tally()
        inputs = math.prod(_averaged(architecture, known.input_shape))
        for width in architecture.widths:
            tally.linear(inputs, width, bias=False)
            tally.norm(width)
            inputs = width
        tally.linear(inputs, known.classes)
        return tally.cost()

    def drawing(self, architecture: Perceptron, skeleton: Skeleton | None = None) -> Drawing:
        """Draw the inputs, the hidden layers and the classifier, with the parameters of each."""
        known = skeleton or self.skeleton()
        sizes = [math.prod(_averaged(architecture, known.input_shape)), *architecture.widths]
        edges = tuple((place, place + 1, label) for place, label in enumerate(self._labels(architecture, known)))
        nodes = (f"{sizes[0]:,} values", *(f"{width:,} units" for width in sizes[1:]), f"{known.classes} classes")
        return Drawing(nodes, edges, "chain")

    def _labels(self, shape: Perceptron, skeleton: Skeleton) -> Iterator[str]:
        """Yield the label of each layer."""
        inputs = math.prod(_averaged(shape, skeleton.input_shape))
        for width in shape.widths:
            yield f"linear, {inputs * width + 2 * width:,} parameters"
            inputs = width
        yield f"classifier, {(inputs + 1) * skeleton.classes:,} parameters"
