"""The page of a comparison."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from tests.evaluation.test_compare import compared
from tests.views.pages.test_correlation import Balanced

from firstlight.core.errors import StoreError
from firstlight.views.pages.comparison import cells, comparison_page, headers, notes, write_comparison

SETTINGS = {"space": "transnas-micro", "table": "<toy>.csv"}


def test_the_page_says_who_is_ahead_and_draws_all() -> None:
    found = compared()
    page = comparison_page(found, SETTINGS)
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    last = [row for row in found.rows if row.point == "25 queries"]
    best = max(last, key=lambda row: row.figures["toy_test_40"].mean)
    label = found.labels[best.method]
    assert f"<h1>Best of 4 methods after 25 queries: {label}, toy_test_40 {best.figures['toy_test_40']}</h1>" in page
    assert '<p class="soft">transnas-micro, &lt;toy&gt;.csv, 3 seeds for each method</p>' in page
    assert page.count("<figure>") == 2  # against queries and against seconds
    assert page.count('class="band series-4"') == 2
    assert "evolution stands for evolution:children=1:population=10:tournament=10." in page
    assert "&lt;toy&gt;.csv" in page
    assert "http" not in page.replace("http-equiv", "")


def test_methods_that_differ_in_their_settings_keep_them() -> None:
    found = compared(("evolution", "evolution:population=5", "random@params"), seeds=1)
    assert list(found.labels.values()) == list(found.runs)
    assert "random@params searches by a proxy: its queries are scores" in " ".join(notes(found))


def test_lines_of_the_table_fit_their_headers() -> None:
    for found in (compared(("random",)), compared(("random",), within=500.0)):
        assert {len(cells(found, row)) for row in found.rows} == {len(headers(found))}
    assert cells(found, found.rows[-1])[1] == "500 s"
    assert "± standard deviation" in notes(found)[0]
    assert "±" not in notes(compared(("random",), seeds=1))[0]


def test_without_seconds_there_is_one_figure() -> None:
    found = compared(("random",), seeds=1)
    assert comparison_page(found, SETTINGS).count("<figure>") == 2
    assert comparison_page(replace(found, seconds=None), SETTINGS).count("<figure>") == 1


def test_files_of_a_comparison(tmp_path: Path) -> None:
    found = compared(("random", "bohb"))
    write_comparison(found, SETTINGS, tmp_path)
    content = json.loads((tmp_path / "result.json").read_text())
    assert content["settings"] == SETTINGS
    assert [row["method"] for row in content["rows"]] == ["random"] * 2 + ["bohb"] * 2
    rows = pd.read_csv(tmp_path / "comparison.csv")
    assert rows["toy_test_40"].tolist() == [row["figures"]["toy_test_40"]["mean"] for row in content["rows"]]
    assert rows["toy_test_40_std"].tolist() == [row["figures"]["toy_test_40"]["std"] for row in content["rows"]]
    log = pd.read_csv(tmp_path / "queries.csv")
    assert len(log) == 2 * 3 * 25
    last = log[(log["method"] == "random") & (log["query"] == 25)]
    assert math.isclose(last["elapsed"].mean(), content["rows"][1]["seconds"]["mean"])
    with pytest.raises(StoreError, match="--out"):
        write_comparison(found, SETTINGS, tmp_path / "missing")
