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
