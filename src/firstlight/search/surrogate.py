"""Bayesian optimisation of a few numbers: a Gaussian process learns what they lead to, and proposes the next ones."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch.quasirandom import SobolEngine

Acquisition = Literal["ei", "ucb"]
# How many deviations above the mean the upper confidence bound lies
CONFIDENCE = 2.576
# At how many points the acquisition function is looked at; a few numbers need no climbing beyond
LOOKED_AT = 2048
# Less spread than this is none
SMALLEST_DEVIATION = 1e-9


class Surrogate:
    """Points of the unit cube with a value for each, the higher the better, and a Gaussian process through them.

    The kernel is Matern's (5/2), with a length for each direction. Values are brought to mean 0 and deviation 1; where
    all are the same, there is nothing to learn, and what is proposed is what is least known.
    """

    def __init__(self, dimensions: int, acquisition: Acquisition, rng: random.Random) -> None:
        self._dimensions, self._acquisition, self._rng = dimensions, acquisition, rng
        self._points: list[tuple[float, ...]] = []
        self._answers: list[float | None] = []

    def learn(self, point: Sequence[float], value: float | None) -> None:
        """None, where something failed, counts as the worst of all that are known."""
        self._points.append(tuple(point))
        self._answers.append(value)

    @property
    def _values(self) -> list[float]:
        worst = min((value for value in self._answers if value is not None), default=0.0)
        return [worst if value is None else value for value in self._answers]

    def propose(self, count: int = 1) -> list[tuple[float, ...]]:
        """Where the acquisition function is highest; before anything is known, anywhere.

        Several at a time differ: each is taken to lead to what is expected there, until it is known.
        """
        known = len(self._points)
        if not known:
            return [tuple(self._rng.random() for _ in range(self._dimensions)) for _ in range(count)]
        proposed = [self._highest()]
        while len(proposed) < count:
            self.learn(proposed[-1], float(self.means([proposed[-1]])[0]))
            proposed.append(self._highest())
        del self._points[known:], self._answers[known:]
        return proposed

    def _highest(self) -> tuple[float, ...]:
        seed = self._rng.getrandbits(32)
        points = SobolEngine(self._dimensions, scramble=True, seed=seed).draw(LOOKED_AT, dtype=torch.double)
        with _quietly(seed):
            best = int(self._judge(self._fitted())(points.unsqueeze(1)).argmax())
        return tuple(points[best].tolist())

    def means(self, points: Sequence[Sequence[float]]) -> NDArray[np.float64]:
        """What is expected at some points, in the scale of the values."""
        with _quietly(0):
            found = self._fitted().posterior(torch.tensor(points, dtype=torch.double)).mean
            values: NDArray[np.float64] = found.detach().squeeze(-1).numpy()
        return np.mean(self._values) + self._deviation * values

    @property
    def _deviation(self) -> float:
        return max(float(np.std(self._values)), SMALLEST_DEVIATION)

    @property
    def _standardised(self) -> torch.Tensor:
        values = (np.array(self._values) - np.mean(self._values)) / self._deviation
        return torch.tensor(values, dtype=torch.double).unsqueeze(-1)

    def _fitted(self) -> Any:
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.models.utils.gpytorch_modules import get_covar_module_with_dim_scaled_prior
        from gpytorch.mlls import ExactMarginalLogLikelihood

        matern = get_covar_module_with_dim_scaled_prior(ard_num_dims=self._dimensions, use_rbf_kernel=False)
        points = torch.tensor(self._points, dtype=torch.double)
        model = SingleTaskGP(points, self._standardised, covar_module=matern, outcome_transform=None)
        if len(set(self._values)) > 1:
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        model.eval()
        return model

    def _judge(self, model: Any) -> Any:
        from botorch.acquisition.analytic import LogExpectedImprovement, UpperConfidenceBound

        if self._acquisition == "ucb":
            return UpperConfidenceBound(model, beta=CONFIDENCE**2)
        return LogExpectedImprovement(model, best_f=float(self._standardised.max()))


@contextmanager
def _quietly(seed: int) -> Iterator[None]:
    """Random numbers follow from the seed, and those of everyone else stay as they are.

    BoTorch warns when a fit ends early, and tries again by itself.
    """
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(seed)
        yield
