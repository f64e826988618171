"""What a person sees while long work goes on."""

from __future__ import annotations

import io
import threading
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from firstlight.core.events import Event
from firstlight.views.console import progress

EDGES = "[('sep_conv_3x3', 0), ('sep_conv_3x3', 1), ('skip_connect', 0), ('skip_connect', 1), ('skip_connect', 0)]"
GENOTYPE = f"Genotype(normal={EDGES}, normal_concat=range(2, 6), reduce={EDGES}, reduce_concat=range(2, 6))"


def scored(done: int, total: int | None, utility: float, *, reused: bool = False) -> Event:
    """The event of a network that a search has scored."""
    return Event("scoring", done, total, SimpleNamespace(utility=utility, network=SimpleNamespace(reused=reused)))


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> Console:
    """A terminal of 80 columns in place of standard error, without colors."""
    terminal = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None, legacy_windows=False)
    monkeypatch.setattr(progress, "notices", terminal)
    return terminal


def shown(callback: Any) -> list[str]:
    """The lines that are on display."""
    terminal = Console(file=io.StringIO(), width=80, color_system=None)
    terminal.print(callback._progress.get_renderable())
    return terminal.file.getvalue().splitlines()  # type: ignore[attr-defined, no-any-return]


def told(callback: Any, *events: Event) -> list[str]:
    for event in events:
        callback(event)
    return shown(callback)


@pytest.mark.usefixtures("narrow")
def test_steps_are_one_line_and_the_leading_architecture_another() -> None:
    with progress.showing() as callback:
        bar, leading = told(callback, Event("states", 7, 12, note="T 12300, R -12300", architecture=GENOTYPE))
        assert bar.startswith("steps ")
        assert " 7/12 " in bar
        assert bar.endswith("T 12300, R -12300")
        assert len(leading) == 80
        assert leading.startswith("now Genotype(normal=[('sep_conv_3x3', 0)")
        assert leading.endswith("…")


@pytest.mark.usefixtures("narrow")
def test_the_network_that_steps_lead_to_is_no_further_step() -> None:
    with progress.showing() as callback:
        steps = Event("states", 12, 12, note="T 1, R 1", architecture="a network")
        bar, leading = told(callback, steps, scored(1, 500, 3.0))
    assert " 12/12 " in bar
    assert bar.endswith("T 1, R 1")
    assert leading == "now a network"
    assert shown(callback) == [bar]  # the result tells the rest


@pytest.mark.usefixtures("narrow")
def test_networks_are_counted_beside_states_whose_number_is_not_known() -> None:
    with progress.showing() as callback:
        (bar,) = told(callback, Event("states", 1500), scored(1, 4, 0.5), scored(2, 4, 0.25))
    assert bar.startswith("scoring, 1,500 states")
    assert " 2/4 " in bar
    assert bar.endswith("best 0.5000")


@pytest.mark.usefixtures("narrow")
def test_how_a_network_came_to_be_asked_about_is_shown() -> None:
    with progress.showing() as callback:
        asked = Event("scoring", 0, 4, note="child of 3", architecture="a network")
        bar, leading = told(callback, scored(1, 4, 0.5), asked)
    assert " 1/4 " in bar
    assert leading == "now a network (child of 3)"


@pytest.mark.usefixtures("narrow")
def test_each_stage_has_a_line() -> None:
    stages = ("measuring", "warm-up", "training", "retraining", "reading")
    with progress.showing() as callback:
        bars = told(callback, *(Event(stage, 2, 5, note=f"note of {stage}") for stage in stages))  # type: ignore[arg-type]
    for bar, stage in zip(bars, stages, strict=True):
        assert bar.startswith(progress.STAGES[stage])
        assert " 2/5 " in bar


@pytest.mark.usefixtures("narrow")
def test_the_rate_is_that_of_what_is_computed_now() -> None:
    with progress.showing() as callback:
        now = 0.0
        bars: Any = callback
        bars._progress.get_time = lambda: now
        bars._progress.tasks[0]._get_time = lambda: now
        for done in range(20):  # which a store knows
            now += 0.001
            callback(scored(done + 1, 60, 0.5, reused=True))
        (bar,) = shown(callback)
        assert " 20/60 " in bar
        assert " -/s -:--:-- left" in bar
        for done in range(20, 30):
            now += 2.0
            callback(scored(done + 1, 60, 0.5))
        (bar,) = shown(callback)
    assert " 30/60 0.5/s 0:01:00 left" in bar


