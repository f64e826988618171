"""What a person sees while a search goes on, and at its end."""

from __future__ import annotations

import io
import shlex
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

import firstlight
from firstlight import console
from firstlight.algorithms.result import SearchResult
from firstlight.cli import app

EDGES = "[('sep_conv_3x3', 0), ('sep_conv_3x3', 1), ('skip_connect', 0), ('skip_connect', 1), ('skip_connect', 0)]"
GENOTYPE = f"Genotype(normal={EDGES}, normal_concat=range(2, 6), reduce={EDGES}, reduce_concat=range(2, 6))"
TINY: dict[str, Any] = {"cells": 1, "channels": 2}


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> Console:
    """A terminal of 80 columns in place of standard error, without colours."""
    terminal = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None, legacy_windows=False)
    monkeypatch.setattr(console, "notices", terminal)
    return terminal


def shown(progress: Any) -> list[str]:
    """The lines that are on display."""
    terminal = Console(file=io.StringIO(), width=80, color_system=None)
    terminal.print(progress.get_renderable())
    return terminal.file.getvalue().splitlines()  # type: ignore[attr-defined, no-any-return]


@pytest.mark.usefixtures("narrow")
def test_steps_are_one_line_and_the_leading_architecture_another() -> None:
    with console.watching(500) as watcher:
        watcher.states(7, 12, "T 12300, R -12300", GENOTYPE)
        bar, leading = shown(watcher._progress)
        assert bar.startswith("steps ")
        assert " 7/12 " in bar
        assert bar.endswith("T 12300, R -12300")
        assert len(leading) == 80
        assert leading.startswith("now Genotype(normal=[('sep_conv_3x3', 0)")
        assert leading.endswith("…")


@pytest.mark.usefixtures("narrow")
def test_the_network_that_steps_lead_to_is_no_further_step() -> None:
    with console.watching(500) as watcher:
        watcher.states(12, 12, "T 1, R 1", "a network")
        watcher.saw(3.0)
        bar, leading = shown(watcher._progress)
    assert " 12/12 " in bar
    assert bar.endswith("T 1, R 1")
    assert leading == "now a network"
    assert shown(watcher._progress) == [bar]  # the result tells the rest


@pytest.mark.usefixtures("narrow")
def test_networks_are_counted_beside_states_whose_number_is_not_known() -> None:
    with console.watching(4) as watcher:
        watcher.states(1500, None, "", "")
        watcher.saw(0.5)
        watcher.saw(0.25)
        (bar,) = shown(watcher._progress)
    assert bar.startswith("scoring, 1,500 states")
    assert " 2/4 " in bar
    assert bar.endswith("best 0.5000")


# ---------------------------------------- the end of a search


@pytest.fixture(scope="module")
def found() -> SearchResult:
    return firstlight.search(
        "nasbench201",
        algorithm="nasi:steps=3:batch=2",
        input="digits",
        labels="random",
        batch_size=4,
        skeleton=TINY,
        seed=3,
        workers=0,
    )


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    file = io.StringIO()
    monkeypatch.setattr(console, "console", Console(file=file, width=80, highlight=False))
    return file


def test_steps_are_told_from_states(found: SearchResult, printed: io.StringIO) -> None:
    console.show_result(found)
    assert "The chosen network:" in printed.getvalue()
    assert "and 3 steps through the one-shot network" in printed.getvalue()
    other = replace(found, setting=replace(found.setting, algorithm="zero-cost-pt"))
    console.show_result(other)
    assert "and 3 states of the supernet" in printed.getvalue()


def test_what_an_interrupted_search_leads_to(found: SearchResult, printed: io.StringIO) -> None:
    console.show_result(replace(found, finished=False))
    assert "What 3 steps lead to so far:" in printed.getvalue()
    console.show_result(replace(found, finished=False, setting=replace(found.setting, algorithm="random")))
    assert "The best so far, of 1 of 500:" in printed.getvalue()


def test_the_score_command_sees_what_the_search_saw(found: SearchResult) -> None:
    arguments = shlex.split(console._arguments(found))
    assert arguments[arguments.index("--labels") + 1] == "random"
    done = CliRunner().invoke(app, ["score", *arguments])
    assert done.exit_code == 0, done.output
    assert f"ntk_trace_batch: {found.score.value:.6g}" in done.output
    true = arguments[: arguments.index("--labels")] + arguments[arguments.index("--labels") + 2 :]
    assert f"ntk_trace_batch: {found.score.value:.6g}" not in CliRunner().invoke(app, ["score", *true]).output
