"""Progress of long work, on standard error: a live line for each stage, driven by events."""

from __future__ import annotations

import math
import threading
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
SILENCE = 5.0
# Seconds between two looks at the clock, for steps that take long
BEAT = 1.0
STAGES = {
    "scoring": "scoring",
    "measuring": "measuring a pool",
    "states": "steps",
    "warm-up": "training shared weights",
    "training": "training",
    "retraining": "retraining the best",
    "finals": "training finalists",
    "judging": "resampling",
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
    """Bars, with the leading architecture below them; without a terminal, a plain line every few seconds.

    The lines come from a thread of their own, so that a long step is not silent either.
    """

    leading = ""
    _said = _began = 0.0
    _current: TaskID | None = None

    def start(self) -> None:
        self._said = self._began = self.get_time()
        super().start()
        if not self.disable and not self.console.is_terminal:
            self._ended = threading.Event()
            threading.Thread(target=self._speak_on, daemon=True).start()

    def stop(self) -> None:
        if not self.disable and not self.console.is_terminal:
            self._ended.set()
        super().stop()

    def update(self, task_id: TaskID, **changes: Any) -> None:
        super().update(task_id, **changes)
        if self._tasks[task_id].visible:
            self._current = task_id
            self.speak()

    def _speak_on(self) -> None:
        while not self._ended.wait(BEAT):
            self.speak()

    def speak(self) -> None:
        """Print a line about what is being done, if there was none for a while."""
        with self._lock:
            if self.disable or self.console.is_terminal or self.get_time() - self._said < SILENCE:
                return
            self._said = self.get_time()
            words = self._words() or f"working, {timedelta(seconds=round(self._said - self._began))} so far"
        self.console.print(words, markup=False, soft_wrap=True)

    def _words(self) -> str:
        task = None if self._current is None else self._tasks.get(self._current)
        if task is None or not task.visible:
            return ""
        done = f"{task.completed:,.0f}" + (f" of {task.total:,.0f}" if task.total else "")
        return ", ".join(filter(None, (f"{task.description}: {done}", task.fields.get("note"))))

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from super().get_renderables()
        if self.leading:
            yield Text(f"now {self.leading}", no_wrap=True, overflow="ellipsis", style="dim")


class Display:
    """Shows events: how much of each stage is done, how fast, and the best network so far."""

    def __init__(self, progress: _Lines) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}
        self._rounds: dict[str, int] = {}
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
        known = self._task(stage)
        if known is None or event.done < known.completed:  # the same kind of work begins again
            if known is not None:
                self._progress.remove_task(known.id)
            self._rounds[stage] = number = self._rounds.get(stage, 0) + 1
            name = STAGES.get(stage, stage) + (f", round {number}" if number > 1 else "")
            pace = self._progress.tasks[0] if stage == "scoring" else None
            self._tasks[stage] = self._progress.add_task(name, total=event.total, note="", visible=False, pace=pace)
        changes: dict[str, Any] = {"description": description} if description else {}
        visible = event.total is None or event.total > 1
        self._progress.update(
            self._tasks[stage], completed=event.done, total=event.total, note=note, visible=visible, **changes
        )

    def _task(self, stage: str) -> Task | None:
        return next((task for task in self._progress.tasks if task.id == self._tasks.get(stage)), None)

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
            known = self._task("scoring")
            total = int(known.total) if known and known.total is not None else None
            shown = Event("scoring", int(known.completed) if known else 0, total)
            self._update("scoring", shown, "", description=f"scoring, {event.done:,} states")
        else:
            self._counts_states = True
            self._progress.leading = event.architecture
            self._update("states", event, event.note)


@contextmanager
def showing() -> Iterator[Callback]:
    """Show events on standard error while the block runs; without a terminal, a new line every few seconds."""
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