@pytest.mark.usefixtures("narrow")
def test_a_search_that_found_fewer_networks_ends_complete() -> None:
    with progress.showing() as callback:
        for done in range(14):
            callback(scored(done + 1, 18, 0.5))
    (bar,) = shown(callback)
    assert " 14/14 " in bar
    assert " 0:00:00 left" in bar


@pytest.mark.usefixtures("narrow")
def test_a_search_that_was_cut_off_does_not() -> None:
    with suppress(KeyboardInterrupt), progress.showing() as callback:
        callback(scored(1, 18, 0.5))
        raise KeyboardInterrupt
    assert " 1/18 " in shown(callback)[0]


# ---------------------------------------- where there is no terminal


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """A file in place of standard error, into which half a minute is nothing."""
    file = io.StringIO()
    monkeypatch.setattr(progress, "notices", Console(file=file, width=80, color_system=None))
    monkeypatch.setattr(progress, "SILENCE", 0.0)
    monkeypatch.setattr(progress, "BEAT", 1e6)
    return file


def test_a_file_gets_plain_lines(log: io.StringIO) -> None:
    with progress.showing() as callback:
        callback(scored(1, 1000, 2.41))
        callback(scored(2, 1000, 1.0))
        assert log.getvalue().splitlines() == ["scoring: 1 of 1,000, best 2.4100", "scoring: 2 of 1,000, best 2.4100"]
        callback(Event("states", 7, 12, note="T 12300, R -12300", architecture=GENOTYPE))
        assert log.getvalue().splitlines()[-1] == "steps: 7 of 12, T 12300, R -12300"
        callback(Event("reading", 3, None, note="rows"))
        assert log.getvalue().splitlines()[-1] == "reading: 3, rows"
        callback(Event("message", note="Ray was started with 2 CPUs."))
        assert log.getvalue().splitlines()[-1] == "Ray was started with 2 CPUs."


def test_not_more_often_than_every_few_seconds(log: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SILENCE", 30.0)
    with progress.showing() as callback:
        now = 0.0
        bars: Any = callback
        bars._progress.get_time = lambda: now
        bars._progress._said = now
        for done, now in enumerate((10.0, 20.0, 31.0, 40.0, 60.0, 61.0)):  # noqa: B007 - which the clock shows
            callback(scored(done + 1, 9, 1.0))
        said = log.getvalue().splitlines()
    assert said == ["scoring: 3 of 9, best 1.0000", "scoring: 6 of 9, best 1.0000"]


def test_one_network_is_not_worth_a_word(log: io.StringIO) -> None:
    with progress.showing() as callback:
        callback(scored(1, 1, 1.0))
    assert not log.getvalue().strip()


def test_a_terminal_gets_no_lines(narrow: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SILENCE", 0.0)
    with progress.showing() as callback:
        callback(scored(1, 1000, 2.41))
    assert "1 of 1,000" not in narrow.file.getvalue()  # type: ignore[attr-defined]


def test_a_long_step_is_not_silent(log: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "BEAT", 0.01)
    with progress.showing():
        waited = threading.Event()
        while not log.getvalue():
            waited.wait(0.01)
    assert log.getvalue().splitlines()[0] == "working, 0:00:00 so far"


def test_counts_never_go_backwards(log: io.StringIO) -> None:
    with progress.showing() as callback:
        for done, total in ((1, 2), (2, 2), (1, 3)):
            callback(Event("training", done, total))
        assert log.getvalue().splitlines() == ["training: 1 of 2", "training: 2 of 2", "training, round 2: 1 of 3"]


def test_states_leave_the_count_of_networks_as_it_is(log: io.StringIO) -> None:
    with progress.showing() as callback:
        callback(scored(2, 4, 0.5))
        callback(Event("states", 1500))
        assert log.getvalue().splitlines()[-1] == "scoring, 1,500 states: 2 of 4"
