"""The command as a person and as a machine use it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.command import CELL, SILENT, SMALL, firstlight

from firstlight import __version__


def test_help_explains_with_examples() -> None:
    done = subprocess.run([sys.executable, "-m", "firstlight", "--version"], capture_output=True, text=True, check=True)
    assert __version__ in done.stdout
    assert "search" in firstlight("--help").stdout
    for command in ("proxies", "spaces", "score", "rank", "search", "report"):
        assert f"For example:\nfirstlight {command}" in firstlight(command, "--help").stdout


def test_listings() -> None:
    proxies = json.loads(firstlight("proxies", "--json").stdout)
    assert {"dextr", "independence", "curvature", "params", "macs"} <= {entry["name"] for entry in proxies}
    assert all({"higher_is_better", "needs_labels", "reference"} <= entry.keys() for entry in proxies)
    spaces = json.loads(firstlight("spaces", "--json").stdout)
    assert [entry["architectures"] for entry in spaces if entry["name"] == "nasbench201"] == [15_625]
    assert "15,625" in firstlight("spaces").stdout
    table, ensembles, uses = firstlight("proxies", columns=140).stdout.split("\n\n")
    lines = table.splitlines()
    assert [line.split()[0] for line in lines] == ["proxy", *(entry["name"] for entry in proxies)]
    assert all(line.split()[1] in ("higher", "lower") for line in lines[1:])
    listed = json.loads(firstlight("proxies", "--ensembles", "--json").stdout)
    assert {"az_nas", "log_rank", "rank_mean"} <= {entry["name"] for entry in listed}
    assert [line.split()[0] for line in ensembles.splitlines()] == ["ensemble", *(entry["name"] for entry in listed)]
    assert "firstlight rank nasbench201 --samples 100 --by" in uses


def test_everything_about_one_proxy() -> None:
    text = firstlight("proxies", "dextr").stdout
    for fact in ("M = ln(1 + S)", "Higher is better", "variant=paper", "(paper,", "seven forward", "TMLR,"):
        assert fact in text
    known = json.loads(firstlight("proxies", "zico", "--json").stdout)
    assert (known["name"], known["batches"], known["settings"]) == ("zico", 2, {"batches": 2, "per": "network"})
    assert known["formula"].startswith("M = sum over layers")
    assert known["citation"].startswith("Guihong Li")


def test_everything_about_one_ensemble() -> None:
    text = firstlight("proxies", "az_nas").stdout
    for fact in ("az_expressivity, az_progressivity, az_trainability, macs", "--by az_nas", "CVPR, 2024"):
        assert fact in text
    assert json.loads(firstlight("proxies", "az_nas", "--json").stdout)["members"][-1] == "macs"


def test_scores_as_json_in_the_order_asked(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text(f"# nothing goes through it:\n{SILENT}\n\n  # a good one\n{CELL}\n")
    asked = ("score", "nasbench201", CELL, "--from", "list.txt", "--proxy", "dextr,params", "--json", *SMALL)
    rows = [json.loads(line) for line in firstlight(*asked, folder=tmp_path).stdout.splitlines()]
    assert [row["architecture"] for row in rows] == [CELL, SILENT, CELL]
    assert {row["space"] for row in rows} == {"nasbench201"}
    assert rows[0]["scores"]["dextr"].keys() == {"value", "parts", "status", "note", "seconds", "higher_is_better"}
    assert rows[0]["cost"]["params"] == rows[0]["scores"]["params"]["value"]
    assert rows[1]["scores"]["dextr"]["value"] == 0
    assert "no curvature" in rows[1]["scores"]["dextr"]["note"]


def test_architectures_from_standard_input() -> None:
    done = firstlight("score", "nasbench201", "--from", "-", "--proxy", "params", *SMALL, stdin=CELL)
    assert CELL in done.stdout
    assert "parameters" in done.stdout


def test_a_bad_line_is_named_and_nothing_usable_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text(f"{CELL}\n|nonsense|\n")
    done = firstlight("score", "nasbench201", "--from", "list.txt", folder=tmp_path, code=1)
    assert "Line 2 of list.txt" in done.stderr
    (tmp_path / "mine.py").write_text(
        "from torch import nn\nnet = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.BatchNorm2d(1))\n"
    )
    firstlight(
        "score",
        "mine:net",
        "--input-shape",
        "1,1,1",
        "--batch-size",
        "2",
        "--proxy",
        "curvature",
        folder=tmp_path,
        code=1,
    )


def test_a_model_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from torch import nn\n"
        "def lazy():\n    return nn.LazyLinear(2)\n"
        "def small():\n    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())\n"
        "def broken():\n    return nn.Linear(7, 2)\n"
        "def text():\n    return 'net'\n"
        "def raises(width):\n    return width\n"
        "same = small()\n"
        "number = 3\n"
    )
    done = firstlight("score", "mine:small", "--input-shape", "1,8,8", "--proxy", "all", "--json", folder=tmp_path)
    row = json.loads(done.stdout)
    assert row["scores"]["dextr"]["status"] == "ok"
    assert row["cost"] == {"params": 40, "macs": 9 * 4 * 36}
    again = firstlight("score", "mine:small", "--input-shape", "1,8,8", "--proxy", "all", "--json", folder=tmp_path)
    assert json.loads(again.stdout)["scores"]["dextr"]["value"] == row["scores"]["dextr"]["value"]
    instance = firstlight("score", "mine:same", "--input-shape", "1x8x8", "--json", folder=tmp_path)
    assert json.loads(instance.stdout)["scores"]["dextr"]["status"] == "ok"
    for target, message in (
        ("mine:raises", "raises() failed: TypeError"),
        ("mine:lazy", "lazy layers"),
        (":net", "cannot be imported"),
        ("mine:broken", "forward pass failed on (1, 1, 8, 8)"),
        ("mine:text", "mine:text is neither a model nor a function that builds one"),
        ("mine:number", "mine:number is neither a model nor a function that builds one, but a int"),
        ("mine:missing", "cannot be imported"),
        ("nowhere:net", "cannot be imported"),
    ):
        failed = firstlight("score", target, "--input-shape", "1,8,8", folder=tmp_path, code=1)
        assert message in failed.stdout + failed.stderr


@pytest.mark.parametrize("command", ["score", "rank"])
def test_ctrl_c_ends_with_a_word(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("firstlight.scoring.service.ScoreService.scores", interrupted)
    done = firstlight(command, "nasbench201", CELL, "--proxy", "params", *SMALL, code=130)
    assert done.stderr.endswith("\nInterrupted.\n")


def test_search_report_and_resume(tmp_path: Path) -> None:
    command = ("search", "nasbench201", "--samples", "6", "--max-params", "1.0M", *SMALL)
    first = firstlight(*command, "--json", folder=tmp_path)
    result = json.loads(first.stdout)
    counts, effort = {"samples", "scored", "reused", "rejected"}, {"seconds", "score_seconds", "reused_seconds"}
    words = {"notes", "effort", "next_steps", "versions"}
    assert (
        result.keys()
        == {"best", "finished", "directory", "forward_passes", "options", "drawing", "stages"} | words | counts | effort
    )
    assert result["best"].keys() == {"architecture", "scores", "cost"}
    assert (result["scored"], result["reused"]) == (6, 0)
    again = firstlight(*command, folder=tmp_path)
    assert "0 networks scored and 6 reused" in again.stdout
    (folder,) = (tmp_path / "runs").iterdir()
    assert f"python -m firstlight report runs/{folder.name}" in again.stdout
    report = json.loads(firstlight("report", f"runs/{folder.name}", "--json", folder=tmp_path).stdout)
    assert (tmp_path / report["report"]).read_text().startswith("<!doctype html>")


def test_a_search_by_an_ensemble(tmp_path: Path) -> None:
    command = ("search", "nasbench201", "--samples", "3", "--proxy", "az_nas", "--batch-size", "4", *SMALL)
    done = firstlight(*command, "--out", "run", folder=tmp_path)
    assert "ranks among 3 networks as shares" in done.stdout
    assert "--proxy az_expressivity,az_progressivity,az_trainability,macs,params" in done.stdout
    best = json.loads(firstlight(*command, "--out", "run", "--json", folder=tmp_path).stdout)["best"]
    assert best["scores"].keys() == {"az_nas", "az_expressivity", "az_progressivity", "az_trainability", "macs"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("proxies", "dexter"), "Did you mean 'dextr'"),
        (("score", "nasbench202", CELL), "Did you mean 'nasbench201'"),
        (("score", "nasbench201", CELL, "--proxy", "dexter"), "Did you mean 'dextr'"),
        (("score", "nasbench201", CELL, "--proxy", ","), "No proxy was named"),
        (("score", "nasbench201", "|none~0|+"), "at character"),
        (("score", "nasbench201"), "`firstlight rank nasbench201 --samples 20`"),
        (("score", "nasbench201", "--from", "nowhere.txt"), "cannot be read"),
        (("score", "nasbench201", CELL, "--input", "cifar11"), "cifar11"),
        (("score", "nasbench201", CELL, "--skeleton", "channels"), "cannot be read as a setting of the skeleton"),
        (("score", "torch.nn:Identity", CELL), "takes no architectures"),
        (("score", "nasbench201", CELL, "--logits", "out"), "Only your own models take logits"),
        (("score", "nasbench201", CELL, "--input-shape", "3,8,8"), "the input_shape of their skeleton"),
        (("score", "nasbench201", CELL, "--device", "abacus"), "device 'abacus' cannot be used"),
        (("search", "nasbench201", "--proxy", "dextr,params"), "names several proxies"),
        (("search", "nasbench201", "--algorithm", "randon"), "Did you mean 'random'"),
        (("search", "nasbench201", "--executor", "cloud"), "no executor 'cloud'"),
        (("search", "transnas-macro", "--max-params", "10"), "The closest one has"),
        (("report", "nowhere"), "holds no run"),
    ],
)
def test_bad_input_gets_a_clear_error(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = firstlight(*arguments, folder=tmp_path, code=1)
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.usefixtures("interruptible")
def test_interrupting_a_search_loses_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "firstlight", "search", "nasbench201", "--samples", "3000", "--out", "run", *SMALL]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True)
    store = tmp_path / "run" / "store.sqlite-wal"
    deadline = time.monotonic() + 300
    while not (store.exists() and store.stat().st_size > 100_000) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert store.exists(), "the search did not get going"
    os.killpg(process.pid, signal.SIGINT)  # what Ctrl-C does: the workers get it too
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "run the same command again" in errors
    assert "Traceback" not in errors
    report = firstlight("report", "run", folder=tmp_path)
    assert "report.html" in report.stdout
