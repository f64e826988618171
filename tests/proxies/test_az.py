"""The proxies of AZ-NAS from entropies and gains, and where they have no value."""

from __future__ import annotations

from math import log

import pytest
import torch
from tests import nets
from tests.probe.test_blocks import build
from torch import Tensor, nn

import firstlight
from firstlight.probe import Probe
from firstlight.proxies.az import az_expressivity, az_progressivity, az_trainability

ALL = "az_expressivity,az_progressivity,az_trainability"


@pytest.mark.parametrize("name", ["plain", "residual", "normalized", "tokens"])
def test_values_from_entropies_and_gains(name: str) -> None:
    probe = Probe(build(name), nets.images(4))
    found = probe.block_statistics()
    e, (g1, g2) = found.entropies, found.gains
    assert g1 is not None
    assert g2 is not None
    assert az_expressivity(probe).value == pytest.approx(e[0] + e[1] + e[2])
    assert az_progressivity(probe).value == pytest.approx(min(e[1] - e[0], e[2] - e[1]))
    expected = ((2 - g1 - 1 / (g1 + 1e-6)) + (2 - g2 - 1 / (g2 + 1e-6))) / 2
    assert az_trainability(probe).value == pytest.approx(expected)
    assert az_trainability(probe).value <= 1e-5
    assert az_expressivity(probe).value <= sum(log(width) for width in (12, 12, 12))


def test_weights_and_inputs_are_drawn_and_follow_the_seed() -> None:
    def values(weights: int, inputs: int, seed: int) -> list[float]:
        probe = Probe(nets.build("plain", seed=weights), nets.images(4, seed=inputs), seed=seed)
        return [proxy(probe).value for proxy in (az_expressivity, az_progressivity, az_trainability)]

    expected = values(0, 0, 0)
    assert values(5, 6, 0) == expected
    assert all(a != b for a, b in zip(values(0, 0, 1), expected, strict=True))


def test_signs_are_drawn_of_plus_and_minus_one(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Tensor] = []

    def gain(before: Tensor, after: Tensor, out: Tensor) -> float:
        seen.append(out)
        return 1.0

    monkeypatch.setattr("firstlight.probe.blocks._gain", gain)
    az_trainability(Probe(nets.build("plain"), nets.images(8)))
    for signs in seen:
        assert sorted(signs.unique().tolist()) == [-1.0, 1.0]
        assert abs(float(signs.mean())) < 0.2
    assert len(seen) == 2


class Skipping(nn.Module):
    """The second of three blocks passes its input on."""

    def __init__(self, norm: nn.Module) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([nn.Conv2d(3, 4, 3), nn.Identity(), nn.Conv2d(4, 4, 1)])
        self.norm = norm

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return self.norm(x.mean((2, 3)))


def test_a_pure_skip_has_no_trainability_in_a_convolutional_network() -> None:
    scores = firstlight.score(Skipping(nn.Identity()), nets.images(3), ALL)
    assert [score.status for score in scores.values()] == ["ok", "ok", "non_finite"]
    assert "identity" in scores["az_trainability"].note
    assert scores["az_progressivity"].value <= 0  # the skip adds nothing


def test_a_pure_skip_is_left_out_in_a_transformer() -> None:
    probe = Probe(Skipping(nn.LayerNorm(4)), nets.images(3))
    none, gain = probe.block_statistics().gains
    assert none is None
    assert gain is not None
    assert az_trainability(probe).value == pytest.approx(2 - gain - 1 / (gain + 1e-6))


def test_nothing_but_skips() -> None:
    class Idle(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem, self.norm = nn.Conv2d(3, 4, 3), nn.LayerNorm(4)
            self.blocks = nn.ModuleList([nn.Identity(), nn.Identity()])

        def forward(self, x: Tensor) -> Tensor:
            return self.norm(self.blocks[1](self.blocks[0](self.stem(x))).mean((2, 3)))

    assert firstlight.score(Idle(), nets.images(3), ALL)["az_trainability"].status == "unsupported"


def test_features_that_do_not_vary_have_no_entropy() -> None:
    net = nn.Sequential(nn.Conv2d(3, 4, 1), nn.ReLU(), nn.Threshold(1e9, 0.0), nn.Conv2d(4, 4, 1), nn.ReLU())
    scores = firstlight.score(net, torch.randn(3, 3, 8, 8), ALL)
    assert scores["az_expressivity"].status == "non_finite"
