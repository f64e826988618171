"""DARTS: the reference networks to the unit, the customary text, and configurations of NAS-Bench-301."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.spaces.records import assert_probes, calls, records

from firstlight.core.errors import ParseError, SettingError
from firstlight.probe.blocks import blocks_of
from firstlight.probe.cost import Cost
from firstlight.spaces.base import Space
from firstlight.spaces.darts.genotypes import CHOICES, OPERATIONS, Cell, Genotype
from firstlight.spaces.darts.network import DartsNetwork, DartsSkeleton
from firstlight.spaces.darts.space import DARTS
from firstlight.testing.spaces import damaged, runs_everywhere

SPACE = DARTS()
DARTS_V1 = (
    "Genotype(normal=[('sep_conv_3x3', 1), ('sep_conv_3x3', 0), ('skip_connect', 0), ('sep_conv_3x3', 1), "
    "('skip_connect', 0), ('sep_conv_3x3', 1), ('sep_conv_3x3', 0), ('skip_connect', 2)], normal_concat=range(2, 6), "
    "reduce=[('max_pool_3x3', 0), ('max_pool_3x3', 1), ('skip_connect', 2), ('max_pool_3x3', 0), ('max_pool_3x3', 0), "
    "('skip_connect', 2), ('skip_connect', 2), ('avg_pool_3x3', 0)], reduce_concat=range(2, 6))"
)
RECORDS = {record["name"]: record for record in records("darts")}
ONE_NODE = "Genotype(normal=[('none', 0), ('none', 1)], normal_concat=[2], reduce=[('none', 0), ('none', 1)], "


def genotype_of(record: dict[str, Any]) -> Genotype:
    parts = {name: [tuple(v) if isinstance(v, list) else v for v in part] for name, part in record["genotype"].items()}
    return SPACE.parse(f"Genotype({', '.join(f'{name}={part}' for name, part in parts.items())})")


def skeleton_of(key: str, net: dict[str, Any]) -> DartsSkeleton:
    """Keys such as cifar_C16_L8_aux_k100; some networks have the auxiliary head without saying so."""
    data, channels, cells, *more = key.split("_")
    side, classes, stem_stride = (32, 10, 1) if data == "cifar" else (224, 1000, 8)
    classes = next((int(part[1:]) for part in more if part[0] == "k"), classes)
    auxiliary = int(net["params"] != net.get("params_without_aux"))
    return DartsSkeleton((3, side, side), classes, int(channels[1:]), int(cells[1:]), stem_stride, auxiliary)


LARGER_NETS = [
    (name, key)
    for name, record in RECORDS.items()
    for key, net in record["nets"].items()
    if key != "cifar_C4_L5" and net.keys() & {"calls", "probe", "conv_linear_macs_eval"}
]


@pytest.mark.parametrize("name", RECORDS)
def test_sizes_of_the_reference_networks(name: str) -> None:
    genotype = genotype_of(RECORDS[name])
    for key, net in RECORDS[name]["nets"].items():
        skeleton = skeleton_of(key, net)
        with torch.device("meta"):
            network = SPACE.network(genotype, skeleton)
        assert sum(parameter.numel() for parameter in network.parameters()) == net["params"], key
        cost = SPACE.cost(genotype, skeleton)
        assert cost.params == net.get("params_without_aux", cost.params)
        assert cost.macs == net.get("conv_linear_macs_eval", cost.macs), key


@pytest.mark.parametrize("name", RECORDS)
def test_small_reference_networks_compute_the_same(name: str) -> None:
    net = RECORDS[name]["nets"]["cifar_C4_L5"]
    network = SPACE.build(genotype_of(RECORDS[name]), skeleton_of("cifar_C4_L5", net))
    if "calls" in net:
        assert calls(network, torch.randn(1, 3, 32, 32)) == net["calls"]
    assert assert_probes(network, net["probe_input"], net["probe"]) == 3


def test_a_reference_network_for_imagenet_computes_the_same() -> None:
    net = RECORDS["AmoebaNet"]["nets"]["imagenet_C4_L5_aux_k10"]
    network = SPACE.build(genotype_of(RECORDS["AmoebaNet"]), skeleton_of("imagenet_C4_L5_aux_k10", net))
    assert assert_probes(network, net["probe_input"], net["probe"]) == 3


@pytest.mark.slow
@pytest.mark.parametrize(("name", "key"), LARGER_NETS)
def test_all_reference_networks_compute_the_same(name: str, key: str) -> None:
    net = RECORDS[name]["nets"][key]
    skeleton = skeleton_of(key, net)
    if "calls" in net:
        with torch.device("meta"):
            network = SPACE.network(genotype_of(RECORDS[name]), skeleton)
        assert calls(network, torch.empty(*net["input"], device="meta")) == net["calls"]
    if "probe" in net:
        assert_probes(SPACE.build(genotype_of(RECORDS[name]), skeleton), net["probe_input"], net["probe"])
    if "conv_linear_macs_eval" in net:
        assert (
            Space.cost(SPACE, genotype_of(RECORDS[name]), replace(skeleton, auxiliary=0)).macs
            == (net["conv_linear_macs_eval"])
        )


def test_published_sizes() -> None:
    cifar, imagenet = SPACE.skeleton(channels=36, cells=20), DartsSkeleton((3, 224, 224), 1000, 48, 14, 8)
    assert [SPACE.cost(SPACE.parse(DARTS_V1), skeleton).params for skeleton in (cifar, imagenet)] == [
        3_169_414,
        4_510_432,
    ]


@pytest.mark.parametrize(
    "skeleton",
    [
        DartsSkeleton((2, 13, 22), 3, 5, 2),
        DartsSkeleton((3, 16, 16), 3, 4, 1, pooled=1),
        DartsSkeleton((3, 15, 18), 3, 4, 4, pooled=1),
        DartsSkeleton((1, 50, 33), 3, 6, 3, 8),
        DartsSkeleton((3, 64, 64), 3, 4, 3, 8, pooled=1),
        DartsSkeleton((3, 32, 36), 3, 4, 3, auxiliary=1),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["AmoebaNet", "random12"])
def test_other_skeletons_run_and_cost_what_they_cost(skeleton: DartsSkeleton, name: str) -> None:
    genotype = genotype_of(RECORDS[name])
    assert SPACE.cost(genotype, skeleton) == Space.cost(SPACE, genotype, replace(skeleton, auxiliary=0))
    runs_everywhere(SPACE, genotype, skeleton)


def test_pooling_leaves_reductions_without_strides() -> None:
    """NASI's variant: a skip is the identity in reduction cells too, and nothing but pooling halves."""
    network = SPACE.build(genotype_of(RECORDS["all_skip_connect"]), SPACE.skeleton(pooled=1))
    assert not any("FactorizedReduce" in type(module).__name__ for module in network.modules())
    sizes: list[int] = []
    for cell in network.cells:
        cell.register_forward_hook(lambda module, inputs, out: sizes.append(out.shape[-1]))
    network(torch.randn(2, 3, 32, 32))
    assert sizes == [32, 32, 16, 16, 16, 8, 8, 8]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"input_shape": (3, 32)}, "takes images"),
        ({"cells": 0}, "at least one"),
        ({"stem_stride": 2}, "stem_stride must be 1"),
        ({"pooled": 2}, "0 or 1"),
        ({"stem_stride": 8, "channels": 1}, "half of the channels"),
        ({"auxiliary": 1, "input_shape": (3, 28, 32)}, "at least 29"),
        ({"auxiliary": 1, "stem_stride": 8, "input_shape": (3, 192, 224)}, "at least 193"),
    ],
)
def test_skeletons_that_cannot_be_built(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        SPACE.skeleton(**settings)


def test_the_smallest_images_that_the_auxiliary_head_takes() -> None:
    for settings in ({"input_shape": (3, 29, 29)}, {"input_shape": (3, 193, 193), "stem_stride": 8}):
        skeleton = SPACE.skeleton(auxiliary=1, channels=2, cells=3, **settings)
        main, auxiliary = SPACE.build(DARTS_V1, skeleton)(torch.randn(2, *skeleton.input_shape))
        assert main.shape == auxiliary.shape == (2, 10)


# ---------------------------------------- training


def test_the_auxiliary_head_is_for_training_only() -> None:
    network = SPACE.build(DARTS_V1, SPACE.skeleton(channels=2, cells=3, auxiliary=1))
    x = torch.randn(2, 3, 32, 32)
    assert [part.shape for part in network.train()(x)] == [(2, 10), (2, 10)]
    assert network.eval()(x).shape == (2, 10)


def test_drop_path_leaves_out_edges_of_a_sample_and_keeps_the_mean() -> None:
    cell = Cell((("skip_connect", 0), ("avg_pool_3x3", 1)), (2,))
    (network,) = SPACE.build(Genotype(cell, cell), SPACE.skeleton(channels=2, cells=3, pooled=1)).cells[:1]
    network.first, network.second = torch.nn.Identity(), torch.nn.Identity()
    skipped, averaged = torch.full((4000, 2, 4, 4), 3.0), torch.ones(4000, 2, 4, 4)
    torch.manual_seed(0)
    out = network.train()(skipped, averaged, 0.25)
    assert out.unique().tolist() == [3.0, pytest.approx(3 + 4 / 3)]
    assert torch.equal(out, out[:, :1, :1, :1].expand_as(out))
    assert out.mean().item() == pytest.approx(4, abs=0.05)
    assert torch.equal(network.eval()(skipped, averaged, 0.25), skipped + averaged)


def test_the_chance_of_dropping_is_set_on_the_network() -> None:
    network = SPACE.build(DARTS_V1, SPACE.skeleton(channels=2, cells=3))
    assert isinstance(network, DartsNetwork)
    x = torch.randn(8, 3, 16, 16)
    assert torch.equal(network(x), network(x))
    network.drop_path = 0.5
    assert not torch.equal(network(x), network(x))
    assert torch.equal(network.eval()(x), network(x))


def test_features_are_taken_behind_stem_and_cells() -> None:
    network = SPACE.build(DARTS_V1)
    assert blocks_of(network) == [network.stems[0], *network.cells]


# ---------------------------------------- text


def test_the_customary_text_is_the_exact_one() -> None:
    assert str(SPACE.parse(DARTS_V1)) == DARTS_V1
    amoeba = str(genotype_of(RECORDS["AmoebaNet"]))
    assert "normal_concat=range(4, 7)" in amoeba
    assert amoeba.endswith("reduce_concat=[3, 4, 6])")
    assert SPACE.parse(amoeba) == genotype_of(RECORDS["AmoebaNet"])


def test_text_is_read_as_people_paste_it() -> None:
    pasted = DARTS_V1.replace("=", " = ").replace("), (", "),\n\t(").replace("'", '"')
    pasted = pasted.replace("range(2, 6)", "[2,3, 4,5,]").replace("]))", "],\r\n)").replace("[(", "[\n  (")
    assert SPACE.parse(f"\n {pasted}\n") == SPACE.parse(DARTS_V1)


@pytest.mark.parametrize(
    ("text", "position", "expected"),
    [
        ("", 0, "'Genotype'"),
        ("Genotype(reduce=", 9, "'normal'"),
        ("Genotype(normal=[]", 17, "'('"),
        ("Genotype(normal=[(sep_conv_3x3, 0)", 18, '"\'"'),
        ("Genotype(normal=[('sep_conv_9x9', 0)", 19, "one of none, max_pool_3x3"),
        ("Genotype(normal=[('none\", 0)", 23, '"\'"'),
        ("Genotype(normal=[('none', -1)", 26, "a state of 0, 1"),
        ("Genotype(normal=[('none', 2)", 26, "a state of 0, 1"),
        ("Genotype(normal=[('none', 01)", 27, "')'"),
        ("Genotype(normal=[('none', \u0661)", 26, "a state of 0, 1"),
        (f"Genotype(normal=[('none', {'1' * 5000})", 26, "a state of 0, 1"),
        ("Genotype(normal=[('none', 0)], normal_concat", 29, "two pairs for each node"),
        ("Genotype(normal=[('none', 0), ('none', 1), ('none', 3)", 52, "a state of 0, 1, 2"),
        (f"Genotype(normal=[{', '.join(['(' + repr('none') + ', 0)'] * 11)}]", 147, "5 nodes at most"),
        ("Genotype(normal=[('none', 0), ('none', 1)], normal_concat=range(2, 4)", 67, "a state of 3"),
        ("Genotype(normal=[('none', 0), ('none', 1)], normal_concat=[1]", 59, "a state of 2"),
        ("Genotype(normal=[('none', 0), ('none', 1)], normal_concat=[2, 2]", 62, "']'"),
        (f"Genotype(normal=[{', '.join(['(' + repr('none') + ', 0)'] * 4)}], normal_concat=[2]", 84, "with 3 in it"),
        (f"{ONE_NODE}reduce_concat=[2]", 115, "','"),
        (f"{ONE_NODE}reduce_concat=[2], reduce=[])", 117, "')'"),
        (f"{ONE_NODE}reduce_concat=[2]) # mine", 117, "the end"),
    ],
)
def test_errors_point_at_the_place(text: str, position: int, expected: str) -> None:
    with pytest.raises(ParseError) as caught:
        SPACE.parse(text)
    assert caught.value.position == position
    assert expected in str(caught.value)


def test_a_loop_cannot_be_written() -> None:
    """A node reads what was numbered before it, so that an edge to itself or back is refused."""
    for source in (2, 3, 4):
        with pytest.raises(ParseError, match="a state of 0, 1 at"):
            SPACE.parse(DARTS_V1.replace("('sep_conv_3x3', 0)", f"('sep_conv_3x3', {source})", 1))


def as_python_reads_it(text: str) -> Genotype:
    def genotype(normal: Any, normal_concat: Any, reduce: Any, reduce_concat: Any) -> Genotype:
        return Genotype(Cell(tuple(normal), tuple(normal_concat)), Cell(tuple(reduce), tuple(reduce_concat)))

    read = eval(text.strip(), {"__builtins__": {}, "Genotype": genotype, "range": range})
    assert isinstance(read, Genotype)
    return read


@pytest.mark.parametrize("cases", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_whatever_is_read_means_the_same_in_python(cases: int) -> None:
    read = 0
    for seed in range(cases):
        text = damaged(SPACE, seed)
        try:
            genotype = SPACE.parse(text)
        except ParseError:
            continue
        assert genotype == as_python_reads_it(text)
        read += 1
    assert read > cases // 100


# ---------------------------------------- NAS-Bench-301

PREFIX = "NetworkSelectorDatasetInfo:darts:"
CONFIGURATION = {
    "CreateImageDataLoader:batch_size": 96,
    "OptimizerSelector:sgd:learning_rate": 2.5e-08,
    f"{PREFIX}auxiliary": True,
    f"{PREFIX}layers": 8,
    f"{PREFIX}inputs_node_normal_3": "0_1",
    f"{PREFIX}inputs_node_normal_4": "0_1",
    f"{PREFIX}inputs_node_normal_5": "2_3",
    f"{PREFIX}inputs_node_reduce_3": "0_1",
    f"{PREFIX}inputs_node_reduce_4": "0_2",
    f"{PREFIX}inputs_node_reduce_5": "1_3",
    **{
        f"{PREFIX}edge_normal_{edge}": operation
        for edge, operation in zip((0, 1, 2, 3, 5, 6, 11, 12), (*CHOICES, "skip_connect"), strict=True)
    },
    **{
        f"{PREFIX}edge_reduce_{edge}": operation
        for edge, operation in zip((0, 1, 2, 3, 5, 7, 10, 12), (*CHOICES[::-1], "skip_connect"), strict=True)
    },
}
EXPECTED = Genotype(
    Cell(tuple(zip((*CHOICES, "skip_connect"), (0, 1, 0, 1, 0, 1, 2, 3), strict=True))),
    Cell(tuple(zip((*CHOICES[::-1], "skip_connect"), (0, 1, 0, 1, 0, 2, 1, 3), strict=True))),
)


def test_configurations_of_nasbench301() -> None:
    assert SPACE.from_nasbench301(CONFIGURATION) == EXPECTED
    for text in (json.dumps(CONFIGURATION), str(CONFIGURATION), json.dumps(CONFIGURATION, indent=4)):
        assert SPACE.parse(text) == EXPECTED
    assert SPACE.from_nasbench301({name.rpartition(":")[2]: value for name, value in CONFIGURATION.items()}) == EXPECTED
    assert SPACE.from_nasbench301({**CONFIGURATION, f"{PREFIX}edge_normal_4": None}) == EXPECTED


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("edge_normal_4", "sep_conv_3x3", "no edge_normal_4, because no node reads it"),
        ("edge_normal_14", "sep_conv_3x3", "no edge_normal_14"),
        ("edge_normal_0", "none", "edge_normal_0 as one of max_pool_3x3"),
        ("edge_normal_0", None, "edge_normal_0 as one of max_pool_3x3"),
        ("inputs_node_normal_3", "1_0", "inputs_node_normal_3 as one of 0_1, 0_2, 1_2"),
        ("inputs_node_reduce_5", "3_5", "inputs_node_reduce_5 as one of"),
        ("inputs_node_normal_2", "0_1", "no inputs_node_normal_2"),
    ],
)
def test_wrong_configurations(name: str, value: Any, expected: str) -> None:
    with pytest.raises(ParseError, match=expected):
        SPACE.from_nasbench301({**CONFIGURATION, f"{PREFIX}{name}": value})


