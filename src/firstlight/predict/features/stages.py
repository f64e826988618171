"""Features of networks that are a sequence of stages, position by position and in total.

For every stage, as far as the space has it: its depth, its width as a logarithm to base 2, its kernel (or heads),
stride, expansion and gate; zeros past the last one. In total:

    stages, depth           the number of stages, and of blocks
    mean_NAME               the mean over blocks of width, kernel, expansion and gate
    least_width, most_width the narrowest and the widest stage
    growth                  the width of the last stage relative to the first
    stride                  the product of all strides
    reach                   the receptive field of the last block by its kernels and strides
    work, weights           blocks weighted by the square of their widths, per position and in total

Everything but counts, kernels and gates is a logarithm to base 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from firstlight.spaces.autoformer.network import Transformer
from firstlight.spaces.nats_sss import POSITIONS, Sizes
from firstlight.spaces.plain.perceptron import MOST_LAYERS, Perceptron
from firstlight.spaces.plain.shape import MOST_STAGES, Plain
from firstlight.spaces.plainnet.grammar import CONVOLUTIONS, KINDS, Block, Structure
from firstlight.spaces.transnas.network import DOUBLING, HALVING
from firstlight.spaces.transnas.space import MacroModules

MOST_BLOCKS = 16  # of a structure of PlainNet, or a transformer, that have features of their own
MOST_MODULES = 6
HEAD = "head_width"


@dataclass(frozen=True)
class Step:
    """One stage: `depth` blocks of the same kind.

    Attributes:
        depth: The number of blocks.
        width: The number of output channels.
        kernel: The side of the kernel; the number of heads in a transformer.
        stride: The stride of the first block.
        expansion: The inner width relative to the outer.
        gated: Whether blocks have squeeze-and-excitation.
    """

    depth: int
    width: int
    kernel: int = 3
    stride: int = 1
    expansion: float = 1.0
    gated: bool = False


def plain_features(networks: Sequence[Plain]) -> pd.DataFrame:
    """Return the features of plain networks, a row for each."""
    rows = [
        {
            "stem_width": math.log2(network.stem.width),
            "stem_size": float(network.stem.size),
            "stem_stride": float(network.stem.stride),
            HEAD: math.log2(network.head) if network.head else 0.0,
            **_steps_features([_step_of(stage) for stage in network.stages], MOST_STAGES),
        }
        for network in networks
    ]
    return pd.DataFrame(rows, dtype=float)


def perceptron_features(networks: Sequence[Perceptron]) -> pd.DataFrame:
    """Return the features of perceptrons, a row for each. Widths are 0 where there is no hidden layer."""
    rows = []
    for network in networks:
        widths = [math.log2(width) for width in network.widths]
        row = {"average": math.log2(network.average), "layers": float(len(widths))}
        row |= {f"width({n + 1})": widths[n] if n < len(widths) else 0.0 for n in range(MOST_LAYERS)}
        rows.append(row | {"least_width": min(widths, default=0.0), "most_width": max(widths, default=0.0)})
    return pd.DataFrame(rows, dtype=float)


def _step_of(stage: object) -> Step:
    depth, width, size, stride, expansion, gated = (
        getattr(stage, name) for name in ("depth", "width", "size", "stride", "expansion", "gated")
    )
    return Step(depth, width, size, stride, expansion, gated)


def sizes_features(networks: Sequence[Sizes]) -> pd.DataFrame:
    """Return the features of networks of NATS-Bench's size space, a row for each."""
    strides = [2 if position == "reduction" else 1 for position in POSITIONS]
    rows = [
        _steps_features([Step(1, *step) for step in _with_kernel(network.channels, strides)], len(POSITIONS))
        for network in networks
    ]
    return pd.DataFrame(rows, dtype=float)


def _with_kernel(widths: Sequence[int], strides: Sequence[int]) -> list[tuple[int, int, int]]:
    return [(width, 3, stride) for width, stride in zip(widths, strides, strict=True)]


