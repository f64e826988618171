"""PlainNet: the reference networks and counters to the unit, the lists of replacements, and the grammar."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
import torch
from tests.conftest import GOLDEN
from tests.reference import calls, fill_by_rule, pattern
from torch import nn

from firstlight.core.errors import ParseError, SettingError
from firstlight.spaces import SPACES
from firstlight.spaces.plainnet.grammar import Block, Structure
from firstlight.spaces.plainnet.network import PlainNetSkeleton, PublishedCost
from firstlight.spaces.plainnet.space import MobileNetV2, PlainNetResNet, PlainNetSpace, linked, split
from firstlight.testing.spaces import runs_everywhere

MOBILE, RESNET = MobileNetV2(), PlainNetResNet()
BOTH = pytest.mark.parametrize("space", [MOBILE, RESNET], ids=lambda space: str(space.name))
RECORDS = json.loads((GOLDEN / "plainnet.json").read_text())["records"]
EVERY_RECORD = pytest.mark.parametrize("record", RECORDS, ids=[f"{n}-{r['setting']}" for n, r in enumerate(RECORDS)])
PROBES = {"probe": {}, "probe_no_reslink": {"residual": 0}, "probe_use_se": {"squeeze_excitation": 1}}


def space_of(record: dict[str, Any]) -> PlainNetSpace:
    return MOBILE if record["setting"] == "imagenet" else RESNET


def skeleton_of(record: dict[str, Any], side: int | None = None, **settings: int) -> PlainNetSkeleton:
    side = side or record["resolution"]
    return PlainNetSkeleton((3, side, side), record["num_classes"], **settings)


@EVERY_RECORD
def test_the_papers_count_the_same(record: dict[str, Any]) -> None:
    space = space_of(record)
    structure = space.parse(record["structure"])

    def counted(side: int | None = None, **settings: int) -> PublishedCost:
        return space.published_cost(structure, skeleton_of(record, side, **settings))

    plain = PublishedCost(record["model_size_own_counter"], record["FLOPs_own_counter"])
    assert counted() == plain
    assert counted(residual=0) == PublishedCost(record["model_size_no_reslink"], record["FLOPs_no_reslink"])
    for side, flops in record["FLOPs_own_counter_other_resolutions"].items():
        assert counted(int(side)).flops == flops
    if "FLOPs_use_se" in record:
        gated = PublishedCost(record["model_size_use_se"], record["FLOPs_use_se"])
        assert counted(squeeze_excitation=1) == gated
    assert structure.layers == record["layers"]
    assert str(split(structure)) == record["split6"]


@EVERY_RECORD
def test_the_real_cost_is_that_of_the_reference(record: dict[str, Any]) -> None:
    space = space_of(record)
    structure = space.parse(record["structure"])
    settings = {
        "true_params": {},
        "true_params_no_reslink": {"residual": 0},
        "true_params_use_se": {"squeeze_excitation": 1},
    }
    for key, setting in settings.items():
        if key in record:
            assert space.cost(structure, skeleton_of(record, **setting)).params == record[key]
    if "conv_linear_macs" in record:
        expected = record["conv_linear_macs"]
        cost = space.cost(structure, skeleton_of(record, expected["resolution"]))
        assert cost.macs == expected["macs"]
        with torch.device("meta"):
            network = space.network(structure, skeleton_of(record))
        last = network.body(torch.empty(1, 3, expected["resolution"], expected["resolution"], device="meta"))
        assert list(last.shape) == record["pre_gap"]


def test_sixteen_records_are_read() -> None:
    probes = [mode for record in RECORDS for key in PROBES for mode in record.get(key, {})]
    assert (len(RECORDS), len(probes)) == (16, 42)


@EVERY_RECORD
def test_outputs_of_the_reference_networks(record: dict[str, Any]) -> None:
    for key, setting in PROBES.items():
        for mode, expected in record.get(key, {}).items():
            skeleton = skeleton_of(record, 32, **setting)
            network = space_of(record).build(record["structure"], skeleton).double()
            fill_by_rule(network).train(mode == "train")
            inputs = pattern(*record["probe_input"])
            with torch.no_grad():
                out, shifted = (network(x).flatten()[:4] for x in (inputs, inputs * (1 + 2**-52)))
            # two images leave few values for BatchNorm: where a rounding of the inputs moves the output, so may ours
            rounding = float((out - shifted).abs().max())
            expected = torch.tensor(expected, dtype=torch.float64)
            torch.testing.assert_close(out, expected, rtol=1e-6, atol=max(1e-9, rounding))
            assert rounding < 1e-4


@EVERY_RECORD
def test_layers_run_in_the_order_of_the_reference(record: dict[str, Any]) -> None:
    if "calls" in record:
        network = space_of(record).build(record["structure"], skeleton_of(record, 32))
        assert calls(network, torch.zeros(2, 3, 32, 32)) == record["calls"]


@EVERY_RECORD
def test_replacements_are_those_of_the_papers(record: dict[str, Any]) -> None:
    space = space_of(record)
    structure = space.parse(record["structure"])
    for block, expected in zip(structure.blocks, record.get("candidates", []), strict="candidates" in record):
        assert str(block) == expected["block"]
        options = space.replacements(block)
        combinations = len(options.outputs) * len(options.bottlenecks) * len(options.sublayers)
        assert {kind: weight * combinations for kind, weight in options.kinds.items()} == expected["entries_by_type"]
        assert len(options.kinds) * combinations == expected["unique"]
        assert sum(options.kinds.values()) * combinations == expected["flat_length"]
        assert list(options.outputs) == expected["out_channels"]
        if block.is_residual:
            assert list(options.bottlenecks) == expected["bottleneck"]
            assert list(options.sublayers) == expected["sub_layers"]


def test_mutations_follow_the_weights_unless_told_otherwise() -> None:
    parent = MOBILE.parse("SuperResIDWE6K3(3,96,2,96,3)")
    drawn = {
        uniform: Counter(MOBILE.mutate(parent, rng, uniform_types=uniform).blocks[0].kind for _ in range(4450))
        for uniform, rng in ((False, random.Random(0)), (True, random.Random(1)))
    }
    expected = {kind: 4450 * weight / 89 for kind, weight in MOBILE.residual_kinds.items()}
    assert drawn[False] == pytest.approx(expected, abs=90)
    assert drawn[True] == pytest.approx(dict.fromkeys(MOBILE.residual_kinds, 4450 / 12), abs=90)
    assert drawn[False]["SuperResIDWE1K3"] > 3 * drawn[False]["SuperResIDWE6K7"]


def test_a_mutation_replaces_one_block_and_links_the_next() -> None:
    rng = random.Random(1)
    parent = RESNET.parse(RESNET.initial)
    for _ in range(200):
        child = RESNET.mutate(parent, rng)
        changed = [
            number
            for number, (old, new) in enumerate(zip(parent.blocks, child.blocks, strict=True))
            if replace(new, inputs=old.inputs) != old
        ]
        assert len(changed) == 1


def test_several_replacements_change_as_many_blocks_or_fewer() -> None:
    rng = random.Random(2)
    parent = RESNET.parse(RESNET.initial)
    numbers = []
    for _ in range(300):
        child = RESNET.mutate(parent, rng, replacements=2)
        pairs = zip(parent.blocks, child.blocks, strict=True)
        numbers.append(sum(replace(new, inputs=0) != replace(old, inputs=0) for old, new in pairs))
    assert set(numbers) == {1, 2}
    with pytest.raises(SettingError, match="replacements is 0"):
        RESNET.mutate(parent, rng, replacements=0)


def test_the_last_convolution_of_mobilenets_stays() -> None:
    rng = random.Random(3)
    structure = MOBILE.parse(MOBILE.initial)
    for _ in range(100):
        structure = MOBILE.mutate(structure, rng)
        assert structure.blocks[-1].outputs == 2048


def test_deep_blocks_are_split_and_begin_with_a_projection_again() -> None:
    deep = Structure((Block("SuperConvK3BNRELU", 3, 8, 1, 0, 1), Block("SuperResK3K3", 8, 16, 2, 24, 7)))
    assert str(split(deep)) == "SuperConvK3BNRELU(3,8,1,1)SuperResK3K3(8,16,2,24,3)SuperResK3K3(16,16,1,24,4)"
    assert split(deep).layers == deep.layers == 8
    skeleton = RESNET.skeleton()
    assert RESNET.cost(split(deep), skeleton).params - RESNET.cost(deep, skeleton).params == 16 * 16 + 3 * 16
    stem = Structure((Block("SuperConvK3BNRELU", 3, 8, 1, 0, 7),))
    assert split(stem) == stem


def test_linking_sets_the_inputs() -> None:
    blocks = RESNET.parse(RESNET.initial).blocks
    assert str(linked([blocks[0], blocks[3]])) == "SuperConvK3BNRELU(3,8,1,1)SuperResK3K3(8,64,2,32,1)"


def test_samples_keep_to_the_customary_depth() -> None:
    assert max(MOBILE.sample(random.Random(seed)).layers for seed in range(300)) == 14
    assert max(RESNET.sample(random.Random(seed)).layers for seed in range(300)) <= 18


def test_repeated_convolutions_are_the_same_function_written_one_by_one() -> None:
    text = "SuperConvK5BNRELU(3,16,2,3)SuperResK3K3(16,16,1,8,2)"
    canonical = RESNET.canonical(RESNET.parse(text))
    assert str(canonical) == (
        "SuperConvK5BNRELU(3,16,2,1)SuperConvK5BNRELU(16,16,1,1)SuperConvK5BNRELU(16,16,1,1)SuperResK3K3(16,16,1,8,2)"
    )
    x = pattern(1, 3, 16, 16)
    one, other = (fill_by_rule(RESNET.build(form).double().eval())(x) for form in (text, canonical))
    torch.testing.assert_close(one, other)


def test_features_are_taken_behind_every_unit() -> None:
    network = MOBILE.build(MOBILE.initial)
    assert len(network.feature_blocks()) == 1 + 4 * 2 + 1
    assert all(isinstance(unit.relu, nn.ReLU) for unit in network.feature_blocks())


def test_the_drawing_is_a_chain() -> None:
    drawing = RESNET.drawing(RESNET.parse("SuperConvK3BNRELU(3,8,1,1)SuperResK3K3(8,16,2,8,2)"))
    assert drawing.nodes == ("input", "8", "16")
    assert drawing.edges == ((0, 1, "SuperConvK3BNRELU"), (1, 2, "SuperResK3K3 /2 x2"))


@pytest.mark.parametrize(
    ("text", "position", "expected"),
    [
        ("", 0, "a block, one of"),
        ("SuperConvK9BNRELU(3,8,1,1)", 0, "a block, one of"),
        ("SuperResIDWE6K3(3,8,1,8,1)", 0, "SuperResK1K3K1"),  # a block of the other space
        ("SuperResK3K3(4,8,1,8,1)", 13, "3, the number of channels that arrive"),
        ("SuperResK3K3(3,8,1,8,1)SuperResK3K3(16,8,1,8,1)", 36, "8, the number of channels that arrive"),
        ("SuperResK3K3(3,12,1,8,1)", 15, "multiple of 8"),
        ("SuperResK3K3(3,8200,1,8,1)", 15, "up to 8192"),
        ("SuperResK3K3(3,99999999999999999999,1,8,1)", 15, "up to 8192"),
        ("SuperResK3K3(3,-8,1,8,1)", 15, "multiple of 8"),
        ("SuperResK3K3(3,08,1,8,1)", 15, "multiple of 8"),
        ("SuperResK3K3(3,٨,1,8,1)", 15, "multiple of 8"),
        ("SuperResK3K3(3,8,3,8,1)", 17, "the stride, 1 or 2"),
        ("SuperResK3K3(3,8,1,0,1)", 19, "bottleneck"),
        ("SuperResK3K3(3,8,1,8,6)", 21, "1 to 5"),
        ("SuperResK3K3(3,8,1,8)", 20, "','"),
        ("SuperResK3K3(3,8,1,8,1", 22, "')'"),
        ("SuperConvK3BNRELU(3,8,1,8,1)", 24, "1 to 5"),
        ("SuperConvK3BNRELU(3,8,1,1)", 26, "a residual block"),
        ("SuperResK3K3(3,8,1,8,1) SuperResK3K3(8,8,1,8,1)", 23, "a block, one of"),
        ("SuperResK3K3(3,8,1,8,4)" + 15 * "SuperResK3K3(8,8,1,8,4)" + "SuperResK3K3(8,8,1,8,1)", 16 * 23, "64 layers"),
        ("SuperResK3K3(3,8,1,8,5)" + 12 * "SuperResK3K3(8,8,1,8,5)", 12 * 23 + 21, "1 to 4"),
    ],
)
def test_errors_point_at_the_place(text: str, position: int, expected: str) -> None:
    with pytest.raises(ParseError, match=expected.replace("(", r"\(").replace(")", r"\)")) as caught:
        RESNET.parse(text)
    assert caught.value.position == position


@pytest.mark.parametrize(
    "setting",
    [
        *({"input_shape": shape} for shape in ((1, 32, 32), (3, 32), (3, 0, 32))),
        *({"classes": 0}, {"residual": 2}, {"squeeze_excitation": 2}),
    ],
)
def test_skeletons_that_cannot_be_built(setting: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match="images of 3 channels"):
        MOBILE.skeleton(**setting)


@BOTH
@pytest.mark.parametrize("side", [32, 45])
@pytest.mark.parametrize("gate", [0, 1])
def test_networks_run(space: PlainNetSpace, side: int, gate: int) -> None:
    skeleton = space.skeleton(input_shape=(3, side, side), classes=5, squeeze_excitation=gate)
    architecture = space.mutate(space.parse(space.initial), random.Random(side + gate))
    runs_everywhere(space, architecture, skeleton)
    assert space.cost(architecture, skeleton) == super(PlainNetSpace, space).cost(architecture, skeleton)


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("side", [32, 224])
def test_many_networks_run(space: PlainNetSpace, side: int) -> None:
    for seed in range(5):
        for setting in ({}, {"residual": 0}, {"squeeze_excitation": 1}):
            skeleton = space.skeleton(input_shape=(3, side, side), classes=7, **setting)
            architecture = space.sample(random.Random(seed))
            runs_everywhere(space, architecture, skeleton)
            assert space.cost(architecture, skeleton) == super(PlainNetSpace, space).cost(architecture, skeleton)


def test_both_are_registered() -> None:
    assert {MOBILE.name, RESNET.name} <= SPACES.keys()
