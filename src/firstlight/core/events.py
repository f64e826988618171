"""Progress of long work: one event object, and one signature for all callbacks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Stage = Literal[
    "scoring", "measuring", "states", "warm-up", "training", "retraining", "finals", "judging", "reading", "message"
]


@dataclass(frozen=True)
class Event:
    """Something that happened during long work.

    Attributes:
        stage: What is being done: "scoring" networks, "measuring" a pool by proxies, looking at "states" of a supernet,
            "warm-up" of shared weights, "training" networks, "retraining" the best ones, "finals" for trainings of
            finalists and baselines, "judging" proxies by resampling, "reading" files; or a "message" in the note.
        done: Number of steps of the stage that are done.
        total: Total number of steps; None if unknown.
        item: What was just finished: a `Candidate` or a `NetworkScore`, an epoch, or None.
        note: A remark to show next to the counts.
        architecture: The text of the architecture that the event is about; "" if there is none.

    >>> seen = []
    >>> result = firstlight.search("nasbench201", proxy="params", samples=3, workers=0, callback=seen.append)
    >>> [(event.stage, event.done, event.total) for event in seen]
    [('scoring', 1, 3), ('scoring', 2, 3), ('scoring', 3, 3)]
    """

    stage: Stage
    done: int = 0
    total: int | None = None
    item: Any = None
    note: str = ""
    architecture: str = ""


Callback = Callable[[Event], None]


def ignore(event: Event) -> None:
    """Do nothing; the default callback."""
