"""TransNAS-Bench-101: the published counts, the reference networks to the unit, and the grammar of both spaces."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.spaces.records import assert_probes, calls, records
from torch import nn

from firstlight.core.errors import ParseError, SettingError
from firstlight.spaces.base import Architecture, Space
from firstlight.spaces.transnas.network import TransNASSkeleton
from firstlight.spaces.transnas.space import MacroModules, MicroSkeleton, TransNASMacro, TransNASMicro
from firstlight.testing.spaces import runs_everywhere

MICRO, MACRO = TransNASMicro(), TransNASMacro()
RECORDS = {record["arch"]: record["nets"] for name in ("micro", "macro") for record in records(f"transnas_{name}")}
BOTH = pytest.mark.parametrize("space", [MICRO, MACRO], ids=lambda space: str(space.name))


def read(text: str, side: int, classes: int) -> tuple[Space[Any], Architecture, TransNASSkeleton]:
    """Space, architecture and skeleton of a text that may name other channels and modules than the benchmark's."""
    channels, modules, cell = text.split("-")
    digits = tuple(map(int, modules))
    if cell == "basic":
        return MACRO, MacroModules(digits), TransNASSkeleton((3, side, side), classes, int(channels))
    skeleton = MicroSkeleton((3, side, side), classes, int(channels), digits)
    return MICRO, MICRO.parse(f"64-41414-{cell}"), skeleton


def test_the_spaces_have_as_many_architectures_as_published() -> None:
    assert len(set(map(str, MICRO))) == len(MICRO) == 4_096
    assert len(set(map(str, MACRO))) == len(MACRO) == 3_256
    assert Counter(len(architecture.modules) for architecture in MACRO) == {4: 210, 5: 750, 6: 2_296}


@pytest.mark.parametrize("text", RECORDS)
def test_costs_of_the_reference_networks(text: str) -> None:
    for key, net in RECORDS[text].items():
        space, architecture, skeleton = read(text, 224, int(key[1:]))
        cost = space.cost(architecture, skeleton)
        assert cost.params == net["params"]
        if key == "k75":
            assert cost.macs == net["conv_linear_macs_224"]
            assert space.cost(architecture, read(text, 64, 75)[2]).macs == net["conv_linear_macs_64"]
            with torch.device("meta"):
                network = space.network(architecture, skeleton)
            assert sum(p.numel() for p in network.parameters()) == net["params"]
            head = sum(p.numel() for p in network.classifier.parameters())
            assert net["params"] - head == net["encoder_params"]
            image = torch.empty(1, 3, 224, 224, device="meta")
            assert list(network.body(network.stem(image)).shape) == net["feature_map"]


PROBED = [
    pytest.param(text, marks=pytest.mark.slow if nets["k75"]["params"] > 2e7 else ())
    for text, nets in RECORDS.items()
    if "probe" in nets["k75"]
]


@pytest.mark.parametrize("text", PROBED)
def test_outputs_of_the_reference_networks(text: str) -> None:
    net = RECORDS[text]["k75"]
    space, architecture, skeleton = read(text, 64, 75)
    network = space.build(architecture, skeleton)
    if "calls" in net:
        assert calls(network, torch.randn(1, 3, 64, 64)) == net["calls"]
    assert assert_probes(network, net["probe_input"], net["probe"]) == 2


@pytest.mark.parametrize(
    "skeleton",
    [
        MicroSkeleton((3, 33, 50), 5, 6, (2, 3, 4)),
        MicroSkeleton((1, 64, 64), 5, 4, (1, 4)),
        MicroSkeleton((9, 3, 20, 20), 5, 4, (4, 4)),
    ],
    ids=str,
)
@pytest.mark.parametrize("text", ["64-41414-1_02_333", "64-41414-2_12_301", "64-41414-1_11_111"])
def test_cells_run_and_cost_what_they_cost(text: str, skeleton: MicroSkeleton) -> None:
    architecture = MICRO.parse(text)
    assert MICRO.cost(architecture, skeleton) == Space.cost(MICRO, architecture, skeleton)
    runs_everywhere(MICRO, architecture, skeleton)


@pytest.mark.parametrize(
    "skeleton",
    [TransNASSkeleton((3, 65, 130), 5, 3), TransNASSkeleton((4, 3, 128, 128), 5, 2)],
    ids=str,
)
@pytest.mark.parametrize("text", ["64-2311-basic", "64-434311-basic"])
def test_skeletons_run_and_cost_what_they_cost(text: str, skeleton: TransNASSkeleton) -> None:
    architecture = MACRO.parse(text)
    assert MACRO.cost(architecture, skeleton) == Space.cost(MACRO, architecture, skeleton)
    runs_everywhere(MACRO, architecture, skeleton)


def test_cells_of_zeros_keep_the_shape() -> None:
    network = MICRO.build("64-41414-0_00_000", MicroSkeleton((3, 36, 36), 3, 4, (4, 3, 2, 1)))
    features = network.body(network.stem(torch.randn(2, 3, 36, 36)))
    assert features.shape == (2, 16, 3, 3)
    assert not features.any()


def test_a_jigsaw_sees_each_tile_by_itself() -> None:
    skeleton = MicroSkeleton((9, 3, 64, 64), 1000, 8)
    network = MICRO.build("64-41414-1_02_333", skeleton).eval()
    assert network.classifier.in_features == 9 * 8 * 8
    tiles = torch.randn(1, 9, 3, 64, 64)
    features = [network.pool(network.body(network.stem(tile))).flatten() for tile in tiles.unbind(1)]
    torch.testing.assert_close(network(tiles)[0], network.classifier(torch.cat(features)))


