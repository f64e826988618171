"""Dextr and its parts."""

from __future__ import annotations

from math import expm1, inf, log1p
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from tests import nets, textbook
from tests.conftest import ParityCase
from torch import nn

import firstlight
from firstlight.core.errors import UnsupportedError
from firstlight.probe import Probe
from firstlight.probe.spectra import InverseCondition
from firstlight.proxies.dextr import NO_SIGNAL, OWN_SIZE, STILL, curvature, dextr, dextr_opt, independence
from firstlight.proxies.requests import ProxyRequest
from firstlight.spaces.darts.genotypes import Cell, Genotype
from firstlight.tables.table import load_table


def test_agrees_with_the_reference_implementation(parity: ParityCase) -> None:
    probe = Probe(parity.net, parity.arrays["x"][:1])
    s = log1p(float(probe.feature_statistic(InverseCondition()).values.sum()))
    kappa = probe.output_curvature(
        basis=parity.arrays["curve_basis"], coordinates=tuple(parity.arrays["c_list"].tolist())
    )
    assert kappa is not None
    c = log1p(kappa)
    # the curvature that enters the reference's score is rounded to float32
    assert s * c / (s + c) == pytest.approx(parity.values["dextr.score"], rel=parity.tolerance)


def test_the_score_is_half_the_harmonic_mean_of_its_parts() -> None:
    probe = Probe(nets.build("residual"), torch.randn(1, 3, 8, 8))
    s, k = independence(probe).value, curvature(probe).value
    whole = dextr(probe)
    assert whole.value == pytest.approx(1 / (1 / s + 1 / k))
    assert whole.parts == {"independence": s, "curvature": k}


def silent_net() -> nn.Module:
    net = nets.build("residual")
    nn.init.zeros_(net.head.weight)
    return net


def test_a_network_without_signal_ranks_last() -> None:
    score = dextr(Probe(silent_net(), torch.randn(1, 3, 8, 8)))
    assert score.value == 0.0
    assert score.note == NO_SIGNAL
    assert curvature(Probe(silent_net(), torch.randn(1, 3, 8, 8))).note == NO_SIGNAL


def test_on_a_line_nothing_bends() -> None:
    single = nn.Sequential(nets.build("residual"), nn.Linear(5, 1, dtype=torch.float64))
    for net in (single, nn.Sequential(single, nn.ZeroPad1d((1, 0)))):
        with pytest.raises(UnsupportedError, match="a single output changes"):
            dextr(Probe(net, torch.randn(1, 3, 8, 8)))


def test_the_official_variant_falls_back_to_independence() -> None:
    probe = Probe(silent_net(), torch.randn(1, 3, 8, 8))
    assert dextr(probe, variant="official", images=2).value == independence(probe, images=2).value


def genotype(last: str) -> Genotype:
    """Eight separable convolutions, but for the last edge."""
    edges = [("sep_conv_3x3", source) for _ in range(4) for source in (0, 1)]
    cell = Cell((*edges[:-1], (last, 1)))
    return Genotype(cell, cell)


@pytest.mark.parametrize("last", ["sep_conv_3x3", "max_pool_3x3"])
def test_a_network_of_darts_is_not_judged_by_its_rounding_errors(last: str) -> None:
    space, x = firstlight.space("darts"), torch.randn(1, 3, 16, 16)
    network = space.build(genotype(last), space.skeleton(channels=4, cells=3, input_shape=(3, 16, 16)))
    scores = firstlight.score(network, x, "dextr,dextr_opt,curvature,independence")
    still = last == "sep_conv_3x3"  # without pools in the last cell, pooling does not pass the signal on
    assert scores["dextr"].ok
    assert (scores["dextr"].value == scores["independence"].value) == still
    assert scores["curvature"].status == ("non_finite" if still else "ok")
    for name in ("dextr", "dextr_opt"):
        assert (scores[name].value == scores[name].parts["independence"]) == still
        assert (scores[name].parts["curvature"] == inf) == still
    assert all((scores[name].note == STILL) == still for name in ("dextr", "dextr_opt", "curvature"))


@pytest.mark.parametrize("seed", range(3))
def test_the_score_of_an_output_that_does_not_move_is_the_limit_of_equation_8(seed: int) -> None:
    """By the textbook: singular values of every output, and Eq. 8 with a curvature that grows without bound."""
    x = torch.randn(1, 3, 16, 16, generator=torch.Generator().manual_seed(seed))
    torch.manual_seed(seed)
    net = nn.Sequential(
        nn.Conv2d(3, 6, 3), nn.ReLU(), nn.Conv2d(6, 6, 3), nn.BatchNorm2d(6), nn.AdaptiveAvgPool2d(1), nn.Flatten()
    )
    found = dextr(Probe(net, x))
    # without what BatchNorm and pooling leave of the signal: vectors of rounding errors, each of which counts as 1
    s = log1p(sum(textbook.inverse_conditions(net.double(), x.double())))
    limits = [s * k / (s + k) for k in map(log1p, (1e10, 1e100, 1e300))]
    assert limits == sorted(limits)
    assert limits[-1] < found.value == pytest.approx(s, rel=1e-5)
    assert found.note == STILL


