"""Several draws of one network: their mean and how far it can be trusted."""

from __future__ import annotations

from statistics import fmean, stdev

import pytest
import torch
from torch import nn

import firstlight
from firstlight.core.errors import SettingError
from firstlight.data import InputSource
from firstlight.execution.executor import make_executor
from firstlight.proxies.base import Score
from firstlight.proxies.requests import ProxyRequest
from firstlight.scoring.repeats import combine, draw_seeds
from firstlight.scoring.service import ScoreService, Setting
from firstlight.storage.store import Store

CELL = "|nor_conv_3x3~0|+|none~0|none~1|+|skip_connect~0|none~1|nor_conv_1x1~2|"
SMALL = (("cells", 1), ("channels", 4))


def test_mean_and_standard_error() -> None:
    score = combine([Score(1.0, {"a": 2.0}), Score(3.0, {"a": 4.0}), Score(8.0, {"a": 9.0})])
    assert score.value == 4.0
    assert score.parts["a"] == 5.0
    assert score.parts["standard_error"] == pytest.approx(stdev([1, 3, 8]) / 3**0.5)
    assert combine([Score(2.0)]) == Score(2.0)


def test_a_draw_without_a_value_leaves_none() -> None:
    score = combine([Score(1.0), Score.without_value("non_finite", "the formula gave nan")])
    assert (score.status, score.note) == ("non_finite", "1 of 2 repeats: the formula gave nan")


def test_seeds_begin_with_the_seed_and_differ() -> None:
    assert draw_seeds(7, 3)[0] == 7
    assert len(set(draw_seeds(7, 50))) == 50
    with pytest.raises(SettingError, match="repeats is 0"):
        draw_seeds(0, 0)


def test_architectures_of_a_space() -> None:
    def value(setting: Setting) -> Score:
        service = ScoreService(setting, [ProxyRequest.parse("dextr")], make_executor(0), Store(":memory:"))
        (network,) = service.scores([CELL])
        return network.scores["dextr"]

    seeds = draw_seeds(0, 3)
    alone = [value(Setting("nasbench201", InputSource(), seed, SMALL)).value for seed in seeds]
    together = value(Setting("nasbench201", InputSource(), 0, SMALL, repeats=3))
    assert together.value == pytest.approx(fmean(alone), rel=1e-12)
    assert together.parts["standard_error"] == pytest.approx(stdev(alone) / 3**0.5, rel=1e-9)
    assert len(set(alone)) == 3


def test_models_are_made_anew() -> None:
    def make() -> nn.Module:
        return nn.Sequential(nn.Flatten(), nn.Linear(12, 5))

    def inputs(seed: int) -> torch.Tensor:
        return torch.randn(2, 3, 2, 2, generator=torch.Generator().manual_seed(seed))

    state = torch.get_rng_state()
    scores = firstlight.score(make, inputs, "l2_norm,params", repeats=4)
    assert torch.equal(state, torch.get_rng_state())
    assert scores["l2_norm"].parts["standard_error"] > 0
    assert scores["params"].parts["standard_error"] == 0
    assert firstlight.score(make, inputs, "l2_norm", repeats=4)["l2_norm"].value == scores["l2_norm"].value
    with pytest.raises(SettingError, match="function that builds"):
        firstlight.score(make(), inputs(0), "l2_norm", repeats=2)
