"""Features between the blocks of a network: how rich they are, and how well gradients pass from one to the next."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from firstlight.core.errors import UnsupportedError
from firstlight.probe.observe import hooked


@dataclass(frozen=True)
class BlockStatistics:
    """For the features behind each block: the entropy of their principal components; between neighbours: the largest
    singular value of the gradient's covariance, None where a block passes everything on as it is."""

    entropies: tuple[float, ...]
    gains: tuple[float | None, ...]


def blocks_of(model: nn.Module) -> list[nn.Module]:
    """The modules behind which features are taken.

    A network may name them itself by a method `feature_blocks`. Else they are the ReLUs of its outermost sequences, or
    the members of its longest module list, as in transformers.
    """
    own = getattr(model, "feature_blocks", None)
    if callable(own):
        return list(dict.fromkeys(own()))
    outermost = list(dict.fromkeys(_outermost_rectifiers(model)))
    if len(outermost) >= 2:
        return outermost
    lists = [list(module) for module in model.modules() if isinstance(module, nn.ModuleList)]
    longest = max(lists, key=len, default=[])
    if len(longest) >= 2:
        return longest
    raise UnsupportedError(
        "the network has no blocks to take features behind: no two ReLUs in its outermost sequences and no list of "
        "blocks. Give it a method feature_blocks() that returns the modules."
    )


def _outermost_rectifiers(module: nn.Module) -> Iterator[nn.Module]:
    for child in module.children():
        if isinstance(child, nn.ReLU):
            yield child
        elif isinstance(child, nn.Sequential):
            yield from _outermost_rectifiers(child)


class BlockRecorder:
    """Keeps the output of each block, and hands a copy on, which later layers may overwrite."""

    def __init__(self) -> None:
        self.features: list[Tensor] = []

    def watching(self, blocks: Iterable[nn.Module]) -> AbstractContextManager[None]:
        return hooked(blocks, self._see)

    def _see(self, module: nn.Module, inputs: Any, output: Any) -> Any:
        if not isinstance(output, Tensor) or output.ndim not in (3, 4):
            raise UnsupportedError("a block's output is no feature map (4 dimensions) or sequence of tokens (3).")
        if not output.numel():
            raise UnsupportedError(f"a block's output is {tuple(output.shape)}, which holds no numbers.")
        self.features.append(output)
        return output.clone()


def block_statistics(features: list[Tensor], signs: Callable[[Tensor], Tensor]) -> BlockStatistics:
    """`signs` draws a tensor of -1 and +1 like the one it is given."""
    if len(features) < 2:
        raise UnsupportedError(f"features behind two blocks or more are needed; the network ran {len(features)}.")
    gains = [_gain(before, after, signs(after)) for before, after in itertools.pairwise(features)]
    return BlockStatistics(tuple(_entropy(feature.detach()) for feature in features), tuple(gains))


def _entropy(feature: Tensor) -> float:
    """- sum of p ln(p + 1e-8), p the shares of the principal components in the variance over samples and positions."""
    rows = _positions(feature).double()
    centred = rows - rows.mean(0)
    covariance = centred.T @ centred / len(rows)
    if not covariance.isfinite().all():  # which the decomposition refuses
        return math.nan
    variances = torch.linalg.eigvalsh(covariance).clamp(min=0)
    shares = variances / variances.sum()
    return -float((shares * (shares + 1e-8).log()).sum())


def _gain(before: Tensor, after: Tensor, out: Tensor) -> float | None:
    back: Tensor | None = torch.autograd.grad(after, before, out, retain_graph=True, allow_unused=True)[0]
    if back is None:  # what is behind the block does not depend on what is before it
        return 0.0
    if back.shape == out.shape and torch.equal(back, out):
        return None
    if back.ndim == out.ndim == 4 and back.shape[2:] != out.shape[2:]:
        stride = back.shape[2] // out.shape[2]
        if back.shape[2:] != (stride * out.shape[2], stride * out.shape[3]):
            raise UnsupportedError(
                f"features of {tuple(back.shape[2:])} before a block are no multiple of {tuple(out.shape[2:])} behind "
                "it; choose inputs whose sides can be halved."
            )
        back = F.pixel_unshuffle(back, stride)
    rows_back, rows_out = _positions(back), _positions(out)
    if len(rows_back) != len(rows_out):
        raise UnsupportedError("a block changes the number of tokens, so that gradients cannot be compared.")
    covariance = (rows_back.T @ rows_out / len(rows_out)).double()
    return float(torch.linalg.matrix_norm(covariance, 2)) if covariance.isfinite().all() else math.nan


def _positions(feature: Tensor) -> Tensor:
    """One row for each sample and position, one column for each channel."""
    return feature.movedim(1, -1).flatten(0, -2) if feature.ndim == 4 else feature.flatten(0, 1)
