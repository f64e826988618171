"""What a person sees while work goes on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from rich.console import RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from firstlight.core.events import Event
from firstlight.search.objective import Candidate
from firstlight.views.console.terminal import notices

# After so many seconds without a word, a line says how far the work is
SILENCE = 30.0


def _speed(task: Task) -> float | None:
    """Of what is computed now, if that is counted by itself: what is known from before comes at once."""
    pace: Task = task.fields.get("pace") or task
    return pace.speed


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        speed = _speed(task)
        return Text(f"{speed:.1f}/s" if speed else "-/s", style="cyan")


class _Left(ProgressColumn):
    max_refresh = 0.5

    def render(self, task: Task) -> Text:
        speed, remaining = _speed(task), task.remaining
        known = task.finished or (speed and remaining is not None)
        left = 0 if task.finished or not speed else math.ceil((remaining or 0) / speed)
        return Text(str(timedelta(seconds=left)) if known else "-:--:--", style="progress.remaining")


class _Lines(Progress):
    """Bars; where there is no terminal to draw them on, a plain line now and then."""

    _said = 0.0

    def start(self) -> None:
        self._said = self.get_time()
        super().start()

    def update(self, task_id: TaskID, **changes: Any) -> None:
        super().update(task_id, **changes)
        task = self.tasks[task_id]
        speaks = task.visible and not self.disable and not self.console.is_terminal
        if speaks and self.get_time() - self._said >= SILENCE:
            self._said = self.get_time()
            done = f"{task.completed:,.0f}" + (f" of {task.total:,.0f}" if task.total else "")
            words = ", ".join(filter(None, (f"{task.description}: {done}", task.fields.get("best"))))
            self.console.print(words, markup=False, soft_wrap=True)


class _Scoring(_Lines):
    """A bar, and below it the architecture that a search leads to so far, as much of it as fits into one line."""

    leading = ""

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from super().get_renderables()
        if self.leading:
            yield Text(f"now {self.leading}", no_wrap=True, overflow="ellipsis", style="dim")


class Watcher:
    """Shows events: counts networks as they are scored, and shows the best value so far."""

    def __init__(self, progress: _Scoring, total: int, what: str) -> None:
        self._progress = progress
        self._what = what
        # neither is shown until there is something to see
        self._judging = progress.add_task("judging a pool", total=None, best="", visible=False)
        self._warming = progress.add_task("training shared weights", total=None, best="", visible=False)
        self._computed = progress.add_task("", total=None, best="", visible=False)  # never shown: the pace of the next
        pace = progress.tasks[self._computed]
        self._task = progress.add_task(what, total=total, best="", visible=False, pace=pace)
        self._retraining = progress.add_task("training the best", total=None, best="", visible=False)
        self._best: float | None = None
        self._counts_states = False

    def __call__(self, event: Event) -> None:
        if isinstance(event.item, Candidate):
            self.saw(event.item.utility, reused=event.item.network.reused)
        elif event.stage == "states":
            self._states(event)
        elif event.stage == "scoring":
            self._progress.leading = f"{event.architecture} ({event.note})"
        else:
            bars = {"measuring": self._judging, "warm-up": self._warming, "retraining": self._retraining}
            self._progress.update(bars[event.stage], completed=event.done, total=event.total, visible=True)

    def saw(self, value: float | None, *, reused: bool = False) -> None:
        if self._counts_states:
            return
        if value is not None and (self._best is None or value > self._best):
            self._best = value
        best = "" if self._best is None else f"best {self._best:.4f}"
        if not reused:
            self._progress.update(self._computed, advance=1)
        self._progress.update(self._task, advance=1, best=best, visible=True)

    def ends(self) -> None:
        """There was nothing more to do, also where less was found than was asked for."""
        for task in self._progress.tasks:
            if task.total is not None and 0 < task.completed < task.total:
                self._progress.update(task.id, total=task.completed)

    def _states(self, event: Event) -> None:
        """Where their number is known, they are what is counted, and networks are not."""
        if event.total is None:
            self._progress.update(self._task, description=f"{self._what}, {event.done:,} states", visible=True)
            return
        self._counts_states = True
        self._progress.leading = event.architecture
        self._progress.update(
            self._task, description="steps", completed=event.done, total=event.total, best=event.note, visible=True
        )


@contextmanager
def watching(total: int, what: str = "scoring") -> Iterator[Watcher]:
    """A live line on standard error: done/total, rate, time left, best so far.

    Written into a file, it is a new line every half a minute.
    """
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        _Left(),
        TextColumn("left  {task.fields[best]}"),
    )
    with _Scoring(*columns, console=notices, disable=total < 2) as progress:
        try:
            watcher = Watcher(progress, total, what)
            yield watcher
            watcher.ends()
        finally:
            progress.leading = ""  # what was found is told with the result


@contextmanager
def phases() -> Iterator[Callable[[str], Callable[[int, int], None]]]:
    """Live lines on standard error, one for each phase of the work, which show once it has begun."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with _Lines(*columns, console=notices) as progress:

        def phase(what: str) -> Callable[[int, int], None]:
            task = progress.add_task(what, total=None, visible=False)
            return lambda done, total: progress.update(task, completed=done, total=total, visible=True)

        yield phase


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None]]:
    """One such line, moved on by calls with how much is done, and of how much."""
    with phases() as phase:
        yield phase(what)
