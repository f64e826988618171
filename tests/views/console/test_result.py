"""What a person reads at the end of a search."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import firstlight as command
from tests.views.console.test_progress import GENOTYPE

import firstlight
from firstlight.search.algorithm import AlgorithmRequest
from firstlight.search.result import SearchResult
from firstlight.search.run_folder import write_architecture
from firstlight.search.summary import _arguments
from firstlight.views.console.result import show_result

TINY: dict[str, Any] = {"cells": 1, "channels": 2}


@pytest.fixture(scope="module")
def found() -> SearchResult:
    return firstlight.search(
        "nasbench201",
        algorithm="nasi:steps=3:batch=2:nu_samples=2",
        input="digits",
        labels="random",
        batch_size=4,
        skeleton=TINY,
        seed=3,
        workers=0,
    )


def test_steps_are_told_from_states(found: SearchResult, capsys: pytest.CaptureFixture[str]) -> None:
    show_result(found)
    said = capsys.readouterr().out
    assert "The chosen network:" in said
    assert "and 3 steps through the one-shot network" in said
    other = replace(found, setting=replace(found.setting, algorithm=AlgorithmRequest.parse("zero-cost-pt")))
    show_result(other)
    assert "and 3 states of the supernet" in capsys.readouterr().out


def test_what_was_known_from_before_is_told(found: SearchResult, capsys: pytest.CaptureFixture[str]) -> None:
    show_result(found)
    assert "before" not in capsys.readouterr().out
    show_result(replace(found, states_reused=2, score_seconds=5.0, reused_seconds=3.25))
    said = " ".join(capsys.readouterr().out.split())
    assert "3 steps through the one-shot network, 2 of them reused." in said
    assert "took 5.0 s of compute time in total (3.2 s of it earlier), as much as" in said


def test_what_an_interrupted_search_leads_to(found: SearchResult, capsys: pytest.CaptureFixture[str]) -> None:
    show_result(replace(found, finished=False))
    assert "The network after 3 steps so far:" in capsys.readouterr().out
    show_result(
        replace(found, finished=False, setting=replace(found.setting, algorithm=AlgorithmRequest.parse("random")))
    )
    assert "The best network so far (1 of 500 scored):" in capsys.readouterr().out


def test_commands_to_go_on_with_can_be_pasted_into_a_shell(
    found: SearchResult, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["/my tools/firstlight-2"])
    genotype = replace(found.best, architecture=GENOTYPE)
    show_result(replace(found, best=genotype, directory=Path("runs/it's mine")))
    report, train, export, score = (
        shlex.split(line) for line in capsys.readouterr().out.splitlines() if "/my tools" in line
    )
    assert report == ["/my tools/firstlight-2", "report", "runs/it's mine"]
    assert train[1:5] == ["train", "runs/it's mine", "--data", "digits"]
    assert train[5:] == ["--skeleton", "channels=2,cells=1", "--out", "runs/it's mine/trained"]
    assert export == ["/my tools/firstlight-2", "export", "runs/it's mine/trained", "-o", "runs/it's mine/exported"]
    assert score[1:4] == ["score", "nasbench201", "--from"]
    assert score[4] == "runs/it's mine/architecture.txt"


def test_the_score_command_sees_what_the_search_saw(found: SearchResult, tmp_path: Path) -> None:
    write_architecture(tmp_path, found)
    arguments = shlex.split(_arguments(replace(found, directory=tmp_path)))
    assert arguments[arguments.index("--labels") + 1] == "random"
    assert f"ntk_trace_batch: {found.score.value:.6g}" in command("score", *arguments).stdout
    true = arguments[: arguments.index("--labels")] + arguments[arguments.index("--labels") + 2 :]
    assert f"ntk_trace_batch: {found.score.value:.6g}" not in command("score", *true).stdout


@pytest.mark.parametrize(("proxy", "best_first"), [("params", max), ("ntk_condition", min)])
def test_a_front_shows_its_best_networks_with_their_costs(
    proxy: str, best_first: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firstlight.views.console.result.SHOWN_OF_FRONT", 2)
    result = firstlight.search(
        "nasbench201",
        proxy=proxy,
        algorithm="pareto:population=6",
        objectives="macs,memory",
        samples=30,
        batch_size=4,
        skeleton=TINY,
        workers=0,
    )
    assert len(result.front) > 2
    show_result(result)
    said = capsys.readouterr().out
    assert f"The Pareto front, {len(result.front)} networks" in said
    assert f"... and {len(result.front) - 2} more." in said
    assert " bytes of memory" in said
    shown = [line.split() for line in said.splitlines() if line.strip().startswith(tuple("0123456789")) and "|" in line]
    first, second = (float(row[0].replace(",", "")) for row in shown)
    assert first == best_first(first, second) > 0
