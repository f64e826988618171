"""NAS-Bench-201: the published counts, the reference networks to the unit, and the grammar."""

from __future__ import annotations

import random
from typing import Any

import pandas as pd
import pytest
import torch
from tests.reference import fill_by_rule, pattern
from torch import nn

from firstlight.core.errors import ParseError, SettingError
from firstlight.probe.cost import Cost
from firstlight.spaces.nasbench201.cell import Cell201
from firstlight.spaces.nasbench201.network import Skeleton201
from firstlight.spaces.nasbench201.space import NASBench201, _function_text

SPACE = NASBench201()


def test_the_space_has_15625_architectures_of_6466_kinds() -> None:
    architectures = list(SPACE)
    assert len(set(map(str, architectures))) == len(SPACE) == 15_625
    assert len({SPACE.canonical(architecture) for architecture in architectures}) == 6_466
    assert all(_function_text(SPACE.canonical(a)) == _function_text(a) for a in architectures[::97])


def test_costs_of_the_reference_networks(golden_nasbench201: list[dict[str, Any]]) -> None:
    for record in golden_nasbench201:
        architecture = SPACE.parse(record["arch"])
        for key, expected in record["nets"].items():
            cost = SPACE.cost(architecture, skeleton_of(key, expected["input"]))
            assert cost == Cost(expected["params"], expected["conv_linear_macs"]), (record["arch"], key)


def test_outputs_of_the_reference_networks(golden_nasbench201: list[dict[str, Any]]) -> None:
    probed = 0
    for record in golden_nasbench201:
        expected = record["nets"]["C4_N1_k10"]
        skeleton = skeleton_of("C4_N1_k10", expected["input"])
        network = fill_by_rule(SPACE.build(record["arch"], skeleton).double())
        x = pattern(*expected["input"])
        for mode, values in expected["probe"].items():
            network.train(mode == "train")
            fresh = fill_by_rule(network)
            with torch.no_grad():
                out = fresh(x).flatten()[:4]
            torch.testing.assert_close(out, torch.tensor(values, dtype=torch.float64), rtol=1e-6, atol=1e-9)
            probed += 1
    assert probed >= 20


def skeleton_of(key: str, input_shape: list[int]) -> Skeleton201:
    channels, cells, classes = (int(part[1:]) for part in key.split("_"))
    return Skeleton201(tuple(input_shape[1:]), classes, channels, cells)


def test_other_skeletons_cost_what_they_cost() -> None:
    skeleton = Skeleton201((2, 28, 12), 5, 6, 2)
    architecture = SPACE.sample(random.Random(2))
    assert SPACE.cost(architecture, skeleton) == super(NASBench201, SPACE).cost(architecture, skeleton)


@pytest.mark.parametrize("setting", [{"input_shape": (3, 30, 32)}, {"input_shape": (3, 32)}, {"cells": 0}])
def test_skeletons_that_cannot_be_built(setting: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match="multiples of 4"):
        SPACE.skeleton(**setting)


def test_isomorphic_cells_share_a_representative() -> None:
    through_node_1 = "|skip_connect~0|+|none~0|nor_conv_3x3~1|+|none~0|none~1|skip_connect~2|"
    direct = "|none~0|+|nor_conv_3x3~0|none~1|+|none~0|none~1|skip_connect~2|"
    assert SPACE.canonical(SPACE.parse(through_node_1)) == SPACE.canonical(SPACE.parse(direct))


def test_classes_agree_with_the_published_ones(benchmark_data: Any) -> None:
    import pandas as pd

    table = pd.read_parquet(benchmark_data / "nb201.parquet", columns=["arch_str", "isomorph"])
    ours = [str(SPACE.canonical(SPACE.parse(text))) for text in table["arch_str"]]
    assert pd.Series(ours).nunique() == table["isomorph"].nunique() == 6_466
    assert len(set(zip(ours, table["isomorph"], strict=True))) == 6_466


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 0),
        ("nor_conv_3x3~0", 0),
        ("|nor_conv_5x5~0|", 1),
        ("|none~1|", 5),
        ("|none~0|none~0|", 8),
        ("|none~0|+|none~0|none~1|+|none~0|none~1|none~2|x", 47),
        ("|none~0|+|none~0|+|none~0|none~1|none~2|", 17),
    ],
)
def test_errors_point_at_the_place(text: str, position: int) -> None:
    with pytest.raises(ParseError) as caught:
        SPACE.parse(text)
    assert caught.value.position == position
    assert str(caught.value).splitlines()[-1].index("^") == position + 2


def test_only_chosen_operations_are_built_and_none_is_zero() -> None:
    text = "|none~0|+|none~0|none~1|+|nor_conv_1x1~0|none~1|none~2|"
    network = SPACE.build(text, Skeleton201(channels=4, cells=1))
    convolutions = [m for m in network.body[0].modules() if isinstance(m, nn.Conv2d)]
    assert [m.kernel_size for m in convolutions] == [(1, 1)]
    silent = SPACE.build("|none~0|+|none~0|none~1|+|none~0|none~1|none~2|", Skeleton201(channels=4, cells=1))
    assert not silent.body[0](torch.randn(1, 4, 8, 8)).any()


def test_the_drawing_leaves_out_what_is_not_there() -> None:
    drawing = SPACE.drawing(SPACE.parse("|none~0|+|nor_conv_3x3~0|none~1|+|none~0|none~1|skip_connect~2|"))
    assert drawing.edges == ((0, 2, "nor_conv_3x3"), (2, 3, "skip_connect"))


def test_digits_are_those_of_the_published_table(benchmark_data: Any) -> None:
    table = pd.read_parquet(benchmark_data / "nb201.parquet", columns=["arch_str", "ops"])
    assert [str(Cell201.from_digits(digits)) for digits in table["ops"]] == table["arch_str"].tolist()


@pytest.mark.parametrize(("digits", "position"), [("00000", 5), ("0000000", 6), ("000500", 3), ("", 0), ("00000٣", 5)])
def test_digits_that_are_no_cell(digits: str, position: int) -> None:
    with pytest.raises(ParseError) as caught:
        Cell201.from_digits(digits)
    assert caught.value.position == position
