"""Networks of PlainNet structures, and their cost: exactly, and as the papers count it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn

from firstlight.core.errors import SettingError
from firstlight.probe.cost import Cost
from firstlight.spaces.base import Skeleton
from firstlight.spaces.ops import Conv2d, Linear
from firstlight.spaces.plainnet.grammar import IMAGE_CHANNELS, KINDS, Block, Structure

BATCH_NORM_EPS = 1e-3


@dataclass(frozen=True)
class PlainNetSkeleton(Skeleton):
    """`residual` 0 leaves out the shortcuts; `squeeze_excitation` 1 adds a gate to every residual unit."""

    residual: int = 1
    squeeze_excitation: int = 0

    def __post_init__(self) -> None:
        image = len(self.input_shape) == 3 and self.input_shape[0] == IMAGE_CHANNELS and min(self.input_shape) > 0
        if not image or self.classes < 1 or not {self.residual, self.squeeze_excitation} <= {0, 1}:
            raise SettingError(
                f"A PlainNet network cannot be built with {self}. It takes images of {IMAGE_CHANNELS} channels, such "
                "as 3x224x224, and needs at least one class, and 0 or 1 for residual and squeeze_excitation."
            )


@dataclass(frozen=True)
class ImageNetSkeleton(PlainNetSkeleton):
    """The same with the input shape and classes of ImageNet."""

    input_shape: tuple[int, ...] = (3, 224, 224)
    classes: int = 1000


@dataclass(frozen=True)
class Convolution:
    """A convolution without bias, with "same" padding."""

    inputs: int
    outputs: int
    kernel: int
    stride: int = 1
    depthwise: bool = False

    @property
    def groups(self) -> int:
        return self.inputs if self.depthwise else 1

    @property
    def weights(self) -> int:
        return self.inputs // self.groups * self.outputs * self.kernel**2


@dataclass(frozen=True)
class Unit:
    """Convolutions with BatchNorm and ReLUs between them, a shortcut, and a final ReLU.

    `gated` is the index of the convolution after whose ReLU squeeze-and-excitation follows, if there is any.
    """

    convolutions: tuple[Convolution, ...]
    shortcut: Literal["none", "identity", "projection"] = "none"
    gated: int | None = None

    @property
    def projection(self) -> Convolution | None:
        """The 1x1 convolution of the shortcut. Unlike the others it has a bias."""
        if self.shortcut != "projection":
            return None
        stride = max(convolution.stride for convolution in self.convolutions)
        return Convolution(self.convolutions[0].inputs, self.convolutions[-1].outputs, 1, stride)


def units_of(structure: Structure, skeleton: PlainNetSkeleton) -> list[Unit]:
    return [unit for block in structure.blocks for unit in _units(block, skeleton)]


def _units(block: Block, skeleton: PlainNetSkeleton) -> Iterator[Unit]:
    inputs, stride = block.inputs, block.stride
    for sublayer in range(block.sublayers):
        for position, path in enumerate(_paths(block, inputs, stride)):
            if not block.is_residual:
                yield Unit(path)
                continue
            changes = inputs != path[-1].outputs or stride > 1
            first = sublayer == position == 0
            shortcut: Literal["none", "identity", "projection"] = "projection" if first or changes else "identity"
            gated = next(number for number, convolution in enumerate(path) if convolution.kernel > 1)
            yield Unit(path, shortcut if skeleton.residual else "none", gated if skeleton.squeeze_excitation else None)
            inputs, stride = path[-1].outputs, 1
        inputs, stride = block.outputs, 1


def _paths(block: Block, inputs: int, stride: int) -> list[tuple[Convolution, ...]]:
    """Return the convolutions of each unit of a sub-layer. Bottlenecks and inverted units come in pairs."""
    kind, middle, outputs = KINDS[block.kind], block.bottleneck, block.outputs
    if kind.family == "convolution":
        return [(Convolution(inputs, outputs, kind.kernel, stride),)]
    if kind.family == "basic":
        return [(Convolution(inputs, middle, kind.kernel, stride), Convolution(middle, outputs, kind.kernel))]
    if kind.family == "bottleneck":
        return [
            (
                Convolution(start, middle, 1),
                Convolution(middle, middle, kind.kernel, step),
                Convolution(middle, outputs, 1),
            )
            for start, step in ((inputs, stride), (outputs, 1))
        ]
    return [
        (
            Convolution(start, kind.expansion * end, 1),
            Convolution(kind.expansion * end, kind.expansion * end, kind.kernel, step, depthwise=True),
            Convolution(kind.expansion * end, end, 1),
        )
        for start, end, step in ((inputs, middle, stride), (middle, outputs, 1))
    ]


class SqueezeExcitation(nn.Module):
    """Each channel is multiplied by a number from 0 to 1 that depends on the means of all channels."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        squeezed = squeezed_width(channels)
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            Conv2d(channels, squeezed, 1, bias=False),
            nn.BatchNorm2d(squeezed, BATCH_NORM_EPS),
            nn.ReLU(),
            Conv2d(squeezed, channels, 1, bias=False),
            nn.BatchNorm2d(channels, BATCH_NORM_EPS),
            nn.Sigmoid(),
        )

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = x * self.gate(x)
        return out


