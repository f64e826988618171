"""Finals: a few networks are trained once for each seed on an executor, and tested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from firstlight.core.errors import SettingError, StoreError
from firstlight.core.events import Callback, Event, ignore
from firstlight.execution.executor import Executor, Lost
from firstlight.training.finalists import Finalist, FinalJob, FinalResult
from firstlight.training.trained import Trained

# The folder in that of a run
FINALS = "finals"


def train_finalists(
    finalists: Sequence[Finalist],
    seeds: Sequence[int],
    executor: Executor,
    folder: Path | None = None,
    *,
    known: Mapping[tuple[str, int], Trained] = MappingProxyType({}),
    callback: Callback = ignore,
) -> list[FinalResult]:
    """Train each finalist once for each seed, and test it.

    Args:
        finalists: The networks; their names differ.
        seeds: The seeds.
        executor: Where to train.
        folder: Where trainings are kept. No known result is computed again.
        known: Trainings that are done, by the name of the finalist and the seed.
        callback: Called with an event after each training.

    Raises:
        SettingError: If no seed is given, or if finalists have the same name.
    """
    names = [finalist.name for finalist in finalists]
    if not seeds or len(set(names)) < len(names):
        raise SettingError(f"Train {', '.join(names)} with at least one seed, and give each another name.")
    tasks = [(finalist, seed) for seed in seeds for finalist in finalists]
    found = dict(known)
    missing = [(finalist, seed) for finalist, seed in tasks if (finalist.name, seed) not in found]
    if folder is not None and missing:
        folder.mkdir(parents=True, exist_ok=True)  # a cluster checks whether its nodes see the folder
    for (finalist, seed), trained in executor.map(FinalJob(folder), missing):
        if isinstance(trained, Lost):
            raise StoreError(f"The training of {finalist.title} with seed {seed} was lost: {trained.reason}")
        found[finalist.name, seed] = trained
        callback(Event("finals", len(found), len(tasks)))
    return [FinalResult(entry, tuple(found[entry.name, seed] for seed in seeds)) for entry in finalists]
