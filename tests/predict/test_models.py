from __future__ import annotations

import numpy as np
import pytest

from firstlight.core.errors import UnknownNameError
from firstlight.predict.models import MODELS, confidence_rank, make_model

GENERATOR = np.random.default_rng(0)
ROWS = GENERATOR.normal(size=(60, 3))
VALUES = ROWS[:, 0] + 0.5 * ROWS[:, 1] ** 2


@pytest.mark.parametrize("name", [name for name in MODELS if name != "prior"])
def test_learns_what_there_is_to_learn(name: str) -> None:
    model = make_model(name).fit(ROWS[:40], VALUES[:40] - VALUES[:40].mean())
    found, deviation = model.predict(ROWS[40:])
    truth = VALUES[40:] - VALUES[:40].mean()
    assert np.mean((found - truth) ** 2) < 0.5 * np.mean(truth**2)
    assert found.shape == deviation.shape == (20,)
    assert (deviation >= 0).all()
    assert deviation.max() > 0


def test_process_is_less_sure_far_away() -> None:
    rows = np.linspace(0, 1, 30)[:, None]
    model = make_model("gp").fit(rows, np.sin(20 * rows[:, 0]))
    _, near = model.predict(rows[5:25])
    _, far = model.predict(np.array([[3.0]]))
    assert far[0] > 2 * near.mean()


@pytest.mark.parametrize("name", MODELS)
def test_same_seed_same_numbers(name: str) -> None:
    first, second = (make_model(name, 3).fit(ROWS[:8], VALUES[:8]).predict(ROWS)[0] for _ in range(2))
    assert (first == second).all()


def test_nothing() -> None:
    found, deviation = make_model("prior").fit(ROWS[:4], np.array([3.0, -3.0, 3.0, -3.0])).predict(ROWS[:2])
    assert found.tolist() == [0, 0]
    assert deviation.tolist() == [3, 3]


def test_confidence_rank() -> None:
    assert [confidence_rank(0.8, count) for count in (4, 5, 9, 10)] == [4, 5, 8, 9]


def test_unknown_model() -> None:
    with pytest.raises(UnknownNameError, match=r"no model of a predictor 'forrest'\. Did you mean 'forest'"):
        make_model("forrest")
