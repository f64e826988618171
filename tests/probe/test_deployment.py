"""Flash and RAM: counted on the graph, and again by running real modules."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from firstlight.probe.deployment import INT8_TENSOR_BYTES, TENSOR_BYTES, count_flash, count_ram
from firstlight.probe.graph import record_graph
from firstlight.spaces import SPACES


def hooked_peak(model: nn.Module, layers: list[nn.Module], x: Tensor, item: int) -> int:
    """Return the peak by hooks on the layers of a chain with shortcuts: the slow and obvious way.

    Each hook notes the tensors that a layer is given and the one that it returns. A tensor is alive from its layer to
    the last one that is given it.
    """
    made: list[Tensor] = [x]
    steps: list[tuple[list[int], int]] = []

    def place(tensor: Tensor) -> int:
        return next(place for place, other in enumerate(made) if other is tensor)

    def hook(module: nn.Module, args: tuple[Any, ...], out: Tensor) -> None:
        read = [place(tensor) for tensor in args]
        made.append(out)
        steps.append((read, len(made) - 1))

    handles = [layer.register_forward_hook(hook) for layer in layers]
    last = place(model(x))
    for handle in handles:
        handle.remove()
    peak = x.numel() * item
    for now, (_, written) in enumerate(steps):
        alive = {written}
        for tensor in range(written):
            read_later = any(tensor in read for read, _ in steps[now:]) or tensor == last
            alive |= {tensor} if read_later else set()
        peak = max(peak, sum(made[tensor].numel() for tensor in alive) * item)
    return peak


class Sum(nn.Module):
    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return a + b


class Chain(nn.Module):
    """Convolutions with BatchNorm; some read the sum of the last two results."""

    def __init__(self, widths: list[int], shortcuts: list[bool]) -> None:
        super().__init__()
        self.layers, self.sums = nn.ModuleList(), nn.ModuleList()
        before = 2
        for width, shortcut in zip(widths, shortcuts, strict=True):
            width = before if shortcut else width
            self.layers.append(nn.Sequential(nn.Conv2d(before, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()))
            self.sums.append(Sum() if shortcut else nn.Identity())
            before = width

    def forward(self, x: Tensor) -> Tensor:
        for layer, join in zip(self.layers, self.sums, strict=True):
            y = layer(x)
            x = join(y, x) if isinstance(join, Sum) else y
        return x

    def parts(self) -> list[nn.Module]:
        joins = [join for join in self.sums if isinstance(join, Sum)]
        return [*self.layers, *joins]


@given(st.lists(st.tuples(st.integers(1, 6), st.booleans()), min_size=1, max_size=6))
@settings(max_examples=25, deadline=None)
def test_ram_is_the_peak_that_hooks_see(blocks: list[tuple[int, bool]]) -> None:
    model = Chain([width for width, _ in blocks], [shortcut for _, shortcut in blocks]).eval()
    x = torch.randn(1, 2, 4, 4)
    graph = record_graph(model, x)
    with torch.no_grad():
        assert count_ram(graph) == hooked_peak(model, model.parts(), x, 4)
        assert count_ram(graph, int8=True) == hooked_peak(model, model.parts(), x, 1)


def test_ram_of_a_chain_by_hand() -> None:
    chain = nn.Sequential(nn.Linear(8, 64), nn.Linear(64, 8), nn.Linear(8, 64), nn.Linear(64, 2))
    graph = record_graph(chain, torch.randn(1, 8))
    assert count_ram(graph) == 4 * (64 + 8)
    assert count_ram(graph, int8=True) == 64 + 8


def test_flash_of_a_chain_by_hand() -> None:
    chain = nn.Sequential(nn.Conv2d(2, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(16, 3))
    graph = record_graph(chain.eval(), torch.randn(1, 2, 4, 4))
    kernels, biases, tensors = 4 * 2 * 9 + 3 * 16, 4 + 3, 2 + 2 + 3  # kernels, biases; the input and two results
    assert count_flash(graph) == 4 * (kernels + biases) + TENSOR_BYTES * tensors
    scales = 2 * (4 + 3) + 3  # of the channels of kernels and biases, and of the input and two results
    assert count_flash(graph, int8=True) == kernels + 4 * biases + 12 * scales + INT8_TENSOR_BYTES * tensors


@pytest.mark.parametrize("name", ["nasbench201", "mobilenetv2", "plain-resnet", "nats-sss"])
def test_flash_has_the_weights_of_real_modules(name: str) -> None:
    """The weights of convolutions and linear layers, a bias for each of their channels, and little else.

    The shortcuts of reductions have neither bias nor BatchNorm.
    """
    space = SPACES[name]
    skeleton = space.skeleton(**({"input_shape": (3, 32, 32)} if name == "mobilenetv2" else {}))
    architecture = space.canonical(space.sample(random.Random(1)))
    used: set[nn.Module] = set()
    network = space.build(architecture, skeleton).eval()
    for module in network.modules():
        module.register_forward_hook(lambda module, args, out: used.add(module))
    network(torch.zeros(1, *skeleton.input_shape))
    layers = [module for module in used if isinstance(module, (nn.Conv2d, nn.Linear))]
    weights = sum(layer.weight.numel() for layer in layers)
    plain = {module for path, module in network.named_modules() if path.endswith("shortcut.1")}
    channels = sum(layer.weight.shape[0] for layer in layers if layer not in plain)
    graph = space.graph(architecture, skeleton)
    constants = {key for operation in graph.operations for key in (operation.kernel, *operation.constants)} - {None}
    norm = sum(
        4 * graph.sizes[key]
        for operation in graph.operations
        if operation.kind == "norm"
        for key in operation.constants
    )
    tensors = len(constants) + 1 + sum(len(operation.writes) for operation in graph.operations)
    assert count_flash(graph) == 4 * (weights + channels) + norm + TENSOR_BYTES * tensors


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the converter's own packages
@pytest.mark.parametrize("name", ["nasbench201", "plain-mobile", "plain-vit"])
def test_counts_are_those_of_litert_files(name: str, tmp_path: Path) -> None:
    """The plan of a file is made of the tensors that its own operations read and write.

    Files of transformers have copies: transposed and normalized tensors.
    """
    litert = pytest.importorskip("litert_torch", reason="needs the packages of constraints-litert.txt")
    from tests.probe.litert_files import int8_file, peak_of, without_names

    space = SPACES[name]
    settings = {"cells": 1, "channels": 4} if name == "nasbench201" else {}
    skeleton = space.skeleton(input_shape=(1, 8, 8), **settings)
    architecture = space.canonical(space.sample(random.Random(100)))
    network = litert.to_channel_last_io(space.build(architecture, skeleton).eval(), args=[0]).eval()
    path = tmp_path / "network.tflite"
    litert.convert(network, (torch.randn(1, 8, 8, 1),)).export(str(path))
    graph = space.graph(architecture, skeleton)
    for int8, content in ((False, path.read_bytes()), (True, int8_file(path))):
        if name == "plain-vit":
            assert peak_of(content) >= count_ram(graph, int8=int8)
        else:
            assert peak_of(content) == count_ram(graph, int8=int8)
        assert len(without_names(content)) == pytest.approx(count_flash(graph, int8=int8), rel=0.05)
