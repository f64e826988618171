"""What a person sees while a search goes on."""

from __future__ import annotations

import io
from contextlib import suppress
from typing import Any

import pytest
from rich.console import Console

from firstlight.core.events import Event
from firstlight.views.console import progress

EDGES = "[('sep_conv_3x3', 0), ('sep_conv_3x3', 1), ('skip_connect', 0), ('skip_connect', 1), ('skip_connect', 0)]"
GENOTYPE = f"Genotype(normal={EDGES}, normal_concat=range(2, 6), reduce={EDGES}, reduce_concat=range(2, 6))"


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> Console:
    """A terminal of 80 columns in place of standard error, without colours."""
    terminal = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None, legacy_windows=False)
    monkeypatch.setattr(progress, "notices", terminal)
    return terminal


def shown(bars: Any) -> list[str]:
    """The lines that are on display."""
    terminal = Console(file=io.StringIO(), width=80, color_system=None)
    terminal.print(bars.get_renderable())
    return terminal.file.getvalue().splitlines()  # type: ignore[attr-defined, no-any-return]


@pytest.mark.usefixtures("narrow")
def test_steps_are_one_line_and_the_leading_architecture_another() -> None:
    with progress.watching(500) as watcher:
        watcher(Event("states", 7, 12, note="T 12300, R -12300", architecture=GENOTYPE))
        bar, leading = shown(watcher._progress)
        assert bar.startswith("steps ")
        assert " 7/12 " in bar
        assert bar.endswith("T 12300, R -12300")
        assert len(leading) == 80
        assert leading.startswith("now Genotype(normal=[('sep_conv_3x3', 0)")
        assert leading.endswith("…")


@pytest.mark.usefixtures("narrow")
def test_the_network_that_steps_lead_to_is_no_further_step() -> None:
    with progress.watching(500) as watcher:
        watcher(Event("states", 12, 12, note="T 1, R 1", architecture="a network"))
        watcher.saw(3.0)
        bar, leading = shown(watcher._progress)
    assert " 12/12 " in bar
    assert bar.endswith("T 1, R 1")
    assert leading == "now a network"
    assert shown(watcher._progress) == [bar]  # the result tells the rest


@pytest.mark.usefixtures("narrow")
def test_networks_are_counted_beside_states_whose_number_is_not_known() -> None:
    with progress.watching(4) as watcher:
        watcher(Event("states", 1500))
        watcher.saw(0.5)
        watcher.saw(0.25)
        (bar,) = shown(watcher._progress)
    assert bar.startswith("scoring, 1,500 states")
    assert " 2/4 " in bar
    assert bar.endswith("best 0.5000")


@pytest.mark.usefixtures("narrow")
def test_the_rate_is_that_of_what_is_computed_now() -> None:
    with progress.watching(60) as watcher:
        now = 0.0
        watcher._progress.get_time = lambda: now
        for task in watcher._progress.tasks:
            task._get_time = lambda: now
        for _ in range(20):  # which a store knows
            now += 0.001
            watcher.saw(0.5, reused=True)
        (bar,) = shown(watcher._progress)
        assert " 20/60 " in bar
        assert " -/s -:--:-- left" in bar
        for _ in range(10):
            now += 2.0
            watcher.saw(0.5)
        (bar,) = shown(watcher._progress)
    assert " 30/60 0.5/s 0:01:00 left" in bar


@pytest.mark.usefixtures("narrow")
def test_a_search_that_found_fewer_networks_ends_complete() -> None:
    with progress.watching(18) as watcher:
        for _ in range(14):
            watcher.saw(0.5)
    (bar,) = shown(watcher._progress)
    assert " 14/14 " in bar
    assert " 0:00:00 left" in bar


@pytest.mark.usefixtures("narrow")
def test_a_search_that_was_cut_off_does_not() -> None:
    with suppress(KeyboardInterrupt), progress.watching(18) as watcher:
        watcher.saw(0.5)
        raise KeyboardInterrupt
    assert " 1/18 " in shown(watcher._progress)[0]


# ---------------------------------------- where there is no terminal


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """A file in place of standard error, into which half a minute is nothing."""
    file = io.StringIO()
    monkeypatch.setattr(progress, "notices", Console(file=file, width=80, color_system=None))
    monkeypatch.setattr(progress, "SILENCE", 0.0)
    return file


def test_a_file_gets_plain_lines(log: io.StringIO) -> None:
    with progress.watching(1000) as watcher:
        watcher.saw(2.41)
        watcher.saw(1.0)
        assert log.getvalue().splitlines() == ["scoring: 1 of 1,000, best 2.4100", "scoring: 2 of 1,000, best 2.4100"]
    with progress.watching(500) as watcher:
        watcher(Event("states", 7, 12, note="T 12300, R -12300", architecture=GENOTYPE))
        assert log.getvalue().splitlines()[-1] == "steps: 7 of 12, T 12300, R -12300"
    with progress.counting("measuring") as told:
        told(3, 40)
        assert log.getvalue().splitlines()[-1] == "measuring: 3 of 40"


def test_not_more_often_than_every_half_a_minute(log: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SILENCE", 30.0)
    with progress.watching(9) as watcher:
        now = 0.0
        watcher._progress.get_time = lambda: now
        watcher._progress._said = now
        for now in (10.0, 20.0, 31.0, 40.0, 60.0, 61.0):  # noqa: B007 - which the clock shows
            watcher.saw(1.0)
        said = log.getvalue().splitlines()
    assert said == ["scoring: 3 of 9, best 1.0000", "scoring: 6 of 9, best 1.0000"]


def test_one_network_is_not_worth_a_word(log: io.StringIO) -> None:
    with progress.watching(1) as watcher:
        watcher.saw(1.0)
    assert not log.getvalue()


def test_a_terminal_gets_no_lines(narrow: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SILENCE", 0.0)
    with progress.watching(1000) as watcher:
        watcher.saw(2.41)
    assert "1 of 1,000" not in narrow.file.getvalue()  # type: ignore[attr-defined]
