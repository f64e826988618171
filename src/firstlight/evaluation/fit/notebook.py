"""What a fit has decided, and the time that it has used: kept in its folder, so that it can be resumed.

Whatever depends on the clock is decided once. A fit that is started again reads it, and finds all trainings in the
store, so that it ends with the same network. A fit that is given more time keeps everything but the schedule.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from firstlight.core.errors import StoreError
from firstlight.core.events import Callback, Event, ignore
from firstlight.storage.tensor_files import write_whole
from firstlight.training.checkpoint import refuse_others

NOTEBOOK = "decisions.json"


class Notebook:
    """The decisions of a fit, and what was said of them.

    Args:
        folder: Where they are kept; None to keep them in memory.
        settings: Everything that was asked for but the time. A folder with other settings is refused.
        seconds: The time that the fit may take. It may be more than before, but not less.
        callback: Called with a message for each line.

    Attributes:
        lines: What was decided and why, one line each.

    Raises:
        StoreError: If the folder holds another fit, or a damaged one.
    """

    def __init__(
        self, folder: Path | None, settings: Mapping[str, Any], seconds: float, callback: Callback = ignore
    ) -> None:
        self._path = None if folder is None else folder / NOTEBOOK
        self._settings, self._callback = dict(settings), callback
        self._decisions: dict[str, Any] = {}
        self._speeds: dict[str, Any] = {}
        self._schedule: dict[str, Any] = {}
        self._earlier: dict[str, Any] = {}
        self._raised: list[float] = []
        self._before, self._planned = 0.0, 0.0
        self._begin = time.monotonic()
        self.seconds = seconds
        self.lines: list[str] = []
        if self._path is not None and self._path.exists():
            self._read(self._path)
        for before, after in itertools.pairwise([*self._raised, seconds]):
            self.say(
                f"The time was raised from {before:,.0f} to {after:,.0f} seconds: what was measured and trained is "
                "kept, and the rest of the time planned anew."
            )

    def _read(self, path: Path) -> None:
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            earlier, seconds = content["settings"], float(content["seconds"])
            self._decisions, self._speeds = dict(content["decisions"]), dict(content["speeds"])
            self._schedule, self._earlier = dict(content["schedule"]), dict(content["earlier"])
            self._raised, self._before = list(content["raised"]), float(content["elapsed"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StoreError(f"{path} is damaged ({type(error).__name__}). Name another folder with --out.") from error
        refuse_others(path.parent, earlier, self._settings)
        if self.seconds < seconds:
            raise StoreError(
                f"The fit in {path.parent} was given {seconds:,.0f} seconds, and now {self.seconds:,.0f}. Give it the "
                "same time to resume it, or more to go on from what it has (--time), or name another folder with --out."
            )
        if self.seconds > seconds:
            self._earlier, self._schedule = self._earlier | self._schedule, {}
            self._raised.append(seconds)

    @property
    def elapsed(self) -> float:
        """The seconds that the fit has taken so far, without the time in which it did not run."""
        return self._before + time.monotonic() - self._begin

    def begin_plan(self) -> float:
        """Return the seconds that the plan is for; shares of the time that is left are counted from now on."""
        overhead = float(self.measure("seconds before the first plan", lambda: self.elapsed))
        self._planned = float(self.schedule("seconds before the plan", lambda: self.elapsed))
        return max(1.0, self.seconds - overhead)

    def left(self, share: float = 1.0) -> float:
        """Return the seconds that are left until a share of the time of the plan has been used; negative after that."""
        return self._planned + share * (self.seconds - self._planned) - self.elapsed

    def decide(self, name: str, decision: Callable[[], Any]) -> Any:
        """Return a decision that does not depend on the clock: the one that was made before, or a new one.

        Args:
            name: What is decided.
            decision: Returns a value that JSON can hold.
        """
        return self._once(self._decisions, name, decision)

    def measure(self, name: str, measurement: Callable[[], Any]) -> Any:
        """Return a speed that was measured before, or measure it now."""
        return self._once(self._speeds, name, measurement)

    def schedule(self, name: str, decision: Callable[[], Any]) -> Any:
        """Return a decision that depends on the clock. It holds until the fit is given more time."""
        return self._once(self._schedule, name, decision)

    def earlier(self, name: str, default: Any) -> Any:
        """Return what the schedule said before the fit was given more time."""
        return self._earlier.get(name, default)

    def scheduled(self, name: str) -> bool:
        """Return whether the schedule says something."""
        return name in self._schedule

    def _once(self, known: dict[str, Any], name: str, decision: Callable[[], Any]) -> Any:
        if name not in known:
            known[name] = decision()
            self.save()
        return known[name]

    def say(self, line: str) -> None:
        """Say what was decided, and why."""
        self.lines.append(line)
        self._callback(Event("message", note=line))

    def save(self) -> None:
        """Write everything, with the time used so far."""
        if self._path is not None:
            content = {
                "settings": self._settings,
                "seconds": self.seconds,
                "raised": self._raised,
                "decisions": self._decisions,
                "speeds": self._speeds,
                "schedule": self._schedule,
                "earlier": self._earlier,
                "elapsed": self.elapsed,
            }
            write_whole(self._path, json.dumps(content, indent=2).encode())
