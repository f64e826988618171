"""What a device runs: recorded operations, and what they leave out."""

from __future__ import annotations

import random

import pytest
import torch
from torch import Tensor, nn

from firstlight.probe.cost import measure_cost
from firstlight.probe.graph import Graph, Operation, record_graph
from firstlight.spaces import SPACES


def kinds(graph: Graph) -> list[str]:
    return [operation.kind for operation in graph.operations]


def constants(graph: Graph) -> set[int]:
    kernels = {operation.kernel for operation in graph.operations if operation.kernel is not None}
    return kernels | {key for operation in graph.operations for key in operation.constants}


def test_a_chain_by_hand() -> None:
    chain = nn.Sequential(
        nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.Dropout(), nn.Flatten(), nn.Linear(8 * 16, 5)
    )
    graph = record_graph(chain.eval(), torch.randn(1, 3, 6, 6))
    assert kinds(graph) == ["conv", "linear"]  # BatchNorm and ReLU are parts of the convolution, a view is nothing
    conv, linear = graph.operations
    assert [graph.sizes[key] for key in (*conv.reads, *conv.writes, *linear.writes)] == [108, 128, 5]
    assert (conv.kernel is not None, conv.channels, conv.macs) == (True, 8, 27 * 8 * 16)
    assert (linear.reads, linear.channels, linear.macs) == (conv.writes, 5, 128 * 5)
    assert sorted(graph.sizes[key] for key in constants(graph)) == sorted([8 * 27, 8, 128 * 5, 5])
    assert graph.inputs == conv.reads
    assert graph.outputs == linear.writes


class Branches(nn.Module):
    """A convolution that two operations read, one that nothing reads, and a ReLU in place."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.unused = nn.Conv2d(2, 4, 1), nn.Conv2d(2, 4, 1)
        self.norm, self.relu = nn.BatchNorm2d(4), nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        self.unused(x)
        y = self.first(x)
        return y.clone() + self.relu(self.norm(y) * 2)


def test_what_several_operations_read_stays_separate() -> None:
    graph = record_graph(Branches().eval(), torch.randn(1, 2, 3, 3))
    assert kinds(graph) == ["conv", "norm", "multiply", "add"]  # the ReLU is part of the multiplication
    conv, norm, multiply, add = graph.operations
    assert norm.reads == conv.writes
    assert multiply.reads == norm.writes
    assert set(add.reads) == {*conv.writes, *multiply.writes}


def test_what_is_repeated_runs_once() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.left, self.right = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x: Tensor) -> Tensor:
            y = x * 2
            return self.left(y.relu()) + self.right(y.relu()) + y.clamp(0, 3) + y.clamp(0, 6)

    graph = record_graph(Net(), torch.randn(1, 4))
    assert kinds(graph) == ["multiply", "relu", "linear", "linear", "add", "relu", "add", "relu", "add"]
    assert graph.operations[2].reads == graph.operations[3].reads == graph.operations[1].writes


def test_kinds_of_products() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.depthwise, self.grouped = nn.Conv2d(4, 4, 3, groups=4), nn.Conv2d(4, 4, 1, groups=2)
            self.projection = nn.Linear(4, 4, bias=False)

        def forward(self, x: Tensor) -> Tensor:
            x = self.grouped(self.depthwise(x)).flatten(2).transpose(1, 2)
            return (x @ self.projection(x).transpose(1, 2)).softmax(-1)

    graph = record_graph(Net().eval(), torch.randn(1, 4, 5, 5))
    assert kinds(graph) == ["depthwise", "conv", "linear", "matmul", "softmax"]
    assert graph.operations[3].kernel is None
    assert len(graph.operations[3].reads) == 2


def test_what_does_not_depend_on_the_input_is_a_constant() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Parameter(torch.randn(3, 4))

        def forward(self, x: Tensor) -> Tensor:
            return x + self.table[torch.tensor([0, 0, 2, 1, 0])].sum(0) * 2

    graph = record_graph(Net(), torch.randn(1, 4))
    assert kinds(graph) == ["add"]
    assert [graph.sizes[key] for key in constants(graph)] == [4]


SMALL = {
    "nasbench201": {"cells": 1, "channels": 4},
    "darts": {"cells": 3, "channels": 4},
    "mobilenetv2": {"input_shape": (3, 32, 32)},
    "nasrec-small": {},
    "plain-vit": {},
}


@pytest.mark.parametrize("name", SMALL)
def test_the_meta_device_records_the_same_as_real_tensors(name: str) -> None:
    space = SPACES[name]
    skeleton = space.skeleton(**SMALL[name])
    architecture = space.canonical(space.sample(random.Random(3)))
    network = space.build(architecture, skeleton).eval()
    graph = space.graph(architecture, skeleton)
    assert graph == record_graph(network, torch.zeros(1, *skeleton.input_shape))
    written: set[int] = set(graph.inputs)
    for operation in graph.operations:  # nothing is read before it is written
        assert written.issuperset(operation.reads)
        written.update(operation.writes)
    assert written.issuperset(graph.outputs)


@pytest.mark.parametrize("name", ["mobilenetv2", "plain-vit", "nats-sss"])
def test_products_are_those_that_are_counted(name: str) -> None:
    """These spaces run every product, so that the multiply-accumulates are all there."""
    space = SPACES[name]
    skeleton = space.skeleton(**({"input_shape": (3, 32, 32)} if name == "mobilenetv2" else {}))
    architecture = space.sample(random.Random(0))
    network = space.build(architecture, skeleton).eval()
    counted = measure_cost(network, torch.zeros(1, *skeleton.input_shape))
    assert sum(operation.macs for operation in space.graph(architecture, skeleton).operations) == counted.macs


def test_the_model_comes_back_as_it_was() -> None:
    model = nn.Sequential(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2)).eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    record_graph(model, torch.randn(1, 1, 2, 2))
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert not any(module._forward_hooks for module in model.modules())


@pytest.mark.parametrize(
    ("layer", "padded"),
    [
        (nn.Conv2d(2, 3, 3, padding=1), 0),
        (nn.Conv2d(2, 3, 3, stride=2, padding=1), 2 * 10 * 10),  # formats would pad only behind
        (nn.Conv2d(2, 3, 3, stride=2), 0),
        (nn.Conv2d(2, 3, 3, padding=2, dilation=2), 0),
        (nn.Conv2d(2, 3, 3, padding=(2, 1)), 2 * 12 * 10),
        (nn.MaxPool2d(3, 2, padding=1), 2 * 10 * 10),
        (nn.MaxPool2d(2), 0),
        (nn.AvgPool2d(3, 1, padding=1, count_include_pad=False), 0),
        (nn.AvgPool2d(3, 1, padding=1), 2 * 10 * 10),
        (nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1), 0),
    ],
)
def test_padding_that_formats_lack_is_an_operation(layer: nn.Module, padded: int) -> None:
    graph = record_graph(layer, torch.randn(1, 2, 8, 8))
    as_run = record_graph(layer, torch.randn(1, 2, 8, 8), simplified=False)
    pads = [operation for operation in graph.operations if operation.kind == "pad"]
    assert [graph.sizes[operation.writes[0]] for operation in pads] == [padded] * (padded > 0)
    assert graph.operations[-1].reads == (pads[0].writes if pads else graph.inputs)
    assert [operation.kind for operation in as_run.operations] == [graph.operations[-1].kind]


def test_operations_are_values() -> None:
    assert Operation("add", (0,), (1,)) == Operation("add", (0,), (1,))
