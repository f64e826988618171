"""Search with a predictor: evaluate the network that promises most, learn from it, and predict again."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from firstlight.core.errors import NothingScoredError, SettingError
from firstlight.predict.design import design, prior_of
from firstlight.predict.features import features_of
from firstlight.predict.models import make_model
from firstlight.predict.predictor import FEWEST_LABELS, Observed, Predicted, predict_pool
from firstlight.proxies.ensembles import parse_criterion
from firstlight.search.algorithm import BatchSize, algorithm
from firstlight.search.algorithms.evolution import new_mutants
from firstlight.search.guides import draw_pool
from firstlight.search.objective import Candidate
from firstlight.search.queries import Queries

Numbers = NDArray[np.float64]
Promise = Literal["ei", "thompson", "mean"]
# Mutants are made of this many of the best networks
PARENTS = 10


@algorithm(needs=("truth",))
def predictor(
    problem: Queries,
    *,
    by: str = "naswot+synflow+dextr",
    pool: int = 2000,
    model: Literal["mixed", "forest", "boosting", "gp"] = "gp",
    acquisition: Promise = "ei",
    first: int = 5,
    together: int = 1,
    mutants: int = 0,
    full_epochs: int = 50,
    batch: Annotated[int, BatchSize()] = 64,
) -> None:
    """Evaluate the networks that a predictor expects most of, and fit it again after each.

    The prior is the mean rank by some proxies; its best networks are evaluated first. Then a model of features and
    proxies corrects it. Results of few epochs count as much as the prior, and no more (see `firstlight predict`).

    Args:
        by: Proxies of the prior, separated by +.
        pool: Number of random networks in the pool.
        model: What corrects the prior: gp, forest, boosting, or mixed.
        acquisition: What is highest for the next network: expected improvement (`ei`), a random draw of its result
            (`thompson`), or the `mean`.
        first: Number of networks that are evaluated by the prior alone; 5 or more.
        together: Number of networks that are evaluated at a time.
        mutants: Number of mutants of the best networks that join the pool before each fit.
        full_epochs: Results of fewer epochs count as short trainings.
        batch: Number of inputs in a batch for the proxies.
    """
    make_model(model)
    if first < FEWEST_LABELS:
        raise SettingError(f"predictor:first is {first}; a predictor needs at least {FEWEST_LABELS} labels.")
    known = _Known(problem, by.split("+"), batch, full_epochs)
    known.add(draw_pool(problem, pool))
    known.evaluate(known.best(known.prior, min(first, problem.remaining)))
    while problem.remaining and len(known.reached) < len(known.texts):
        if mutants:
            known.add_mutants(mutants)
        found = known.predicted(model)
        promise = known.prior if found is None else _promise(found, known, acquisition)
        known.evaluate(known.best(promise, min(together, problem.remaining)))


class _Known:
    """The pool of a search: proxies and features of each network, and what was reached."""

    def __init__(self, problem: Queries, names: list[str], batch: int, full_epochs: int) -> None:
        self._problem, self._names, self._batch, self._full_epochs = problem, names, batch, full_epochs
        self.texts: list[str] = []
        self.reached: dict[str, float | None] = {}
        self._measured: list[Numbers] = [np.empty(0) for _ in names]
        self._seen: set[str] = set()
        self._short = False

    def add(self, texts: list[str]) -> None:
        """Measure networks and add them to the pool."""
        self.texts += texts
        self._seen.update(texts)
        for place, name in enumerate(self._names):
            values = self._problem.measure(parse_criterion(name), texts, self._batch)
            self._measured[place] = np.concatenate([self._measured[place], values])
        utilities = pd.DataFrame(dict(zip(self._names, self._measured, strict=True)), index=self.texts)
        if not utilities.notna().any().any():
            raise NothingScoredError(f"None of {len(self.texts)} networks has a score by {'+'.join(self._names)}.")
        self.prior = prior_of(utilities)
        self._rows = design(features_of(self._problem.space, self.texts), utilities).to_numpy()

    def add_mutants(self, count: int) -> None:
        """Add mutants of the best networks that were evaluated."""
        fresh = new_mutants(self._problem, self._seen, self._problem.pool.best(PARENTS))
        drawn = [str(architecture) for _, architecture in zip(range(count), fresh, strict=False)]
        if drawn:
            self.add(drawn)

    def best(self, promise: Numbers, count: int) -> list[str]:
        """Return the networks of the highest promise that were not evaluated; the text decides between equals."""
        order = np.lexsort((np.array(self.texts), -promise))
        return [self.texts[place] for place in order if self.texts[place] not in self.reached][:count]

    def evaluate(self, texts: list[str]) -> None:
        """Ask for the performance of networks."""
        for candidate in self._problem.evaluate(map(self._problem.space.parse, texts)):
            self.reached[candidate.network.architecture] = self._problem.utility(candidate)
            self._short |= _epochs(candidate) < self._full_epochs

    @property
    def places(self) -> NDArray[np.int64]:
        """The places of the networks with a result."""
        known = [place for place, text in enumerate(self.texts) if self.reached.get(text) is not None]
        return np.array(known, dtype=np.int64)

    def predicted(self, model: str) -> Predicted | None:
        """Return the prediction for the pool; None as long as there is nothing to learn."""
        places = self.places
        values: Any = [self.reached[self.texts[place]] for place in places]
        if len(places) < FEWEST_LABELS or len(set(values)) < 2:
            return None
        observed = Observed("performance", places, np.array(values, dtype=float), self._short)
        seed = self._problem.rng.getrandbits(32)
        return predict_pool(self._rows, self.prior, [observed], model=model, intervals=False, seed=seed)

    def generator(self) -> np.random.Generator:
        return np.random.default_rng(self._problem.rng.getrandbits(64))


def _epochs(candidate: Candidate) -> float:
    """Return after how many epochs a network was evaluated; infinity if that is unknown."""
    return min((score.parts.get("epochs", np.inf) for score in candidate.network.scores.values()), default=np.inf)


def _promise(found: Predicted, known: _Known, acquisition: Promise) -> Numbers:
    """Return what the next network is chosen by: higher is better."""
    if acquisition == "mean":
        return found.score
    deviation = found.deviation * (0.5 if found.fits[-1].observed.short else 1.0)  # the prior is the other half
    if acquisition == "thompson":
        return found.score + deviation * known.generator().normal(size=len(deviation))
    from scipy.stats import norm  # slow to import

    ahead = found.score - found.score[known.places].max()
    share = ahead / deviation
    improvement: Numbers = ahead * norm.cdf(share) + deviation * norm.pdf(share)
    return improvement
