"""Methods side by side: who is the best so far, what was spent, and what cannot be asked."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pandas as pd
import pytest
from tests.evaluation.test_methods import a_contest
from tests.evaluation.toy_truth import a_table, a_truth

import firstlight
from firstlight.core.errors import SettingError
from firstlight.evaluation.compare import Comparison, Run, Spread
from firstlight.evaluation.competition import run_methods
from firstlight.evaluation.methods import Query, parse_method
from firstlight.search.algorithms import reinforce
from firstlight.tables.table import as_table

METHODS = ("random", "evolution", "reinforce", "bohb")


def compared(methods: tuple[str, ...] = METHODS, seeds: int | list[int] = 3, **options: Any) -> Comparison:
    settings: dict[str, Any] = {"queries": (10, 25), "target": "toy_val_40", "workers": 0}
    return firstlight.compare(
        "transnas-micro", table=a_table(), methods=methods, seeds=seeds, **{**settings, **options}
    )


def a_run(*queries: tuple[str, float | None, int | None]) -> Run:
    return Run("a", 0, tuple(Query(*query, seconds=10.0) for query in queries))


def test_the_best_so_far_is_of_the_highest_value_among_those_of_most_epochs() -> None:
    run = a_run(
        ("a", None, None), ("b", 30, 4), ("c", 40, 4), ("d", 20, 40), ("e", 90, 4), ("f", 20, 40), ("g", 21, 40)
    )
    assert [best and best.architecture for best in run.incumbents] == [None, "b", "c", "d", "d", "d", "g"]
    assert run.elapsed == [10, 20, 30, 40, 50, 60, 70]
    assert (run.after(3), run.after(100)) == (3, 7)
    assert [run.within(seconds) for seconds in (9, 10, 39, 1000)] == [0, 1, 3, 7]


def test_regret_and_the_lead_over_a_named_method() -> None:
    found = compared(("random", "evolution:population=5"), seeds=4, against="random")
    figures = a_truth().figures["toy_test_40"]
    best = max(figures.values())
    by_method = {row.method: row for row in found.rows if row.point == "25 queries"}
    reached = {
        method: [figures[run.incumbents[24].architecture] for run in found.runs[method]]  # type: ignore[union-attr]
        for method in by_method
    }
    for method, row in by_method.items():
        assert row.regret is not None
        assert row.regret.mean == pytest.approx(best - fmean(reached[method]))
    evolution, random = (next(row for m, row in by_method.items() if m.startswith(n)) for n in ("evolution", "random"))
    assert random.ahead is None
    assert evolution.ahead is not None
    leads = [a - b for a, b in zip(reached[evolution.method], reached[random.method], strict=True)]
    assert evolution.ahead.value == pytest.approx(fmean(leads))
    assert min(leads) <= evolution.ahead.low <= evolution.ahead.value <= evolution.ahead.high <= max(leads)
    row = next(row for row in found.to_dict()["rows"] if row["method"] == evolution.method)
    assert {"regret", "ahead", "ahead_ci"} <= row.keys()
    assert {"regret", "ahead_low"} <= set(found.table().columns)
    with pytest.raises(SettingError, match="name one of the methods: random, evolution"):
        compared(("random", "evolution"), seeds=1, against="bohb")


def test_unknown_seconds_stay_unknown() -> None:
    run = Run("a", 0, (Query("b", 1.0, 4, 2.0), Query("c", 1.0, 4, None), Query("d", 1.0, 4, 2.0)))
    assert run.elapsed[0] == 2
    assert all(map(math.isnan, run.elapsed[1:]))


def test_rows_are_means_and_deviations_of_the_runs() -> None:
    found = compared()
    assert [(row.method.partition(":")[0], row.point) for row in found.rows] == [
        (name, f"{count} queries") for name in METHODS for count in (10, 25)
    ]
    truth = a_truth()
    for row in found.rows:
        runs, count = found.runs[row.method], int(row.point.split()[0])
        best = [run.incumbents[count - 1] for run in runs]
        reached = [truth.figures["toy_test_40"][query.architecture] for query in best if query]
        assert row.figures["toy_test_40"] == Spread(fmean(reached), stdev(reached))
        assert row.value == Spread.of([query.value for query in best if query and query.value is not None])
        assert row.queries == Spread(count, 0)
        spent = [sum(query.seconds or 0 for query in run.queries[:count]) for run in runs]
        assert row.seconds.mean == pytest.approx(fmean(spent))
    bohb = [row for row in found.rows if row.method == "bohb"]
    assert bohb[-1].epochs == (40,)
    assert "bohb chooses between 4 and 40 epochs" in " ".join(found.remarks)


def test_the_same_seeds_give_the_same_runs() -> None:
    one, two = (compared(seeds=[0, 1], queries=(8,)).runs for _ in range(2))
    assert one == two
    assert one["random"][0].queries != one["random"][1].queries
    (single,) = compared(("random",), seeds=[1], queries=(8,)).runs["random"]
    assert single == one["random"][1]  # whoever else takes part


def test_what_fits_into_a_budget_of_seconds() -> None:
    found = compared(("random",), within=2_000.0)
    row = found.rows[-1]
    assert row.point == "2,000 s"
    runs = found.runs["random"]
    assert row.queries.mean == fmean(run.within(2_000) for run in runs)
    assert all(run.elapsed[run.within(2_000) - 1] <= 2_000 < run.elapsed[run.within(2_000)] for run in runs)
    cheap = compared(("random",), within=1e6)
    assert "3 of 3 runs took less than 1,000,000 s for 25 queries" in " ".join(cheap.remarks)


def test_without_seconds_they_are_left_out_and_that_is_said() -> None:
    table = as_table(a_table().frame.drop(columns="toy_train_seconds_40"), "toy")
    found = firstlight.compare("transnas-micro", table=table, methods="random", queries=(5,), seeds=1, workers=0)
    assert found.seconds is None
    assert math.isnan(found.rows[0].seconds.mean)
    assert found.to_dict()["rows"][0]["seconds"] == {"mean": None, "std": None}
    assert "Use --seconds to name a column" in found.remarks[0]
    assert "one seed" in found.remarks[-1]
    assert found.rows[0].value.deviation is None
    with pytest.raises(SettingError, match="--seconds COLUMN"):
        firstlight.compare("transnas-micro", table=table, methods="random", queries=(5,), within=60, workers=0)


def test_a_method_that_ends_early_keeps_what_it_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reinforce, "PATIENCE", 50)
    found = compared(("reinforce:learning_rate=99.0",), seeds=1, queries=(2, 1000))
    (run,) = found.runs["reinforce:batch=1:learning_rate=99.0"]
    assert 2 < len(run.queries) < 1000
    assert "1 of 1 runs ended before 1000 queries" in " ".join(found.remarks)
    assert found.rows[-1].queries.mean == len(run.queries)
    assert found.rows[-1].value.mean == max(query.value or 0 for query in run.queries)


def test_no_more_queries_than_networks() -> None:
    few = dict(list(a_truth().figures["toy_val_40"].items())[:12])
    truth = replace(a_truth(), figures={"toy_val_40": few, "toy_test_40": few})
    contest = replace(a_contest(), truth=truth)
    methods = [parse_method("random")]
    found = run_methods(contest, methods, (5, 12), (0, 1))
    assert [len(run.queries) for run in found.runs["random"]] == [12, 12]
    with pytest.raises(SettingError, match="13 queries were requested, but there are only 12 different networks"):
        run_methods(contest, methods, (13,), (0,))


def test_bohb_with_one_fidelity_is_plain_tpe_and_says_so() -> None:
    found = compared(("bohb",), seeds=1, fidelities=["toy_val_40"])
    assert {query.epochs for query in found.runs["bohb"][0].queries} == {40}
    assert "but there is only one here" in found.remarks[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"queries": (20, 10)}, "ascending"),
        ({"queries": (0, 10)}, "ascending"),
        ({"queries": ()}, "ascending"),
        ({"queries": (5000,)}, "5000 queries were requested, but there are only [0-9,]+ different networks"),
        ({"seeds": 0}, "give one, or several"),
        ({"seeds": [1, 1]}, "give one, or several"),
        ({"methods": ("random", "random")}, "each only once"),
        ({"methods": ()}, "name at least one"),
        ({"data": "digits"}, "either a table"),
        ({"within": -1.0}, "more than 0"),
    ],
)
def test_what_cannot_be_asked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        compared(**{"methods": ("random",), **options})


def test_real_training_is_resumed(tmp_path: Path) -> None:
    def trained(out: Path) -> Comparison:
        return firstlight.compare(
            "nasbench201",
            data="digits@8",
            methods="random,bohb,random@params",
            queries=(2, 4),
            seeds=2,
            epochs=1,
            fidelities=(1, 2),
            data_samples=60,
            skeleton={"cells": 1, "channels": 2},
            workers=0,
            out=out,
        )

    first, again = trained(tmp_path), trained(tmp_path)
    assert again == first  # seconds and all: nothing was trained again
    assert first.report == ("digits@8_val_1",)
    assert first.seconds == "measured"
    assert {query.epochs for run in first.runs["bohb"] for query in run.queries} == {1, 2}
    assert {path.name for path in tmp_path.iterdir()} >= {"report.html", "result.json", "comparison.csv", "queries.csv"}
    log = pd.read_csv(tmp_path / "queries.csv")
    assert len(log) == 3 * 2 * 4
    assert log["elapsed"].notna().all()


def test_nasbench201(benchmark_data: Path) -> None:
    """What is found is in the table, costs what its networks cost, and never gets worse by what it was searched by."""
    table = firstlight.load_table(benchmark_data / "nb201.parquet")
    found = firstlight.compare(
        "nasbench201", table=table, methods="random,evolution", queries=(20, 60), seeds=2, workers=0
    )
    rows = table.frame.set_index("architecture")
    log = found.log()
    assert (log["value"].to_numpy() == rows["cifar10_val_12"][log["architecture"]].to_numpy()).all()
    assert (log["cifar100_test_200"].to_numpy() == rows["cifar100_test_200"][log["best"]].to_numpy()).all()
    for run in (run for runs in found.runs.values() for run in runs):
        values = [best.value for best in run.incumbents if best and best.value is not None]
        assert values == sorted(values)
        assert len({query.architecture for query in run.queries}) == 60


def test_a_decision_for_a_network_that_is_not_in_the_table_is_no_answer() -> None:
    """The table has cells with `none` only, which nasi never chooses."""
    cells = [str(cell) for cell in firstlight.space("nasbench201") if cell.operations[:2] == ("none", "none")][-15:]
    table = pd.DataFrame({"architecture": cells, "toy_val_4": range(15), "toy_test_4": range(15)})
    found = firstlight.compare(
        "nasbench201",
        table=as_table(table, "toy"),
        methods=("random", "nasi:steps=2:batch=2:nu=9@params"),
        target="toy_val_4",
        queries=(1, 2),
        seeds=2,
        skeleton={"cells": 1, "channels": 2, "input_shape": (3, 8, 8)},
        workers=0,
    )
    assert all(not run.queries for run in found.runs["nasi:batch=2:nu=9.0:steps=2@params"])
    assert "2 of 2 runs chose a network whose true value is unknown" in " ".join(found.remarks)
    assert math.isnan(found.rows[-1].value.mean)
    assert found.rows[1].value.mean > 0
