"""What a person sees while a search goes on."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from firstlight.console import progress

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
    with progress.watching(500) as watcher:
        watcher.states(12, 12, "T 1, R 1", "a network")
        watcher.saw(3.0)
        bar, leading = shown(watcher._progress)
    assert " 12/12 " in bar
    assert bar.endswith("T 1, R 1")
    assert leading == "now a network"
    assert shown(watcher._progress) == [bar]  # the result tells the rest


@pytest.mark.usefixtures("narrow")
def test_networks_are_counted_beside_states_whose_number_is_not_known() -> None:
    with progress.watching(4) as watcher:
        watcher.states(1500, None, "", "")
        watcher.saw(0.5)
        watcher.saw(0.25)
        (bar,) = shown(watcher._progress)
    assert bar.startswith("scoring, 1,500 states")
    assert " 2/4 " in bar
    assert bar.endswith("best 0.5000")
