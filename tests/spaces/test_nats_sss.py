"""The size space of NATS-Bench: the published count, the reference networks to the unit, and the grammar."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.spaces.records import assert_probes, calls, records

from firstlight.core.errors import ParseError, SettingError
from firstlight.probe.cost import Cost
from firstlight.spaces.base import Space
from firstlight.spaces.nats_sss import CELL, WIDTHS, NATSSizes, SizesSkeleton
from firstlight.testing.spaces import runs_everywhere

SPACE = NATSSizes()
RECORDS = {record["arch"]: record["nets"] for record in records("nats_sss")}


def test_the_space_has_32768_architectures() -> None:
    assert len(set(map(str, SPACE))) == len(SPACE) == 32_768
    assert str(CELL) == (
        "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|skip_connect~0|nor_conv_3x3~1|nor_conv_3x3~2|"
    )


@pytest.mark.parametrize("text", RECORDS)
def test_costs_of_the_reference_networks(text: str) -> None:
    for key, net in RECORDS[text].items():
        skeleton = SizesSkeleton(tuple(net["input"][1:]), int(key[1:]))
        assert SPACE.cost(SPACE.parse(text), skeleton) == Cost(net["params"], net["conv_linear_macs"])
        assert net["flops_reference_counter"] == net["conv_linear_macs"] + skeleton.classes


@pytest.mark.parametrize("text", RECORDS)
def test_outputs_of_the_reference_networks(text: str) -> None:
    net = RECORDS[text]["k10"]
    network = SPACE.build(text)
    if "calls" in net:
        assert calls(network, torch.randn(1, 3, 32, 32)) == net["calls"]
    assert assert_probes(network, net["input"], net["probe"]) == 2


@given(st.integers(0, 2**32))
def test_mutation_changes_one_width(seed: int) -> None:
    rng = random.Random(seed)
    parent = SPACE.sample(rng)
    child = SPACE.mutate(parent, rng)
    assert sum(a != b for a, b in zip(parent.channels, child.channels, strict=True)) == 1
    assert set(child.channels) <= set(WIDTHS)


@pytest.mark.parametrize("skeleton", [SizesSkeleton((2, 12, 20), 3, 3), SizesSkeleton((3, 32, 32), 7)], ids=str)
def test_networks_run_and_cost_what_they_cost(skeleton: SizesSkeleton) -> None:
    architecture = SPACE.parse("8:16:8:24:16")
    assert SPACE.cost(architecture, skeleton) == Space.cost(SPACE, architecture, skeleton)
    runs_everywhere(SPACE, architecture, skeleton)


@pytest.mark.parametrize("settings", [{"input_shape": (3, 30, 32)}, {"classes": 0}, {"cells": 0}])
def test_skeletons_that_cannot_be_built(settings: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match="multiples of 4"):
        SPACE.skeleton(**settings)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 0),
        ("8:8:8:8", 7),
        ("8:8:8:8:8:8", 9),
        ("8:12:8:8:8", 2),
        ("8:72:8:8:8", 2),
        ("0:8:8:8:8", 0),
        ("-8:8:8:8:8", 0),
        ("08:8:8:8:8", 0),
        ("8,8,8,8,8", 1),
        ("8:\uff18:8:8:8", 2),
        (f"8:8:8:8:{'8' * 5000}", 8),
    ],
)
def test_errors_point_at_the_place(text: str, position: int) -> None:
    with pytest.raises(ParseError) as caught:
        SPACE.parse(text)
    assert caught.value.position == position


def test_the_drawing_is_a_line() -> None:
    drawing = SPACE.drawing(SPACE.parse("8:16:24:32:40"))
    assert drawing.nodes == ("input", "8", "8", "16", "24", "32", "40", "output")
    assert drawing.edges[2] == (2, 3, "reduction")
    assert len(drawing.edges) == 7
