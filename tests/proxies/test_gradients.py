"""Gradient proxies, written out layer by layer and by finite differences."""

from __future__ import annotations

import pytest
import torch
from tests import nets, slow
from torch import nn

import firstlight
from firstlight.probe import Probe
from firstlight.proxies.gradients import fisher, grad_norm, gradsign, grasp, l2_norm, plain, snip

NETS = ["residual", "smooth", "attention", "mlp"]
PROXIES = "grad_norm,snip,plain,l2_norm,fisher,grasp,gradsign"


def probe_of(name: str) -> Probe:
    return Probe(nets.build(name), nets.labelled(1))


@pytest.mark.parametrize("name", NETS)
def test_norms_and_products_weight_by_weight(name: str) -> None:
    model = nets.build(name)
    gradients = slow.loss_gradients(model, *nets.labelled(1)[0])
    weights = {key: layer.weight.detach() for key, layer in slow.layers(model).items()}
    norm, products = 0.0, []
    for key, gradient in gradients.items():
        norm += sum(float(g) ** 2 for g in gradient.flatten()) ** 0.5
        products += [float(w) * float(g) for w, g in zip(weights[key].flatten(), gradient.flatten(), strict=True)]
    assert grad_norm(probe_of(name)).value == pytest.approx(norm, rel=1e-9)
    everything = [float(g) for gradient in gradients.values() for g in gradient.flatten()]
    assert grad_norm(probe_of(name), form="whole").value == pytest.approx(
        sum(g**2 for g in everything) ** 0.5, rel=1e-9
    )
    assert snip(probe_of(name)).value == pytest.approx(sum(map(abs, products)), rel=1e-9)
    assert snip(probe_of(name), form="product").value == pytest.approx(abs(sum(products)), rel=1e-7, abs=1e-12)
    assert plain(probe_of(name)).value == pytest.approx(sum(products), rel=1e-7, abs=1e-12)
    assert l2_norm(probe_of(name)).value == pytest.approx(sum(float(w.norm()) for w in weights.values()), rel=1e-12)


@pytest.mark.parametrize("name", ["smooth", "attention", "gated"])
def test_plain_is_the_slope_of_the_loss_as_all_weights_grow(name: str) -> None:
    expected = slow.along_weights(nets.build(name), *nets.labelled(1)[0])
    assert plain(probe_of(name)).value == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("name", ["smooth", "attention", "gated"])
def test_grasp_by_finite_differences(name: str) -> None:
    expected = -slow.hessian_product(nets.build(name), *nets.labelled(1)[0])
    assert grasp(probe_of(name)).value == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("name", ["smooth", "attention", "gated"])
def test_grasp_sample_by_sample(name: str) -> None:
    x, y = nets.labelled(1)[0]
    each = [slow.hessian_product(nets.build(name), x[i : i + 1], y[i : i + 1]) for i in range(len(x))]
    assert grasp(probe_of(name), form="samples").value == pytest.approx(-sum(each) / len(each), rel=1e-4)


@pytest.mark.parametrize("name", NETS)
def test_fisher_channel_by_channel(name: str) -> None:
    expected = slow.fisher(nets.build(name), *nets.labelled(1)[0])
    assert fisher(probe_of(name)).value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", NETS)
def test_gradsign_sample_by_sample(name: str) -> None:
    x, y = nets.labelled(1)[0]
    single = [slow.loss_gradients(nets.build(name), x[i : i + 1], y[i : i + 1]) for i in range(len(x))]
    sums = torch.cat([torch.stack([g[key] for g in single]).sign().sum(0).flatten() for key in single[0]])
    found = gradsign(probe_of(name))
    assert found.value == float(sums.abs().sum())
    mean = pytest.approx(float(sums.abs().mean()), rel=1e-9)
    assert found.parts == {"mean": mean}
    assert gradsign(probe_of(name), form="mean").value == mean


def test_gradsign_of_samples_that_agree_and_that_cancel() -> None:
    net = nn.Linear(1, 2, bias=False)
    nn.init.zeros_(net.weight)
    x, y = torch.ones(4, 1), torch.tensor([0, 0, 0, 0])
    assert gradsign(Probe(net, (x, y))).value == 2 * 4  # weights, samples
    assert gradsign(Probe(net, (x, torch.tensor([0, 1, 1, 0])))).value == 0
    assert gradsign(Probe(net, (x, torch.tensor([0, 1, 1, 1])))).value == 2 * 2


@pytest.mark.parametrize(("proxy", "power"), [(grad_norm, 1), (snip, 1), (plain, 1), (fisher, 2), (grasp, 2)])
def test_a_louder_loss(proxy: firstlight.Proxy, power: int) -> None:
    batches = nets.labelled(1)

    def loud(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return 3 * nn.functional.cross_entropy(logits, targets)

    quiet = proxy(Probe(nets.build("smooth"), batches)).value
    assert proxy(Probe(nets.build("smooth"), batches, loss=loud)).value == pytest.approx(3**power * quiet, rel=1e-9)


def test_gradsign_hears_no_difference() -> None:
    batches = nets.labelled(1)
    loud = Probe(nets.build("mlp"), batches, loss=lambda a, b: 3 * nn.functional.cross_entropy(a, b))
    assert gradsign(loud).value == gradsign(Probe(nets.build("mlp"), batches)).value


@pytest.mark.parametrize("name", NETS)
def test_samples_in_another_order_and_a_batch_twice(name: str) -> None:
    x, y = nets.labelled(1)[0]
    order = torch.tensor([3, 5, 0, 1, 4, 2])
    net = nets.build(name)
    expected = firstlight.score(net, (x, y), PROXIES)
    shuffled = firstlight.score(net, (x[order], y[order]), PROXIES)
    twice = firstlight.score(net, (torch.cat([x, x]), torch.cat([y, y])), PROXIES)
    for key, score in expected.items():
        assert shuffled[key].value == pytest.approx(score.value, rel=1e-7, abs=1e-12)
        factor = {"gradsign": 2, "fisher": 1 / 4}.get(key, 1)  # the mean loss leaves half the gradient to each sample
        assert twice[key].value == pytest.approx(factor * score.value, rel=1e-7, abs=1e-12)


def test_frozen_layers_count_like_others() -> None:
    batches = nets.labelled(1)
    frozen = nets.build("residual")
    frozen.stem.requires_grad_(False)
    expected = firstlight.score(nets.build("residual"), batches, PROXIES)
    found = firstlight.score(frozen, batches, PROXIES)
    assert {k: s.value for k, s in found.items()} == pytest.approx({k: s.value for k, s in expected.items()})


def test_layers_that_are_not_reached_dilute_nothing() -> None:
    class Idle(nn.Module):
        def __init__(self, idle: bool) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.used = nn.Linear(4, 3)
            self.idle = nn.Linear(4, 7) if idle else nn.Identity()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.idle(x)
            return self.used(x)

    batch = torch.randn(6, 4, generator=torch.Generator().manual_seed(0)), torch.tensor([0, 1, 2, 0, 1, 2])
    wanted = PROXIES.replace("l2_norm,", "")
    with_idle, without = (firstlight.score(Idle(idle), batch, wanted) for idle in (True, False))
    assert {k: s.value for k, s in with_idle.items()} == {k: s.value for k, s in without.items()}