def structure_features(networks: Sequence[Structure]) -> pd.DataFrame:
    """Return the features of PlainNet structures, a row for each, with the number of layers of each kind of block."""
    rows = []
    for network in networks:
        kinds = dict.fromkeys((f"layers({name})" for name in KINDS), 0.0)
        for block in network.blocks:
            kinds[f"layers({block.kind})"] += block.sublayers
        rows.append({**_steps_features([_step_of_block(block) for block in network.blocks], MOST_BLOCKS), **kinds})
    return pd.DataFrame(rows, dtype=float)


def _step_of_block(block: Block) -> Step:
    kind = KINDS[block.kind]
    inner = 1.0 if block.kind in CONVOLUTIONS else kind.expansion * block.bottleneck / block.outputs
    return Step(block.sublayers, block.outputs, kind.kernel, block.stride, inner)


def transformer_features(networks: Sequence[Transformer]) -> pd.DataFrame:
    """Return the features of AutoFormer's transformers, a row for each; `kernel` is the number of heads."""
    rows = []
    for network in networks:
        steps = [
            Step(1, network.width, heads, expansion=ratio)
            for heads, ratio in zip(network.heads, network.ratios, strict=True)
        ]
        rows.append(
            {
                **_steps_features(steps, MOST_BLOCKS),
                "least_heads": float(min(network.heads)),
                "most_heads": float(max(network.heads)),
                "total_heads": float(sum(network.heads)),
                "total_ratio": float(sum(network.ratios)),
            }
        )
    return pd.DataFrame(rows, dtype=float)


def macro_features(networks: Sequence[MacroModules]) -> pd.DataFrame:
    """Return the features of TransNAS-Bench-101-macro, a row for each: those of GRAF, and the position of each change.

    They are the number of modules that double the channels, halve the image, do both or neither, and both changes
    accumulated up to each position, reset to 0 past the last module.
    """
    rows = []
    for network in networks:
        changes = [(module in DOUBLING, module in HALVING) for module in network.modules]
        row = {
            f"modules({name})": float(changes.count(change))
            for name, change in (
                ("same", (False, False)),
                ("doubling", (True, False)),
                ("halving", (False, True)),
                ("both", (True, True)),
            )
        }
        for what, place in (("doublings", 0), ("halvings", 1)):
            so_far = np.cumsum([change[place] for change in changes])
            row |= {f"{what}({n + 1})": float(so_far[n]) if n < len(so_far) else 0.0 for n in range(MOST_MODULES)}
        rows.append(row | {"depth": float(len(changes))})
    return pd.DataFrame(rows, dtype=float)


def _steps_features(steps: Sequence[Step], most: int) -> dict[str, float]:
    """Return the features of the first `most` stages, and those of all of them together."""
    row: dict[str, float] = {}
    for name, figure in _FIGURES.items():
        row |= {f"{name}({n + 1})": figure(steps[n]) if n < len(steps) else 0.0 for n in range(most)}
    blocks = [step.depth for step in steps]
    widths = [math.log2(step.width) for step in steps]
    row |= {"stages": float(len(steps)), "depth": float(sum(blocks))}
    row |= {
        f"mean_{name}": float(np.average([_FIGURES[name](step) for step in steps], weights=blocks))
        for name in ("width", "kernel", "expansion", "gate")
    }
    row |= {"least_width": min(widths), "most_width": max(widths), "growth": widths[-1] - widths[0]}
    reach, jump, weights, work = 1, 1, 0.0, 0.0
    for step in steps:
        jump *= step.stride
        reach += step.depth * (step.kernel - 1) * jump
        own = step.depth * step.expansion * step.width**2
        weights, work = weights + own, work + own / jump**2
    return row | {
        "stride": math.log2(jump),
        "reach": math.log2(reach),
        "weights": math.log2(weights),
        "work": math.log2(work),
    }


_FIGURES: dict[str, Callable[[Step], float]] = {
    "depth": lambda step: float(step.depth),
    "width": lambda step: math.log2(step.width),
    "kernel": lambda step: float(step.kernel),
    "stride": lambda step: math.log2(step.stride),
    "expansion": lambda step: math.log2(step.expansion),
    "gate": lambda step: float(step.gated),
}
