"""A whole fit, on a few digits: its folder, its page, and that an interrupted one ends as if it had not been."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tests.cli.command import firstlight as command

import firstlight
from firstlight.core.errors import SettingError, StoreError
from firstlight.core.events import Event
from firstlight.evaluation.fit.notebook import NOTEBOOK
from firstlight.storage.store import STORE_NAME, Store

# too short for anything but what is always done, so that the number of trainings does not depend on the machine
SHORT = {"time": "1s", "max_params": "2k", "workers": 0}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    from sklearn.datasets import load_digits

    images, labels = load_digits(n_class=3, return_X_y=True)
    path = tmp_path_factory.mktemp("data") / "three.npz"
    np.savez(path, x=images[:150].reshape(-1, 8, 8).astype(np.uint8), y=labels[:150])
    return f"npz:{path}"


@pytest.fixture(scope="module")
def fitted(data: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[firstlight.Fit, Path]:
    folder = tmp_path_factory.mktemp("fits") / "run"
    return firstlight.fit(data, out=folder, **SHORT), folder


def without_time(content: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in content.items() if name != "seconds"}


def test_the_result_is_one_object_with_the_figures(fitted: tuple[firstlight.Fit, Path]) -> None:
    found, _ = fitted
    content = found.to_dict()
    assert list(content) == ["best", "baseline", "verdict", "trained", "screened", "seconds"]
    assert list(content["verdict"]) == ["text", "difference", "interval"]
    for name in ("best", "baseline"):
        entry = content[name]
        assert {"architecture", "space", "params", "macs", "test_accuracy"} <= entry.keys()
        assert entry["params"] <= 2000
        assert 0 <= entry["test_accuracy"] <= 1
    assert content["trained"] >= 2
    assert content["baseline"]["name"] != "found"
    json.dumps(content)


def test_every_decision_is_told(fitted: tuple[firstlight.Fit, Path]) -> None:
    found, folder = fitted
    told = "\n".join(found.decisions)
    for words in (
        "120 samples of",
        "Plain networks within the limits",
        "Learning rates",
        "Plan for",
        "Plain networks after",
    ):
        assert words in told
    page = (folder / "report.html").read_text()
    assert found.verdict.text.partition(". ")[0].rstrip(".") in page
    assert "Which samples were used for what" in page
    assert "Plan for" in page


def test_the_folder_is_that_of_a_trained_network(fitted: tuple[firstlight.Fit, Path], tmp_path: Path) -> None:
    found, folder = fitted
    assert found.exported == folder / "exported"
    assert found.chosen.model is not None
    weights = load_file(folder / "exported" / "weights.safetensors")
    for name, tensor in found.chosen.model.state_dict().items():
        assert torch.equal(weights[name], tensor)
    again = firstlight.export(folder, out=tmp_path / "again", format="json,safetensors")
    assert again.architecture == found.best.finalist.architecture
    assert again.inputs == found.chosen.inputs


def test_a_finished_fit_is_answered_from_its_folder(data: str, fitted: tuple[firstlight.Fit, Path]) -> None:
    found, folder = fitted
    seen: list[Event] = []
    again = firstlight.fit(data, out=folder, callback=seen.append, **SHORT)
    assert without_time(again.to_dict()) == without_time(found.to_dict())
    assert again.decisions == found.decisions
    assert all(trained.known for entry in again.finalists for trained in entry.trainings)


def with_schedule_of(folder: Path, other: Path, **settings: Any) -> Path:
    """Return another folder in which the clock has decided as in the first; all else is yet to be done."""
    content = json.loads((folder / NOTEBOOK).read_text())
    content |= {"decisions": {}, "settings": content["settings"] | settings}
    other.mkdir()
    (other / NOTEBOOK).write_text(json.dumps(content))
    return other


@pytest.mark.parametrize("after", [2, 14])
def test_an_interrupted_fit_ends_as_if_it_had_not_been(
    data: str, after: int, fitted: tuple[firstlight.Fit, Path], tmp_path: Path
) -> None:
    """It is stopped after so many events."""
    found, folder = fitted
    count = 0

    def stop(event: Event) -> None:
        nonlocal count
        count += 1
        if count > after:
            raise KeyboardInterrupt

    again = with_schedule_of(folder, tmp_path / "run")
    with pytest.raises(KeyboardInterrupt):
        firstlight.fit(data, out=again, callback=stop, **SHORT)
    assert without_time(firstlight.fit(data, out=again, **SHORT).to_dict()) == without_time(moved(found, again))


KILLED = """
import os, signal, sys, firstlight
def kill(event):
    if event.stage == "training":
        os.kill(os.getpid(), signal.SIGKILL)
