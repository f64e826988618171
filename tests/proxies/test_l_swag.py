"""L-SWAG against loops over weights and sets of patterns."""

from __future__ import annotations

import math

import pytest
import torch
from tests import nets, slow
from torch import Tensor, nn

import firstlight
from firstlight.core.errors import SettingError
from firstlight.probe import Probe
from firstlight.proxies.l_swag import l_swag

LABELS = torch.tensor([0, 3, 1, 2])


def batches() -> list[tuple[Tensor, Tensor]]:
    return [(nets.images(4, seed=seed), LABELS) for seed in range(3)]


def slow_steadiness(name: str, count: int, layers: slice) -> float:
    gradients = [slow.loss_gradients(nets.build(name), x, y) for x, y in batches()[:count]]
    total = 0.0
    for layer in list(gradients[0])[layers]:
        inverse = 0.0
        for values in zip(*(own[layer].flatten().tolist() for own in gradients), strict=True):
            sizes = [abs(value) for value in values]
            mean = math.fsum(sizes) / count
            deviation = math.sqrt(math.fsum((size - mean) ** 2 for size in sizes) / count)
            inverse += 1 / deviation if deviation else 0.0
        total += math.log(inverse)
    return total


def slow_patterns(name: str, samples: int, layers: slice) -> int:
    model = nets.build(name).train()
    seen: list[Tensor] = []
    for module in model.modules():
        if isinstance(module, (nn.ReLU, nn.GELU)):
            module.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0].clone()))
    with torch.no_grad():
        model(nets.images(4)[:samples])
    units = [column for x in seen[layers] for column in (x.flatten(1) > 0).T.tolist()]
    return len(set(map(tuple, units)))


@pytest.mark.parametrize("name", ["residual", "plain", "attention", "smooth"])
@pytest.mark.parametrize("count", [2, 3])
def test_value_by_hand(name: str, count: int) -> None:
    found = l_swag(Probe(nets.build(name), batches()), batches=count, samples=4)
    steadiness, patterns = slow_steadiness(name, count, slice(None)), slow_patterns(name, 4, slice(None))
    assert found.parts["steadiness"] == pytest.approx(steadiness, rel=1e-9)
    assert found.parts["patterns"] == patterns
    assert found.value == pytest.approx(steadiness * patterns)


def test_an_interval_of_layers() -> None:
    """Four layers and three ReLUs: the second half begins with the third layer, and with the third ReLU."""
    found = l_swag(Probe(nets.build("plain"), batches()), samples=4, first=0.5)
    assert found.parts["steadiness"] == pytest.approx(slow_steadiness("plain", 2, slice(2, None)))
    assert found.parts["patterns"] == slow_patterns("plain", 4, slice(2, None))
    for first, last in ((0.5, 0.5), (-0.1, 1.0), (0.0, 1.1)):
        with pytest.raises(SettingError, match="l_swag:first"):
            l_swag(Probe(nets.build("plain"), batches()), first=first, last=last)


def test_a_network_without_activations_that_switch() -> None:
    score = firstlight.score(nets.build("gated"), [(x, LABELS % 3) for x, _ in batches()], "l_swag")["l_swag"]
    assert score.status == "unsupported"
    assert "GELU" in score.note
