"""What is measured beside proxies, against the slow and obvious, by hand, and on shapes whose answer is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from tests import textbook
from tests.papers.toy import write_tables

from firstlight.core.errors import UnsupportedError
from firstlight.core.statistics import Numbers, spearman
from firstlight.execution.executor import InProcess
from firstlight.papers.benchmarks import NB201_C10, DataFolder
from firstlight.papers.dextr_curves import CurveShape, ScoreSpread
from firstlight.papers.dextr_layers import LargeMaps, LayerRatios
from firstlight.papers.dextr_tables import harmonic_mean
from firstlight.papers.hnas_bounds import Penalty, bound, condition_only, official_penalty, paper_penalty, size, tuned
from firstlight.papers.lab import Lab
from firstlight.papers.picked import best_and_worst, nearest
from firstlight.papers.rank_rows import Known
from firstlight.proxies.base import Parts
from firstlight.scoring.service import Setting
from firstlight.storage.store import Store

SETTING = Setting("nasbench201", skeleton_settings=(("cells", 1), ("channels", 4), ("input_shape", (3, 8, 8))))
CONVOLUTIONS = "|nor_conv_3x3~0|+|none~0|nor_conv_3x3~1|+|skip_connect~0|none~1|nor_conv_3x3~2|"
NOTHING = "|none~0|+|none~0|none~1|+|none~0|none~1|none~2|"


class Counting(InProcess):
    def __init__(self) -> None:
        self.items: list[object] = []

    def map(self, job: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        for item, result in super().map(job, items):
            self.items.append(item)
            yield item, result


@dataclass(frozen=True)
class Length:
    factor: float
    revision: ClassVar[int] = 1

    def __call__(self, setting: Setting, architecture: str) -> Parts:
        if "avg" in architecture:
            raise UnsupportedError("no pooling, please")
        return Parts(self.factor * len(architecture), seed=setting.seed)


def test_a_measure_that_is_no_number_is_not_ok() -> None:
    lab = a_lab()
    (score,) = lab.measured(SETTING, [CONVOLUTIONS], Length(math.inf)).values()
    assert (score.status, math.isnan(score.value)) == ("non_finite", True)


def a_lab(folder: Path | None = None, samples: int = 12) -> Lab:
    return Lab(DataFolder(folder), Counting(), Store(":memory:"), samples, skeleton=SETTING.skeleton_settings)


def test_a_measure_is_taken_once_for_each_of_its_settings() -> None:
    lab = a_lab()
    assert isinstance(lab.executor, Counting)
    found = lab.measured(SETTING, [CONVOLUTIONS, NOTHING, CONVOLUTIONS], Length(2.0))
    assert {text: score.value for text, score in found.items()} == {
        CONVOLUTIONS: 2 * len(CONVOLUTIONS),
        NOTHING: 2 * len(NOTHING),
    }
    assert lab.measured(SETTING, [NOTHING, CONVOLUTIONS], Length(2.0)) == found
    assert lab.executor.items == [CONVOLUTIONS, NOTHING]
    for setting, measure in (
        (SETTING, Length(3.0)),
        (replace(SETTING, seed=1), Length(2.0)),
        (replace(SETTING, initialization="he"), Length(2.0)),
        (replace(SETTING, repeats=2), Length(2.0)),
    ):
        lab.measured(setting, [NOTHING], measure)
    assert len(lab.executor.items) == 6


def test_a_network_that_cannot_be_measured_has_no_value() -> None:
    pooling = NOTHING.replace("none~0|+", "avg_pool_3x3~0|+")
    score = a_lab().measured(SETTING, [pooling], Length(1.0))[pooling]
    assert (score.status, score.note) == ("unsupported", "no pooling, please")


def test_the_share_of_large_maps_is_that_of_one_svd_per_hook() -> None:
    found = LargeMaps("all")(SETTING, CONVOLUTIONS)
    sigma = textbook.largest_singular_values(SETTING.build(CONVOLUTIONS), SETTING.inputs.batches[0][0])
    assert found.parts["layers"] == len(sigma)
    assert found.value == np.mean(np.array(sigma) >= 1)
    assert 0 < found.value < 1
    assert LargeMaps("leaf")(SETTING, CONVOLUTIONS).parts["layers"] < len(sigma)


def test_ratios_by_depth_end_before_the_vectors() -> None:
    found = LayerRatios()(SETTING, CONVOLUTIONS)
    assert found.parts["vector"] == 1
    assert 0 <= found.parts["last_map"] < 1
    means = [found.parts[f"depth{number}"] for number in range(10)]
    assert all(math.isnan(mean) or 0 <= mean <= 1 for mean in means)


def test_curves_of_networks() -> None:
    found = CurveShape(8)(SETTING, CONVOLUTIONS)
    places = np.array([[found.parts[f"{axis}{n}"] for axis in ("first", "second", "third")] for n in range(8)])
    assert np.square(places).sum(1).mean() == pytest.approx(1)
    spread = places.std(0)
    assert spread[0] >= spread[1] >= spread[2]


def test_spread_over_inputs_keeps_the_weights() -> None:
    setting = replace(SETTING, repeats=3)
    same = ScoreSpread("l2_norm", "inputs")(setting, CONVOLUTIONS)
    assert same.value == 0
    assert ScoreSpread("l2_norm", "weights and inputs")(setting, CONVOLUTIONS).value > 0
    assert ScoreSpread("independence", "inputs")(setting, CONVOLUTIONS).value > 0
    with pytest.raises(UnsupportedError, match="dss: "):
        ScoreSpread("dss", "inputs")(setting, CONVOLUTIONS)


def test_groups_by_accuracy(tmp_path: Path) -> None:
    lab = a_lab(write_tables(tmp_path), samples=8)
    rows = lab.data.table(NB201_C10).join(SETTING.space, "cifar10_test_200").rows.sort_values("value")
    groups = best_and_worst(lab, NB201_C10)
    assert groups["best"][0] == rows["canonical"].iloc[-1]
    assert groups["worst"][-1] == rows["canonical"].iloc[0]
    assert [len(set(texts)) for texts in groups.values()] == [4, 4]
    middle = rows.iloc[15]
    assert nearest(lab, NB201_C10, middle["value"])[0] == middle["canonical"]


def known(truth: Numbers) -> Known:
    return Known(truth, np.arange(len(truth)), 0)


def test_the_harmonic_mean_is_of_positive_scores() -> None:
    utilities = {"zen": np.array([1.0, 2.0, -1.0]), "zico": np.array([1.0, 6.0, 3.0])}
    assert harmonic_mean(utilities, known(np.zeros(3)))[:2] == pytest.approx([1, 3])
    assert math.isnan(harmonic_mean(utilities, known(np.zeros(3)))[2])


def test_what_is_made_of_a_metric_and_the_condition_number() -> None:
    utilities = {"grasp": np.array([-2.0, 4.0]), "ntk_condition": np.array([-8.0, -8.0])}
    nothing = known(np.zeros(2))
    assert size("GraSP")(utilities, nothing) == pytest.approx([2, 4])
    assert condition_only("GraSP")(utilities, nothing) == pytest.approx([-4, -2], rel=1e-5)
    assert np.isnan(bound("GraSP")(utilities, nothing)).all()  # too few to choose by


@pytest.mark.parametrize("penalty", [paper_penalty, official_penalty])
def test_the_bound_is_chosen_on_one_half_and_judged_on_the_other(penalty: Penalty) -> None:
    generator = np.random.default_rng(0)
    m, ratio = generator.uniform(0, 1, 80), generator.uniform(0, 1, 80)
    truth = -np.abs(m**2 - 0.25)  # best where nu is half the largest M
    values = tuned(m, ratio, known(truth), penalty)
    judged = np.isfinite(values)
    assert judged.sum() == 40
    assert spearman(values[judged], truth[judged]) > 0.95
    assert abs(spearman(m, truth)) < 0.8
    scrambled = truth.copy()
    scrambled[judged] = 0.0  # what it is judged on has no say in the choice
    assert (tuned(m, ratio, known(scrambled), penalty)[judged] == values[judged]).all()
    classes = np.arange(80) // 4
    in_fours = np.isfinite(tuned(m, ratio, Known(truth, classes, 0), penalty)).reshape(20, 4)
    assert (in_fours.all(1) | ~in_fours.any(1)).all()  # networks that share a score are never in both halves


def test_penalties_by_hand() -> None:
    m = np.array([1.0, 2.0, 3.0])
    assert paper_penalty(m, 2.0) == pytest.approx([9, 0, 25])
    assert official_penalty(m, 2.0) == pytest.approx([3, 0, 5])
