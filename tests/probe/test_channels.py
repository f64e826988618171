"""The graph of channels against one image after another through every layer, and against graphs that are known."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import nets
from torch import Tensor, nn

from firstlight.core.errors import UnsupportedError
from firstlight.core.seeds import torch_generator
from firstlight.probe import Probe
from firstlight.probe.channels import responding_pairs, telling_side
from firstlight.probe.variants import reinitialized


def slow_pairs(layer: nn.Module, like: Tensor) -> int:
    """Count edges one by one."""
    pairs = 0
    for i in range(like.shape[1]):
        image = torch.zeros(1, *like.shape[1:]).to(like)
        image[:, i] = 1
        response = torch.relu(layer(image))[0]
        pairs += sum(float(channel.sum()) != 0 for channel in response)
    return pairs


@pytest.mark.parametrize(
    "layer",
    [
        nn.Conv2d(6, 10, 1, bias=False),
        nn.Conv2d(6, 10, 3, stride=2, padding=1, bias=False),
        nn.Conv2d(6, 12, 3, padding=1, groups=6, bias=False),
        nn.Conv2d(70, 3, 3, bias=False),
    ],
)
@torch.no_grad()
def test_edges_of_a_convolution(layer: nn.Conv2d) -> None:
    torch.manual_seed(3)
    layer.weight.normal_()
    like = torch.zeros(1, layer.in_channels, 5, 7)
    assert responding_pairs(layer, like) == slow_pairs(layer, like)


@given(
    kernel=st.sampled_from([(1, 1), (3, 3), (1, 7), (4, 2)]),
    stride=st.integers(1, 3),
    dilation=st.integers(1, 2),
    padding=st.integers(0, 4),
    size=st.tuples(st.integers(14, 40), st.integers(14, 40)),
)
@settings(max_examples=60, deadline=None)
@torch.no_grad()
def test_a_smaller_map_shows_the_same_responses(
    kernel: tuple[int, int], stride: int, dilation: int, padding: int, size: tuple[int, int]
) -> None:
    layer = nn.Conv2d(2, 3, kernel, stride, padding, dilation, bias=False).double()
    layer.weight.normal_(generator=torch_generator(0, "weights"))
    smaller = [telling_side(*each, stride) for each in zip(size, kernel, (dilation, dilation), strict=True)]
    ones = torch.eye(2).double()[:, :, None, None]
    large, small = (layer(ones.expand(-1, -1, *sides)).flatten(2) for sides in (size, smaller))
    for one, other in zip(large.flatten(0, 1), small.flatten(0, 1), strict=True):
        assert one.mul(1e6).round().unique().tolist() == other.mul(1e6).round().unique().tolist()
    assert responding_pairs(layer, torch.zeros(1, 2, *size).double()) == int((large > 0).any(2).sum())


@torch.no_grad()
@pytest.mark.parametrize("mode", ["circular", "reflect"])
def test_other_paddings_see_the_whole_map(mode: str) -> None:
    layer = nn.Conv2d(4, 5, 3, padding=2, padding_mode=mode, bias=False)
    like = torch.zeros(1, 4, 20, 20)
    assert responding_pairs(layer, like) == slow_pairs(layer, like)


@torch.no_grad()
def test_edges_of_a_linear_layer() -> None:
    layer = nn.Linear(6, 4, bias=False)
    assert responding_pairs(layer, torch.zeros(1, 6)) == slow_pairs(layer, torch.zeros(1, 6))
    assert responding_pairs(layer, torch.zeros(1, 3, 6)) == slow_pairs(layer, torch.zeros(1, 6))


@torch.no_grad()
def test_a_residual_network_by_hand() -> None:
    """Vertices: the image, what `body`, `pool` and `down` read, the head's input, the logits."""
    model, x = nets.build("residual"), nets.images(1)
    twin = reinitialized(model, torch_generator(5, "channels"), kaiming=False)
    wide, small = torch.zeros(1, 8, 8, 8).double(), torch.zeros(1, 12).double()
    edges = slow_pairs(twin.stem[0], x) + slow_pairs(twin.body[0], wide) + slow_pairs(twin.down, wide) + 8
    found = Probe(model, x, seed=5).channel_graph()
    # the output of the stem is one tensor, which `body` and `pool` read
    assert found.vertices == 3 + 8 + 8 + 12 + 5
    assert found.edges == edges + slow_pairs(twin.head, small)


class Cell(nn.Module):
    """A vertex read by two operations that each begin with a ReLU, and by a shortcut."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.ReLU(), nn.Conv2d(4, 4, 1, bias=False), nn.BatchNorm2d(4))
        self.second = nn.Sequential(nn.ReLU(), nn.Conv2d(4, 4, 1, bias=False), nn.BatchNorm2d(4))
        self.skip = nn.Identity()
        self.head = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.head((self.first(x) + self.second(x) + self.skip(x)).mean((2, 3)))


def test_activations_and_normalization_add_no_vertices() -> None:
    model = Cell()
    twin = reinitialized(model, torch_generator(0, "channels"), kaiming=False)
    positive = [int((weight > 0).sum()) for weight in (twin.first[1].weight, twin.second[1].weight, twin.head.weight)]
    found = Probe(model, torch.zeros(1, 4, 3, 3)).channel_graph()
    assert found.vertices == 4 + 4 + 2
    assert found.edges == sum(positive) + 4


def test_weights_are_not_those_of_the_network() -> None:
    """The graph is that of fresh weights."""
    x = nets.images(1)
    zeros = nets.build("residual")
    with torch.no_grad():
        for parameter in zeros.parameters():
            parameter.zero_()
    assert Probe(zeros, x).channel_graph() == Probe(nets.build("residual"), x).channel_graph()


def test_a_network_without_layers_has_no_graph() -> None:
    with pytest.raises(UnsupportedError):
        Probe(nn.Flatten(), nets.images(1)).channel_graph()
