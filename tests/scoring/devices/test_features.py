"""What latencies are made of, against hooks on real modules."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from firstlight.probe.graph import record_graph
from firstlight.scoring.devices.features import FEATURES, features_of


def hooked(model: nn.Module, x: Tensor) -> dict[str, float]:
    """Count on the modules of a chain of layers, each of which is an operation of its own."""
    found = dict.fromkeys(FEATURES, 0.0)

    def hook(module: nn.Module, args: tuple[Any, ...], out: Tensor) -> None:
        weights = sum(parameter.numel() for parameter in module.parameters())
        group, macs = "others", 0
        if isinstance(module, nn.Conv2d):
            group = "spatial" if module.kernel_size != (1, 1) else "pointwise"
            macs = module.weight.numel() * out.shape[2] * out.shape[3]
        elif isinstance(module, nn.Linear):
            group, macs = "pointwise", module.weight.numel()
        elif isinstance(module, nn.MaxPool2d):
            group = "pool"
        found[f"count({group})"] += 1
        found[f"elements({group})"] += (args[0].numel() + out.numel() + weights) / 1e6
        if macs:
            found[f"macs({group})"] += macs / 1e6

    handles = [layer.register_forward_hook(hook) for layer in model.children() if not isinstance(layer, nn.Flatten)]
    model(x)
    for handle in handles:
        handle.remove()
    return found


def test_features_are_those_that_hooks_count() -> None:
    chain = nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2), nn.GELU(), nn.Conv2d(8, 8, 5, padding=2, groups=8), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 1), nn.Sigmoid(), nn.Flatten(), nn.Linear(16 * 9, 10),
    ).eval()  # fmt: skip
    x = torch.randn(1, 3, 14, 14)
    assert features_of(record_graph(chain, x)) == pytest.approx(hooked(chain, x))


def test_a_network_as_pytorch_runs_it_has_more_operations() -> None:
    chain = nn.Sequential(nn.Conv2d(3, 8, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU()).eval()
    x = torch.randn(1, 3, 4, 4)
    simplified, as_run = (features_of(record_graph(chain, x, simplified=simplified)) for simplified in (True, False))
    assert (simplified["count(others)"], as_run["count(others)"]) == (0, 2)
    assert simplified["macs(pointwise)"] == as_run["macs(pointwise)"]
