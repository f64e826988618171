from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.predict.features.slow import lengths_within, sets_of

from firstlight.core.errors import DataError
from firstlight.predict.features.vertex_cells import cell101_features
from firstlight.spaces import SPACES
from firstlight.spaces.nasbench101.cell import OPERATIONS, Cell101


def test_hand_counted_cell() -> None:
    # input -> conv1x1 -> conv3x3 -> output, and input -> conv3x3, conv1x1 -> output; vertex 3 is not used
    cell = SPACES["nasbench101"].parse("conv1x1~0|conv3x3~0,1|maxpool3x3~0|output~1,2")
    found = cell101_features([cell]).iloc[0]
    expected = {
        "op_count(conv3x3)": 1,
        "op_count(conv1x1)": 1,
        "op_count(maxpool3x3)": 0,
        "vertices": 4,
        "edges": 5,
        "paths": 3,
        "min_path(conv3x3)": 2,
        "max_path(conv3x3)": 2,
        "max_path(conv3x3+conv1x1)": 3,
        "min_path(maxpool3x3)": 4,
        "max_path(maxpool3x3)": 0,
        "in_degree(conv3x3)": 1,
        "out_degree(conv3x3+conv1x1)": 2,
        "mean_in_degree(conv1x1)": 2 / 4,
        "mean_out_degree(conv3x3)": 2 / 4,
    }
    assert {name: found[name] for name in expected} == expected


@given(st.integers(0, 2**32), st.sampled_from(["nasbench101", "nasbench1shot1-s1", "nasbench1shot1-s3"]))
def test_equals_slow_twin(seed: int, space: str) -> None:
    cells = [SPACES[space].sample(random.Random(seed + number)) for number in range(2)]
    for row, whole in zip(cell101_features(cells).to_dict("records"), cells, strict=True):
        cell = whole.pruned()
        labels = [None, *cell.operations, None]
        last = len(cell.sources)
        pairs = [(source, target) for target, sources in enumerate(cell.sources, 1) for source in sources]
        edges = [(source, target, labels[target]) for source, target in pairs]
        assert row["edges"] == len(pairs)
        for chosen in sets_of(OPERATIONS):
            text = "+".join(chosen)
            lengths = lengths_within(edges, 0, last, chosen)
            assert row[f"min_path({text})"] == min(lengths, default=last + 1)
            assert row[f"max_path({text})"] == max(lengths, default=0)
            assert row[f"paths({text})"] == len(lengths)
            assert row[f"in_degree({text})"] == sum(t == last and labels[s] in chosen for s, t in pairs)
            assert row[f"out_degree({text})"] == sum(s == 0 and labels[t] in chosen for s, t in pairs)
            assert row[f"mean_in_degree({text})"] == sum(labels[s] in chosen for s, _ in pairs) / (last + 1)
            assert row[f"mean_out_degree({text})"] == sum(labels[t] in chosen for _, t in pairs) / (last + 1)


def test_same_class_same_features() -> None:
    first = SPACES["nasbench101"].parse("conv1x1~0|conv3x3~0|output~1,2")
    second = SPACES["nasbench101"].parse("conv3x3~0|conv1x1~0|output~1,2")
    rows = cell101_features([first, second])
    assert rows.iloc[0].equals(rows.iloc[1])


def test_cell_without_path() -> None:
    with pytest.raises(DataError, match="no path from input to output"):
        cell101_features([Cell101(("conv3x3",), ((0,), ()))])
