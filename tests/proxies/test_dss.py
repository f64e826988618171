"""DSS against a plain loop, and what it must not depend on."""

from __future__ import annotations

import pytest
import torch
from tests import nets
from tests.probe.test_attention import NETS, build
from torch import nn

import firstlight
from firstlight.probe import Probe
from firstlight.proxies.dss import dss


def positive_gradients(model: nn.Module) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    for parameter in model.parameters():
        parameter.data.abs_()
    model.eval()(torch.ones(1, 3, 8, 8).double()).sum().backward()
    return {n: (p.detach(), p.grad) for n, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("name", NETS)
def test_agrees_with_a_plain_loop(name: str) -> None:
    attention, others = NETS[name]
    found = positive_gradients(build(name))
    expected = 0.0
    for key, (weight, gradient) in found.items():
        if key in attention:
            roots = [torch.linalg.eigvalsh(m.T @ m).clamp(min=0).sqrt().sum() for m in (weight, gradient)]
            expected += float(roots[0] * roots[1])
        elif key in others:
            expected += float((weight * gradient).abs().sum())
    score = dss(Probe(build(name), nets.images(1)))
    assert score.value == pytest.approx(expected, rel=1e-5)
    assert score.value == score.parts["diversity"] + score.parts["saliency"]


@pytest.mark.parametrize("name", NETS)
def test_neither_data_nor_signs_matter(name: str) -> None:
    expected = dss(Probe(build(name), nets.images(1))).value
    flipped = build(name)
    for parameter in flipped.parameters():
        parameter.data.neg_()
    assert dss(Probe(flipped, 3 * nets.images(2, seed=4))).value == pytest.approx(expected, rel=1e-12)


def test_a_network_without_attention() -> None:
    score = firstlight.score(nets.build("residual"), nets.images(2), "dss")["dss"]
    assert score.status == "unsupported"
