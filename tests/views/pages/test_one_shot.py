"""What steps have found out, as charts: every choice where it belongs, and what is taken stands out."""

from __future__ import annotations

import re
from typing import Any

import firstlight
from firstlight.views.pages.one_shot import one_shot_charts

OPERATIONS = ["skip", "conv"]


def findings(**changes: Any) -> dict[str, Any]:
    """A network with two choices of inputs and one of an operation."""
    options = {
        "inputs of normal 2": ["0", "1"],
        "inputs of normal 3": ["0", "1", "2"],
        "operation of reduce 2": OPERATIONS,
    }
    ends = {
        "inputs of normal 2": [0.1, -0.1],
        "inputs of normal 3": [0.2, 0.0, -0.2],
        "operation of reduce 2": [-0.4, 0.4],
    }
    halves = {name: [value / 2 for value in values] for name, values in ends.items()}
    return {
        "options": options,
        "preferences": ends,
        "chosen": {
            "inputs of normal 2": ["0", "1"],
            "inputs of normal 3": ["0", "1"],
            "operation of reduce 2": ["conv"],
        },
        "growth": [{"steps": 1, **halves}, {"steps": 2, **ends}],
        "traces": [10.0, 1000.0],
        "thresholds": [500.0, 500.0],
    } | changes


def test_choices_of_different_kinds_have_blocks_of_their_own() -> None:
    charts = one_shot_charts(findings())
    assert [block.title for block in charts.blocks] == ["inputs, normal cell", "operation, reduce cell"]
    inputs, operations = charts.blocks
    assert inputs.preferences.count('class="cell') == 5
    assert inputs.preferences.count('class="frame"') == 4
    assert list(inputs.growth) == ["normal 2", "normal 3"]
    assert "reduce 2, conv: 0.400, chosen" in operations.preferences
    assert operations.legend.count("series-") == 2


def test_one_scale_of_colors_serves_all_blocks() -> None:
    charts = one_shot_charts(findings())
    assert charts.scale == 0.4
    assert re.findall(r'fill-opacity="([\d.]+)"', charts.blocks[0].preferences) == [
        "0.25",
        "0.25",
        "0.50",
        "0.00",
        "0.50",
    ]


def test_preferences_grow_from_nothing_and_those_chosen_are_strong() -> None:
    (growth,) = one_shot_charts(findings()).blocks[1].growth.values()
    paths = re.findall(r'class="curve (series-\d)( strong)?" d="M([^"]+)"><title>([^<]+)', growth)
    assert [(series, bool(strong), path.count(",")) for series, strong, path, _ in paths] == [
        ("series-1", False, 3),
        ("series-2", True, 3),
    ]
    assert paths[1][3] == "conv: 0.4 after 2 steps"
    assert paths[0][2].split("L")[0] == paths[1][2].split("L")[0]


def test_where_only_the_end_is_known_no_growth_is_drawn() -> None:
    charts = one_shot_charts(findings(growth=findings()["growth"][-1:]))
    assert not any(block.growth for block in charts.blocks)


def test_traces_are_drawn_beside_nu() -> None:
    charts = one_shot_charts(findings())
    assert "step 2: T 1000" in charts.traces
    assert "nu, 500 at the last step" in charts.traces
    assert charts.steps == 2
    without = {name: values for name, values in findings(traces=[0.0, 5.0]).items() if name != "thresholds"}
    charts = one_shot_charts(without)
    assert not charts.has_thresholds
    assert charts.traces.count("<circle") == 1  # 0 has no place on a logarithmic scale
    assert one_shot_charts(findings(traces=[0.0], preferences=zero())).traces == ""


def zero() -> dict[str, list[float]]:
    return {name: [0.0] * len(values) for name, values in findings()["preferences"].items()}


def test_names_of_choices_in_the_spaces_are_understood() -> None:
    titles = {
        "nasbench201": [""],
        "nasbench1shot1-s2": ["operation", "inputs"],
        "darts": ["inputs, normal cell", "operation, normal cell", "inputs, reduce cell", "operation, reduce cell"],
    }
    for name, expected in titles.items():
        choices = firstlight.space(name).one_shot().choices
        even = {choice.name: [0.0] * len(choice.options) for choice in choices}
        known = findings(
            options={choice.name: choice.options for choice in choices},
            preferences=even,
            chosen={choice.name: choice.best(even) for choice in choices},
            growth=[],
        )
        assert [block.title for block in one_shot_charts(known).blocks] == expected
