"""The one-shot network of NAS-Bench-1Shot1: the published one, and what its cells compute."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import fill_by_rule, pattern
from tests.spaces.records import assert_probes, records
from torch import Tensor, nn

import firstlight
from firstlight.core.errors import SettingError
from firstlight.probe.cost import measure_cost
from firstlight.spaces.nasbench1shot1.supernet import OPERATIONS, OneShot1Shot1, Skeleton1Shot1
from firstlight.spaces.supernets import set_weights

RECORDS = [record for record in records("supernets") if record["net"].startswith("nasbench1shot1")]


def one_shot(space: str) -> OneShot1Shot1:
    found = firstlight.space(f"nasbench1shot1-{space}").one_shot()
    assert isinstance(found, OneShot1Shot1)
    return found


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: f"{record['net'][-2:]}-C{record['C']}")
def test_it_is_the_published_one(record: dict[str, Any]) -> None:
    """The architecture tensors of the records: the operations of all blocks, the output, the inputs of blocks."""
    own = one_shot(record["net"][-2:].lower())
    skeleton = Skeleton1Shot1(channels=record["C"], cells=record["layers"])
    with torch.device("meta"):
        assert measure_cost(own.network(skeleton), torch.empty(1, 3, 32, 32)).params == record["params"]
    *inputs, output = own.choices[len(own.operations) :]
    assert [list(choice.options) for choice in own.operations] == [
        [name.removesuffix("-bn-relu") for name in record["op_order"]]
    ] * len(own.operations)
    shapes = [[len(own.operations), 3], *([1, len(choice.options)] for choice in (output, *inputs))]
    assert shapes == record["arch_parameter_shapes"]
    if "probe" in record:
        network = own.build(skeleton)
        for choices, shape in zip((own.operations, *([choice] for choice in (output, *inputs))), shapes, strict=True):
            for choice, row in zip(choices, pattern(*shape).softmax(1).tolist(), strict=True):
                set_weights(network, choice.name, row)
        assert assert_probes(network, [2, 3, 32, 32], record["probe"]) == 2


def test_there_are_records() -> None:
    assert len(RECORDS) == 4
    assert sum("probe" in record for record in RECORDS) == 2


# ---------------------------------------- a cell, computed by hand


def projected(layer: nn.Module, x: Tensor) -> Tensor:
    """Convolution, BatchNorm without running statistics and ReLU, by the weights of a layer."""
    convolution, norm, _ = layer
    out = F.conv2d(x, convolution.weight, padding=convolution.weight.shape[-1] // 2)
    return F.batch_norm(out, None, None, norm.weight, norm.bias, training=True).relu()


@pytest.mark.parametrize(
    "text",
    [
        "conv3x3~0|maxpool3x3~0|conv1x1~0,2|conv3x3~1,3|output~0,2,4",
        "maxpool3x3~0|conv1x1~1|conv3x3~1,2|maxpool3x3~0,1|output~1,3,4",
    ],
)
def test_a_cell_of_hard_weights_computes_what_its_text_says(text: str) -> None:
    """In full width: each block of an architecture of the second space keeps all channels."""
    own, space = one_shot("s2"), firstlight.space("nasbench1shot1-s2")
    architecture = space.parse(text)
    network = fill_by_rule(own.build(Skeleton1Shot1(channels=3, cells=1))).double()
    _, cell = network.body
    for vertex, name in enumerate(architecture.operations, start=1):
        set_weights(network, f"operation of {vertex}", {other: float(other == name) for other in OPERATIONS})
    for vertex, sources in zip(("2", "3", "4", "output"), architecture.sources[1:], strict=True):
        states = range(5 if vertex == "output" else int(vertex))
        set_weights(network, f"inputs of {vertex}", [float(state in sources) for state in states])

    x = torch.randn(2, 3, 7, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    blocks: list[Tensor] = []
    for index, name in enumerate(architecture.operations):
        states = [projected(cell.projections[index], x), *blocks]
        read = sum(states[source] for source in architecture.sources[index])
        layers = cell.blocks[index].operations
        blocks.append(F.max_pool2d(read, 3, 1, 1) if name == "maxpool3x3" else projected(layers[name], read))
    *_, leading = architecture.sources
    expected = torch.cat([block * (vertex in leading) for vertex, block in enumerate(blocks, start=1)], 1)
    if 0 in leading:
        expected = expected + projected(cell.shortcut, x)
    torch.testing.assert_close(cell(x), expected)

    cell(x).sum().backward()
    unread = cell.shortcut if 0 not in leading else cell.blocks[0].operations["conv1x1"]
    assert all(parameter.grad is None for parameter in unread.parameters())


def test_a_vertex_that_reads_all_before_it_has_no_choice() -> None:
    assert [choice.name for choice in one_shot("s1").choices[4:]] == ["inputs of 3", "inputs of 4", "inputs of output"]
    network = one_shot("s1").build(Skeleton1Shot1(channels=2, cells=1))
    first, second = torch.randn(2, 1, 2, 3, 3)
    torch.testing.assert_close(network.body[1].inputs[1]([first, second]), first + second)


def test_the_image_shrinks_and_new_statistics_outweigh_old_ones() -> None:
    network = one_shot("s1").build(Skeleton1Shot1(channels=2, cells=3))
    sizes = [32]
    for module in network.body:
        if isinstance(module, nn.MaxPool2d):
            sizes.append(module(torch.zeros(1, 1, sizes[-1], sizes[-1])).shape[-1])
    assert sizes == [32, 17, 9]
    assert {norm.momentum for norm in network.modules() if isinstance(norm, nn.BatchNorm2d)} == {0.997}
    assert network.top[-1].weight is None


# ---------------------------------------- skeletons and architectures


def test_the_skeleton_is_the_published_one_for_the_same_images() -> None:
    of_networks = firstlight.space("nasbench1shot1-s1").skeleton(input_shape=(1, 16, 16), classes=3, channels=64)
    assert one_shot("s1").skeleton(of_networks) == Skeleton1Shot1((1, 16, 16), 3, channels=16, cells=9)


@pytest.mark.parametrize("settings", [{"channels": 0}, {"cells": 0}, {"classes": 0}, {"input_shape": (3, 32)}])
def test_what_cannot_be_built_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match="at least one class, channel and cell"):
        Skeleton1Shot1(**settings)


@pytest.mark.parametrize("space", ["s1", "s2", "s3"])
@given(seed=st.integers(0, 2**32))
def test_every_architecture_can_be_preferred(space: str, seed: int) -> None:
    """One that is drawn from the space, when each of its options is preferred to the others."""
    own, rng = one_shot(space), random.Random(seed)
    architecture = firstlight.space(f"nasbench1shot1-{space}").sample(rng)
    inner = len(architecture.operations)
    in_it = {f"operation of {vertex}": {name} for vertex, name in enumerate(architecture.operations, start=1)}
    for vertex, sources in enumerate(architecture.sources, start=1):
        in_it[f"inputs of {vertex if vertex <= inner else 'output'}"] = set(map(str, sources))
    preferences = {
        choice.name: [rng.random() + (option in in_it[choice.name]) for option in choice.options]
        for choice in own.choices
    }
    assert own.architecture(preferences) == architecture
