"""Zen-score of networks whose answer is known, and its laws."""

from __future__ import annotations

from math import inf, log

import pytest
import torch
from tests import nets, slow
from torch import Tensor, nn

import firstlight
from firstlight.probe import Probe
from firstlight.proxies.zen import zen


def test_a_sum_of_channels_moves_as_far_as_the_summed_noise() -> None:
    net = nn.Conv2d(3, 4, 1, bias=False).double()
    nn.init.ones_(net.weight)
    x, noise = nets.images(2, seed=1), nets.images(2, seed=2)
    change, scale = Probe(net, x).feature_change(step=0.5, given=torch.stack([x, noise]))
    assert change == pytest.approx(log(4 * 0.5 * float(noise.sum(1).abs().sum()) / 2), rel=1e-9)
    assert scale == 0


def test_batch_norm_takes_away_and_its_scale_gives_back() -> None:
    net = nn.BatchNorm2d(3).double()
    x, noise = 5 * nets.images(4, seed=1), 5 * nets.images(4, seed=2)
    moved = x + 0.01 * noise
    _, scale = Probe(net, x).feature_change(given=torch.stack([x, noise]))
    variances = [inputs.movedim(1, 0).flatten(1).var(1) for inputs in (x, moved)]
    running = 0.9 * (0.9 + 0.1 * variances[0]) + 0.1 * variances[1]
    assert scale == pytest.approx(log(float(running.mean())) / 2, rel=1e-9)


class Scaled(nn.Module):
    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: Tensor) -> Tensor:
        return self.factor * x


def linear(factor: float = 1.0) -> nn.Module:
    return nn.Sequential(Scaled(factor), nn.Conv2d(3, 4, 3, bias=False), nn.Conv2d(4, 5, 3))


def test_linear_features_move_in_proportion() -> None:
    x = nets.images(2)
    plain = zen(Probe(linear(), x)).value
    assert zen(Probe(linear(10.0), x)).value == pytest.approx(plain + log(10), abs=1e-4)
    assert zen(Probe(linear(), x), step=1.0).value == pytest.approx(plain + log(100), abs=1e-3)


def test_weights_are_drawn_afresh_and_follow_the_seed() -> None:
    x = nets.images(2)
    first, again, trained, other = (
        zen(Probe(nets.build("residual", seed=net), x, seed=seed)).value
        for seed, net in ((0, 0), (0, 0), (0, 9), (3, 0))
    )
    assert first == again == trained != other


def test_the_score_is_the_mean_over_draws() -> None:
    probe = Probe(nets.build("residual"), nets.images(2))
    parts = [probe.feature_change(draw=draw) for draw in range(3)]
    assert len(set(parts)) == 3
    found = zen(probe, draws=3)
    assert found.value == pytest.approx(sum(map(sum, parts)) / 3)
    assert found.parts == pytest.approx({"change": sum(p[0] for p in parts) / 3, "scale": sum(p[1] for p in parts) / 3})


@pytest.mark.parametrize("name", ["residual", "smooth", "attention", "plain"])
def test_the_networks_own_weights_do_not_matter(name: str) -> None:
    net = nets.build(name)
    expected = zen(Probe(net, nets.images(2))).value
    for layer in slow.layers(net).values():
        layer.weight.data.mul_(3)
    assert zen(Probe(net, nets.images(2))).value == expected


def test_networks_without_features_or_without_change() -> None:
    assert firstlight.score(nets.build("mlp"), nets.images(2), "zen")["zen"].status == "unsupported"
    still = nn.Sequential(Scaled(0.0), nn.Conv2d(3, 2, 1))
    score = firstlight.score(still, nets.images(2), "zen")["zen"]
    assert score.status == "non_finite"
    assert "do not change" in score.note
    assert zen(Probe(still, nets.images(2))).parts["change"] == -inf


def test_features_that_overflow_are_not_said_to_be_still() -> None:
    score = firstlight.score(linear(inf), torch.randn(2, 3, 8, 8), "zen")["zen"]
    assert score.status == "non_finite"
    assert "do not change" not in score.note
