"""How far features move: by hand, one entry at a time."""

from __future__ import annotations

from math import inf, isnan, log

import pytest
import torch
from tests import nets
from torch import Tensor, nn

from firstlight.core.errors import UnsupportedError
from firstlight.probe import Probe
from firstlight.probe.perturbation import LastFeatures, log_batch_norm_scale, log_mean_change

LAST = {"residual": "down", "smooth": "layers.6", "attention": "norm_patches", "plain": "5"}


@pytest.mark.parametrize("name", LAST)
def test_feature_change_entry_by_entry(name: str) -> None:
    pair = torch.stack([nets.images(2, seed=1), nets.images(2, seed=2)])
    net, maps = nets.build(name).train(), []
    net.get_submodule(LAST[name]).register_forward_hook(lambda _m, _i, output: maps.append(output.detach().clone()))
    for x in (pair[0], pair[0] + 0.1 * pair[1]):
        net(x.clone())
    total = sum(abs(float(a) - float(b)) for a, b in zip(*(m.flatten() for m in maps), strict=True))
    norms = [m for m in net.modules() if isinstance(m, nn.BatchNorm2d)]
    scale = sum(log(float(norm.running_var.mean()) ** 0.5) for norm in norms)
    found = Probe(nets.build(name), nets.images(2)).feature_change(step=0.1, given=pair)
    assert found == pytest.approx((log(total / 2), scale), rel=1e-9)
    assert bool(scale) == (name in ("residual", "smooth"))


def test_the_mean_is_over_samples_and_the_sum_over_the_rest() -> None:
    before = torch.zeros(2, 3, 2, 2)
    after = torch.ones(2, 3, 2, 2)
    after[1] = -3.0
    assert log_mean_change(before, after) == pytest.approx(log((12 + 36) / 2))
    assert log_mean_change(before, before) == -inf


def test_features_that_are_no_numbers_have_no_change() -> None:
    assert isnan(log_mean_change(torch.tensor([[1.0]]), torch.tensor([[float("nan")]])))
    assert log_mean_change(torch.tensor([[1.0]]), torch.tensor([[inf]])) == inf


def test_scale_of_batch_norm() -> None:
    first, second = nn.BatchNorm2d(2), nn.BatchNorm2d(3)
    first.running_var.copy_(torch.tensor([1.0, 3.0]))
    second.running_var.fill_(8.0)
    blind = nn.BatchNorm2d(4, track_running_stats=False)
    assert log_batch_norm_scale(nn.Sequential(first, nn.ReLU(), second, blind)) == pytest.approx(log(2 * 8) / 2)
    assert log_batch_norm_scale(nn.Linear(2, 2)) == 0


class Pooled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features, self.pool, self.head = nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.pool(self.features(x)).flatten(1))


def test_the_last_features_are_those_before_global_pooling() -> None:
    net, recorder = Pooled(), LastFeatures()
    x = torch.randn(2, 3, 5, 5)
    with recorder.watching(net):
        net(x)
    assert torch.equal(recorder.take(), net.features(x).detach())
    with pytest.raises(UnsupportedError, match="no feature maps"):
        recorder.take()
    net(x)  # nobody is watching any more
    with pytest.raises(UnsupportedError, match="no feature maps"):
        recorder.take()


def test_the_last_map_is_that_before_pooling_of_any_kind() -> None:
    heads: list[list[nn.Module]] = [
        [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 3)],
        [nn.AvgPool2d(8), nn.Flatten(), nn.Linear(6, 3)],
        [nn.AvgPool2d(8), nn.Conv2d(6, 3, 1), nn.Flatten()],
        [nn.Flatten(), nn.Linear(384, 3)],
    ]
    body = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.ReLU())
    changes = set()
    for head in heads:
        net = nn.Sequential(*body, *head).double()
        pair = torch.stack([nets.images(2, seed=1), nets.images(2, seed=2)])
        changes.add(Probe(net, nets.images(2)).feature_change(given=pair)[0])
    assert len(changes) == 1


def test_maps_of_one_pixel_count_where_there_are_no_larger_ones() -> None:
    net = nn.Sequential(nn.Conv2d(3, 6, 8), nn.ReLU(), nn.Flatten(), nn.Linear(6, 3)).double()
    pair = torch.stack([nets.images(2, seed=1), nets.images(2, seed=2)])
    assert Probe(net, nets.images(2)).feature_change(given=pair)[0] > -inf


def test_what_is_done_in_place_behind_the_last_map_does_not_reach_back() -> None:
    class Doubling(nn.Module):
        def __init__(self, in_place: bool) -> None:
            super().__init__()
            self.layer, self.in_place = nn.Conv2d(3, 4, 1), in_place

        def forward(self, x: Tensor) -> Tensor:
            x = self.layer(x)
            return (x.mul_(2) if self.in_place else x * 2).mean((2, 3))

    torch.manual_seed(0)
    apart, in_place = Doubling(False).double(), Doubling(True).double()
    in_place.load_state_dict(apart.state_dict())
    pair = torch.stack([nets.images(2, seed=1), nets.images(2, seed=2)])
    found = [Probe(net, nets.images(2)).feature_change(given=pair) for net in (apart, in_place)]
    assert found[0] == found[1]
