"""Width and depth of cells by hand, and kernels that are those the proxies measure."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.papers.test_experiments import stored
from tests.papers.toy import run

import firstlight
from firstlight.core.errors import SettingError
from firstlight.execution.executor import InProcess
from firstlight.papers import EXPERIMENTS
from firstlight.papers.benchmarks import DataFolder
from firstlight.papers.hnas_cells import PUBLISHED_AS, _median, cells, deepest, depth, widest, width
from firstlight.papers.lab import Lab
from firstlight.papers.published import read_paper
from firstlight.spaces.darts.genotypes import Cell
from firstlight.storage.store import Store

SKELETON = {"cells": 1, "channels": 2, "input_shape": (3, 8, 8)}
FEW: dict[str, Any] = {"samples": 3, "input": "synthetic", "workers": 0, "resamples": 20, "skeleton": SKELETON}
BRIEF = replace(EXPERIMENTS["hnas-table2"], seeds=1)


def test_width_and_depth_by_hand() -> None:
    named = cells()
    found = {title: (width(genotype.normal), depth(genotype.normal)) for title, genotype in named.items()}
    assert found == {
        "NASNet": (5.0, 2),
        "ENAS": (5.0, 2),
        "SNAS": (4.0, 2),
        "DARTS, first order": (3.5, 3),
        "DARTS, second order": (3.5, 3),
        "AmoebaNet": (4.0, 4),
        "widest, sep_conv_3x3": (4.0, 2),
        "deepest, sep_conv_3x3": (1.5, 5),
    }


def test_width_and_depth_are_those_of_the_paper() -> None:
    rows = {PUBLISHED_AS.get(title, title): genotype.normal for title, genotype in cells().items()}
    table = read_paper("hnas")["table2"]
    assert set(table.rows) <= set(rows)
    for name in table.rows:
        for column, measure in (("width", width), ("depth", depth)):
            printed = table.at(name, column)
            assert printed is not None
            assert measure(rows[name]) == printed.low, (name, column)


def test_the_widest_and_the_deepest_are_of_the_space() -> None:
    space = firstlight.space("darts")
    for genotype in (widest(), deepest()):
        assert space.parse(str(genotype)) == genotype
        for cell in (genotype.normal, genotype.reduce):
            assert {operation for operation, _ in cell.edges} == {"sep_conv_3x3"}
    sources = [source for _, source in deepest().normal.edges]
    assert sources == [0, 1, 1, 2, 2, 3, 3, 4]


def test_depth_is_that_of_what_reaches_the_output() -> None:
    edges = (("skip_connect", 0), ("skip_connect", 1), ("skip_connect", 2), ("skip_connect", 2))
    assert depth(Cell(edges, (2,))) == 2
    assert depth(Cell(edges, (2, 3))) == 3
    assert width(Cell(edges, (2, 3))) == 1


def test_it_runs_without_any_table_and_remembers(tmp_path: Path) -> None:
    outcome = run(BRIEF, data=tmp_path, out=tmp_path, **FEW)
    before = stored(tmp_path)
    assert run(BRIEF, data=tmp_path, out=tmp_path, **FEW) == outcome
    assert stored(tmp_path) == before == 2 * len(cells())
    assert outcome.settings["images"] == "3 in a batch"
    assert "tables" not in outcome.settings
    lines = {(line.what, line.on): line for line in outcome.findings.lines}
    name = "DARTS, second order"
    asked = {"skeleton": SKELETON, "input": "synthetic", "batch_size": 3, "seed": 0, "workers": 0}
    for what, proxy in (("kappa", "ntk_condition"), ("M, Trace", "ntk_trace")):
        (row,) = firstlight.rank("darts", [str(cells()[name])], proxies=proxy, **asked).rows
        assert lines[what, name].published == read_paper("hnas")["table2"].at("DARTS", what.removeprefix("M, "))
        assert lines[what, name].note == f"1 of 1 seeds, median {row.network.scores[proxy].value:.4g}"


def test_ten_seeds_make_an_interval() -> None:
    lab = Lab(DataFolder(None), InProcess(), Store(":memory:"), 3, resamples=20)
    line = _median(lab, "kappa", "a cell", np.array([*range(9), 1000.0, math.nan]), None)
    assert line.ours is not None
    assert line.ours.value == 4.5
    assert line.ours.low < 4.5 < line.ours.high
    assert (line.verdict, line.note) == ("no published value", "10 of 11 seeds")
    assert _median(lab, "kappa", "a cell", np.array([3.0, 1.0, 9.0]), None).note == "3 of 3 seeds, median 3"


def test_one_image_has_no_condition_number() -> None:
    with pytest.raises(SettingError, match="samples is 1; hnas-table2 needs 2 images"):
        run(BRIEF, **(FEW | {"samples": 1}))
