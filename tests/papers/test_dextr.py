"""Experiments of Dextr on spaces other than NAS-Bench-201, at tiny sizes."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests import textbook
from tests.papers.toy import SMALL, run, write_tables

from firstlight.papers import EXPERIMENTS
from firstlight.papers.base import Published
from firstlight.papers.benchmarks import NB201_C10, NB301, TRANSNAS, DataFolder
from firstlight.papers.dextr_rounding import WITHOUT_POOLING, RawCurvature
from firstlight.papers.dextr_search import Search
from firstlight.papers.dextr_sizes import RANKED, sign_range
from firstlight.papers.dextr_tables import TABLE1
from firstlight.papers.rank_rows import RankTable, rows_of
from firstlight.probe.curvature import circle_basis
from firstlight.scoring.service import Setting
from firstlight.spaces import SPACES

TINY: dict[str, Any] = {"samples": 12, "input": None, "workers": 0, "resamples": 20}
SKELETONS = {
    "darts": (("cells", 3), ("channels", 4), ("input_shape", (3, 16, 16))),
    "transnas-micro": (("channels", 4),),
    "autoformer-tiny": (("input_shape", (3, 32, 32)),),
    "autoformer-small": (("input_shape", (3, 32, 32)),),
    "mobilenetv2": (("input_shape", (3, 64, 64)),),
    "nats-sss": (("input_shape", (3, 8, 8)),),
}


def write_table(folder: Path, space: str, file: str, *columns: str, count: int = 15) -> None:
    """Random networks of a space; the larger they are, the more accurate."""
    found, rng = SPACES[space], random.Random(0)
    texts = list({str(found.sample(rng)): None for _ in range(2 * count)})[:count]
    params = [found.cost(found.parse(text)).params / 1e6 for text in texts]
    pd.DataFrame({"architecture": texts} | dict.fromkeys(columns, params)).to_parquet(folder / file)


def test_scatter_plots_of_benchmarks_with_other_inputs(tmp_path: Path) -> None:
    columns = [benchmark.columns[0] for benchmark in TRANSNAS]
    write_table(tmp_path, "transnas-micro", "tnb101_micro.parquet", *columns)
    write_table(tmp_path, "darts", "nb301_sample.parquet", "cifar10_val_100")
    experiment = replace(EXPERIMENTS["dextr-figure5"], skeletons=SKELETONS)
    outcome = run(experiment, data=tmp_path, **TINY)
    assert [line.on for line in outcome.findings.lines] == [benchmark.name for benchmark in (*TRANSNAS, NB301)]
    assert all(line.ours is not None and line.published is not None for line in outcome.findings.lines)
    assert len(outcome.findings.charts) == 4
    assert "input_shape=9x3x64x64" in outcome.settings["skeleton"]
    assert outcome.settings["input"] == "synthetic"


def test_tables_that_are_sorted_are_sampled_at_random(tmp_path: Path) -> None:
    from firstlight.execution.executor import InProcess
    from firstlight.papers.lab import Lab
    from firstlight.storage.store import Store

    write_table(tmp_path, "darts", "nb301.parquet", "cifar10_val_100", count=40)
    lab = Lab(DataFolder(tmp_path), InProcess(), Store(":memory:"), 12, chosen="first")
    texts = lab.data.table(NB301).frame["architecture"].tolist()
    for is_sorted in (True, False):
        chosen = lab.sample([replace(NB301, is_sorted=is_sorted)], lab.setting("darts")).rows["architecture"].tolist()
        assert (chosen == texts[:12]) == (not is_sorted)
        assert set(chosen) <= set(texts)


def test_expensive_rows_are_measured_on_fewer_networks_and_with_one_seed(tmp_path: Path) -> None:
    rows = (*rows_of({"#params": "params", "MeCo": "meco"}), *rows_of({"Synflow": "synflow"}, cost_factor=3))
    table = RankTable(TABLE1.table, (NB201_C10,), rows, once={"nasbench201": ("MeCo",)})
    experiment = replace(EXPERIMENTS["dextr-table1"], run=table, needs=(NB201_C10,))
    outcome = run(experiment, data=write_tables(tmp_path), **(SMALL | {"samples": 30, "seed": (0, 1)}))
    notes = {line.what: line.note for line in outcome.findings.lines}
    assert notes["#params"].startswith("over 2 seeds")
    assert notes["MeCo"] == ""
    assert notes["Synflow"].startswith("20 networks")
    assert "seeds" not in notes["Synflow"]


def test_widths_by_their_table_or_else_by_the_signs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = replace(RANKED, rows=(RANKED.rows[0], *RANKED.rows[-3:]))  # others take seconds
    monkeypatch.setattr("firstlight.papers.dextr_sizes.RANKED", few)
    experiment = replace(EXPERIMENTS["dextr-table6"], skeletons=SKELETONS)
    signs = run(experiment, data=tmp_path, **TINY).findings
    assert {line.on for line in signs.lines} == {"number of parameters"}
    assert any("no table" in remark for remark in signs.remarks)
    write_table(tmp_path, "nats-sss", "nats_sss.parquet", "cifar10_test_90", count=30)
    ranked = run(experiment, data=tmp_path, **TINY).findings
    assert {line.on for line in ranked.lines} == {"SSS CIFAR-10"}
    (params,) = (line for line in ranked.lines if line.what == "#params")
    assert params.ours is not None
    assert params.ours.value == pytest.approx(1)  # that is how the table was made
    assert {line.what for line in ranked.lines} == {line.what for line in signs.lines} | {"#params"}


def test_signs_of_published_correlations() -> None:
    def figures(*values: float) -> tuple[Published, ...]:
        return tuple(Published("Table", value, value) for value in values)

    for values, ends in (((0.3, 0.8), (0, 1)), ((-0.2, -0.9), (-1, 0)), ((-0.1, 0.4), (-1, 1))):
        found = sign_range(figures(*values))
        assert (found.low, found.high) == ends


def darts(last: str) -> str:
    edges = str([("sep_conv_3x3", source) for _ in range(4) for source in (0, 1)][:-1])[:-1] + f", ('{last}', 1)]"
    return f"Genotype(normal={edges}, normal_concat=range(2, 6), reduce={edges}, reduce_concat=range(2, 6))"


@pytest.mark.parametrize("last", ["sep_conv_3x3", "max_pool_3x3"])
def test_curvature_as_it_comes_and_whether_the_output_moves(last: str) -> None:
    setting = Setting("darts", skeleton_settings=SKELETONS["darts"])
    found = RawCurvature()(setting, darts(last))
    still = last == "sep_conv_3x3"
    assert found.parts["still"] == still
    assert (found.parts["shrinkage"] < 1e-6) == still
    if not still:
        network, shape = setting.build(darts(last)).double(), (3, 16, 16)
        v, a = textbook.derivatives(network, circle_basis(math.prod(shape), 0), 0.0, shape)
        assert found.value == pytest.approx(math.log10(textbook.curvature(v, a)), rel=0.05)
    else:
        assert 5 < found.value < 12


def test_the_curvature_of_rounding_errors(tmp_path: Path) -> None:
    experiment = replace(EXPERIMENTS["dextr-a8"], skeletons=SKELETONS)
    lines = run(experiment, data=tmp_path, **TINY).findings.lines
    found = {(line.what, line.on): line.ours for line in lines}
    still, moving = (found["share whose output does not move", on] for on in (WITHOUT_POOLING, "random genotypes"))
    assert still is not None
    assert moving is not None
    assert still.value == 1 > moving.value


def test_searches_find_networks_within_their_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Zero-Cost-PT, which takes minutes, has tests of its own; here its cells are given."""
    search = Search.run
    monkeypatch.setattr(
        Search, "run", lambda self, lab: darts("skip_connect") if self.space == "darts" else search(self, lab)
    )
    experiment = replace(EXPERIMENTS["dextr-searches"], skeletons=SKELETONS)
    lines = run(experiment, data=tmp_path, **(TINY | {"samples": 4})).findings.lines
    found = {(line.what, line.on): line for line in lines}
    for what, on, limit in (
        ("parameters, M", "autoformer-tiny", 6),
        ("parameters, M", "autoformer-small", 24),
        ("MACs, M", "mobilenetv2", 450),
    ):
        line = found[what, on]
        assert line.verdict == "not measured"  # one search has no interval
        assert 0 < float(line.note.removeprefix("1 search: ")) <= limit
    for proxy in ("Dextr", "MeCo", "ZiCo"):
        error = found["top-1 error, %", f"DARTS, {proxy}"]
        assert error.verdict == "not measured"
        assert error.published is not None
        kinds = found["kinds of operations, normal cell", f"DARTS, {proxy}"]
        assert kinds.ours is not None
        assert (kinds.ours.value, kinds.note) == (2, "sep_conv_3x3, skip_connect")