@pytest.mark.parametrize(
    ("space", "file", "skeleton"),
    [
        ("darts", "nb301_sample.parquet", {"channels": 4, "cells": 3, "input_shape": (3, 16, 16)}),
        ("transnas-micro", "tnb101_micro.parquet", {"channels": 4, "input_shape": (3, 64, 64)}),
    ],
)
def test_every_network_of_a_benchmark_that_carries_a_signal_has_a_score(
    space: str, file: str, skeleton: dict[str, Any], benchmark_data: Path
) -> None:
    found = firstlight.space(space)
    built = found.skeleton(**skeleton)
    texts = load_table(benchmark_data / file).frame["architecture"].iloc[::73][:8]
    for text in texts:
        (score,) = firstlight.score(found.build(text, built), torch.randn(1, *built.input_shape), "dextr").values()
        assert score.ok
        assert (score.value > 0) == (score.note != NO_SIGNAL)


def test_in_transnas_only_cells_without_a_signal_rank_last() -> None:
    space, x = firstlight.space("transnas-micro"), torch.randn(1, 3, 64, 64)
    skeleton = space.skeleton(channels=4, input_shape=(3, 64, 64))
    for text, note in (("64-41414-1_23_333", STILL), ("64-41414-1_23_000", NO_SIGNAL)):
        (score,) = firstlight.score(space.build(text, skeleton), x, "dextr").values()
        assert (score.status, score.note) == ("ok", note)
        assert (score.value > 0) == (note == STILL)


def test_the_official_variant_takes_rounding_errors_for_a_curvature() -> None:
    space, x = firstlight.space("darts"), torch.randn(1, 3, 16, 16)
    network = space.build(genotype("skip_connect"), space.skeleton(channels=4, cells=3, input_shape=(3, 16, 16)))
    found = dextr(Probe(network, x), variant="official", curve="own")
    assert 1e5 < expm1(found.parts["curvature"]) < 1e12
    s, k = found.parts["independence"], found.parts["curvature"]
    assert found.value == pytest.approx(s * k / (s + k))
    assert found.value < s


@pytest.mark.parametrize(
    ("space", "meant"),
    [
        ("nasbench201", "dextr:variant=official"),
        ("nasbench101", "dextr:curve=own:images=32:variant=official"),
        ("darts", "dextr:curve=own:images=32:variant=official"),
        ("transnas-micro", "dextr:curve=own:images=32:variant=official"),
        ("autoformer-tiny", "dextr:curve=own:variant=official"),
        ("nats-sss", "dextr:curve=none:variant=official"),
        ("", "dextr:variant=official"),
    ],
)
def test_the_official_variant_has_other_defaults_in_other_spaces(space: str, meant: str) -> None:
    assert str(ProxyRequest.parse("dextr:variant=official").for_space(space)) == meant
    assert str(ProxyRequest.parse("dextr").for_space(space)) == "dextr"
    written = ProxyRequest.parse("dextr:variant=official:images=1:curve=large").for_space(space)
    assert str(written) == "dextr:variant=official"


def test_a_ranking_says_what_the_official_variant_means_in_its_space() -> None:
    found = firstlight.rank(
        "nasbench101", samples=2, proxies="dextr:variant=official", workers=0, skeleton="cells=1,channels=5,stacks=1"
    )
    name = "dextr:curve=own:images=32:variant=official"
    assert list(found.rows[0].network.scores) == [name]
    assert found.rows[0].network.scores[name].ok


def test_the_official_variant_without_a_curve_is_independence() -> None:
    x = nets.images(1)
    probe = Probe(nets.build("residual"), x)
    assert dextr(probe, variant="official", curve="none").value == independence(probe).value
    assert dextr(probe, curve="none").value == independence(probe).value
    tiles = Probe(Tiles(), torch.randn(1, 4, 3, 8, 8))
    assert dextr(tiles, variant="official", curve="own").value == independence(tiles).value
    assert dextr(tiles).value != independence(tiles).value


