"""Priors fitted on pools whose results are known functions of the proxies."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, rankdata

from firstlight.core.errors import DataError
from firstlight.core.statistics import spearman
from firstlight.predict import prior
from firstlight.predict.prior import Pool, fit_prior, leaving_out

COUNT = 60


def a_pool(seed: int, group: str = "", noise: float = 0.3, **weights: float) -> Pool:
    """Networks whose result is the weighted sum of `good`, `other` and the feature `depth`, with noise."""
    drawn = np.random.default_rng(seed)
    columns = {name: drawn.normal(size=COUNT) for name in ("good", "other", "useless", "depth")}
    truth = sum(weight * columns[name] for name, weight in weights.items()) + noise * drawn.normal(size=COUNT)
    utilities = pd.DataFrame({name: columns[name] for name in ("good", "other", "useless")})
    depth = pd.DataFrame({"depth": columns["depth"]})
    return Pool(f"space {seed}", group or f"space {seed}", utilities, depth, {"task": np.asarray(truth)})


def test_finds_what_decides() -> None:
    pools = [a_pool(seed, good=1.0, other=0.5) for seed in range(3)]
    found = fit_prior(pools, ["good", "other", "useless"])
    assert list(found)[:2] == ["good", "other"]
    assert found["good"] == pytest.approx(2 * found["other"], rel=0.4)
    assert sum(found.values()) == pytest.approx(1)
    new = a_pool(9, good=1.0, other=0.5)
    assert spearman(new.score(found), new.target) > spearman(new.scores["good"], new.target)


def test_weights_against_a_grid() -> None:
    """The slow twin: the best weights on a grid, by the formula of the module."""
    pools = [a_pool(0, "a", good=1.0), a_pool(1, "a", good=0.5, other=0.2), a_pool(2, "b", other=1.0)]

    def loss(weights: tuple[float, float]) -> float:
        by_group = {"a": [0.0, 0], "b": [0.0, 0]}
        for pool in pools:
            normal = {name: norm.ppf((rankdata(pool.utilities[name]) - 0.5) / COUNT) for name in ("good", "other")}
            target = norm.ppf((rankdata(pool.truths["task"]) - 0.5) / COUNT)
            for y, first, second in zip(target, normal["good"], normal["other"], strict=True):
                by_group[pool.group][0] += (y - weights[0] * first - weights[1] * second) ** 2
                by_group[pool.group][1] += 1
        return sum(total / count for total, count in by_group.values()) / 2 + 0.1 * sum(w**2 for w in weights)

    found = prior._least_squares(pools, ["good", "other"], 0.1)
    grid = np.arange(0, 1, 0.05)
    best = min(itertools.product(grid, grid), key=loss)
    assert loss((found["good"], found["other"])) <= loss(best)
    assert (found["good"], found["other"]) == pytest.approx(best, abs=0.05)


def test_features_in_both_directions() -> None:
    pools = [a_pool(seed, good=0.5, depth=-1.0) for seed in range(3)]
    found = fit_prior(pools, ["good", "feature depth", "-feature depth"])
    assert next(iter(found)) == "-feature depth"
    assert "feature depth" not in found


def test_a_proxy_that_scores_no_network_says_nothing() -> None:
    pool = a_pool(0, good=1.0)
    silent = Pool(pool.title, pool.group, pool.utilities.assign(good=np.nan), pool.features, pool.truths)
    assert (silent.scores["good"] == 0).all()
    assert np.isfinite(silent.score({"good": 0.5, "other": 0.5})).all()


def test_several_tasks_are_one_target() -> None:
    pool = a_pool(0, good=1.0)
    truth = pool.truths["task"]
    both = Pool(pool.title, "", pool.utilities, pool.features, {"a": truth, "b": np.exp(truth)})
    assert both.target == pytest.approx(pool.target)  # the scale of a task has no say
    noise = np.random.default_rng(5).normal(size=COUNT)
    mixed = Pool(pool.title, "", pool.utilities, pool.features, {"a": truth, "b": noise})
    assert 0.3 < spearman(mixed.target, truth) < 0.95
    assert 0.3 < spearman(mixed.target, noise) < 0.95


def test_leaves_out_one_group_at_a_time() -> None:
    pools = [a_pool(0, "a"), a_pool(1, "b"), a_pool(2, "a")]
    found = [(group, [pool.title for pool in left], len(others)) for group, left, others in leaving_out(pools)]
    assert found == [("a", ["space 0", "space 2"], 1), ("b", ["space 1"], 2)]


def test_bad_pools() -> None:
    with pytest.raises(DataError, match="two or more spaces"):
        fit_prior([a_pool(0, "a"), a_pool(1, "a")], ["good"])
    with pytest.raises(DataError, match="No proxy agrees"):
        fit_prior([a_pool(seed, good=-1.0) for seed in range(3)], ["good"])
