"""What tests of several spaces share: the golden records and their probes, damaged text, networks that must run."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from tests.reference import fill_by_rule, pattern
from torch import Tensor, nn

from firstlight.errors import ParseError
from firstlight.spaces import Skeleton, Space

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


# Look-alikes of digits and signs, numbers without bounds, and what text files bring along
INTRUDERS = (
    *("\u00b2", "\u0663", "\uff11", "\u2212", "\uff0c", "\u2003"),
    *("-1", "0", "00", "5", "9" * 40, "1e3", " ", "\t", "\n", "\x00", "\u00e9", "'", '"', ",", ")"),
)


def damaged_texts(space: Space[Any], cases: int) -> Iterator[tuple[str, Any]]:
    """Texts with up to three places cut out, doubled or overwritten, and what the space reads, if it reads them."""
    refused = read = 0
    for case in range(cases):
        rng = random.Random(case)
        text = str(space.sample(rng))
        for _ in range(rng.randint(1, 3)):
            start = rng.randrange(len(text) + 1)
            end = start + rng.choice((0, 1, 1, 2, 5, 30))
            text = text[:start] + rng.choice(("", text[start:end] * 2, rng.choice(INTRUDERS))) + text[end:]
        try:
            architecture = space.parse(text)
        except ParseError as error:
            refused += 0 <= error.position <= len(text)
        else:
            read += 1
            yield text, architecture
    assert refused + read == cases
    assert refused > cases // 2


def runs_everywhere(space: Space[Any], architecture: Any, skeleton: Skeleton) -> None:
    """Forward and backward in training and evaluation, every parameter reached, and on the meta device."""
    network = space.build(architecture, skeleton)
    x = torch.randn(2, *skeleton.input_shape, generator=torch.Generator().manual_seed(0))
    for training in (True, False):
        network.train(training).zero_grad()
        out = network(x)
        logits = out if isinstance(out, tuple) else (out,)
        assert [part.shape for part in logits] == [(2, skeleton.classes)] * len(logits)
        sum(part.square().sum() for part in logits).backward()
        gradients = {name: parameter.grad for name, parameter in network.named_parameters()}
        assert not [
            name for name, gradient in gradients.items() if gradient is not None and not gradient.isfinite().all()
        ]
        if training:
            assert not [name for name, gradient in gradients.items() if gradient is None]
    with torch.device("meta"):
        assert space.network(architecture, skeleton).eval()(torch.empty(x.shape)).shape == (2, skeleton.classes)
