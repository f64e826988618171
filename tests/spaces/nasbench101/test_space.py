"""NAS-Bench-101: the published counts, the reference networks to the unit, and its table."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.command import firstlight as command
from tests.reference import golden
from tests.spaces.nasbench101.test_cell import of_record
from torch import Tensor, nn

import firstlight
from firstlight.core.errors import SettingError
from firstlight.probe.blocks import blocks_of
from firstlight.probe.cost import Cost
from firstlight.spaces.base import Space
from firstlight.spaces.nasbench101.cell import OPERATIONS, Cell101
from firstlight.spaces.nasbench101.network import Cell, Network101, Skeleton101
from firstlight.spaces.nasbench101.space import NASBench101

SPACE = NASBench101()
RECORDS = golden("nasbench101")["records"]
SMALL = Skeleton101(channels=16, cells=1)
EXAMPLE = "conv1x1~0|conv3x3~0|conv3x3~0|conv3x3~3|maxpool3x3~0|output~1,2,4,5"


def cell_of(record: dict[str, Any]) -> Cell101:
    return SPACE.parse(str(of_record(record["matrix"], record["ops"])))


# --- the space


def test_all_cells_of_at_most_five_vertices() -> None:
    cells = list(itertools.takewhile(lambda cell: len(cell.sources) < 5, SPACE))
    counts = [sum(len(cell.sources) == last for cell in cells) for last in range(1, 5)]
    assert counts == [1, 6, 84, 2_441]
    assert len({cell.module_hash() for cell in cells}) == len(cells) == 2_532
    assert all(SPACE.canonical(cell) == cell for cell in cells)


@pytest.mark.slow
def test_all_423624_cells() -> None:
    assert len({cell.module_hash() for cell in SPACE}) == len(SPACE) == 423_624


def test_samples_are_matrices_of_seven_vertices_that_prune_to_nine_edges() -> None:
    cells = [SPACE.sample(random.Random(seed)) for seed in range(400)]
    assert {len(cell.sources) for cell in cells} == {6}
    assert all(SPACE.parse(str(cell)) == cell for cell in cells)
    assert max(cell.edges for cell in cells) > 9 >= max(cell.pruned().edges for cell in cells)
    shares = [sum(cell.operations.count(name) for cell in cells) / 2000 for name in OPERATIONS]
    assert shares == pytest.approx([1 / 3] * 3, abs=0.04)


@given(seed=st.integers(0, 2**32))
def test_children_differ_in_one_choice(seed: int) -> None:
    rng = random.Random(seed)
    parent = SPACE.canonical(SPACE.sample(rng)) if seed % 2 else SPACE.sample(rng)
    child = SPACE.mutate(parent, rng)
    if len(child.sources) > len(parent.sources):
        assert len(child.sources) == len(parent.sources) + 1 <= 6
        assert child.edges == parent.edges + 2
        assert any(_without(child, vertex) == parent for vertex in range(1, len(child.sources)))
    else:
        flipped = sum(len(set(a) ^ set(b)) for a, b in zip(parent.sources, child.sources, strict=True))
        changed = sum(a != b for a, b in zip(parent.operations, child.operations, strict=True))
        assert flipped + changed == 1


def _without(cell: Cell101, vertex: int) -> Cell101:
    sources = [
        tuple(source - (source > vertex) for source in its if source != vertex)
        for number, its in enumerate(cell.sources, 1)
        if number != vertex
    ]
    return Cell101(cell.operations[: vertex - 1] + cell.operations[vertex:], tuple(sources))


def test_the_smallest_cell_can_grow() -> None:
    rng = random.Random(0)
    cell = SPACE.parse("output~0")
    sizes = set()
    for _ in range(300):  # of canonical cells, which have no loose ends to grow from
        cell = SPACE.canonical(SPACE.mutate(cell, rng))
        sizes.add(len(cell.sources) + 1)
    assert max(sizes) == 7


# --- the networks


def test_costs_of_the_reference_networks() -> None:
    assert len(RECORDS) == 24
    for record in RECORDS:
        cell = cell_of(record)
        assert SPACE.cost(cell) == Cost(record["params"], record["conv_linear_macs"]), str(cell)
        assert SPACE.cost(cell, SMALL).params == record["params_stem16_modules1"]


def test_convolutions_of_the_reference_networks_in_their_order() -> None:
    compared = 0
    for record in RECORDS:
        network = SPACE.network(cell_of(record), SMALL)
        assert sum(p.numel() for p in network.parameters()) == record["params_stem16_modules1"]
        if "conv_calls_stem16_modules1" in record:
            assert calls_of(network, torch.zeros(1, 3, 32, 32)) == record["conv_calls_stem16_modules1"]
            compared += 1
    assert compared == 4


def calls_of(network: nn.Module, x: Tensor) -> list[str]:
    seen: list[str] = []
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            shape = "x".join(map(str, module.weight.shape))
            module.register_forward_hook(lambda *_, shape=shape: seen.append(f"conv:{shape}"))
    network(x)
    return seen


@pytest.mark.parametrize("setting", [{}, {"channels": 7, "stacks": 2, "cells": 2, "input_shape": (2, 8, 18)}])
def test_the_closed_form_counts_what_is_built(setting: dict[str, Any]) -> None:
    skeleton = SPACE.skeleton(**setting)
    for seed in range(5):
        cell = SPACE.sample(random.Random(seed))
        assert SPACE.cost(cell, skeleton) == Space.cost(SPACE, cell, skeleton)


@pytest.mark.parametrize("text", [EXAMPLE, "output~0", "conv3x3~0|maxpool3x3~0,1|conv1x1~1,2|output~0,1,2,3"])
def test_a_cell_computes_what_its_matrix_says(text: str) -> None:
    """Vertices one at a time, straight from the adjacency matrix; 16 channels do not divide by 3."""
    cell = SPACE.parse(text)
    network = SPACE.build(cell, SMALL).eval()
    assert isinstance(network, Network101)
    module = network.body[0]
    assert isinstance(module, Cell)
    last = len(cell.sources)
    edge = {(source, vertex) for vertex, sources in enumerate(cell.sources, 1) for source in sources}
    x = torch.randn(2, 16, 6, 6)
    values = {0: x}
    for vertex, operation in enumerate(module.vertices, 1):
        width = cell.widths(16, 16)[vertex]
        total = torch.zeros(2, width, 6, 6)
        for source in range(vertex):
            if (source, vertex) in edge:
                term = values[source] if source else module.projections[str(vertex)](x)
                total += term[:, :width]
        values[vertex] = operation(total)
    out = torch.zeros(2, 16, 6, 6)
    if (0, last) in edge:
        out += module.projections[str(last)](x)
    joined = [values[source] for source in range(1, last) if (source, last) in edge]
    if joined:
        out += torch.cat(joined, 1)
    torch.testing.assert_close(module(x), out)
    assert (out >= 0).all()


@pytest.mark.parametrize("shape", [(3, 32, 32), (1, 16, 8)])
def test_networks_run_forward_and_back(shape: tuple[int, ...]) -> None:
    skeleton = Skeleton101(shape, 4, channels=6, cells=1)
    for seed in range(4):
        cell = SPACE.sample(random.Random(seed))
        network = SPACE.build(cell, skeleton)
        for mode in (True, False):
            network.train(mode).zero_grad()
            logits = network(torch.randn(3, *shape))
            logits.square().sum().backward()
            assert logits.shape == (3, 4)
            assert all(p.grad is not None and p.grad.isfinite().all() for p in network.parameters())
        on_meta = SPACE.network(cell, skeleton).to("meta")
        assert on_meta(torch.empty(3, *shape, device="meta")).shape == (3, 4)


@pytest.mark.parametrize(
    "setting",
    [
        {"input_shape": (3, 30, 32)},
        {"input_shape": (3, 32)},
        {"cells": 0},
        {"stacks": 0},
        {"channels": 4},
        {"stacks": 7},
    ],
)
def test_skeletons_that_cannot_be_built(setting: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match=r"sides can be halved between the stacks.*at least 5 channels"):
        SPACE.skeleton(**setting)


def test_blocks_are_the_stem_and_the_cells() -> None:
    network = SPACE.network(SPACE.parse(EXAMPLE), SPACE.skeleton(channels=8))
    blocks = blocks_of(network)
    assert len(blocks) == 1 + 9
    assert all(isinstance(block, Cell) for block in blocks[1:])


def test_proxies_of_every_kind_measure_these_networks() -> None:
    skeleton = Skeleton101((3, 16, 16), channels=8, cells=1)
    network = SPACE.build("conv1x1~0|conv3x3~0|conv3x3~0|maxpool3x3~3|output~0,1,2,4", skeleton)
    generator = torch.Generator().manual_seed(0)
    batches = [
        (torch.randn(4, 3, 16, 16, generator=generator), torch.randint(10, (4,), generator=generator)) for _ in range(2)
    ]
    asked = "dextr,zico,naswot,synflow,ntk_condition,az_trainability,az_progressivity"
    scores = firstlight.score(network, batches, asked)
    assert {name: score.note for name, score in scores.items() if not score.ok} == {}


def test_batch_norm_keeps_most_of_its_statistics() -> None:
    norms = [m for m in SPACE.network(SPACE.parse(EXAMPLE), SMALL).modules() if isinstance(m, nn.BatchNorm2d)]
    assert {(norm.eps, norm.momentum, norm.affine) for norm in norms} == {(1e-5, 0.003, True)}


def test_the_drawing_shows_what_is_built() -> None:
    drawing = SPACE.drawing(SPACE.parse("maxpool3x3~|conv3x3~0|conv1x1~0|output~0,2"))
    assert drawing.nodes == ("input", "conv3x3", "output")
    assert drawing.edges == ((0, 1, ""), (0, 2, ""), (1, 2, ""))


# --- the table and the command


@pytest.fixture
def table(benchmark_data: Path) -> pd.DataFrame:
    return pd.read_parquet(benchmark_data / "nb101_sample.parquet")


def test_hashes_of_the_published_table(table: pd.DataFrame) -> None:
    rows = table.iloc[::30]
    assert len(rows) == 1_001
    cells = [Cell101.from_digits(*row) for row in zip(rows["adjacency"], rows["ops"], strict=True)]
    assert [cell.module_hash() for cell in cells] == list(rows["module_hash"])


def test_sizes_of_the_published_table(table: pd.DataFrame) -> None:
    cells = [Cell101.from_digits(*row) for row in zip(table["adjacency"], table["ops"], strict=True)]
    assert [SPACE.cost(cell).params for cell in cells] == list(table["params"])
    assert all(SPACE.canonical(cell) == cell for cell in cells)  # so canonical networks have the published sizes


def test_the_command_scores_a_cell() -> None:
    asked = ("score", "nasbench101", EXAMPLE, "--proxy", "dextr,params", "--json")
    row = json.loads(command(*asked, "--skeleton", "channels=16,cells=1").stdout)
    assert row["architecture"] == EXAMPLE
    assert row["cost"]["params"] == RECORDS[0]["params_stem16_modules1"]
    assert {score["status"] for score in row["scores"].values()} == {"ok"}
    ten_edges = "conv3x3~0|conv3x3~0,1|conv3x3~0,1,2|output~0,1,2,3"
    assert "no more than 9 edges" in command("score", "nasbench101", ten_edges, code=1).stderr