firstlight.fit(sys.argv[1], out=sys.argv[2], time="1s", max_params="2k", workers=0, callback=kill)
"""


def test_a_fit_that_is_killed_ends_as_if_it_had_not_been(
    data: str, fitted: tuple[firstlight.Fit, Path], tmp_path: Path
) -> None:
    found, folder = fitted
    again = with_schedule_of(folder, tmp_path / "run")
    killed = subprocess.run([sys.executable, "-c", KILLED, data, str(again)], check=False)
    assert killed.returncode == -signal.SIGKILL
    with Store(again / STORE_NAME) as store:
        assert store.count_evaluations() == 1
    assert without_time(firstlight.fit(data, out=again, **SHORT).to_dict()) == without_time(moved(found, again))


def moved(found: firstlight.Fit, folder: Path) -> dict[str, Any]:
    """Return a result as if it were in another folder."""
    return dict(json.loads(json.dumps(found.to_dict()).replace(str(found.directory), str(folder))))


def test_the_test_samples_decide_nothing(data: str, tmp_path: Path) -> None:
    """With other test images and labels, every decision is the same. What depends on the clock is held fixed."""
    arrays = dict(np.load(data.removeprefix("npz:")))
    keep = {"x_train": arrays["x"][:120], "y_train": arrays["y"][:120]}
    rng = np.random.default_rng(0)
    for name in ("one", "two"):
        tests = {"x_test": rng.integers(0, 17, (30, 8, 8)).astype(np.uint8), "y_test": rng.integers(0, 3, 30)}
        np.savez(tmp_path / f"{name}.npz", **keep, **tests)
    first = firstlight.fit(f"npz:{tmp_path / 'one.npz'}", out=tmp_path / "one", **SHORT)
    with_schedule_of(tmp_path / "one", tmp_path / "two", data=f"npz:{tmp_path / 'two.npz'}")
    second = firstlight.fit(f"npz:{tmp_path / 'two.npz'}", out=tmp_path / "two", **SHORT)
    assert first.decisions == second.decisions
    assert [entry.finalist.architecture for entry in first.finalists] == [
        entry.finalist.architecture for entry in second.finalists
    ]
    assert first.best.validation == second.best.validation
    assert first.best.answers.accuracies != second.best.answers.accuracies


def test_more_time_goes_on_from_what_is_there(data: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    first = firstlight.fit(data, out=folder, **SHORT)
    with Store(folder / STORE_NAME) as store:
        before = store.count_evaluations()
    more = SHORT | {"time": "2s"}
    seen: list[Event] = []
    second = firstlight.fit(data, out=folder, callback=seen.append, **more)
    assert second.decisions[0].startswith("The time was raised from 1 to 2 seconds")
    assert second.seconds > first.seconds
    assert second.trained >= first.trained
    trained = [event for event in seen if event.stage == "training"]
    with Store(folder / STORE_NAME) as store:
        assert store.count_evaluations() == before + len(trained)  # nothing is trained again
    kept = json.loads((folder / NOTEBOOK).read_text())
    assert kept["schedule"]["final epochs"] >= kept["earlier"]["final epochs"]
    assert without_time(firstlight.fit(data, out=folder, **more).to_dict()) == without_time(second.to_dict())
    with pytest.raises(StoreError, match=r"was given 2 seconds, and now 1\. Give it the same time"):
        firstlight.fit(data, out=folder, **SHORT)


def test_another_fit_is_not_overwritten(data: str, fitted: tuple[firstlight.Fit, Path]) -> None:
    _, folder = fitted
    with pytest.raises(StoreError, match="holds another training: limits was"):
        firstlight.fit(data, out=folder, **(SHORT | {"max_params": "3k"}))
    with pytest.raises(SettingError, match="keeps everything in its own folder"):
        firstlight.fit(data, store="x.sqlite", **SHORT)


def test_the_command_prints_the_verdict_or_the_object(data: str, fitted: tuple[firstlight.Fit, Path]) -> None:
    found, folder = fitted
    asked = ["fit", data, "--time", "1s", "--max-params", "2k", "--workers", "0", "--out", str(folder)]
    shown = command(*asked).stdout
    assert found.verdict.text in shown
    assert found.best.finalist.architecture in shown
    content = json.loads(command(*asked, "--json").stdout)
    assert without_time(content) == without_time(found.to_dict())
    assert "is not a duration" in command("fit", data, "--time", "soon", code=1).stderr
