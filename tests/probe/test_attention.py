"""Which weights are attention's, and the synaptic terms against singular values and loops."""

from __future__ import annotations

import pytest
import torch
from tests import nets, slow
from torch import Tensor, nn

from firstlight.core.errors import UnsupportedError
from firstlight.probe import Probe
from firstlight.probe.attention import attention_weights, other_linear_weights


class Separate(nn.Module):
    """Queries, keys and values by maps of their own, a projection, BatchNorm before, and two more linear maps."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Sequential(nn.Conv2d(3, 6, 4, stride=4), nn.BatchNorm2d(6))
        self.block = nn.ModuleDict({name: nn.Linear(6, 6) for name in ("to_q", "to_k", "to_v", "out", "mix")})
        self.head = nn.Linear(6, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).mT
        q, k, v = (self.block[name](x) for name in ("to_q", "to_k", "to_v"))
        x = x + self.block["out"]((q @ k.mT / 6**0.5).softmax(-1) @ v)
        return self.head(self.block["mix"](x).mean(1))


NETS = {
    "attention": (["qkv.weight"], ["mlp.0.weight", "mlp.2.weight", "head.weight"]),
    "fused_attention": (["attention.in_proj_weight", "attention.out_proj.weight"], ["head.weight"]),
    "separate": (
        [f"block.{name}.weight" for name in ("to_q", "to_k", "to_v", "out")],
        ["block.mix.weight", "head.weight"],
    ),
}


def build(name: str) -> nn.Module:
    if name != "separate":
        return nets.build(name)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Separate().double()


@pytest.mark.parametrize("name", NETS)
def test_weights_are_told_apart_by_name(name: str) -> None:
    model = build(name)
    names = {id(parameter): key for key, parameter in model.named_parameters()}
    attention = attention_weights(model)
    others = other_linear_weights(model, attention)
    assert ([names[id(w)] for w in attention], [names[id(w)] for w in others]) == NETS[name]


@pytest.mark.parametrize("name", NETS)
def test_synaptic_terms(name: str) -> None:
    x = nets.images(2)
    expected = slow.synaptic_terms(build(name), x, *NETS[name])
    assert Probe(build(name), x).synaptic_terms() == pytest.approx(expected, rel=1e-9)
    assert min(expected) > 0


def test_weights_that_are_not_used_count_nothing() -> None:
    class Idle(nets.Attention):
        def __init__(self) -> None:
            super().__init__()
            self.proj, self.idle = nn.Linear(16, 16), nn.Linear(16, 16)

    net = Idle().double()
    net.load_state_dict(nets.build("attention").state_dict(), strict=False)
    expected = Probe(nets.build("attention"), nets.images(1)).synaptic_terms()
    assert Probe(net, nets.images(1)).synaptic_terms() == pytest.approx(expected, rel=1e-12)


def test_values_of_different_width_in_pytorchs_layer() -> None:
    layer = nn.MultiheadAttention(8, 2, kdim=4, vdim=6)
    shapes = [tuple(weight.shape) for weight in attention_weights(layer)]
    assert shapes == [(8, 8), (8, 4), (8, 6), (8, 8)]


def test_a_projection_alone_is_no_attention() -> None:
    with pytest.raises(UnsupportedError, match="no attention"):
        attention_weights(nn.ModuleDict({"proj": nn.Linear(2, 2), "out": nn.Linear(2, 2)}))