def test_weights_are_drawn_as_the_benchmark_drew_them() -> None:
    network = MICRO.build("64-41414-3_33_333", MicroSkeleton((3, 32, 32), 75))
    for module in network.modules():
        if isinstance(module, nn.Conv2d) and module.weight.numel() > 10_000:
            fan_out = module.out_channels * module.kernel_size[0] ** 2
            assert module.weight.detach().std().item() == pytest.approx((2 / fan_out) ** 0.5, rel=0.05)
    assert network.classifier.weight.detach().abs().max().item() == pytest.approx(512**-0.5, rel=0.01)


@pytest.mark.parametrize(
    "settings",
    [{"input_shape": (3, 32)}, {"input_shape": (3, 0, 32)}, {"channels": 1}, {"classes": 0}],
)
@BOTH
def test_skeletons_that_cannot_be_built(space: Space[Any], settings: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match="takes images"):
        space.skeleton(**settings)


@pytest.mark.parametrize("modules", [(), (5,), (0, 1)])
def test_modules_that_there_are_not(modules: tuple[int, ...]) -> None:
    with pytest.raises(SettingError, match="numbered 1 to 4"):
        MICRO.skeleton(modules=modules)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 0),
        ("32-41414-1_02_333", 0),
        ("64-4141-1_02_333", 0),
        ("64-41414-4_02_333", 9),
        ("64-41414-1_2_333", 12),
        ("64-41414-1_02_33", 16),
        ("64-41414-1_02_3333", 17),
        ("64-41414-1_02_33\u0663", 16),
        ("64-41414-1-02_333", 10),
        ("64-41414-basic", 9),
    ],
)
def test_errors_in_cells_point_at_the_place(text: str, position: int) -> None:
    with pytest.raises(ParseError) as caught:
        MICRO.parse(text)
    assert caught.value.position == position


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 0),
        ("16-1234-basic", 0),
        ("64-124-basic", 6),
        ("64-1254-basic", 5),
        ("64-1234123-basic", 9),
        ("64-1111-basic", 3),
        ("64-2222-basic", 3),
        ("64-333331-basic", 3),
        ("64-444411-basic", 3),
        ("64-1234-bottleneck", 7),
        ("64-1234-basics", 13),
        ("64-123\uff14-basic", 6),
    ],
)
def test_errors_in_skeletons_point_at_the_place(text: str, position: int) -> None:
    with pytest.raises(ParseError) as caught:
        MACRO.parse(text)
    assert caught.value.position == position


@given(st.integers(0, 2**32))
def test_mutation_changes_one_choice(seed: int) -> None:
    rng = random.Random(seed)
    cell = MICRO.sample(rng)
    other = MICRO.mutate(cell, rng)
    assert sum(a != b for a, b in zip(cell.operations, other.operations, strict=True)) == 1
    modules = MACRO.sample(rng)
    assert MACRO.mutate(modules, rng).modules in one_module_from(modules.modules)


def one_module_from(modules: tuple[int, ...]) -> set[tuple[int, ...]]:
    """By trial of all skeletons: one module is another, or one of both has one module more."""
    shorter = {modules[:place] + modules[place + 1 :] for place in range(len(modules))}
    near = set()
    for other in (architecture.modules for architecture in MACRO):
        others = [other[:place] + other[place + 1 :] for place in range(len(other))]
        in_place = len(other) == len(modules) and sum(a != b for a, b in zip(modules, other, strict=True)) == 1
        if in_place or other in shorter or modules in others:
            near.add(other)
    return near


def test_mutation_reaches_every_neighbor() -> None:
    rng = random.Random(0)
    parent = MACRO.parse("64-41414-basic")
    children = {MACRO.mutate(parent, rng).modules for _ in range(2000)}
    assert children == one_module_from(parent.modules)
    assert {len(child) for child in children} == {4, 5, 6}


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("3_33_333", "3_33_333"),
        ("3_20_001", "0_20_001"),  # nothing reads node 1
        ("0_02_321", "0_00_300"),  # nodes 1 and 2 are zero
        ("3_21_000", "0_00_000"),
        ("1_02_010", "1_00_010"),
    ],
)
def test_edges_off_every_path_are_left_out(text: str, canonical: str) -> None:
    assert str(MICRO.canonical(MICRO.parse(f"64-41414-{text}"))) == f"64-41414-{canonical}"


def test_the_canonical_form_computes_the_same_before_training() -> None:
    skeleton = MicroSkeleton((3, 32, 32), 3, 4, (4, 1))
    for seed in range(20):
        cell = MICRO.sample(random.Random(seed))
        network, smaller = (MICRO.build(a, skeleton) for a in (cell, MICRO.canonical(cell)))
        smaller.load_state_dict({key: network.state_dict()[key] for key in smaller.state_dict()})
        x = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(seed))
        torch.testing.assert_close(smaller(x), network(x))


def test_drawings() -> None:
    assert MICRO.drawing(MICRO.parse("64-41414-3_01_002")).edges == (
        (0, 1, "nor_conv_3x3"),
        (1, 2, "skip_connect"),
        (2, 3, "nor_conv_1x1"),
    )
    drawing = MACRO.drawing(MACRO.parse("64-1234-basic"))
    assert drawing.nodes == ("input", "1/4, 1x", "1/4, 1x", "1/4, 2x", "1/8, 2x", "1/16, 4x")
    assert [label for _, _, label in drawing.edges] == ["stem", "module 1", "module 2", "module 3", "module 4"]
