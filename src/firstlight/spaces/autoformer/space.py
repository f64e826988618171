"""AutoFormer: vision transformers with a choice of depth, width, heads and MLP ratios (Chen et al., ICCV 2021)."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import TypeVar

from torch import nn

from firstlight.core.errors import SettingError
from firstlight.probe.cost import Cost
from firstlight.spaces.autoformer.network import (
    AutoFormerSkeleton,
    Transformer,
    VisionTransformer,
    exact_cost,
    published_complexity,
)
from firstlight.spaces.base import Drawing, Skeleton, Space
from firstlight.spaces.reading import Reader

T = TypeVar("T")


class AutoFormer(Space[Transformer]):
    """One width and depth, and the number of heads and MLP ratio of each block. The text is `WIDTH:HEADSxRATIO-...`."""

    reference = "Chen2021autoformer"
    used_by: tuple[str, ...] = ("Asthana2025dextr", "Lee2024aznas", "Zhou2022tftas")
    evidence = (
        "no rank correlation, for want of a table; published (Dextr, Table 3) is the ImageNet error of the network "
        "found: 23.7% in autoformer-tiny, where the search of AutoFormer found one of 25.3%"
    )
    skeleton_type = AutoFormerSkeleton
    widths: tuple[int, ...]
    depths: tuple[int, ...]
    heads: tuple[int, ...]
    ratios: tuple[float, ...]

    def __len__(self) -> int:
        block_choices = len(self.heads) * len(self.ratios)
        return len(self.widths) * sum(int(block_choices**depth) for depth in self.depths)

    def __iter__(self) -> Iterator[Transformer]:
        for width, depth in itertools.product(self.widths, self.depths):
            for heads in itertools.product(self.heads, repeat=depth):
                for ratios in itertools.product(self.ratios, repeat=depth):
                    yield Transformer(width, heads, ratios)

    def sample(self, rng: random.Random) -> Transformer:
        """Return a random architecture, every choice uniform."""
        depth, width = rng.choice(self.depths), rng.choice(self.widths)
        ratios = tuple(rng.choice(self.ratios) for _ in range(depth))
        return Transformer(width, tuple(rng.choice(self.heads) for _ in range(depth)), ratios)

    def mutate(
        self,
        architecture: Transformer,
        rng: random.Random,
        *,
        layer_probability: float = 0.2,
        shape_probability: float = 0.4,
    ) -> Transformer:
        """Redraw every choice with some probability until something differs, as in AutoFormer's evolution.

        Blocks are added and removed at the end.

        Args:
            architecture: The parent.
            rng: The only source of randomness.
            layer_probability: For the heads and the ratio of each block.
            shape_probability: For width and depth.

        Raises:
            SettingError: If both probabilities are 0.
        """
        if max(layer_probability, shape_probability) <= 0:
            raise SettingError("Both probabilities are 0, so nothing would change. Set one of them above 0.")
        while True:
            depth, width = architecture.depth, architecture.width
            if rng.random() < shape_probability:
                depth = rng.choice(self.depths)
            if rng.random() < shape_probability:
                width = rng.choice(self.widths)
            heads = _redrawn(architecture.heads, self.heads, depth, layer_probability, rng)
            ratios = _redrawn(architecture.ratios, self.ratios, depth, layer_probability, rng)
            child = Transformer(width, heads, ratios)
            if child != architecture:
                return child

    def crossover(self, first: Transformer, second: Transformer, rng: random.Random) -> Transformer:
        """Take each choice from either parent at random.

        Raises:
            SettingError: If the parents differ in depth.
        """
        if first.depth != second.depth:
            raise SettingError(
                f"The parents have {first.depth} and {second.depth} blocks. Choose parents of equal depth."
            )
        return Transformer(
            rng.choice((first.width, second.width)),
            tuple(map(rng.choice, zip(first.heads, second.heads, strict=True))),
            tuple(map(rng.choice, zip(first.ratios, second.ratios, strict=True))),
        )

    def parse(self, text: str) -> Transformer:
        reader = Reader(text)
        width = _read_choice(reader, self.widths, "the width of the tokens")
        heads: list[int] = []
        ratios: list[float] = []
        while len(heads) < max(self.depths) and not (reader.at_end and len(heads) in self.depths):
            reader.skip("-" if heads else ":")
            heads.append(_read_choice(reader, self.heads, "a number of heads"))
            reader.skip("x")
            ratios.append(_read_choice(reader, self.ratios, "an MLP ratio"))
        reader.end(f"the end of the text (there are {max(self.depths)} blocks)")
        return Transformer(width, tuple(heads), tuple(ratios))

    def canonical(self, architecture: Transformer) -> Transformer:
        """Return the architecture itself: no two compute the same function."""
        return architecture

    def network(self, architecture: Transformer, skeleton: AutoFormerSkeleton) -> nn.Module:
        return VisionTransformer(architecture, skeleton)

    def cost(self, architecture: Transformer, skeleton: Skeleton | None = None) -> Cost:
        known = skeleton or self.skeleton()
        assert isinstance(known, AutoFormerSkeleton)
        return exact_cost(architecture, known)

    def published_complexity(self, architecture: Transformer) -> float:
        """Return the operations as AutoFormer counts them, at 224x224 and 1,000 classes. Differs from `cost`."""
        return published_complexity(architecture)

    def drawing(self, architecture: Transformer, skeleton: Skeleton | None = None) -> Drawing:
        nodes = (f"patches, {architecture.width} wide", *(str(number) for number in range(1, architecture.depth + 1)))
        blocks = enumerate(zip(architecture.heads, architecture.ratios, strict=True))
        labels = [(number, f"{heads} heads, MLP {ratio:g}x") for number, (heads, ratio) in blocks]
        return Drawing(nodes, tuple((number, number + 1, label) for number, label in labels), "stack")


class AutoFormerTiny(AutoFormer):
    name = "autoformer-tiny"
    summary = "vision transformers of 5.4 to 10.5 M parameters: 3 widths, 12 to 14 blocks"
    widths, depths, heads, ratios = (192, 216, 240), (12, 13, 14), (3, 4), (3.5, 4.0)


class AutoFormerSmall(AutoFormer):
    name = "autoformer-small"
    summary = "vision transformers of 13.1 to 34.8 M parameters: 3 widths, 12 to 14 blocks"
    widths, depths, heads, ratios = (320, 384, 448), (12, 13, 14), (5, 6, 7), (3.0, 3.5, 4.0)


class AutoFormerBase(AutoFormer):
    name = "autoformer-base"
    summary = "vision transformers of 41.7 to 76.9 M parameters: 3 widths, 14 to 16 blocks"
    used_by = ("Lee2024aznas", "Zhou2022tftas")
    widths, depths, heads, ratios = (528, 576, 624), (14, 15, 16), (9, 10), (3.0, 3.5, 4.0)


def _redrawn(
    genes: Sequence[T], options: Sequence[T], length: int, probability: float, rng: random.Random
) -> tuple[T, ...]:
    return tuple(
        genes[number] if number < len(genes) and rng.random() >= probability else rng.choice(options)
        for number in range(length)
    )


def _read_choice(reader: Reader, options: Sequence[T], what: str) -> T:
    texts = {f"{option:g}": option for option in options}
    return texts[reader.one_of(texts, f"{what}, one of {', '.join(texts)}")]