@pytest.mark.parametrize(
    ("text", "position", "expected"),
    [
        ("{", 1, "a setting such as"),
        ("{}", 1, "a setting such as"),
        ("{'a': [1]}", 1, "a setting such as"),
        ("{'a': 1 'b': 2}", 8, "','"),
        ("{'a': 1, 'x:a': 2}", 9, "a only once"),
        ("{'a': 1}", 8, "edge_normal_0 as one of"),
        ("{'a': 1}}", 8, "the end"),
    ],
)
def test_errors_in_dictionaries_point_at_the_place(text: str, position: int, expected: str) -> None:
    with pytest.raises(ParseError) as caught:
        SPACE.parse(text)
    assert caught.value.position == position
    assert expected in str(caught.value)


# ---------------------------------------- the space


def test_the_space_has_as_many_genotypes_as_the_paper_says() -> None:
    assert len(SPACE) == 1_076_746_950_455_072_400


def test_every_choice_is_drawn() -> None:
    rng = random.Random(0)
    cells = [cell for _ in range(500) for cell in (SPACE.sample(rng).normal, SPACE.sample(rng).reduce)]
    drawn = Counter((place, operation) for cell in cells for place, (operation, _) in enumerate(cell.edges))
    assert len(drawn) == 8 * len(CHOICES)
    assert "none" not in {operation for _, operation in drawn}
    pairs = Counter(tuple(source for _, source in cell.edges_of(3)) for cell in cells)
    assert len(pairs) == 10
    assert min(pairs.values()) > 60  # of 1,000 cells


