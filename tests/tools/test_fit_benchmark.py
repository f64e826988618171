"""The benchmark of fits: everything is trained alike and nothing twice, and its figures are those of the trainings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.fit import FINALS, RESULT, SHARED, TASKS, Measurement, Task
from benchmarks.fit_figures import figures_of
from tools.pages.measured import page

from firstlight.execution.executor import make_executor


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    from sklearn.datasets import load_digits

    images, labels = load_digits(n_class=3, return_X_y=True)
    images = images.reshape(-1, 8, 8).astype(np.uint8)
    path = tmp_path_factory.mktemp("data") / "three.npz"
    np.savez(path, x_train=images[:200], y_train=labels[:200], x_test=images[200:260], y_test=labels[200:260])
    return f"npz:{path}"


def measurement(source: str, folder: Path) -> Measurement:
    task = Task("three", source, "1k", "1s", images=120)
    return Measurement(task, task.time, folder / task.name, make_executor(0), workers=0, seeds=2, epochs=2)


def written(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "three" / RESULT).read_text())
    return content


@pytest.fixture(scope="module")
def measured(source: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("benchmark")
    measurement(source, folder).run(["hnas", "plain", "random"])
    return folder


def test_all_networks_are_trained_alike(measured: Path) -> None:
    content = written(measured)
    titles = [entry["title"] for entry in content["networks"]]
    assert titles[0] == "fit"
    assert {"logistic regression", "random"} <= set(titles)
    recipes = [dict(part.split("=") for part in entry["recipe"].split(",")) for entry in content["networks"]]
    for name in SHARED:
        assert len({recipe.get(name) for recipe in recipes}) == 1
    for entry in content["networks"]:
        assert entry["params"] <= 1000
        assert entry["seeds"] == [0, 1]
        assert len(entry["test_accuracies"]) == 2


def test_what_is_not_possible_is_said(measured: Path) -> None:
    assert list(written(measured)["without"]) == ["hnas"]


def test_nothing_is_trained_twice(source: str, measured: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in (measured / "three" / FINALS).rglob("*.safetensors")}
    first = written(measured)
    again = measurement(source, measured).run(["plain", "random"])
    assert {path: path.stat().st_mtime_ns for path in (measured / "three" / FINALS).rglob("*.safetensors")} == before
    assert again["networks"] == first["networks"]
    assert again["differences"] == first["differences"]
    assert again["against"] == ["plain", "random", "hnas"]


def test_the_figures_are_those_of_the_trainings(measured: Path) -> None:
    content = written(measured)
    figures = figures_of([content])
    lines = {line["what"]: line for line in figures["findings"]}
    for entry in content["networks"]:
        assert lines[f"{entry['title']}: test accuracy, %"]["ours"] == pytest.approx(100 * entry["test_accuracy"])
    other = next(entry for entry in content["networks"] if entry["title"] == "logistic regression")
    gap = 100 * (content["networks"][0]["test_accuracy"] - other["test_accuracy"])
    assert lines["fit minus logistic regression, points"]["ours"] == pytest.approx(gap, abs=0.01)
    text = page(figures)
    assert "| fit minus logistic regression, points | three |" in text
    assert "no hnas" in text


def test_a_task_of_few_images_keeps_all_test_images(source: str, tmp_path: Path) -> None:
    place = Task("few", source, "1k", images=50).data(tmp_path)
    with np.load(place.removeprefix("npz:")) as arrays:
        assert len(arrays["x_train"]) == len(arrays["y_train"]) == 50
        assert len(arrays["x_test"]) == 60
    assert TASKS["digits-5k"].data(tmp_path) == "digits@8"
