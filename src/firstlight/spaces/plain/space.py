"""Plain spaces: networks of stages of one kind of block, as most people build them by hand."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import replace

from torch import nn

from firstlight.probe.cost import Cost
from firstlight.spaces.base import Drawing, Skeleton, Space
from firstlight.spaces.plain.network import PlainNetwork, PlainSkeleton, parts_of
from firstlight.spaces.plain.scaling import closest
from firstlight.spaces.plain.shape import WIDTH_STEP, Family, Plain, Stage, Stem, joined, read_shape, widened

# Sizes of random networks, in parameters
SMALLEST, LARGEST = 5_000, 5_000_000
# What a stage multiplies the width of the one before by, and what a mutation multiplies a width by
GROWTHS = (1.0, 1.5, 2.0)
SCALES = (1 / 2, 1 / 1.5, 1 / 1.25, 1.25, 1.5, 2)
# The width of the stem of a random network before all widths are scaled to its size
REFERENCE_WIDTH = 64


class PlainSpace(Space[Plain]):
    """Networks of stages of one kind of block."""

    skeleton_type = PlainSkeleton
    channels_last = True
    evidence = "none yet: the table of the plain benchmark has too few networks"
    family: Family
    stage_counts: tuple[int, ...] = (2, 3, 4)
    depths: tuple[int, ...] = (1, 2, 3, 4)

    def sample(self, rng: random.Random) -> Plain:
        """Draw every choice uniformly, but for widths.

        The width grows by a factor of 1, 1.5 or 2 from stage to stage. Then all widths are scaled to a number of
        parameters between 5,000 and 5,000,000 in the default skeleton, whose logarithm is uniform.
        """
        return self.scaled(self._drawn(rng), round(math.exp(rng.uniform(math.log(SMALLEST), math.log(LARGEST)))))

    def scaled(self, architecture: Plain, params: int, skeleton: Skeleton | None = None) -> Plain:
        """Multiply all widths by a common factor, so that the network has about as many parameters.

        Args:
            architecture: The network whose depths, kernels, strides and relative widths are kept.
            params: The number of parameters wanted.
            skeleton: The fixed part of the network; the default skeleton if None.

        Returns:
            The closest network found. Widths are rounded, so that it may be larger or smaller.

        Raises:
            SettingError: If `params` is not positive.

        Example:
            >>> import firstlight
            >>> space = firstlight.space("plain-resnet")
            >>> str(space.scaled(space.read("textbook"), 100_000))
            '8k3s1/3x8k3s1/3x20k3s2/3x40k3s2'
        """
        return closest(architecture, widened, lambda shape: self.cost(shape, skeleton).params, params)

    def _drawn(self, rng: random.Random) -> Plain:
        stem = Stem(REFERENCE_WIDTH, rng.choice(self.family.stems), self._stem_stride(rng))
        stages: list[Stage] = []
        width = float(REFERENCE_WIDTH)
        for _ in range(rng.choice(self.stage_counts)):
            width *= rng.choice(GROWTHS)
            stages.append(self._stage(round(width), rng))
        return Plain(self.family, stem, tuple(stages), round(4 * width) if self.family.has_head else 0)

    def _stem_stride(self, rng: random.Random) -> int:
        return rng.choice((1, 2)) if self.family.stem == "k" else 1

    def _stage(self, width: int, rng: random.Random) -> Stage:
        expansion = rng.choice(self.family.expansions) if self.family.expansions else 1
        gated = self.family.can_gate and rng.random() < 0.5
        size = rng.choice(self.family.sizes)
        return Stage(rng.choice(self.depths), width, size, rng.choice((1, 2)), expansion, gated)

    def mutate(self, architecture: Plain, rng: random.Random) -> Plain:
        """Change one number of the stem, of a stage or of the head, or add or remove a stage."""
        canonical = self.canonical(architecture)
        while True:
            child = self._changed(architecture, rng)
            if child.valid and self.canonical(child) != canonical:
                return child

    def _changed(self, shape: Plain, rng: random.Random) -> Plain:
        """Change one part at random. The result may be the same, or not valid."""
        places = len(shape.stages)
        place = rng.randrange(places + 1 + self.family.has_head)
        if place == places:
            return replace(shape, stem=self._changed_stem(shape.stem, rng))
        if place > places:
            return replace(shape, head=_rescaled(shape.head, WIDTH_STEP, rng))
        stage = shape.stages[place]
        change = rng.choice(("number", "number", "number", "number", "add", "remove"))
        if change == "number":
            stages = [self._changed_stage(stage, rng)]
        elif change == "add":
            stages = [stage, replace(self._stage(stage.width, rng), depth=1)]
        else:
            stages = []
        return replace(shape, stages=(*shape.stages[:place], *stages, *shape.stages[place + 1 :]))

    def _changed_stem(self, stem: Stem, rng: random.Random) -> Stem:
        change = rng.choice(("width", "size", "stride"))
        if change == "width":
            return replace(stem, width=_rescaled(stem.width, WIDTH_STEP, rng))
        if change == "size":
            return replace(stem, size=rng.choice(self.family.stems))
        return replace(stem, stride=self._stem_stride(rng))

    def _changed_stage(self, stage: Stage, rng: random.Random) -> Stage:
        change = rng.choice(("depth", "width", "size", "stride", "expansion", "gated"))
        if change == "depth":
            return replace(stage, depth=stage.depth + rng.choice((-1, 1)))
        if change == "width":
            return replace(stage, width=_rescaled(stage.width, self.family.width_step(stage), rng))
        drawn = self._stage(stage.width, rng)
        return replace(stage, **{change: getattr(drawn, change)})

    def parse(self, text: str) -> Plain:
        return read_shape(text, self.family)

    def canonical(self, architecture: Plain) -> Plain:
        """Join stages whose blocks are alike, with no stride between them."""
        return joined(architecture)

    def operations(self, architecture: Plain) -> set[str]:
        """Return its kernels or numbers of heads, expansions and gates, and the widths and depths that it reaches."""
        size, stages = "kernel" if self.family.letter == "k" else "number of heads", architecture.stages
        widest, blocks = max(stage.width for stage in stages), architecture.blocks
        found = {f"{size} {stage.size}" for stage in stages}
        found |= {f"expansion {stage.expansion}" for stage in stages if self.family.expansions}
        found |= {"squeeze-and-excitation" for stage in stages if stage.gated}
        found |= {f"width of {width} or more" for width in (64, 128, 256, 512) if widest >= width}
        return found | {f"depth of {depth} blocks or more" for depth in (4, 8, 12) if blocks >= depth}

    def network(self, architecture: Plain, skeleton: PlainSkeleton) -> nn.Module:
        return PlainNetwork(architecture, skeleton)

    def cost(self, architecture: Plain, skeleton: Skeleton | None = None) -> Cost:
        """Return the cost in closed form."""
        costs = [part.cost for part in parts_of(architecture, self._known(skeleton))]
        return Cost(sum(cost.params for cost in costs), sum(cost.macs for cost in costs))

    def _known(self, skeleton: Skeleton | None) -> PlainSkeleton:
        known = skeleton or self.skeleton()
        assert isinstance(known, PlainSkeleton)
        return known

    def drawing(self, architecture: Plain, skeleton: Skeleton | None = None) -> Drawing:
        """Draw the stem, the stages and the classifier, with channels, resolution and parameters of each.

        `/2` marks a stride.
        """
        known = self._known(skeleton)
        parts = parts_of(architecture, known)
        shapes = [known.input_shape, *((part.channels, *part.size) for part in parts[:-1])]
        nodes = [f"{channels} @ {height}x{width}" for channels, height, width in shapes]
        labels = [
            f"{layers}, {part.cost.params:,} parameters"
            for layers, part in zip(self._layers(architecture), parts, strict=True)
        ]
        edges = tuple((place, place + 1, label) for place, label in enumerate(labels))
        return Drawing((*nodes, f"{known.classes} classes"), edges, "chain")

    def _layers(self, shape: Plain) -> Iterator[str]:
        """Yield what each part consists of."""
        stem = {"k": f"k{shape.stem.size}", "p": f"patches of {shape.stem.size}", "g": f"grid of {shape.stem.size}"}
        yield f"stem {stem[self.family.stem]}{' /2' * (shape.stem.stride == 2)}"
        for stage in shape.stages:
            expansion = f" e{stage.expansion}" if self.family.expansions else ""
            marks = f"{expansion}{' se' * stage.gated}{' /2' * (stage.stride == 2)}"
            yield f"{stage.depth} x {self.family.kind} {self.family.letter}{stage.size}{marks}"
        yield f"c{shape.head}, pool, linear" if self.family.has_head else "pool, linear"


def _rescaled(width: int, step: int, rng: random.Random) -> int:
    """Return another width; never below one step."""
    return max(round(width * rng.choice(SCALES) / step), 1) * step


class PlainResNet(PlainSpace):
    """Residual blocks of two convolutions. The text is `WIDTHkKERNELsSTRIDE/DEPTHxWIDTHkKERNELsSTRIDE/...`.

    The first part is the stem, the others are stages; `se` after a stage adds squeeze-and-excitation to its blocks.
    `textbook` is ResNet-20 for CIFAR.
    """

    name = "plain-resnet"
    summary = (
        "residual networks of any size: number of stages, widths, depths, kernels, strides, squeeze-and-excitation"
    )
    reference = "He2016resnet"
    proxy = "naswot"
    initial = "8k3s1/1x8k3s1/1x16k3s2"
    textbook = "16k3s1/3x16k3s1/3x32k3s2/3x64k3s2"
    family = Family("basic", "k", (3, 5, 7), (3, 5, 7))


class PlainBottleneck(PlainSpace):
    """Bottleneck blocks. The text is that of `plain-resnet`, with an expansion after each stride: `3x64k3s1e4`.

    The kernel is that of the convolution in the middle, and the width is its channels times the expansion. `textbook`
    is ResNet-29 for CIFAR.
    """

    name = "plain-bottleneck"
    summary = "residual networks of bottleneck blocks, of any size: as plain-resnet, and the expansion of each stage"
    reference = "He2016resnet"
    proxy = "naswot"
    initial = "8k3s1/1x16k3s1e4/1x32k3s2e4"
    textbook = "16k3s1/3x64k3s1e4/3x128k3s2e4/3x256k3s2e4"
    family = Family("bottleneck", "k", (3, 5, 7), (3, 5, 7), (1, 2, 4))


class PlainMobile(PlainSpace):
    """Inverted residual blocks. The text is that of `plain-bottleneck`, and ends with the last convolution: `/c1280`.

    The expansion multiplies the input channels of each block. `textbook` is MobileNetV2, with the strides that are
    usual for CIFAR. The activation is ReLU instead of ReLU6.
    """

    name = "plain-mobile"
    summary = "mobile networks of any size: as plain-resnet with inverted residual blocks, and their expansions"
    reference = "Sandler2018mobilenetv2"
    proxy = "naswot"
    initial = "8k3s1/1x8k3s1e2/1x16k3s2e2/c64"
    textbook = "32k3s1/1x16k3s1e1/2x24k3s1e6/3x32k3s2e6/4x64k3s2e6/3x96k3s1e6/3x160k3s2e6/1x320k3s1e6/c1280"
    family = Family("inverted", "k", (3, 5, 7), (3, 5, 7), (1, 2, 3, 4, 6), has_head=True)


class PlainConvNeXt(PlainSpace):
    """ConvNeXt blocks. The text is that of `plain-bottleneck`, with a stem of patches: `40p2/2x40k7s1e4/...`.

    `p2` cuts the image into patches of 2x2. `textbook` is ConvNeXt-Atto, with patches of 2 instead of 4 for small
    images. There is no layer scale.
    """

    name = "plain-convnext"
    summary = "ConvNeXts of any size: patches, number of stages, widths, depths, kernels, strides, expansions, gates"
    reference = "Liu2022convnext"
    proxy = "macs"
    initial = "8p2/1x8k3s1e2/1x16k3s2e2"
    textbook = "40p2/2x40k7s1e4/2x80k7s2e4/6x160k7s2e4/2x320k7s2e4"
    family = Family("convnext", "p", (1, 2, 4), (3, 5, 7), (2, 3, 4))


class PlainViT(PlainSpace):
    """Vision transformers. The text is `WIDTHgGRID/DEPTHxWIDTHhHEADSsSTRIDEeEXPANSION/...`.

    `g8` cuts an image of any size into at most 8x8 patches. Stride 2 merges 2x2 positions before a stage. The
    classifier sees the mean of all positions. `textbook` is DeiT-Tiny without a class token, on 8x8 patches.
    """

    name = "plain-vit"
    summary = "vision transformers of any size: grid of patches, stages, widths, depths, heads, expansions"
    reference = "Dosovitskiy2021vit"
    proxy = "macs"
    initial = "16g4/1x16h2s1e2"
    textbook = "192g8/12x192h3s1e4"
    stage_counts = (1, 2)
    depths = (1, 2, 3, 4, 5, 6)
    family = Family("transformer", "g", (4, 6, 8, 10, 12, 14, 16), (1, 2, 3, 4, 6, 8), (1, 2, 3, 4), can_gate=False)
