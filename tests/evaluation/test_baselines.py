"""Baselines beside a network: scaled to limits, trained alike, tested, and judged; nothing is done twice."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from torch import Tensor, nn

import firstlight
from firstlight import Limits
from firstlight.core.errors import LimitError, SettingError, UnknownNameError
from firstlight.evaluation.baselines import judge_against, latencies, scaled_baselines
from firstlight.evaluation.finals import FINALS
from firstlight.execution.executor import make_executor, one_thread
from firstlight.spaces.base import Architecture
from firstlight.storage.store import Store
from firstlight.training.finalists import Finalist
from firstlight.training.job import EvaluationSetting
from firstlight.training.recipes import RecipeRequest
from firstlight.training.trained import packed, unpacked

REQUEST = RecipeRequest.parse("quick:epochs=2:batch_size=16")
TINY = "8k3s1/1x8k3s2"


class Own(nn.Module):
    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.head = nn.Linear(3 * 64, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(x.flatten(1))


def setting(space: str = "plain-resnet") -> EvaluationSetting:
    return EvaluationSetting(space, source_name="digits@8", samples=80, recipe=REQUEST.recipe, tests_later=True)


def found() -> Finalist:
    return Finalist("found", "network", setting(), TINY, REQUEST)


def test_baselines_keep_within_the_limits() -> None:
    limits = Limits(max_params="5k", max_macs="200k")
    names = [entry.name for entry in scaled_baselines(["all"], setting(), limits)]
    assert names == ["resnet", "bottleneck", "mobile", "convnext", "mlp", "logistic"]  # no vit has as few MACs
    for entry in scaled_baselines(["all"], setting(), limits):
        cost = entry.setting.space.cost(entry.setting.space.parse(entry.architecture), entry.setting.skeleton)
        assert cost.params <= 5000
        assert cost.macs <= 200_000
    usual = scaled_baselines(["resnet"], setting(), Limits())
    assert usual[0].architecture == "16k3s1/3x16k3s1/3x32k3s2/3x64k3s2"
    assert scaled_baselines(["all"], setting(), Limits(min_params="100M")) == []


def test_baselines_that_do_not_fit_are_refused_by_name_and_left_out_of_all() -> None:
    tiny = Limits(max_params=600)
    with pytest.raises(LimitError, match="No plain MobileNet of 'digits@8' has at most 600 parameters"):
        scaled_baselines(["mobile"], setting(), tiny)
    assert [entry.name for entry in scaled_baselines(["all"], setting(), tiny)][-1] == "logistic"
    with pytest.raises(LimitError, match=r"Own has 1,930 parameters; the limits are at most 600 parameters"):
        scaled_baselines([Own], setting(), tiny)
    with pytest.raises(UnknownNameError, match="Did you mean 'resnet'"):
        scaled_baselines(["resnett"], setting(), tiny)
    with pytest.raises(SettingError, match="each only once"):
        scaled_baselines(["mlp", "mlp"], setting(), tiny)


class Counted:
    """A device that takes a millisecond for a million multiply-accumulates."""

    measures = False

    def __init__(self, setting: EvaluationSetting) -> None:
        self.setting = setting

    def milliseconds(self, architecture: Architecture) -> float:
        return self.setting.space.cost(architecture, self.setting.skeleton).macs / 1e6


def test_latency_limits_are_those_of_the_baseline_in_its_own_space() -> None:
    for limit in (0.5, 2):
        for entry in scaled_baselines(["resnet", "mobile"], setting(), Limits(max_latency=limit), Counted):
            macs = entry.setting.space.cost(entry.setting.space.parse(entry.architecture), entry.setting.skeleton).macs
            assert 0.5 * limit < macs / 1e6 <= limit


def test_latencies_are_measured_and_kept() -> None:
    with Store(":memory:") as store:
        source = latencies("measured", store)(setting("plain-mlp"))
        first = source.milliseconds(setting("plain-mlp").space.parse("a1"))
        again = latencies("measured", store)(setting("plain-mlp")).milliseconds(setting("plain-mlp").space.parse("a1"))
    assert first == again > 0


def test_networks_are_trained_alike_and_compared_on_the_same_samples(tmp_path: Path) -> None:
    others = scaled_baselines(["logistic", Own], setting(), Limits(max_params=5000))
    with one_thread():
        compared = judge_against(found(), others, (0, 1), make_executor(0), tmp_path)
        again = judge_against(found(), others, (0, 1), make_executor(0), tmp_path)
    assert len(list((tmp_path / FINALS).iterdir())) == 6
    validated = [entry.validation or 0.0 for entry in compared.baselines]
    assert validated == sorted(validated, reverse=True)
    assert compared.verdict.baseline == compared.baselines[0].finalist.title
    assert {entry.answers.right.shape for entry in (compared.found, *compared.baselines)} == {(2, 359)}
    assert all(trained.known == 2 for entry in (again.found, *again.baselines) for trained in entry.trainings)
    assert again.to_dict() == compared.to_dict()
    json.dumps(compared.to_dict())
    # the same training by the public call answers the same
    alone = firstlight.train(
        "plain-resnet", TINY, data="digits@8", data_samples=80, recipe="quick:epochs=2:batch_size=16", seed=1, threads=1
    )
    assert alone.right == compared.found.trainings[1].right
    assert alone.test_accuracy == pytest.approx(compared.found.answers.accuracies[1])


def test_known_trainings_are_not_repeated() -> None:
    with one_thread():
        first = judge_against(found(), scaled_baselines(["logistic"], setting(), Limits()), (0,), make_executor(0))
        known = {0: replace(first.found.trainings[0], notes=("kept",))}
        second = judge_against(
            found(), scaled_baselines(["logistic"], setting(), Limits()), (0, 1), make_executor(0), known=known
        )
    assert second.found.trainings[0].notes == ("kept",)
    assert second.found.trainings[1].notes == ()


def test_a_baseline_that_diverges_is_left_out() -> None:
    """Weights become infinite in the own model only: it multiplies what it sees."""

    class Explosive(Own):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x) * 1e30

    others = scaled_baselines([Explosive, "logistic"], setting(), Limits())
    with one_thread():
        compared = judge_against(found(), others, (0,), make_executor(0))
    assert [entry.finalist.name for entry in compared.baselines] == ["logistic"]
    with one_thread(), pytest.raises(SettingError, match="No baseline came to the end"):
        judge_against(found(), others[:1], (0,), make_executor(0))


def test_answers_are_packed_and_read_back() -> None:
    for count in (0, 1, 7, 8, 359):
        right = tuple(map(bool, np.random.default_rng(count).integers(0, 2, count)))
        assert unpacked(packed(right), count) == right
