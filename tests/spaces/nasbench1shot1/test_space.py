"""NAS-Bench-1Shot1: the counts, the reference networks to the unit, and what its cells are in NAS-Bench-101."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import golden
from tests.spaces.nasbench101.test_cell import of_record

from firstlight.probe.cost import Cost
from firstlight.spaces import SPACES
from firstlight.spaces.nasbench1shot1.space import NASBench1Shot1
from firstlight.spaces.nasbench101.cell import OPERATIONS, Cell101

GOLDEN = golden("nasbench1shot1")
every_space = pytest.mark.parametrize("number", ["S1", "S2", "S3"])
DISTINCT = {number: meta["unique_hashes_with_loose_ends"] for number, meta in GOLDEN["meta"].items()}


def space_of(number: str) -> NASBench1Shot1:
    space = SPACES[f"nasbench1shot1-{number.lower()}"]
    assert isinstance(space, NASBench1Shot1)
    return space


def distinct_parts(number: str) -> set[Cell101]:
    """Every pruned cell of a space: graphs that prune to the same one are labeled once."""
    graphs = {space_of(number).parse(text).pruned().sources for text in texts_of_graphs(number)}
    return {
        Cell101(operations, sources)
        for sources in graphs
        for operations in itertools.product(OPERATIONS, repeat=len(sources) - 1)
    }


def texts_of_graphs(number: str) -> list[str]:
    counts = space_of(number).parents
    choices = [itertools.combinations(range(vertex), count) for vertex, count in enumerate(counts, 1)]
    names = ["conv3x3"] * (len(counts) - 1) + ["output"]
    return [
        "|".join(f"{name}~{','.join(map(str, sources))}" for name, sources in zip(names, graph, strict=True))
        for graph in itertools.product(*choices)
    ]


# --- counts


@every_space
def test_the_parents_are_the_published_ones(number: str) -> None:
    published = GOLDEN["meta"][number]["parents_per_node"]
    assert [*space_of(number).parents] == [published[str(node)] for node in range(1, len(published))]
    assert sum(space_of(number).parents) == 9


@every_space
def test_all_graphs_and_architectures(number: str) -> None:
    meta, space = GOLDEN["meta"][number], space_of(number)
    assert len(texts_of_graphs(number)) == meta["topologies_with_loose_ends"]
    assert len(space) == meta["architectures_with_loose_ends"]
    graphs = {space.parse(text).pruned().sources for text in texts_of_graphs(number)}
    assert len(graphs) == meta["pruned_topologies_of_loose"]


@every_space
def test_distinct_cells(number: str) -> None:
    assert len({cell.canonical() for cell in distinct_parts(number)}) == DISTINCT[number]


@pytest.mark.slow
@every_space
def test_distinct_hashes(number: str) -> None:
    canonical = {cell.canonical() for cell in distinct_parts(number)}
    assert len({cell.module_hash() for cell in canonical}) == DISTINCT[number]


@pytest.mark.parametrize("number", ["S1", "S2"])
def test_enumeration_meets_every_distinct_cell(number: str) -> None:
    space = space_of(number)
    architectures = list(space)
    assert len(set(architectures)) == len(space)
    assert len({space.canonical(architecture) for architecture in architectures}) == DISTINCT[number]


@pytest.mark.parametrize("number", ["S1", "S2"])
def test_generated_cells_without_loose_ends_are_in_the_space(number: str) -> None:
    """The published generator's graphs, in the numbering of seven vertices, are pruned ones of the space."""
    ours = {space_of(number).parse(text).pruned().canonical().sources for text in texts_of_graphs(number)}
    listed = GOLDEN["meta"][number]["generated_edges_without_loose_ends"]
    for edges in listed:
        pairs = [tuple(map(int, edge.split("-"))) for edge in edges.split(";")]
        sources = tuple(tuple(i for i, j in pairs if j == vertex) for vertex in range(1, 7))
        assert Cell101(("conv3x3",) * 5, sources).canonical().sources in ours
    assert len(listed) == GOLDEN["meta"][number]["unique_topologies_without_loose_ends"]


