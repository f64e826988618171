"""Features between the blocks of a network: their entropy, and how gradients pass from one to the next."""

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
    """Statistics of the features behind each block.

    Attributes:
        entropies: The entropy of the principal components of the features behind each block.
        gains: The largest singular value of the covariance of gradients between neighboring blocks; None where a block
            passes gradients on unchanged.
    """

    entropies: tuple[float, ...]
    gains: tuple[float | None, ...]


def blocks_of(model: nn.Module) -> list[nn.Module]:
    """Return the modules behind which features are taken.

    These are what the network's method `feature_blocks` returns, if it has one; else the ReLUs of its outermost
    `nn.Sequential`s, or the members of its longest `nn.ModuleList`, as in transformers.
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
        "no blocks were found in the network: neither two ReLUs in its outermost nn.Sequential nor an nn.ModuleList of "
        "blocks. Give it a method feature_blocks() that returns the modules."
    )


def _outermost_rectifiers(module: nn.Module) -> Iterator[nn.Module]:
    for child in module.children():
        if isinstance(child, nn.ReLU):
            yield child
        elif isinstance(child, nn.Sequential):
            yield from _outermost_rectifiers(child)


class BlockRecorder:
    """Keeps the output of each block, and passes on a copy, which later layers may overwrite."""

    def __init__(self) -> None:
        self.features: list[Tensor] = []

    def watching(self, blocks: Iterable[nn.Module]) -> AbstractContextManager[None]:
        return hooked(blocks, self._see)

    def _see(self, module: nn.Module, inputs: Any, output: Any) -> Any:
        if not isinstance(output, Tensor) or output.ndim not in (3, 4):
            raise UnsupportedError(
                "the output of a block is neither a feature map (4 dimensions) nor a sequence of tokens (3)."
            )
        if not output.numel():
            raise UnsupportedError(f"the output of a block is empty, of shape {tuple(output.shape)}.")
        self.features.append(output)
        return output.clone()


def block_statistics(features: list[Tensor], signs: Callable[[Tensor], Tensor]) -> BlockStatistics:
    """Compute the statistics; `signs` draws a tensor of -1 and +1 like the given one."""
    if len(features) < 2:
        raise UnsupportedError(f"features after at least two blocks are needed; the network has {len(features)}.")
    gains = [_gain(before, after, signs(after)) for before, after in itertools.pairwise(features)]
    return BlockStatistics(tuple(_entropy(feature.detach()) for feature in features), tuple(gains))


def _entropy(feature: Tensor) -> float:
    """Return - sum of p ln(p + 1e-8), with p the principal components' shares of the variance over all positions."""
    rows = _positions(feature).double()
    centered = rows - rows.mean(0)
    covariance = centered.T @ centered / len(rows)
    if not covariance.isfinite().all():  # the decomposition would fail
        return math.nan
    variances = torch.linalg.eigvalsh(covariance).clamp(min=0)
    shares = variances / variances.sum()
    return -float((shares * (shares + 1e-8).log()).sum())


def _gain(before: Tensor, after: Tensor, out: Tensor) -> float | None:
    back: Tensor | None = torch.autograd.grad(after, before, out, retain_graph=True, allow_unused=True)[0]
    if back is None:  # the features do not depend on those before
        return 0.0
    if back.shape == out.shape and torch.equal(back, out):
        return None
    if back.ndim == out.ndim == 4 and back.shape[2:] != out.shape[2:]:
        stride = back.shape[2] // out.shape[2]
        if back.shape[2:] != (stride * out.shape[2], stride * out.shape[3]):
            raise UnsupportedError(
                f"features of {tuple(back.shape[2:])} before a block are not a multiple of {tuple(out.shape[2:])} "
                "after it; use inputs whose sides can be halved."
            )
        back = F.pixel_unshuffle(back, stride)
    rows_back, rows_out = _positions(back), _positions(out)
    if len(rows_back) != len(rows_out):
        raise UnsupportedError("a block changes the number of tokens, so gradients cannot be compared.")
    covariance = (rows_back.T @ rows_out / len(rows_out)).double()
    return float(torch.linalg.matrix_norm(covariance, 2)) if covariance.isfinite().all() else math.nan


def _positions(feature: Tensor) -> Tensor:
    """Return a matrix with a row for each sample and position, and a column for each channel."""
    return feature.movedim(1, -1).flatten(0, -2) if feature.ndim == 4 else feature.flatten(0, 1)
