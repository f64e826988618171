"""Stores and run folders written by Firstlight 0.1.0 stay usable; see `golden/README.md`."""

from __future__ import annotations

import importlib
import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import firstlight

from firstlight.search.bounds import RankBound
from firstlight.storage.records import EvaluationKey, ScoreKey
from firstlight.storage.store import Store
from firstlight.storage.upkeep import check_store

GOLDEN = Path(__file__).parent / "golden"
SCORES, EVALUATIONS = 100, 3

# The options of each search, by the folder of its run
SEARCHES = {
    "settings": "nasbench201 --proxy dextr:variant=official --samples 30",
    "ensemble": "nasbench201 --proxy 'log_rank(dextr,params)' --samples 12 --seed 1 --max-params 12k "
    "--max-activations 100k",
    "evolution": "nasbench201 --proxy zico --algorithm evolution:population=4 --samples 8 --input digits "
    "--batch-size 16 --repeats 2",
    "warm-up": "nasbench201 --proxy grad_norm --samples 4 --input digits --batch-size 16 "
    "--warmup 10%:batch_size=32:epochs=1",
    "front": "nasbench201 --proxy naswot --algorithm pareto:population=4 --objectives macs,memory --samples 8 "
    "--batch-size 8",
    "steps": "nasbench201 --algorithm nasi-ridge:steps=2 --batch-size 4",
    "trained": "nasbench201 --algorithm hnas:pool=6 --data digits@8 --queries 3 --epochs 1 --data-samples 200",
    "cells": "nasbench101 --proxy swap --samples 11 --batch-size 8",
}
SKELETONS = {"nasbench201": "cells=1,channels=4", "nasbench101": "cells=1,channels=5,stacks=2"}


@pytest.fixture
def golden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # version 0.3 changed the default form of hnas; the search that wrote the folder "trained" had the form of ranks
    module = importlib.import_module("firstlight.search.algorithms.hnas")
    monkeypatch.setattr(module, "bound_of", lambda form, scale: RankBound())
    return Path(shutil.copytree(GOLDEN, tmp_path / "golden"))


def search(folder: Path, options: str, *more: str) -> dict[str, Any]:
    space, *others = shlex.split(options)
    settings = ("--skeleton", SKELETONS[space], "--workers", "0", "--json", *more)
    found: dict[str, Any] = json.loads(firstlight("search", space, *others, *settings, folder=folder).stdout)
    return found


def test_every_score_and_evaluation_is_reused(golden: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reused: set[ScoreKey | EvaluationKey] = set()
    find_score, find_evaluation = Store.find_score, Store.find_evaluation

    def found_score(store: Store, key: ScoreKey) -> Any:
        found = find_score(store, key)
        reused.update([key] if found is not None else [])
        return found

    def found_evaluation(store: Store, key: EvaluationKey) -> Any:
        found = find_evaluation(store, key)
        reused.update([key] if found is not None else [])
        return found

    def computed(store: Store, key: ScoreKey | EvaluationKey, found: object) -> None:
        pytest.fail(f"{key} was computed again")

    monkeypatch.setattr(Store, "find_score", found_score)
    monkeypatch.setattr(Store, "find_evaluation", found_evaluation)
    monkeypatch.setattr(Store, "add_score", computed)
    monkeypatch.setattr(Store, "add_evaluation", computed)
    for name, options in SEARCHES.items():
        before = json.loads((golden / name / "result.json").read_text())
        result = search(golden, options, "--store", "store.sqlite", "--out", name)
        assert (result["scored"], result["reused"]) == (0, before["scored"]), name
        assert result["best"] == before["best"], name
        assert json.loads((golden / name / "result.json").read_text())["settings"] == before["settings"], name
    assert sum(isinstance(key, ScoreKey) for key in reused) == SCORES
    assert sum(isinstance(key, EvaluationKey) for key in reused) == EVALUATIONS


def test_the_stores_open_and_are_whole(golden: Path) -> None:
    found = check_store(golden / "store.sqlite")
    assert found.problems == []
    assert found.rows == {"scores": SCORES, "evaluations": EVALUATIONS, "runs": len(SEARCHES), "trials": 77}
    assert found.statuses == {"ok": SCORES}
    assert found.finished_runs == len(SEARCHES)
    with Store(golden / "store.sqlite") as store:
        assert sum(len(store.trials(run)) for run in store.runs()) == 77
        front = next(run for run in store.runs() if run.settings["proxy"] == "naswot")
        assert all(trial.amount("memory") > 0 for trial in store.trials(front))


def test_finished_runs_are_recognized(golden: Path) -> None:
    with Store(golden / "store.sqlite") as store:
        before = [(run.id, run.settings, run.started) for run in store.runs()]
    for name in ("settings", "trained"):
        search(golden, SEARCHES[name], "--store", "store.sqlite", "--out", name)
    with Store(golden / "store.sqlite") as store:
        assert [(run.id, run.settings, run.started) for run in store.runs()] == before


def test_an_interrupted_run_resumes(golden: Path) -> None:
    with Store(golden / "interrupted" / "store.sqlite") as store:
        (run,) = store.runs()
        known = {trial.architecture: trial.utility for trial in store.trials(run)}
        assert run.finished is None
    result = search(golden, "nasbench201 --proxy synflow --samples 6", "--out", "interrupted")
    assert (result["scored"], result["reused"], result["finished"]) == (2, 4, True)
    with Store(golden / "interrupted" / "store.sqlite") as store:
        (run,) = store.runs()
        trials = {trial.architecture: trial.utility for trial in store.trials(run)}
    assert run.finished is not None
    assert len(trials) == 6
    assert known.items() <= trials.items()