def differences(one: Genotype, other: Genotype) -> list[tuple[bool, bool]]:
    """For each edge that is not the same, whether operation and source are."""
    edges = zip(one.normal.edges + one.reduce.edges, other.normal.edges + other.reduce.edges, strict=True)
    return [(a[0] == b[0], a[1] == b[1]) for a, b in edges if a != b]


@given(st.integers(0, 2**32), st.sampled_from(sorted(RECORDS)))
def test_mutation_changes_one_choice(seed: int, name: str) -> None:
    rng = random.Random(seed)
    for parent in (SPACE.sample(rng), genotype_of(RECORDS[name])):
        child = SPACE.mutate(parent, rng)
        assert differences(parent, child) in ([(True, False)], [(False, True)])
        assert SPACE.parse(str(child)) == child


def test_mutation_reaches_every_operation_and_source() -> None:
    rng = random.Random(0)
    parent = SPACE.parse(DARTS_V1)
    children = {SPACE.mutate(parent, rng) for _ in range(3000)}
    # six other operations on each of 16 edges; nodes 3, 4, 5 have one, two, three other sources for each edge
    assert len(children) == 16 * 6 + 2 * 2 * (1 + 2 + 3)


def test_the_same_graph_has_one_canonical_form() -> None:
    edges = (("sep_conv_3x3", 0), ("skip_connect", 1), ("dil_conv_3x3", 1), ("max_pool_3x3", 0))
    straight = Cell((*edges, ("avg_pool_3x3", 2), ("sep_conv_5x5", 3), ("skip_connect", 0), ("skip_connect", 1)))
    crossed = Cell(
        (*edges[2:], ("skip_connect", 1), ("skip_connect", 0), *edges[1::-1], ("sep_conv_5x5", 2), ("avg_pool_3x3", 4))
    )
    assert SPACE.canonical(Genotype(straight, crossed)) == SPACE.canonical(Genotype(crossed, straight))
    other = replace(straight, edges=(*straight.edges[:-1], ("skip_connect", 2)))
    assert SPACE.canonical(Genotype(other, crossed)) != SPACE.canonical(Genotype(straight, crossed))


