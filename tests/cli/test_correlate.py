"""`firstlight correlate` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.cli.command import firstlight
from tests.evaluation.test_correlate import a_table

from firstlight.cli.correlate import correlate
from firstlight.core.statistics import rank_quality
from firstlight.tables.table import write_table
from firstlight.views.pages.correlation import LEGEND, cells

SMALL = ["--skeleton", "channels=4,cells=1", "--workers", "0", "--samples", "all"]


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "toy.parquet"
    write_table(a_table(), path)
    return str(path)


def run(*arguments: str) -> str:
    return firstlight("correlate", "nasbench201", *arguments).stdout


def refused(*arguments: str) -> str:
    return firstlight("correlate", "nasbench201", *arguments, code=1).stderr


def test_a_table_for_people_and_json_for_machines(table: str, tmp_path: Path) -> None:
    asked = ["--table", table, "--target", "toy_test_5,toy_val_5", "--proxy", "params,l2_norm", *SMALL]
    out = ["--out", str(tmp_path / "out")]
    shown = run(*asked, "--ensemble", "--seed", "0,1", *out)
    assert "toy: test accuracy after 5 epochs" in shown
    assert "over 2 seeds" in shown
    assert "Chosen on one half" in shown
    content = json.loads(run(*asked, "--json", *out))
    assert content["best"] == "params"
    assert set(content["targets"]) == {"toy_test_5", "toy_val_5"}
    assert content["proxies"]["params"]["n"] == 30


def test_the_columns_are_explained_and_so_is_what_has_no_score(table: str, tmp_path: Path) -> None:
    asked = ["--table", table, "--target", "toy_test_5", "--proxy", "params,synflow", *SMALL]
    shown = run(*asked, "--out", str(tmp_path / "out"))
    for column, meaning in LEGEND.items():
        assert f"{column}: {meaning}." in shown
        assert f"{column}:".replace(" %", "%").lower() in (correlate.__doc__ or "").lower()
    assert "synflow: no score for 1 of 30 networks, which rank last: non_finite (no path leads to the output)" in shown
    page = (tmp_path / "out" / "report.html").read_text()
    assert "no score for 1 of 30 networks" in page
    assert LEGEND["Kendall"] in page


def test_a_tenth_of_few_networks_is_too_few_to_tell() -> None:
    truth = np.arange(100.0)
    few, enough = (rank_quality(truth[:count], truth[:count], resamples=2) for count in (44, 46))
    assert [cell == "too few networks" for cell in cells(few)] == [False, False, False, False, True, False, False]
    assert "too few networks" not in cells(enough)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--samples", "many"], "Write a number, or 'all'"),
        (["--seed", "one"], "Write a whole number"),
        (["--proxy", "dexter"], "dextr"),
        (["--samples", "5"], "it must be between 10 and 30"),
    ],
)
def test_bad_options_are_explained(table: str, tmp_path: Path, arguments: list[str], message: str) -> None:
    asked = ("--table", table, "--target", "toy_test_5", "--out", str(tmp_path / "out"))
    assert message in refused(*asked, *arguments)


def test_a_missing_target_lists_what_there_is(table: str) -> None:
    assert "toy_test_5, toy_val_5" in refused("--table", table)


def test_proxies_are_compared_with_a_named_one(table: str, tmp_path: Path) -> None:
    asked = ["--table", table, "--target", "toy_test_5", "--proxy", "l2_norm", "--against", "params", *SMALL]
    shown = run(*asked, "--out", str(tmp_path / "out"))
    assert "ahead of params" in shown
    content = json.loads((tmp_path / "out" / "result.json").read_text())
    norm, params = (content["proxies"][name] for name in ("l2_norm", "params"))
    assert content["against"] == "params"
    for name in ("spearman", "kendall", "ndcg", "precision_10", "regret_1"):
        assert norm[f"{name}_ahead"] == pytest.approx(norm[name] - params[name])
        assert norm[f"{name}_ahead_ci"][0] <= norm[f"{name}_ahead"] <= norm[f"{name}_ahead_ci"][1]
    assert "spearman_ahead" not in params
    assert params["equal_cost"] is None  # it is a cost itself
    assert -1 <= norm["equal_cost_ci"][0] <= norm["equal_cost"] <= norm["equal_cost_ci"][1] <= 1
    assert "ahead of params" in (tmp_path / "out" / "report.html").read_text()
    wrong = ["parms" if word == "params" else word for word in asked]
    assert "Did you mean 'params'" in refused(*wrong)


def test_labels_may_be_random(table: str, tmp_path: Path) -> None:
    asked = [
        "--table",
        table,
        "--target",
        "toy_test_5",
        "--proxy",
        "grad_norm",
        "--input",
        "digits",
        "--batch-size",
        "2",
    ]
    values = []
    for labels in ("true", "random"):
        out = tmp_path / labels
        run(*asked, "--labels", labels, *SMALL[:4], "--samples", "10", "--out", str(out))
        values.append(json.loads((out / "result.json").read_text())["proxies"])
        assert (f"<code>{labels}</code>" in (out / "report.html").read_text()) == (labels == "random")
    assert values[0] != values[1]
    assert "Did you mean 'random'" in refused(*asked, "--labels", "randon")
