"""A weighted sum of proxies with learned weights."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.evaluation.toy_truth import a_truth
from tests.search.guided import a_measuring, guided

from firstlight.core.errors import SettingError
from firstlight.evaluation.truth import TRUTH
from firstlight.search.algorithms.robot import best_first, logarithm, scale
from firstlight.search.guides import draw_pool
from firstlight.search.measuring import Measuring
from firstlight.search.objective import Objective
from firstlight.search.queries import Queries

NAN = float("nan")


def oriented(monkeypatch: pytest.MonkeyPatch, directions: dict[str, float]) -> dict[str, float]:
    """Let proxies measure what the toy table has, times a direction."""
    truth = a_truth()
    values = truth.figures[truth.target]
    monkeypatch.setattr(
        Measuring,
        "utilities",
        lambda self, by, networks, batch_size=None, twin=None: np.array(
            [directions[str(by)] * values[text] for text in networks]
        ),
    )
    return dict(values)


def test_finds_the_best_of_a_proxy_and_its_negative(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every weighting of f and -f has the best or the worst network as its best one."""
    values = oriented(monkeypatch, {"params": 1.0, "macs": -1.0})
    _, asked = guided("robot:metrics=params+macs", 6)
    assert max(values, key=lambda text: values[text]) in asked
    assert min(values, key=lambda text: values[text]) in asked
    # they take few queries, and the others go to the next best
    top = sorted(values.values())[-5:]
    assert sorted(values[text] for text in asked)[-5:] == top  # several networks are equally good


@pytest.mark.parametrize("budget", [1, 5])
def test_queries_as_many_different_networks_as_asked(budget: int) -> None:
    problem, asked = guided("robot:metrics=params+synflow+l2_norm:pool=40", budget)
    assert len(asked) == len(set(asked)) == budget == problem.scored
    assert set(problem.findings["weights"]) == {"params", "synflow", "l2_norm"}
    assert all(-1 <= weight <= 1 for weight in problem.findings["weights"].values())


def test_the_seed_decides() -> None:
    text = "robot:metrics=params+synflow:pool=30"
    assert guided(text, 3)[1] == guided(text, 3)[1]


def test_scale() -> None:
    assert scale(np.array([2.0, 4.0, NAN, 3.0])).tolist() == [0, 1, 0, 0.5]
    assert scale(np.array([7.0, 7.0])).tolist() == [7, 7]
    assert scale(np.array([NAN, NAN])).tolist() == [0, 0]


def test_logarithm() -> None:
    assert logarithm(np.array([1.0, np.e])).tolist() == pytest.approx([0, 1])
    found = logarithm(np.array([-1.0, 0.0, np.e, NAN]))
    assert np.isnan(found).tolist() == [True, True, False, True]


def test_takes_the_logarithm_of_the_proxies_that_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative scores have no logarithm, so all networks count the same and the queries go to the last ones."""
    oriented(monkeypatch, {"params": -1.0})
    drawn = draw_pool(Queries(a_truth(), Objective(TRUTH), random.Random(0), 3, measuring=a_measuring()), 60_000)
    assert set(guided("robot:metrics=params:log=params", 3)[1]) == set(drawn[-3:])
    assert set(guided("robot:metrics=params", 3)[1]) != set(drawn[-3:])


def test_logarithm_of_a_proxy_that_is_not_weighted() -> None:
    with pytest.raises(SettingError, match=r"robot:log is 'synflow'; name proxies of robot:metrics \(params, macs\)"):
        guided("robot:metrics=params+macs:log=synflow", 1)


def test_ties_go_to_the_last() -> None:
    assert best_first(np.array([1.0, 3.0, 3.0, 0.0])).tolist() == [2, 1, 0, 3]


def test_bad_metrics() -> None:
    with pytest.raises(SettingError, match="name each proxy once"):
        guided("robot:metrics=params+params")
