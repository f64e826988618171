"""Which ReLUs are on for which sample: the binary codes that tell inputs apart."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from firstlight.core.errors import UnsupportedError
from firstlight.probe.observe import hooked

# Signs of so many samples fit into one whole number
_BITS = 62
# Over how many of the first samples the patterns of units are told apart unless said otherwise
PATTERN_SAMPLES = 16


@dataclass(frozen=True)
class ReluCodes:
    """What the inputs of all ReLU modules tell of a batch of N samples.

    `agreement` (N, N) counts the units that are on for both or off for both samples; `units` is the number of units.
    `patterns` counts the different on/off patterns that units of feature maps show over the first samples. Codes of
    inputs that are not `finite` mean nothing.
    """

    agreement: Tensor
    units: int
    patterns: int
    finite: bool


def rectifiers_of(model: nn.Module) -> list[nn.Module]:
    rectifiers: list[nn.Module] = [module for module in model.modules() if isinstance(module, nn.ReLU)]
    if not rectifiers:
        raise UnsupportedError("the network has no ReLU modules, so that there are no on/off codes to compare.")
    return rectifiers


class CodeRecorder:
    """Forward hooks on every ReLU module; what they see is reduced as it passes.

    `real_valued` adds up products of the real inputs in place of counting signs; `pattern_samples` says over how many
    of the first samples the on/off patterns of units are told apart, 0 for not at all.
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
        self._finite &= bool(flat.sum().isfinite())  # one number that is none makes the sum none
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
    """Each unit's on/off pattern over the samples, 62 to a whole number: shape (numbers, units)."""
    words = []
    for bits in on.split(_BITS):
        word = torch.zeros(bits.shape[1], dtype=torch.int64, device=on.device)
        for bit in bits:
            word = 2 * word + bit
        words.append(word)
    return torch.stack(words)


def _different(words: Tensor) -> Tensor:
    # sorting numbers is much faster than sorting columns
    different: Tensor = torch.unique(words[0])[None] if len(words) == 1 else torch.unique(words, dim=1)
    return different
