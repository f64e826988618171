"""Searches on TransNAS-Bench-101: a small table whose results are the number of convolutions."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.papers.toy import run

from firstlight.papers import EXPERIMENTS, robot_transnas
from firstlight.papers.benchmarks import TRANSNAS_TASKS
from firstlight.papers.robot_transnas import methods_of, rank_of
from firstlight.spaces import SPACES

CELLS = 30
TASKS = ("class_scene_val_best", "normal_val_ssim_best")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    space, rng = SPACES["transnas-micro"], random.Random(0)
    texts: dict[str, None] = {}
    while len(texts) < CELLS:
        texts[str(space.canonical(space.sample(rng)))] = None
    convs = [sum(text.count(digit) for digit in "23") for text in texts]
    noise = np.random.default_rng(0).normal(size=CELLS) / 100
    folder = tmp_path_factory.mktemp("transnas")
    columns = {"architecture": list(texts), TASKS[0]: convs + noise, TASKS[1]: np.array(convs) / 10 - noise}
    pd.DataFrame(columns).to_parquet(folder / "tnb101_micro.parquet")
    return folder


def test_ranks(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robot_transnas, "QUERIES", 6)
    methods = {
        "RoBoT": "verify:by=params:pool=30",
        robot_transnas.OURS: "predictor:by=params:pool=30:batch=2",
        "random search": "random",
    }
    monkeypatch.setattr(robot_transnas, "methods_of", lambda benchmark, pool: methods)
    small = {"channels": 4, "input_shape": (3, 32, 32)}
    options = {"skeleton": small, "input": "synthetic", "seed": tuple(range(10)), "resamples": 20, "samples": 30}
    outcome = run(EXPERIMENTS["robot-transnas"], data=data, workers=0, **options)
    found = {(line.what, line.on): line for line in outcome.findings.lines}
    assert {on for _, on in found} == {"TransNAS Scene", "TransNAS Normal"}
    for task in ("TransNAS Scene", "TransNAS Normal"):
        by_params, own, by_chance = (found[f"{title}: rank", task].ours for title in methods)
        assert by_params is not None
        assert own is not None
        assert by_chance is not None
        assert 1 <= by_params.value < by_chance.value
        assert 1 <= own.value < by_chance.value
        assert found["rank of the best class", task].ours.value == 1  # type: ignore[union-attr]
    published = found["RoBoT: rank", "TransNAS Normal"].published
    assert published is not None
    assert published.low == 8
    assert found["random search: rank", "TransNAS Scene"].published is None


def test_rank() -> None:
    results = np.array([3.0, 5.0, 5.0, 1.0])
    assert [rank_of(value, results) for value in (5.0, 3.0, 1.0)] == [1, 3, 4]


def test_metrics_of_tasks() -> None:
    with_synflow = [task.name for task in TRANSNAS_TASKS if "+synflow" in methods_of(task, 100)["RoBoT"]]
    assert with_synflow == ["TransNAS Scene", "TransNAS Object", "TransNAS Jigsaw", "TransNAS Layout"]
