"""The objective of HNAS: a proxy M and the condition number kappa of the tangent kernel, weighed by two parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from firstlight.core.errors import UnknownNameError

Numbers = NDArray[np.float64]
Form = Literal["paper", "official", "rank"]
# Keeps kappa / M finite, as in the published code.
TINY = 1e-6
# Without a scale, nu is measured against this percentile of M in the first pool.
USUAL_SCALE = 95


@dataclass(frozen=True)
class Candidates:
    """The networks with a signal, with M and kappa of each; kappa is infinite where it cannot be used."""

    texts: Sequence[str]
    m: Numbers
    kappa: Numbers

    @property
    def ratio(self) -> Numbers:
        return self.kappa / (self.m + TINY)

    @property
    def usual_scale(self) -> float:
        return float(np.percentile(self.m, USUAL_SCALE))

    def with_more(self, others: Candidates) -> Candidates:
        """Return these networks and others."""
        texts = [*self.texts, *others.texts]
        return Candidates(texts, np.concatenate([self.m, others.m]), np.concatenate([self.kappa, others.kappa]))


class Bound(Protocol):
    """Ranks candidates for a pair of parameters."""

    def values(self, candidates: Candidates, u: float, exponent: float) -> Numbers:
        """Return the objective of each candidate: lower is better."""


@dataclass(frozen=True)
class PaperBound:
    """kappa / M + mu (M^2 - nu)^2 with mu = 10^c and nu = u * scale^2 (Eq. 7 with t = 1)."""

    scale: float

    def values(self, candidates: Candidates, u: float, exponent: float) -> Numbers:
        found: Numbers = candidates.ratio + 10**exponent * (candidates.m**2 - u * self.scale**2) ** 2
        return found


@dataclass(frozen=True)
class OfficialBound:
    """kappa / M + mu |M^2 - nu^2| with mu = 10^c and nu = u * scale, as in the published code."""

    scale: float

    def values(self, candidates: Candidates, u: float, exponent: float) -> Numbers:
        found: Numbers = candidates.ratio + 10**exponent * np.abs(candidates.m**2 - (u * self.scale) ** 2)
        return found


@dataclass(frozen=True)
class RankBound:
    """R(kappa / M) + 10^(c/2 + 1) |R(M) - u|: needs no scale, so that any metric works."""

    def values(self, candidates: Candidates, u: float, exponent: float) -> Numbers:
        found: Numbers = _places(candidates.ratio) + 10 ** (exponent / 2 + 1) * np.abs(_places(candidates.m) - u)
        return found


def bound_of(form: Form, scale: float) -> Bound:
    """Return the objective of a form; `scale` is that of M, which ranks do not need."""
    if form == "rank":
        return RankBound()
    if form not in get_args(Form):
        raise UnknownNameError("form of the objective", form, get_args(Form))
    return PaperBound(scale) if form == "paper" else OfficialBound(scale)


def best_first(bound: Bound, candidates: Candidates, u: float, exponent: float) -> list[str]:
    """Return the texts of the candidates, lowest objective first; the text decides between equals."""
    values = bound.values(candidates, u, exponent)
    return [candidates.texts[place] for place in np.lexsort((np.array(candidates.texts), values))]


def _places(values: Numbers) -> Numbers:
    """Return ranks from 0 to 1."""
    from scipy.stats import rankdata  # slow to import

    found: Numbers = (rankdata(values) - 1) / max(len(values) - 1, 1)
    return found
