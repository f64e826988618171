from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.predict.features.slow import lengths_within, sets_of

from firstlight.predict.features.edge_cells import cell201_features, micro_features
from firstlight.spaces.cells import EDGES
from firstlight.spaces.nasbench201.cell import OPERATIONS, Cell201
from firstlight.spaces.transnas.space import NAMES, MicroCell

CELLS = st.tuples(*[st.sampled_from(OPERATIONS)] * 6).map(Cell201)
MICRO = st.tuples(*[st.integers(0, 3)] * 6).map(MicroCell)


def test_hand_counted_cell() -> None:
    # 1-2 conv3x3, 1-3 skip, 1-4 skip, 2-3 conv3x3, 2-4 skip, 3-4 conv3x3
    found = cell201_features([Cell201.from_digits("200202")]).iloc[0]
    expected = {
        "op_count(skip_connect)": 3,
        "op_count(none)": 0,
        "op_count(nor_conv_3x3)": 3,
        "op_count(nor_conv_1x1)": 0,
        "op_count(avg_pool_3x3)": 0,
        "min_path(skip_connect)": 1,
        "min_path(nor_conv_3x3)": 3,
        "min_path(nor_conv_1x1)": 5,
        "max_path(nor_conv_3x3)": 3,
        "max_path(skip_connect)": 1,
        "max_path(nor_conv_1x1)": 0,
        "out_degree(skip_connect)": 2,
        "in_degree(skip_connect)": 2,
        "in_degree(nor_conv_3x3)": 1,
        "mean_degree(skip_connect)": 0.75,
        "live_count(nor_conv_3x3)": 3,
        "paths": 4,
        "paths(nor_conv_3x3)": 1,
        "conv_depth": 3,
        "mean_conv_depth": (0 + 1 + 1 + 3) / 4,
    }
    assert {name: found[name] for name in expected} == expected


def test_dead_operations() -> None:
    # 1-2 conv3x3 leads nowhere, because nothing leaves node 2; 1-4 is the only path
    cell = Cell201(("nor_conv_3x3", "none", "none", "nor_conv_1x1", "none", "none"))
    found = cell201_features([cell]).iloc[0]
    assert found["op_count(nor_conv_3x3)"] == 1
    assert found["live_count(nor_conv_3x3)"] == 0
    assert found["live_count(nor_conv_1x1)"] == found["paths"] == found["mean_conv_depth"] == 1


def test_number_of_published_features() -> None:
    """Of GRAF's 191 features, 31 are means that it has twice."""
    columns = cell201_features([Cell201(OPERATIONS[:1] * 6)]).columns
    published = ("op_count", "min_path", "max_path", "in_degree", "out_degree", "mean_degree")
    assert sum(name.startswith(published) for name in columns) == 191 - 31


@pytest.mark.parametrize(("family", "names"), [("201", OPERATIONS), ("micro", NAMES)])
@given(st.data())
def test_equals_slow_twin(family: str, names: tuple[str, ...], data: st.DataObject) -> None:
    if family == "201":
        cells = data.draw(st.lists(CELLS, min_size=1, max_size=3))
        labels = [cell.operations for cell in cells]
        found = cell201_features(cells)
    else:
        drawn = data.draw(st.lists(MICRO, min_size=1, max_size=3))
        labels = [tuple(NAMES[number] for number in cell.operations) for cell in drawn]
        found = micro_features(drawn)
    for row, operations in zip(found.to_dict("records"), labels, strict=True):
        edges = [(source, target, name) for (target, source), name in zip(EDGES, operations, strict=True)]
        for chosen in sets_of(names):
            text = "+".join(chosen)
            lengths = lengths_within(edges, 0, 3, chosen)
            assert row[f"min_path({text})"] == min(lengths, default=5)
            assert row[f"max_path({text})"] == max(lengths, default=0)
            assert row[f"out_degree({text})"] == sum(s == 0 and name in chosen for s, _, name in edges)
            assert row[f"in_degree({text})"] == sum(t == 3 and name in chosen for _, t, name in edges)
            assert row[f"mean_degree({text})"] == sum(name in chosen for _, _, name in edges) / 4
            if "none" not in chosen:
                assert row[f"paths({text})"] == len(lengths)
