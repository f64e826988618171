"""Sums divided by what the network has: against counts of the network itself."""

from __future__ import annotations

from collections.abc import Callable
from math import expm1, log, log1p

import pytest
import torch
from tests import nets
from torch import nn

from firstlight.core.errors import UnsupportedError
from firstlight.probe import Probe
from firstlight.probe.spectra import InverseCondition
from firstlight.proxies.base import Proxy
from firstlight.proxies.dextr import independence
from firstlight.proxies.gradients import grad_norm
from firstlight.proxies.meco import meco
from firstlight.proxies.sigeo import zico
from firstlight.proxies.sizes import size_for
from firstlight.proxies.synflow import synflow
from firstlight.proxies.zen import zen

NETS = ["residual", "smooth", "plain"]
# How the sum is read from a score, and the score from a sum
SUMS: dict[Proxy, tuple[Callable[[float], float], Callable[[float], float]]] = {
    grad_norm: (float, float),
    meco: (float, float),
    zen: (float, float),
    zico: (float, float),
    independence: (expm1, log1p),
}


def probe_of(name: str) -> Probe:
    return Probe(nets.build(name), nets.labelled(2))


def weights_of(net: nn.Module) -> int:
    return sum(isinstance(module, nn.Conv2d | nn.Linear) for module in net.modules())


def macs_of(net: nn.Module) -> int:
    """Count products of convolutions and linear layers by hooks."""
    found = []

    def count(module: nn.Module, _inputs: object, output: torch.Tensor) -> None:
        weight = module.weight
        assert isinstance(weight, torch.Tensor)
        found.append(output[0].numel() * weight[0].numel())

    hooks = [m.register_forward_hook(count) for m in net.modules() if isinstance(m, nn.Conv2d | nn.Linear)]
    with torch.no_grad():
        net.eval()(nets.images(1))
    for hook in hooks:
        hook.remove()
    return sum(found)


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("proxy", SUMS, ids=lambda proxy: proxy.name)
def test_the_sum_is_divided(name: str, proxy: Proxy) -> None:
    net, (read, write) = nets.build(name), SUMS[proxy]
    total = read(proxy(probe_of(name)).value)
    outputs = len(probe_of(name).feature_statistic(InverseCondition(), images=1).values)
    layers = outputs if proxy in (meco, independence) else weights_of(net)
    sizes = {"network": 1, "layer": layers, "parameter": sum(p.numel() for p in net.parameters()), "mac": macs_of(net)}
    for per, size in sizes.items():
        assert size == 1 or size > 2
        assert proxy(probe_of(name), per=per).value == pytest.approx(write(total / size), rel=1e-6)


@pytest.mark.parametrize("name", NETS)
def test_the_sum_of_paths_is_divided_within_the_logarithm(name: str) -> None:
    net = nets.build(name)
    whole = synflow(probe_of(name)).value
    sizes = {"layer": weights_of(net), "parameter": sum(p.numel() for p in net.parameters()), "mac": macs_of(net)}
    for per, size in sizes.items():
        assert synflow(probe_of(name), per=per).value == pytest.approx(whole - log(size), rel=1e-9)


def test_the_published_form_is_the_default() -> None:
    for proxy in (*SUMS, synflow):
        assert proxy.settings["per"].default == "network"


def test_a_network_without_parameters_cannot_be_divided_by_them() -> None:
    probe = Probe(nn.Sequential(nn.AvgPool2d(2), nn.Flatten()), nets.images(2))
    assert size_for(probe, "network", 0) == 1
    for per in ("layer", "parameter", "mac"):
        with pytest.raises(UnsupportedError, match=f"per={per}"):
            size_for(probe, per, 0)