def squeezed_width(channels: int) -> int:
    return max(1, round(channels / 4))


class UnitLayers(nn.Module):
    """The layers of one unit."""

    def __init__(self, unit: Unit) -> None:
        super().__init__()
        path: list[nn.Module] = []
        for number, convolution in enumerate(unit.convolutions):
            if number:
                path.append(nn.ReLU())
            if number and number - 1 == unit.gated:
                path.append(SqueezeExcitation(convolution.inputs))
            path += _normalized(convolution)
        self.path = nn.Sequential(*path)
        self.shortcut: nn.Module | None = nn.Identity() if unit.shortcut == "identity" else None
        if unit.projection:
            self.shortcut = nn.Sequential(*_normalized(unit.projection, bias=True))
        self.relu = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        out = self.path(x)
        if self.shortcut is not None:
            out = out + self.shortcut(x)
        activated: Tensor = self.relu(out)
        return activated


def _normalized(convolution: Convolution, bias: bool = False) -> list[nn.Module]:
    layer = Conv2d(
        convolution.inputs,
        convolution.outputs,
        convolution.kernel,
        convolution.stride,
        padding=convolution.kernel // 2,
        groups=convolution.groups,
        bias=bias,
    )
    return [layer, nn.BatchNorm2d(convolution.outputs, BATCH_NORM_EPS)]


class PlainNetwork(nn.Module):
    """A sequence of units, global pooling and a classifier."""

    def __init__(self, structure: Structure, skeleton: PlainNetSkeleton) -> None:
        super().__init__()
        self.body = nn.Sequential(*map(UnitLayers, units_of(structure, skeleton)))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = Linear(structure.blocks[-1].outputs, skeleton.classes)

    def feature_blocks(self) -> list[nn.Module]:
        """Return all units, for proxies that compare features between blocks."""
        return list(self.body)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.classifier(self.pool(self.body(x)).flatten(1))
        return logits


def exact_cost(structure: Structure, skeleton: PlainNetSkeleton) -> Cost:
    height, width = skeleton.input_shape[1:]
    features = structure.blocks[-1].outputs
    params, macs = (features + 1) * skeleton.classes, features * skeleton.classes
    for unit in units_of(structure, skeleton):
        for number, convolution in enumerate(unit.convolutions):
            height, width = -(-height // convolution.stride), -(-width // convolution.stride)
            params += convolution.weights + 2 * convolution.outputs
            macs += convolution.weights * height * width
            if number == unit.gated:
                squeezed = squeezed_width(convolution.outputs)
                gate = 2 * convolution.outputs * squeezed
                params += gate + 2 * (convolution.outputs + squeezed)
                macs += gate
        if unit.projection:
            params += unit.projection.weights + 3 * unit.projection.outputs
            macs += unit.projection.weights * height * width
    return Cost(params, macs)


@dataclass(frozen=True)
class PublishedCost:
    """Parameters and FLOPs as the PlainNet papers count them, for comparison with their budgets."""

    params: int
    flops: float


def published_cost(structure: Structure, skeleton: PlainNetSkeleton) -> PublishedCost:
    """Return the cost as the papers count it.

    FLOPs are MACs. BatchNorm costs one FLOP per value and has one parameter per channel. Halved sizes are rounded down,
    while convolutions round up. A shortcut is counted at its output size divided by its stride once more. The biases of
    the classifier count as one parameter.
    """
    height, width = skeleton.input_shape[1:]
    features = structure.blocks[-1].outputs
    params, flops = features * skeleton.classes + 1, float(features * skeleton.classes)
    for unit in units_of(structure, skeleton):
        for number, convolution in enumerate(unit.convolutions):
            channels, stride = convolution.outputs, convolution.stride
            flops += convolution.weights * height * width // stride**2
            height, width = height // stride, width // stride
            flops += channels * height * width
            params += convolution.weights + channels
            if number == unit.gated:
                squeezed = squeezed_width(channels)
                flops += 2 * channels * squeezed + channels + channels * height * width
                params += 2 * channels * squeezed + 2 * squeezed + 2 * channels
        if unit.projection:
            positions = height * width / unit.projection.stride**2
            flops += (unit.projection.weights + unit.projection.outputs) * positions
            params += unit.projection.weights + unit.projection.outputs
    return PublishedCost(params, flops)
