"""MeCo against numpy's correlations, hook by hook."""

from __future__ import annotations

import pytest
import torch
from tests import nets, slow
from torch import nn

import firstlight
from firstlight.probe import Probe
from firstlight.proxies.meco import meco, meco_opt

NETS = ["residual", "smooth", "attention", "plain"]


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("images", [1, 3])
def test_meco_is_the_sum_over_all_outputs(name: str, images: int) -> None:
    x = nets.images(4)
    expected = sum(slow.smallest_correlation(rows) for rows in slow.first_maps(nets.build(name), x[:images]))
    assert meco(Probe(nets.build(name), x), images=images).value == pytest.approx(expected, rel=1e-7)


def test_images_matter_to_batch_norm_alone() -> None:
    x = nets.images(4)
    for name, matter in (("residual", True), ("plain", False)):
        probe = Probe(nets.build(name), x)
        for proxy in (meco, meco_opt):
            assert (proxy(probe, images=4).value != pytest.approx(proxy(probe).value, rel=1e-9)) == matter


@pytest.mark.parametrize("name", NETS)
def test_drawing_all_rows_is_drawing_none(name: str) -> None:
    probe = Probe(nets.build(name), nets.images(1))
    assert meco_opt(probe, rows=99).value == pytest.approx(meco(probe).value, rel=1e-12)


def test_drawn_rows_depend_on_the_seed_and_nothing_else() -> None:
    x = nets.images(1)
    values = [meco_opt(Probe(nets.build("plain"), x, seed=seed), rows=3).value for seed in (0, 0, 1)]
    assert values[0] == values[1] != values[2]
    probe = Probe(nets.build("plain"), x)
    meco(probe)
    assert meco_opt(probe, rows=3).value == values[0]


def test_fewer_rows_of_independent_channels_score_higher() -> None:
    # eigenvalues interlace: those of a part of the correlation matrix lie inside, and the factor is n / rows
    probe = Probe(nn.Identity(), nets.images(1, side=16).reshape(1, 12, 64))
    assert meco(probe).value < meco_opt(probe, rows=6).value / 2 <= 1


def test_a_network_that_gives_no_numbers_has_no_score() -> None:
    net = nets.build("residual")
    nn.init.constant_(net.down.weight, float("nan"))
    scores = firstlight.score(net, torch.randn(1, 3, 8, 8), "meco,meco_opt")
    assert [score.status for score in scores.values()] == ["non_finite"] * 2
