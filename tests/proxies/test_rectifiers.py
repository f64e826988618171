"""Proxies of ReLU codes against sets and determinants."""

from __future__ import annotations

from math import exp, log

import pytest
import torch
from tests import nets, slow
from torch import nn

import firstlight
from firstlight.core.errors import SettingError
from firstlight.probe import Probe
from firstlight.proxies.rectifiers import linear_regions, naswot, swap, swap_reg

NETS = ["residual", "plain", "mlp"]


@pytest.mark.parametrize("name", NETS)
def test_naswot_is_the_log_determinant_of_the_count(name: str) -> None:
    x = nets.images(4)
    expected = log(abs(float(torch.det(slow.agreement(nets.build(name), x)))))
    assert naswot(Probe(nets.build(name), x)).value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", NETS)
def test_naswot_of_real_inputs(name: str) -> None:
    x = nets.images(3)
    rows = torch.cat([units.flatten(1) for units in slow.relu_inputs(nets.build(name), x)], 1)
    expected = float(torch.linalg.svdvals(rows).log().sum()) * 2
    assert naswot(Probe(nets.build(name), x), variant="hnas").value == pytest.approx(expected, rel=1e-6)


def test_naswot_of_samples_that_repeat_has_no_value() -> None:
    x = nets.images(2)[[0, 1, 0]]
    assert firstlight.score(nets.build("plain"), x, "naswot")["naswot"].status == "non_finite"


@pytest.mark.parametrize("name", NETS)
def test_regions_are_different_codes(name: str) -> None:
    x = nets.images(6)[[0, 1, 2, 0, 3, 4, 0, 5, 2]]
    expected = len(set(slow.codes(nets.build(name), x)))
    assert linear_regions(Probe(nets.build(name), x)).value == pytest.approx(expected)
    assert expected == 6


def test_regions_of_nearby_samples_fall_together() -> None:
    x = nets.images(1) + 1e-9 * nets.images(4, seed=1)
    assert linear_regions(Probe(nets.build("plain"), x)).value == pytest.approx(1)


@pytest.mark.parametrize("name", ["residual", "plain"])
@pytest.mark.parametrize("samples", [2, 16])
def test_swap_is_the_number_of_different_columns(name: str, samples: int) -> None:
    x = nets.images(8)
    found = swap(Probe(nets.build(name), x), samples=samples).value
    assert found == slow.unit_patterns(nets.build(name), x, samples)


def test_swap_grows_with_the_samples_up_to_the_units() -> None:
    probe = Probe(nets.build("plain"), nets.images(20))
    found = [swap(probe, samples=samples).value for samples in (1, 2, 3, 20)]
    assert found[:2] == [2, 4]
    assert found == sorted(found)
    assert found[-1] <= probe.relu_codes().units


def test_swap_held_near_a_size() -> None:
    probe = Probe(nets.build("plain"), nets.images(4))
    plain = swap(probe).value
    thousands = sum(p.numel() for p in nets.build("plain").parameters()) / 1e3
    assert swap_reg(probe).value == plain
    assert swap_reg(probe, mu=thousands, sigma=2.0).value == pytest.approx(plain)
    off = swap_reg(probe, mu=thousands + 3, sigma=2.0)
    assert off.value == pytest.approx(plain * exp(-4.5))
    assert off.parts == {"factor": pytest.approx(exp(-4.5))}
    with pytest.raises(SettingError, match="sigma"):
        swap_reg(probe, sigma=-1.0)


def test_swap_needs_feature_maps() -> None:
    score = firstlight.score(nn.Sequential(nn.Flatten(), nn.ReLU()), nets.images(), "swap")["swap"]
    assert score.status == "unsupported"
    assert "feature maps" in score.note


@pytest.mark.parametrize("name", ["residual", "plain", "attention", "smooth", "mlp"])
def test_swap_of_all_activations_counts_tokens_and_gelus(name: str) -> None:
    x = nets.images(8)
    model, seen = nets.build(name).train(), []
    for module in model.modules():
        if isinstance(module, (nn.ReLU, nn.GELU)):
            module.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0][:5].clone()))
    with torch.no_grad():
        model(x[:5])
    expected = len({tuple(column) for values in seen for column in (values.flatten(1) > 0).T.tolist()})
    assert swap(Probe(nets.build(name), x), samples=5, activations="all").value == expected
    assert firstlight.score(nets.build("gated"), x, "swap:activations=all")["swap:activations=all"].status == (
        "unsupported"
    )
