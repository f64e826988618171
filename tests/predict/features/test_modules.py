from __future__ import annotations

import copy
import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from tests.nets import Attention, Residual
from torch import Tensor, nn

from firstlight.core.errors import ModelError, UnsupportedError
from firstlight.predict.features.modules import KINDS, module_features, modules_features
from firstlight.probe.cost import measure_cost
from firstlight.spaces import SPACES

IMAGE = torch.zeros(1, 3, 16, 16)


def log(number: float) -> float:
    return math.log2(1 + number)


def test_hand_counted_network() -> None:
    net = Residual()  # conv, (conv + x) beside an average pooling, strided conv, max pooling, mean, linear
    found = module_features(net, IMAGE)
    stem, body, down, head = 3 * 8 * 9, 8 * 8 * 9 + 8, 8 * 12 * 9 + 12, 12 * 5 + 5
    macs = [3 * 8 * 9 * 256, 8 * 8 * 9 * 256, 8 * 12 * 9 * 64, 12 * 5]
    expected = {
        "count(spatial)": 3,
        "count(linear)": 1,
        "count(norm)": 2,
        "count(pool)": 3,  # the adaptive one is a mean
        "params(spatial)": log(stem + body + down),
        "params(linear)": log(head),
        "macs(spatial)": log(sum(macs[:3])),
        "macs": log(sum(macs)),
        "products": 4,
        "depth": 4,
        "least_depth": 3,
        "paths": log(3),  # through the body, beside it, and through the pooling
        "width(third 1)": (log(8) + log(8)) / 2,
        "width(third 2)": log(12),
        "macs(third 1)": (macs[0] + macs[1]) / sum(macs),
        "least_width": log(5),
        "most_width": log(12),
        "last_width": log(12),
        # 3x3; 3x3, or a pooling of 3x3; 3x3; 2x2 at every second pixel
        "reach": log(1 + 2 + 2 + 2 + 2),
        "relative_reach": log(9) - log(16),
        "stride": 2,
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected)


class Branches(nn.Module):
    """Blocks of `width` parallel convolutions beside a shortcut, one after the other."""

    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.ModuleList(nn.Conv2d(3, 3, 3, padding=1) for _ in range(width)) for _ in range(depth)
        )

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = sum((branch(x) for branch in block), start=x)
        return x


@given(st.integers(1, 4), st.integers(1, 4))
def test_paths_and_depth(width: int, depth: int) -> None:
    found = module_features(Branches(width, depth), IMAGE)
    assert found["paths"] == pytest.approx(log((width + 1) ** depth))
    assert (found["depth"], found["least_depth"], found["count(spatial)"]) == (depth, 0, width * depth)


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(1, 2), st.integers(1, 2), st.booleans()), min_size=1, max_size=4)
)
def test_reach_is_where_gradients_come_from(layers: list[tuple[int, int, int, bool]]) -> None:
    modules: list[nn.Module] = []
    for kernel, stride, dilation, pooled in layers:
        modules.append(
            nn.AvgPool2d(kernel, stride) if pooled else nn.Conv2d(1, 1, kernel, stride, dilation=dilation, bias=False)
        )
    net = nn.Sequential(*modules)
    for parameter in net.parameters():
        nn.init.ones_(parameter)
    image = torch.zeros(1, 1, 160, 160, requires_grad=True)
    out = net(image)
    out[0, 0, 0, 0].backward()
    rows = image.grad[0, 0].abs().sum(1).nonzero()
    found = module_features(net, image)
    assert found["reach"] == pytest.approx(log(int(rows.max()) + 1))
    assert found["stride"] == pytest.approx(math.log2(math.prod(stride for _, stride, _, _ in layers)))


@pytest.mark.parametrize(
    "name", ["nasbench201", "nasbench101", "darts", "plain-mobile", "plain-vit", "autoformer-tiny"]
)
def test_cost_is_that_of_the_space(name: str) -> None:
    space = SPACES[name]
    network = space.network(space.example(), space.skeleton()).eval()
    inputs = torch.zeros(1, *space.skeleton().input_shape)
    found, cost = module_features(network, inputs), measure_cost(network.to("meta"), inputs.to("meta"))
    assert found["macs"] == pytest.approx(log(cost.macs))
    assert found["params"] == pytest.approx(log(cost.params))
    assert sum(found[f"macs(third {third})"] for third in (1, 2, 3)) == pytest.approx(1)


def test_kinds_of_convolutions() -> None:
    net = nn.Sequential(
        nn.Conv2d(3, 8, 1), nn.Conv2d(8, 8, 3, groups=8), nn.Conv2d(8, 8, 3, groups=2), nn.Conv2d(8, 4, 3)
    )
    found = module_features(net, IMAGE)
    kinds = ("pointwise", "depthwise", "grouped", "spatial")
    assert [found[f"count({kind})"] for kind in kinds] == [1, 1, 1, 1]


def test_attention() -> None:
    found = module_features(Attention(), torch.zeros(1, 3, 8, 8))
    assert found["count(attention)"] > 0
    assert found["count(softmax)"] > 0
    assert found["macs(attention)"] > 0
    assert found["params(attention)"] == 0


def test_network_is_not_changed() -> None:
    net = Residual().train()
    before = copy.deepcopy(net.state_dict())
    module_features(net, IMAGE)
    assert net.training
    assert all(torch.equal(value, net.state_dict()[name]) for name, value in before.items())
    assert next(net.parameters()).device.type == "cpu"


class DependsOnValues(nn.Module):
    """Asks for a number, which tensors without values lack."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x) if float(x.sum()) > 0 else self.layer(self.layer(x))


def test_falls_back_to_values() -> None:
    net = DependsOnValues()
    assert module_features(net, torch.ones(1, 4))["depth"] == 1
    assert module_features(net, -torch.ones(1, 4))["depth"] == 2


class Constant(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.out = nn.Parameter(torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        return self.out * 2


class Uncopied(nn.Module):
    def __deepcopy__(self, memo: object) -> Uncopied:
        raise RuntimeError("there is only one")

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(x)


def test_clear_errors() -> None:
    with pytest.raises(ModelError, match=r"does not take inputs of \(1, 3, 16, 16\), so it has no features"):
        module_features(nn.Linear(4, 4), IMAGE)
    with pytest.raises(UnsupportedError, match="does not depend on its input"):
        module_features(Constant(), IMAGE)
    with pytest.raises(ModelError, match="cannot be copied: RuntimeError: there is only one"):
        module_features(Uncopied(), IMAGE)


def test_table_of_networks() -> None:
    found = modules_features({"a": Residual(), "b": nn.Conv2d(3, 4, 3)}, IMAGE)
    assert list(found.index) == ["a", "b"]
    assert not found.isna().any().any()
    assert [f"count({kind})" in found for kind in KINDS] == [True] * len(KINDS)
