"""Progress of long work, on standard error: a live line for each stage, driven by events."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from rich.console import RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.text import Text

from firstlight.core.events import Callback, Event
from firstlight.views.console.terminal import notices

# Without a terminal, a plain line is printed after this many seconds of silence.
SILENCE = 30.0
STAGES = {
    "scoring": "scoring",
    "measuring": "measuring a pool",
    "states": "steps",
    "warm-up": "training shared weights",
    "training": "training",
    "retraining": "retraining the best",
    "finals": "training finalists",
    "reading": "reading",
}


def _speed(task: Task) -> float | None:
    """Return the rate of what is computed now: results from the store come at once."""
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
    """Bars, with the leading architecture below them; without a terminal, a plain line now and then."""

    leading = ""
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
            words = ", ".join(filter(None, (f"{task.description}: {done}", task.fields.get("note"))))
            self.console.print(words, markup=False, soft_wrap=True)

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from super().get_renderables()
        if self.leading:
            yield Text(f"now {self.leading}", no_wrap=True, overflow="ellipsis", style="dim")


class Display:
    """Shows events: how much of each stage is done, how fast, and the best network so far."""

    def __init__(self, progress: _Lines) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}
        self._computed = progress.add_task("", total=None, note="", visible=False)  # never shown: the pace of scoring
        self._best: float | None = None
        self._counts_states = False

    def __call__(self, event: Event) -> None:
        if event.stage == "message":
            notices.print(event.note, markup=False, soft_wrap=True)
        elif event.stage == "scoring":
            self._scored(event)
        elif event.stage == "states":
            self._saw_states(event)
        else:
            self._update(event.stage, event, note=event.note)

    def end(self) -> None:
        """Complete the bars: there was nothing more to do, also where less was found than asked for."""
        for task in self._progress.tasks:
            if task.total is not None and 0 < task.completed < task.total:
                self._progress.update(task.id, total=task.completed)

    def _update(self, stage: str, event: Event, note: str, description: str = "") -> None:
        if stage not in self._tasks:
            pace = self._progress.tasks[0] if stage == "scoring" else None
            self._tasks[stage] = self._progress.add_task(
                STAGES.get(stage, stage), total=event.total, note="", visible=False, pace=pace
            )
        changes: dict[str, Any] = {"description": description} if description else {}
        visible = event.total is None or event.total > 1
        self._progress.update(
            self._tasks[stage], completed=event.done, total=event.total, note=note, visible=visible, **changes
        )

    def _scored(self, event: Event) -> None:
        if event.note and event.architecture:  # how the network came to be asked about
            self._progress.leading = f"{event.architecture} ({event.note})"
        if self._counts_states or (event.item is None and not event.done):
            return
        utility = getattr(event.item, "utility", None)
        if utility is not None and (self._best is None or utility > self._best):
            self._best = utility
        network = getattr(event.item, "network", event.item)
        if not getattr(network, "reused", False):
            self._progress.update(self._computed, advance=1)
        self._update("scoring", event, "" if self._best is None else f"best {self._best:.4f}")

    def _saw_states(self, event: Event) -> None:
        """Where the number of states is known, they are counted instead of networks."""
        if event.total is None:
            shown = Event("scoring", 0, None)
            self._update("scoring", shown, "", description=f"scoring, {event.done:,} states")
        else:
            self._counts_states = True
            self._progress.leading = event.architecture
            self._update("states", event, event.note)


@contextmanager
def showing() -> Iterator[Callback]:
    """Show events on standard error while the block runs; without a terminal, a new line every half a minute."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        _Left(),
        TextColumn("left  {task.fields[note]}"),
    )
    with _Lines(*columns, console=notices) as progress:
        display = Display(progress)
        try:
            yield display
            display.end()
        finally:
            progress.leading = ""