# --- the reference networks


def architecture_of(record: dict[str, Any]) -> Cell101:
    names = [*(name.removesuffix("-bn-relu") for name in record["ops"]), "output"]
    parents = (",".join(map(str, its)) for its in record["parents"].values())
    return space_of(record["space"]).parse("|".join(f"{name}~{its}" for name, its in zip(names, parents, strict=True)))


def test_the_reference_networks() -> None:
    assert len(GOLDEN["records"]) == 20
    for record in GOLDEN["records"]:
        space, architecture = space_of(record["space"]), architecture_of(record)
        assert architecture.pruned() == of_record(record["pruned_matrix"], record["pruned_ops"])
        assert architecture.pruned() == of_record(record["matrix"], record["node_ops"]).pruned()  # a dummy vertex more
        assert architecture.module_hash() == space.canonical(architecture).module_hash() == record["hash"]
        assert space.cost(architecture) == Cost(record["params"], record["conv_linear_macs"])


# --- a space of NAS-Bench-101 cells


@every_space
@given(seed=st.integers(0, 2**32))
def test_an_architecture_is_a_cell_of_nasbench101(number: str, seed: int) -> None:
    architecture = space_of(number).sample(random.Random(seed))
    other = SPACES["nasbench101"]
    assert other.parse(str(architecture)) == architecture
    assert other.canonical(architecture) == other.canonical(space_of(number).canonical(architecture))
    assert other.cost(architecture) == space_of(number).cost(architecture)


@every_space
@given(seed=st.integers(0, 2**32))
def test_children_differ_in_one_choice(number: str, seed: int) -> None:
    rng = random.Random(seed)
    parent = space_of(number).sample(rng)
    child = space_of(number).mutate(parent, rng)
    exchanged = [len(set(a) - set(b)) for a, b in zip(parent.sources, child.sources, strict=True)]
    changed = sum(a != b for a, b in zip(parent.operations, child.operations, strict=True))
    assert sum(exchanged) + changed == 1
    assert [len(sources) for sources in child.sources] == [*space_of(number).parents]


@every_space
def test_samples_and_children_reach_every_choice(number: str) -> None:
    space, rng = space_of(number), random.Random(0)
    walked = [space.sample(rng)]
    for _ in range(2_000):
        walked.append(space.mutate(walked[-1], rng))
    for cells in ([space.sample(rng) for _ in range(1_000)], walked):
        for vertex, count in enumerate(space.parents, 1):
            choices = set(itertools.combinations(range(vertex), count))
            assert {cell.sources[vertex - 1] for cell in cells} == choices
        for index in range(len(space.parents) - 1):
            assert {cell.operations[index] for cell in cells} == set(OPERATIONS)


@every_space
def test_networks_run_forward_and_back(number: str) -> None:
    space = space_of(number)
    skeleton = space.skeleton(channels=6, cells=1, classes=4, input_shape=(3, 16, 8))
    for seed in range(3):
        network = space.build(space.sample(random.Random(seed)), skeleton)
        for mode in (True, False):
            logits = network.train(mode)(torch.randn(3, 3, 16, 8))
            logits.square().sum().backward()
            assert logits.shape == (3, 4)
        assert all(p.grad is not None and p.grad.isfinite().all() for p in network.parameters())


def test_the_drawing_leaves_loose_ends_out() -> None:
    architecture = space_of("S1").parse("conv1x1~0|conv3x3~0,1|maxpool3x3~0,2|conv1x1~0,1|output~0,1")
    assert space_of("S1").drawing(architecture).nodes == ("input", "conv1x1", "output")


@every_space
def test_cells_of_nasbench101_that_are_in_the_space(number: str) -> None:
    space, rng = space_of(number), random.Random(3)
    for _ in range(20):
        architecture = space.sample(rng)
        found = space.standing_for(architecture.canonical())
        assert found == space.canonical(architecture)
        assert str(space.parse(str(found))) == str(found)
    many = Cell101(("conv3x3",) * 3, ((0,), (0,), (0, 2), (0, 1, 2, 3)))
    assert space.standing_for(many) is None
