"""Devices on the command line."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.command import firstlight
from tests.scoring.devices.test_results import table, written

from firstlight.scoring.devices.model import device_names, find_device


def test_all_are_listed() -> None:
    known = json.loads(firstlight("device", "list", "--json").stdout)
    assert [entry["name"] for entry in known] == device_names()
    shown = firstlight("device", "list").stdout
    assert all(name in shown for name in device_names())


def test_one_is_described() -> None:
    model = find_device("pixel3")
    assert json.loads(firstlight("device", "show", "pixel3", "--json").stdout) == model.to_dict()
    shown = firstlight("device", "show", "pixel3").stdout
    assert model.title in shown
    assert f"{model.error:.1%} in cross-validation" in shown


def test_a_model_of_your_own(tmp_path: Path) -> None:
    written(tmp_path, table())
    assert (
        "Fitted on 20 networks" in firstlight("device", "fit", "measured.csv", "--name", "mine", folder=tmp_path).stdout
    )
    shown = firstlight("device", "show", "mine.json", folder=tmp_path).stdout
    assert "measured.csv, 20 networks of nasbench201" in shown
    refused = firstlight("device", "fit", "measured.csv", "--name", "mine", "-o", "mine.txt", folder=tmp_path, code=1)
    assert "Write mine.json" in refused.stderr


def test_an_unknown_one_is_told_the_known_ones() -> None:
    assert "Did you mean 'pixel3'" in firstlight("device", "show", "pixel33", code=1).stderr


def test_a_search_by_estimates_says_that_they_are_estimates(tmp_path: Path) -> None:
    done = firstlight(
        *("search", "nasbench201", "--samples", "4", "--proxy", "params", "--skeleton", "channels=4,cells=1"),
        *("--algorithm", "pareto", "--objectives", "latency,flash,ram", "--latency", "device:raspi4", "--workers", "0"),
        *("--precision", "int8", "--out", "run"),
        folder=tmp_path,
    )
    assert "estimates for Raspberry Pi 4" in " ".join(done.stdout.split())
    content = json.loads((tmp_path / "run" / "result.json").read_text())
    assert content["settings"]["latency"] == "device:raspi4"
    assert content["settings"]["precision"] == "int8"
    assert all({"flash", "ram", "latency"} <= network["cost"].keys() for network in content["front"])