class Tiles(nn.Module):
    """A network that sees each image in tiles."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.features = nn.Sequential(nn.Conv2d(3, 5, 3), nn.ReLU())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([self.features(tile).mean((2, 3)) for tile in x.unbind(1)], 1)


@pytest.mark.parametrize("variant", ["paper", "official"])
def test_the_curve_may_have_the_size_of_the_images(variant: Literal["paper", "official"]) -> None:
    probe = Probe(nets.build("residual"), torch.randn(1, 3, 16, 16))
    own, large = (dextr(probe, variant=variant, curve=curve).parts for curve in ("own", "large"))
    assert own["independence"] == large["independence"]
    assert own["curvature"] != large["curvature"]
    kappa = probe.output_curvature(size=(3, 16, 16))
    assert kappa is not None
    if variant == "paper":
        assert own["curvature"] == log1p(kappa)


def test_vectors_are_remarked_on_or_refused() -> None:
    probe = Probe(nets.build("mlp"), torch.randn(1, 3, 8, 8))
    assert "every output is a vector" in dextr(probe).note
    with pytest.raises(UnsupportedError, match="every output is a vector"):
        independence(probe)


def test_the_official_variant_draws_ten_coordinates_from_the_seed() -> None:
    x = torch.randn(1, 3, 8, 8)
    net = nets.build("residual")
    values = {seed: dextr(Probe(net, x, seed=seed), variant="official").value for seed in (0, 1)}
    assert values[0] == dextr(Probe(net, x, seed=0), variant="official").value
    assert values[0] != dextr(Probe(net, x, seed=0)).value


def test_the_official_variant_uses_64_pixels_and_falls_back_where_curvature_fails() -> None:
    sizes = []

    class Watched(nets.Smooth):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            sizes.append(tuple(x.shape[2:]))
            return super().forward(x)

    dextr(Probe(Watched(), torch.randn(1, 3, 16, 16)), variant="official")
    assert sizes == [(16, 16), (64, 64)]
    pooled = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.BatchNorm2d(3), nn.Flatten())
    found = dextr(Probe(pooled, torch.randn(2, 3, 8, 8)), variant="official", images=2)
    assert found.value == found.parts["independence"]
    assert "no curvature" in found.note


def test_a_curve_at_the_networks_own_size_is_remarked_on() -> None:
    assert dextr(Probe(nets.build("attention"), torch.randn(1, 3, 8, 8))).note == OWN_SIZE
    assert dextr(Probe(nets.build("residual"), torch.randn(1, 3, 8, 8))).note == ""


def test_a_network_that_gives_no_numbers_has_no_score() -> None:
    net = nets.build("residual").float()
    nn.init.constant_(net.head.weight, float("nan"))
    scores = firstlight.score(net, torch.randn(1, 3, 8, 8), "dextr,independence,dextr:variant=official")
    assert [scores[name].status for name in scores] == ["non_finite", "non_finite", "ok"]
    assert "not a number" in scores["dextr:variant=official"].note


def test_a_network_without_layers_has_no_score_of_nothing() -> None:
    scores = firstlight.score(nn.Identity(), torch.zeros(1, 4))
    assert scores["dextr"].status == "ok"
    assert scores["dextr"].value == 0.0  # S = 0: the one feature map is zero


@pytest.mark.parametrize("name", ["residual", "smooth", "attention", "plain"])
def test_drawing_all_rows_is_drawing_none(name: str) -> None:
    probe = Probe(nets.build(name), nets.images(2))
    whole, drawn = dextr(probe, images=2), dextr_opt(probe, rows=99, images=2)
    assert drawn.value == pytest.approx(whole.value, rel=1e-9)
    assert drawn.parts == pytest.approx(whole.parts, rel=1e-9)


def test_drawn_rows_depend_on_the_seed_and_change_independence_only() -> None:
    x = nets.images(1)
    found = [dextr_opt(Probe(nets.build("plain"), x, seed=seed), rows=3) for seed in (0, 0, 1)]
    assert found[0].value == found[1].value != found[2].value
    whole = dextr(Probe(nets.build("plain"), x))
    assert found[0].parts["curvature"] == whole.parts["curvature"]
    assert found[0].parts["independence"] != whole.parts["independence"]
    s, k = found[0].parts["independence"], found[0].parts["curvature"]
    assert found[0].value == pytest.approx(1 / (1 / s + 1 / k))


@pytest.mark.parametrize("name", ["residual", "smooth", "plain"])
def test_images_are_those_that_batch_norm_takes_its_statistics_from(name: str) -> None:
    x = nets.images(4)
    probe = Probe(nets.build(name), x)
    for images in (1, 3):
        expected = log1p(sum(textbook.inverse_conditions(nets.build(name), x[:images])))
        assert independence(probe, images=images).value == pytest.approx(expected, rel=1e-6)
        assert dextr(probe, images=images).parts["independence"] == independence(probe, images=images).value
    assert (independence(probe).value == pytest.approx(independence(probe, images=4).value)) == (name == "plain")
