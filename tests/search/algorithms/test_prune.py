"""TE-NAS's pruning: what goes first, what is left, and that it is the same again."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from tests.search.supernets import nasbench201, run, small_darts

import firstlight
from firstlight.core.errors import FirstlightError, LimitError, SettingError
from firstlight.proxies.ensembles import parse_criterion
from firstlight.scoring import service as scoring
from firstlight.search.algorithms.prune import _ranks, pruned
from firstlight.spaces.supernets import Place

QUICK = "prune:prune_number=2:repeats=1:kernel_samples=3:region_samples=40:channels=1"


def judges(task: Any, *criteria: str) -> list[Any]:
    return [task.supernet(parse_criterion(text)) for text in criteria]


@pytest.mark.parametrize("number", [1, 2, 4, 9])
def test_what_is_missed_least_is_pruned(number: int) -> None:
    """By parameters and by work, the largest convolutions stay."""
    both = judges(nasbench201(), "params", "macs")
    full = both[0].supernet.layout.full
    state = pruned(both, full, number)
    assert set(state.left) == {("nor_conv_3x3",)}
    rounds = math.ceil(4 / number)
    assert both[0].scored == both[1].scored
    assert both[0].scored == sum(6 * (5 - number * done) + 1 for done in range(rounds))


def test_ranks_of_both_are_added_up() -> None:
    both = judges(nasbench201(), "params", "macs")
    full = both[0].supernet.layout.full
    place = full.layout.places[0]
    options = [full.without(place, name) for name in full.layout.operations]
    # none, skip and pool lose nothing; a 1x1 convolution loses less than one of 3x3
    assert _ranks(both, full, options) == [2, 2, 4, 6, 2]
    assert _ranks(both[:1], full, options) == [1, 1, 2, 3, 1]


def test_nodes_of_darts_keep_two_edges() -> None:
    task = small_darts()
    (size,) = judges(task, "params")
    state = pruned([size], size.supernet.layout.full, 1)
    assert not state.undecided
    assert not state.crowded
    genotype = size.supernet.architecture(state)
    # all edges are worth the same, so that of equals the first go
    assert [source for _, source in genotype.normal.edges] == [0, 1, 1, 2, 2, 3, 3, 4]
    assert {name for name, _ in genotype.reduce.edges} == {"sep_conv_3x3"}
    assert size.scored == (1 + 28 * 2) + (1 + 2 * (3 + 4 + 5))


def test_kernel_and_regions_are_those_of_thin_networks() -> None:
    task = run(QUICK, nasbench201())
    kernel, regions = task._judges
    assert list(kernel._service.requests) == ["te_ntk:samples=3"]
    assert list(regions._service.requests) == ["linear_regions"]
    skeletons = [judge._service.setting.skeleton for judge in task._judges]
    assert [(skeleton.cells, skeleton.channels) for skeleton in skeletons] == [(1, 1), (1, 1)]
    assert [skeleton.input_shape for skeleton in skeletons] == [(3, 32, 32), (1, 4, 4)]
    assert {judge._service.setting.initialization for judge in task._judges} == {"he"}
    assert task.states_scored == 2 * ((1 + 30) + (1 + 18))
    assert task.scored == 1
    (text,) = task.pool.texts
    assert task.pool.utility(text) == task.network(text).scores["params"].value


def test_what_leaves_no_score_is_pruned_last() -> None:
    """Without the only operation that passes anything on, the kernel is zero and its condition no number."""
    (kernel,) = judges(nasbench201(), "te_ntk:samples=2")
    layout, last = kernel.supernet.layout, Place("cell", 3, 0)
    state = layout.full
    for place in layout.places:
        state = state.keeping(place, "none", *(["nor_conv_1x1"] if place == last else []))
    gain, loss = kernel.gains(state, [state.without(last, name) for name in state.operations(last)])
    assert gain > loss == -math.inf
    assert pruned([kernel], state, 1).operations(last) == ("nor_conv_1x1",)


def test_it_is_resumed_without_scoring_anything_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings: dict[str, Any] = {
        "proxy": "params",
        "algorithm": QUICK.replace("prune_number=2", "prune_number=4"),
        "skeleton": {"cells": 1, "channels": 4, "input_shape": (3, 8, 8)},
        "workers": 0,
        "out": tmp_path,
    }
    first = firstlight.search("nasbench201", **settings)
    monkeypatch.setattr(scoring.ScoreJob, "_draw", lambda *_: pytest.fail("scored again"))
    again = firstlight.search("nasbench201", **settings)
    assert again.best.architecture == first.best.architecture
    assert (again.scored, again.reused) == (0, 1)


def test_a_network_beyond_the_limits_is_no_result() -> None:
    with pytest.raises(LimitError, match=r"at most 10 parameters.*among 1 tried"):
        run(QUICK.replace("prune_number=2", "prune_number=4"), nasbench201(max_params=10))


def test_a_supernet_that_cannot_be_judged() -> None:
    (broken,) = judges(nasbench201(), "dss")
    full = broken.supernet.layout.full
    with pytest.raises(FirstlightError, match="none of 1 states has a score"):
        pruned([broken], full, 1)


def test_a_space_without_a_supernet() -> None:
    with pytest.raises(SettingError, match="'nasbench101' has no supernet"):
        firstlight.search("nasbench101", algorithm="prune", workers=0)
