"""Dextr, DSS and the proxies of AZ-NAS on vision transformers of the AutoFormer space."""

from __future__ import annotations

import random

import pytest
import torch
from tests import textbook
from tests.slow import synaptic_terms
from torch import Tensor, nn

import firstlight
from firstlight.probe import Probe
from firstlight.probe.curvature import circle_basis
from firstlight.proxies.dextr import dextr
from firstlight.proxies.dss import dss
from firstlight.spaces import SPACES
from firstlight.spaces.autoformer.network import AutoFormerSkeleton, Transformer, VisionTransformer
from firstlight.spaces.ops import initialize

SHAPE = (3, 32, 32)


def two_blocks(seed: int = 0) -> nn.Module:
    """Wider weights than a new transformer has, so that no part of it is lost beside the others."""
    network = VisionTransformer(Transformer(192, (3, 4), (3.5, 4.0)), AutoFormerSkeleton(SHAPE, 10))
    initialize(network, torch.Generator().manual_seed(seed))
    for parameter in network.parameters():
        parameter.data.mul_(3 if parameter.ndim > 1 else 1)
    return network.double()


def image() -> Tensor:
    return torch.randn(1, *SHAPE, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


@pytest.mark.parametrize("theta", [0.0, 1.3])
def test_the_jet_agrees_with_double_backward(theta: float) -> None:
    basis = circle_basis(3 * 32 * 32, 0)
    velocity, acceleration = textbook.derivatives(two_blocks(), basis, theta, SHAPE)
    jet = Probe(two_blocks(), image()).output_jet(basis=basis, thetas=(theta,))
    torch.testing.assert_close(jet.velocity[0], velocity, rtol=1e-6, atol=0)
    torch.testing.assert_close(jet.acceleration[0], acceleration, rtol=1e-6, atol=0)


def test_dextr_takes_tokens_as_rows() -> None:
    score = dextr(Probe(two_blocks(), image(), seed=0))
    expected = textbook.dextr(two_blocks(), image(), circle_basis(3 * 32 * 32, 0), SHAPE, list(range(10)))
    assert score.value == pytest.approx(expected, rel=1e-6)


def test_dss_of_the_projections_and_the_other_layers() -> None:
    attention = [f"body.{place}.{layer}.weight" for place in (0, 2) for layer in ("qkv", "proj")]
    others = [f"body.{place}.{layer}.weight" for place in (1, 3) for layer in ("fc1", "fc2")] + ["head.weight"]
    diversity, saliency = synaptic_terms(two_blocks(), image(), attention, others)
    score = dss(Probe(two_blocks(), image()))
    assert score.parts["diversity"] == pytest.approx(diversity, rel=1e-5)
    assert score.parts["saliency"] == pytest.approx(saliency, rel=1e-5)


def test_az_looks_behind_each_attention_and_each_mlp() -> None:
    probe = Probe(two_blocks(), image().expand(4, -1, -1, -1))
    assert len(probe.block_statistics().entropies) == 4


def test_a_whole_transformer_has_scores() -> None:
    space = SPACES["autoformer-tiny"]
    network = space.build(space.sample(random.Random(0)), space.skeleton(classes=10))
    scores = firstlight.score(network, torch.randn(1, 3, 224, 224), "dextr,dss,az_expressivity,az_trainability")
    assert {name: score.status for name, score in scores.items()} == dict.fromkeys(scores, "ok")
    assert not scores["dextr"].note  # the curve is that of the usual size, which is large enough