@given(st.integers(0, 2**32))
def test_the_canonical_form_costs_the_same_and_reads_back(seed: int) -> None:
    genotype = SPACE.sample(random.Random(seed))
    canonical = SPACE.canonical(genotype)
    assert SPACE.cost(canonical) == SPACE.cost(genotype)
    assert SPACE.parse(str(canonical)) == canonical


def test_zero_is_an_operation_that_can_be_built() -> None:
    assert OPERATIONS[0] == "none"
    cell = Cell((("none", 0), ("none", 1)), (2,))
    network = SPACE.build(Genotype(cell, cell), SPACE.skeleton(channels=2, cells=3))
    silent = network.cells[1](torch.randn(2, 6, 8, 8), torch.randn(2, 2, 8, 8))
    assert silent.shape == (2, 4, 4, 4)
    assert not silent.any()
    assert SPACE.cost(Genotype(cell, cell)).macs < SPACE.cost(SPACE.parse(DARTS_V1)).macs


def test_the_drawing_shows_both_cells() -> None:
    drawing = SPACE.drawing(SPACE.parse(DARTS_V1))
    assert drawing.nodes[:3] == ("n0", "n1", "n2")
    assert drawing.nodes[6:8] == ("normal", "r0")
    assert drawing.edges[0] == (1, 2, "sep_conv_3x3")
    assert (2, 6, "concat") in drawing.edges
    assert drawing.edges[12] == (7, 9, "max_pool_3x3")
    assert len(drawing.edges) == 24


def test_the_default_is_small_enough_for_a_laptop() -> None:
    assert SPACE.cost(SPACE.parse(DARTS_V1)) == Cost(232_890, 41_355_776)
