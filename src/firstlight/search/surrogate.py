"""Bayesian optimization of a few numbers: a Gaussian process learns their values, and proposes the next ones."""

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
# The upper confidence bound is this many standard deviations above the mean.
CONFIDENCE = 2.576
# The number of points at which the acquisition function is evaluated; for a few numbers that is enough.
LOOKED_AT = 2048
# Smaller standard deviations count as zero.
SMALLEST_DEVIATION = 1e-9


class Surrogate:
    """A Gaussian process over points of the unit cube with their values, of which higher is better.

    The kernel is Matérn 5/2 with a length scale for each dimension. Values are standardized. If all are equal, there is
    nothing to learn, and the points of highest variance are proposed.

    Args:
        dimensions: The number of dimensions.
        acquisition: "ei" (expected improvement) or "ucb" (upper confidence bound).
        rng: The random numbers.
    """

    def __init__(self, dimensions: int, acquisition: Acquisition, rng: random.Random) -> None:
        self._dimensions, self._acquisition, self._rng = dimensions, acquisition, rng
        self._points: list[tuple[float, ...]] = []
        self._answers: list[float | None] = []

    def learn(self, point: Sequence[float], value: float | None) -> None:
        """Add a point with its value. None, for a failure, counts as the worst known value."""
        self._points.append(tuple(point))
        self._answers.append(value)

    @property
    def _values(self) -> list[float]:
        worst = min((value for value in self._answers if value is not None), default=0.0)
        return [worst if value is None else value for value in self._answers]

    def propose(self, count: int = 1) -> list[tuple[float, ...]]:
        """Return points at which the acquisition function is highest; random ones before anything is known.

        Several points differ: each is assumed to have its expected value until that is known.
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
        """Return the expected values at some points."""
        with _quietly(0):
            found = self._fitted().posterior(torch.tensor(points, dtype=torch.double)).mean
            values: NDArray[np.float64] = found.detach().squeeze(-1).numpy()
        return np.mean(self._values) + self._deviation * values

    @property
    def _deviation(self) -> float:
        return max(float(np.std(self._values)), SMALLEST_DEVIATION)

    @property
    def _standardized(self) -> torch.Tensor:
        values = (np.array(self._values) - np.mean(self._values)) / self._deviation
        return torch.tensor(values, dtype=torch.double).unsqueeze(-1)

    def _fitted(self) -> Any:
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.models.utils.gpytorch_modules import get_covar_module_with_dim_scaled_prior
        from gpytorch.mlls import ExactMarginalLogLikelihood

        matern = get_covar_module_with_dim_scaled_prior(ard_num_dims=self._dimensions, use_rbf_kernel=False)
        points = torch.tensor(self._points, dtype=torch.double)
        model = SingleTaskGP(points, self._standardized, covar_module=matern, outcome_transform=None)
        if len(set(self._values)) > 1:
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        model.eval()
        return model

    def _judge(self, model: Any) -> Any:
        from botorch.acquisition.analytic import LogExpectedImprovement, UpperConfidenceBound

        if self._acquisition == "ucb":
            return UpperConfidenceBound(model, beta=CONFIDENCE**2)
        return LogExpectedImprovement(model, best_f=float(self._standardized.max()))


@contextmanager
def _quietly(seed: int) -> Iterator[None]:
    """Seed the random numbers of PyTorch, and restore them afterwards.

    Warnings are ignored: BoTorch warns when a fit ends early, and tries again by itself.
    """
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(seed)
        yield
