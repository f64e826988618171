"""Means and places of networks that were retrained."""

from __future__ import annotations

import pytest

from firstlight.training.clicks import ClickMetrics, ClickResult, click_recipe
from firstlight.training.retrained import Kind, Retraining, Standing


def standing(name: str, kind: Kind, *losses: float | None) -> Standing:
    results = [
        ClickResult(1, ClickMetrics(loss, 0.5, 9), ClickMetrics(loss + 0.1, None, 9))
        if loss
        else ClickResult(1, status="failed")
        for loss in losses
    ]
    return Standing(name, kind, tuple(results))


def hand(*losses: float) -> Standing:
    return standing("logistic regression", "by hand", *losses)


@pytest.mark.parametrize(
    ("ours", "theirs", "words"),
    [
        (
            (0.30, 0.31, 0.29),
            (0.50, 0.51, 0.52),
            "is better than logistic regression (test log loss 0.4000 against 0.6100",
        ),
        ((0.50, 0.51, 0.52), (0.30, 0.31, 0.29), "is worse than logistic regression"),
        ((0.30, 0.51, 0.42), (0.40, 0.31, 0.59), "is not distinguishable from logistic regression over 3 seeds"),
        (
            (0.3,),
            (0.4,),
            "is better than logistic regression (test log loss 0.4000 against 0.5000) in one training each",
        ),
        ((0.4,), (0.3,), "Use logistic regression: it is simpler."),
    ],
)
def test_the_verdict_says_whether_the_search_helped(
    ours: tuple[float, ...], theirs: tuple[float, ...], words: str
) -> None:
    seeds = tuple(range(len(ours)))
    found = Retraining(click_recipe(), "data", seeds, (hand(*theirs), standing("a", "found", *ours)))
    assert found.verdict is not None
    assert words in found.verdict.text
    known = {"better": " is better than ", "worse": " is worse than ", "unclear": " is not distinguishable from "}
    assert known[found.verdict.outcome] in found.verdict.text
    assert found.to_dict()["verdict"] == {"outcome": found.verdict.outcome, "text": found.verdict.text}


def test_the_interval_is_that_of_welch() -> None:
    from scipy.stats import ttest_ind

    ours, theirs = (0.30, 0.33, 0.29), (0.34, 0.36, 0.41)
    found = Retraining(click_recipe(), "data", (0, 1, 2), (hand(*theirs), standing("a", "found", *ours)))
    interval = ttest_ind(theirs, ours, equal_var=False).confidence_interval(0.95)
    assert found.verdict is not None
    assert f"[{interval.low:.4f}, {interval.high:.4f}]" in found.verdict.text


def test_without_a_pair_there_is_no_verdict() -> None:
    assert Retraining(click_recipe(), "data", (0,), (hand(0.3),)).verdict is None
    others = standing("a", "found", 0.3), standing("b", "random", 0.3)
    assert Retraining(click_recipe(), "data", (0,), others).verdict is None


def test_figures_of_several_trainings() -> None:
    one = standing("a", "found", 0.4, 0.6, None)
    assert one.mean("validation", "log_loss") == pytest.approx(0.5)
    assert one.deviation("validation", "log_loss") == pytest.approx(0.1414, abs=1e-4)
    assert one.mean("test", "auc") is None
    nothing = standing("b", "found", None)
    assert (nothing.mean("test", "log_loss"), nothing.deviation("test", "log_loss")) == (None, None)
    chance = [standing(str(loss), "random", loss) for loss in (0.3, 0.5, 0.9)]
    found = Retraining(click_recipe(), "data", (0,), (standing("dlrm", "by hand", 0.1), nothing, *chance, one))
    assert found.best == one
    assert found.median_random == pytest.approx(0.6)
    assert found.to_dict()["best"] == "a"
