"""Binary codes of ReLUs: which units are on for which sample."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from firstlight.core.errors import UnsupportedError
from firstlight.probe.observe import hooked

# The number of samples whose signs fit into one integer
_BITS = 62
# The default number of samples over which the patterns of units are distinguished
PATTERN_SAMPLES = 16


@dataclass(frozen=True)
class ReluCodes:
    """The on/off codes of all ReLU modules for a batch of N samples.

    Attributes:
        agreement: For each pair of samples, the number of units that are on for both or off for both, shape (N, N).
        units: The number of units.
        patterns: The number of different on/off patterns that units of feature maps show over the first samples.
        finite: False if an input was NaN or infinite, so that the codes are meaningless.
    """

    agreement: Tensor
    units: int
    patterns: int
    finite: bool


def rectifiers_of(model: nn.Module) -> list[nn.Module]:
    """Return the ReLU modules; raises `UnsupportedError` if there are none."""
    rectifiers: list[nn.Module] = [module for module in model.modules() if isinstance(module, nn.ReLU)]
    if not rectifiers:
        raise UnsupportedError("the network has no ReLU modules (nn.ReLU), whose on/off codes are compared.")
    return rectifiers


def switches_of(model: nn.Module) -> list[nn.Module]:
    """Return the ReLU and GELU modules, whose units are on for positive inputs."""
    found: list[nn.Module] = [m for m in model.modules() if isinstance(m, (nn.ReLU, nn.ReLU6, nn.GELU))]
    if not found:
        raise UnsupportedError("the network has no ReLU or GELU modules, whose on/off patterns are counted.")
    return found


T = TypeVar("T")


def within(layers: Sequence[T], first: float, last: float) -> list[T]:
    """Return the layers at a depth from `first` up to `last`, as shares of their number."""
    return [layer for place, layer in enumerate(layers) if first <= place / len(layers) < last]


class PatternRecorder:
    """Forward hooks that reduce the inputs of modules to their different on/off patterns over the samples."""

    def __init__(self) -> None:
        self._patterns: list[Tensor] = []
        self._finite = True

    def watching(self, modules: Sequence[nn.Module]) -> AbstractContextManager[None]:
        return hooked(modules, self._see, before=True)

    def _see(self, module: nn.Module, inputs: tuple[Any, ...]) -> None:
        flat = inputs[0].detach().flatten(1)
        self._finite &= bool(flat.sum().isfinite())
        self._patterns.append(_different(_packed(flat > 0)))

    def patterns(self) -> int | None:
        if not self._finite:
            return None
        return _different(torch.cat(self._patterns, 1)).shape[1] if self._patterns else 0


class CodeRecorder:
    """Forward hooks on every ReLU module, which reduce its inputs at once.

    Args:
        samples: The number of samples in the batch.
        real_valued: Sum products of the inputs themselves instead of their signs.
        pattern_samples: The number of first samples over which the patterns of units are distinguished; 0 for none.
    """

    def __init__(self, samples: int, *, real_valued: bool = False, pattern_samples: int = 0) -> None:
        self._real_valued = real_valued
        self._pattern_samples = pattern_samples
        self._products = torch.zeros(samples, samples, dtype=torch.float64)
        self._units = 0
        self._finite = True
        self._patterns: list[Tensor] = []

    def watching(self, model: nn.Module) -> AbstractContextManager[None]:
        return hooked(rectifiers_of(model), self._see, before=True)

    def _see(self, module: nn.Module, inputs: tuple[Any, ...]) -> None:
        x = inputs[0].detach()
        flat = x.reshape(len(x), -1)
        codes = flat if self._real_valued else torch.where(flat > 0, 1.0, -1.0).to(flat.dtype)
        self._products += (codes @ codes.T).cpu()
        self._finite &= bool(flat.sum().isfinite())  # a NaN or infinite entry makes the sum so
        self._units += flat.shape[1]
        if self._pattern_samples and x.ndim == 4:
            self._patterns.append(_different(_packed(flat[: self._pattern_samples] > 0)))

    def codes(self) -> ReluCodes:
        patterns = _different(torch.cat(self._patterns, 1)).shape[1] if self._patterns else 0
        agreement = (self._products + self._units) / 2
        return ReluCodes(agreement if self._finite else agreement * torch.nan, self._units, patterns, self._finite)

    def products(self) -> Tensor:
        return self._products


def _packed(on: Tensor) -> Tensor:
    """Pack each unit's on/off pattern over the samples, 62 to an integer: shape (integers, units)."""
    words = []
    for bits in on.split(_BITS):
        word = torch.zeros(bits.shape[1], dtype=torch.int64, device=on.device)
        for bit in bits:
            word = 2 * word + bit
        words.append(word)
    return torch.stack(words)


def _different(words: Tensor) -> Tensor:
    # sorting integers is much faster than sorting columns
    different: Tensor = torch.unique(words[0])[None] if len(words) == 1 else torch.unique(words, dim=1)
    return different
