"""What a fit has decided, and the time that it has used: kept in its folder, so that it can be resumed.

Decisions that depend on the clock are made once. A fit that is started again reads them, and finds all trainings in the
store, so that it ends with the same network.
"""

from __future__ import annotations

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
        settings: Everything that was asked for. A folder with other settings is refused.
        seconds: The time that the fit may take.
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
        self._known: dict[str, Any] = {}
        self._before, self._planned = 0.0, 0.0
        self._begin = time.monotonic()
        self.seconds = seconds
        self.lines: list[str] = []
        if self._path is not None and self._path.exists():
            try:
                content = json.loads(self._path.read_text(encoding="utf-8"))
                earlier, self._known, self._before = content["settings"], content["decisions"], content["elapsed"]
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise StoreError(
                    f"{self._path} is damaged ({type(error).__name__}). Name another folder with --out."
                ) from error
            refuse_others(self._path.parent, earlier, self._settings)

    @property
    def elapsed(self) -> float:
        """The seconds that the fit has taken so far, without the time in which it did not run."""
        return self._before + time.monotonic() - self._begin

    def begin_plan(self) -> float:
        """Return the seconds that are left for the plan; shares of the time are counted from now on."""
        self._planned = float(self.decide("seconds before the plan", lambda: self.elapsed))
        return max(1.0, self.seconds - self._planned)

    def left(self, share: float = 1.0) -> float:
        """Return the seconds that are left until a share of the time of the plan has been used; negative after that."""
        return self._planned + share * (self.seconds - self._planned) - self.elapsed

    def decide(self, name: str, decision: Callable[[], Any]) -> Any:
        """Return a decision: the one that was made before, or a new one, which is kept.

        Args:
            name: What is decided.
            decision: Returns a value that JSON can hold.
        """
        if name not in self._known:
            self._known[name] = decision()
            self.save()
        return self._known[name]

    def knows(self, name: str) -> bool:
        """Return whether it was decided before."""
        return name in self._known

    def say(self, line: str) -> None:
        """Say what was decided, and why."""
        self.lines.append(line)
        self._callback(Event("message", note=line))

    def save(self) -> None:
        """Write everything, with the time used so far."""
        if self._path is not None:
            content = {"settings": self._settings, "decisions": self._known, "elapsed": self.elapsed}
            write_whole(self._path, json.dumps(content, indent=2).encode())
