"""What proxies say of networks beside a search."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rankdata
from tests.search.guided import a_measuring

from firstlight.data import InputSource
from firstlight.proxies.ensembles import parse_criterion
from firstlight.scoring.service import Setting
from firstlight.search.measuring import Twin
from firstlight.storage.store import Store

NETWORKS = ["64-41414-1_11_111", "64-41414-3_33_333", "64-41414-0_00_000"]


def test_the_twin_is_narrow_and_sees_less() -> None:
    twin = Twin(4, 16).of(Setting("nasbench201", InputSource("digits", 8)))
    assert (twin.skeleton.input_shape, dict(twin.skeleton_settings)) == ((3, 16, 16), {"channels": 4})
    assert twin.inputs.batches[0][0].shape == (8, 3, 16, 16)
    assert twin.inputs.fingerprint.startswith("digits@16:1x8:")


def test_what_is_narrow_already_stays_as_it_is() -> None:
    setting = Setting("nasbench201", InputSource("digits@8", 2), skeleton_settings=(("channels", 2),))
    assert Twin(4, 16).of(setting).skeleton == setting.skeleton
    assert np.array_equal(Twin(4, 16).of(setting).inputs.batches[0][0], setting.inputs.batches[0][0])


def test_a_shape_that_was_asked_for_is_reduced_too() -> None:
    setting = Setting("nasbench201", skeleton_settings=(("input_shape", (3, 32, 8)),))
    assert Twin(4, 16).of(setting).skeleton.input_shape == (3, 16, 8)
    wide = Setting("nasbench201", InputSource("digits"), skeleton_settings=(("input_shape", (3, 32, 32)),))
    assert Twin(4, 16).of(wide).skeleton.input_shape == (3, 16, 16)


def test_a_space_without_channels_keeps_its_width() -> None:
    assert dict(Twin(4, 16).of(Setting("nats-sss")).skeleton_settings) == {}


def test_higher_is_better_and_no_score_is_nan() -> None:
    measuring = a_measuring()
    found = {name: measuring.utilities(parse_criterion(name), NETWORKS, 4) for name in ("dextr", "ntk_condition")}
    assert np.isnan(found["dextr"][:2]).all()  # a network without a ReLU at its end has an output that does not bend
    assert found["ntk_condition"][0] < -1
    assert measuring.seconds > 0


def test_an_ensemble_may_have_members_of_both_kinds() -> None:
    measuring, twin = a_measuring(), Twin(2, 8)
    alone = [measuring.utilities(parse_criterion(name), NETWORKS, 4, twin) for name in ("params", "ntk_condition")]
    ensemble = measuring.utilities(parse_criterion("rank_mean(params,ntk_condition)"), NETWORKS, 4, twin)
    ranks = [rankdata(np.nan_to_num(values, nan=-np.inf)) / len(NETWORKS) for values in alone]
    assert ensemble == pytest.approx(np.mean(ranks, axis=0))
    wide = measuring.utilities(parse_criterion("ntk_condition"), NETWORKS, 4)
    assert not np.array_equal(wide, alone[1], equal_nan=True)  # the twin is another network


def test_nothing_is_measured_twice() -> None:
    store = Store(":memory:")
    before = a_measuring(store)
    first = before.utilities(parse_criterion("synflow"), NETWORKS[:2])
    again = a_measuring(store)
    assert np.array_equal(again.utilities(parse_criterion("synflow"), NETWORKS[:2]), first)
    assert len(set(first)) == 2
    assert again.seconds == pytest.approx(before.seconds)  # what it took, whenever that was
