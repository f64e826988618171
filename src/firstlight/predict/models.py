"""Models of what a prior leaves unexplained: forests, boosting, and a Gaussian process.

Each is fitted on a few rows and returns, for any rows, the expected residual and its standard deviation.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, Literal, Protocol, get_args

import numpy as np

from firstlight.core.errors import UnknownNameError
from firstlight.predict.design import Numbers

ModelName = Literal["mixed", "forest", "boosting", "gp", "prior"]
MODELS: tuple[ModelName, ...] = get_args(ModelName)
# The Gaussian process and a forest of the results themselves, which `Fit` mixes
MIXED: ModelName = "mixed"
TREES = 200
# Boosted models, each fitted on a resample, whose spread is the uncertainty
BOOSTED = 10
# Rows that a Gaussian process predicts at a time
TOGETHER = 512


class Model(Protocol):
    """A model of residuals."""

    def fit(self, rows: Numbers, residuals: Numbers) -> Model:
        """Fit the model: rows of shape (n, F), residuals of shape (n,)."""
        ...

    def predict(self, rows: Numbers) -> tuple[Numbers, Numbers]:
        """Return mean and standard deviation for rows of shape (N, F)."""
        ...


class Trees:
    """Regression trees of scikit-learn; the spread of the trees is the uncertainty.

    Args:
        seed: The seed of its random numbers.
        boosted: Whether trees correct each other.
        resampled: Whether each tree is fitted on a resample of the rows.
    """

    def __init__(self, seed: int, boosted: bool = False, resampled: bool = True) -> None:
        from sklearn.ensemble import BaggingRegressor, ExtraTreesRegressor, GradientBoostingRegressor

        if boosted:
            one = GradientBoostingRegressor(n_estimators=100, learning_rate=0.1, max_depth=3, max_features=0.3)
            self.regressor: Any = BaggingRegressor(one, n_estimators=BOOSTED, random_state=seed)
        else:
            self.regressor = ExtraTreesRegressor(TREES, max_features=0.5, bootstrap=resampled, random_state=seed)

    def fit(self, rows: Numbers, residuals: Numbers) -> Trees:
        self.regressor.fit(rows, residuals)
        return self

    def predict(self, rows: Numbers) -> tuple[Numbers, Numbers]:
        each = self.by_tree(rows)
        return each.mean(axis=0), each.std(axis=0)

    def by_tree(self, rows: Numbers) -> Numbers:
        """Return what each tree predicts of each row, shape (trees, N)."""
        return np.stack([tree.predict(rows) for tree in self.regressor.estimators_])

    @property
    def importances(self) -> Numbers:
        """The importance of each column, by the impurity that it removes."""
        found: Numbers = np.mean([tree.feature_importances_ for tree in self.regressor.estimators_], axis=0)
        return found


class Process:
    """A Gaussian process of BoTorch with mean 0, one length scale, and a Matérn 5/2 kernel."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._model: Any = None

    def fit(self, rows: Numbers, residuals: Numbers) -> Process:
        import torch
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from gpytorch.constraints import GreaterThan
        from gpytorch.kernels import MaternKernel, ScaleKernel
        from gpytorch.means import ZeroMean
        from gpytorch.mlls import ExactMarginalLogLikelihood
        from gpytorch.priors import LogNormalPrior

        self._scale = max(float(np.sqrt(np.mean(residuals**2))), 1e-6)
        points = torch.from_numpy(np.ascontiguousarray(rows))
        values = torch.from_numpy(residuals / self._scale).unsqueeze(-1)
        kernel = MaternKernel(2.5, lengthscale_prior=LogNormalPrior(0.0, 0.7), lengthscale_constraint=GreaterThan(1e-2))
        scaled = ScaleKernel(kernel, outputscale_prior=LogNormalPrior(-0.5, 0.7))
        with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
            warnings.simplefilter("ignore")  # BoTorch warns when a fit ends early, and tries again by itself
            torch.manual_seed(self._seed)
            model = SingleTaskGP(points, values, covar_module=scaled, mean_module=ZeroMean(), outcome_transform=None)
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        self._model = model.eval()
        return self

    def predict(self, rows: Numbers) -> tuple[Numbers, Numbers]:
        import torch

        # some rows at a time: their covariances with each other are computed too, and a pool has many
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            points = torch.from_numpy(np.ascontiguousarray(rows))
            means, deviations = [], []
            for some in points.split(TOGETHER):
                found = self._model.posterior(some)
                means.append(found.mean.flatten().numpy())
                deviations.append(found.variance.clamp_min(0).flatten().sqrt().numpy())
        return self._scale * np.concatenate(means), self._scale * np.concatenate(deviations)


class Nothing:
    """No model: the prior is all there is, with the same uncertainty everywhere."""

    _deviation = 1.0

    def fit(self, rows: Numbers, residuals: Numbers) -> Nothing:
        self._deviation = float(np.sqrt(np.mean(residuals**2)))
        return self

    def predict(self, rows: Numbers) -> tuple[Numbers, Numbers]:
        return np.zeros(len(rows)), np.full(len(rows), self._deviation)


def make_model(name: str, seed: int = 0) -> Model:
    """Return an unfitted model of residuals.

    Args:
        name: A name of `MODELS`: "forest", "boosting", "gp", "mixed" (which has that of "gp"), or "prior" for none.
        seed: The seed of its random numbers.

    Raises:
        UnknownNameError: If there is no such model.
    """
    if name == "forest":
        return Trees(seed)
    if name == "boosting":
        return Trees(seed, boosted=True)
    if name in ("gp", MIXED):
        return Process(seed)
    if name == "prior":
        return Nothing()
    raise UnknownNameError("model of a predictor", name, MODELS)


def confidence_rank(share: float, count: int) -> int:
    """Return which of `count` sorted residuals bounds a share of new ones: the k-th, at most the last."""
    return min(math.ceil(share * (count + 1)), count)
