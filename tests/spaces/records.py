"""The golden records of the reference implementations, and their probes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from tests.reference import fill_by_rule, pattern
from torch import Tensor, nn

GOLDEN = Path(__file__).parent.parent / "golden"


def records(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((GOLDEN / f"{name}.json").read_text())["records"]
    return found


def calls(network: nn.Module, x: Tensor) -> list[str]:
    """`kind:shape` of every layer with weights, in the order in which the forward pass comes to them."""
    seen: list[str] = []

    def note(module: nn.Module, *_: Any) -> None:
        if isinstance(module, nn.Conv2d):
            kind = "dwconv" if module.groups == module.in_channels > 1 else "conv"
        else:
            kind = "bn" if isinstance(module, nn.BatchNorm2d) else "linear"
        seen.append(f"{kind}:{'x'.join(map(str, module.weight.shape))}")

    handles = [
        module.register_forward_hook(note)
        for module in network.modules()
        if isinstance(module, (nn.Conv2d, nn.BatchNorm2d, nn.Linear))
    ]
    with torch.no_grad():
        network.eval()(x)
    for handle in handles:
        handle.remove()
    return seen


def assert_probes(network: nn.Module, input_shape: list[int], probe: dict[str, list[float]]) -> int:
    """Filled by the rule, the network gives the probe's values in each mode; how many probes that were."""
    network = network.double()
    found: dict[str, Tensor] = {}
    for mode in ("eval", "train"):
        fill_by_rule(network).train(mode == "train")
        with torch.no_grad():
            out = network(pattern(*input_shape))
        found[mode], *auxiliary = out if isinstance(out, tuple) else (out,)
        if auxiliary:
            found[f"{mode}_aux"] = auxiliary[0]
    assert found.keys() == probe.keys()
    for name, values in probe.items():
        expected = torch.tensor(values, dtype=torch.float64)
        torch.testing.assert_close(found[name].flatten()[: len(values)], expected, rtol=1e-6, atol=0)
    return len(probe)
