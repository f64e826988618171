"""A search that a fault strikes in the middle: it is run again until it ends, and compared with one left alone."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from firstlight.search.result import RESULT_NAME
from firstlight.storage.store import STORE_NAME, Store

NETWORKS = 40
SEARCH = (
    f"search nasbench201 --algorithm evolution:population=10:tournament=4:children=2 --samples {NETWORKS} "
    "--proxy naswot --batch-size 4 --skeleton channels=4,cells=1"
).split()
# More than any search here needs to end by itself, on the slowest machine
PATIENCE = 300

Process = subprocess.Popen[bytes]
Scores = dict[tuple[str, str], tuple[float | None, str]]  # by architecture and proxy: the value and the status


@contextmanager
def nothing_special(folder: Path) -> Iterator[Mapping[str, str]]:
    yield {}


@dataclass(frozen=True)
class Fault:
    """What `strike` does to a running search; `around` it are the folder's surroundings and variables it needs."""

    name: str
    strike: Callable[[Process, random.Random, Path], None]
    around: Callable[[Path], AbstractContextManager[Mapping[str, str]]] = nothing_special
    arguments: tuple[str, ...] = ("--workers", "2")  # where the search runs
    quick: bool = False  # one of the few that every test run tries


@dataclass(frozen=True)
class Findings:
    """What became of a search that was struck."""

    stored: int  # scores that were in the store when the search had ended or died
    lost: int  # of those, how many were missing or different afterwards
    written: int  # scores that were ever put into the store
    different: int  # and of how many different networks
    equal: bool  # the final result and all its scores are those of a search left alone

    @property
    def twice(self) -> int:
        return self.written - self.different


def left_alone(folder: Path) -> Path:
    """A folder with the result that all others must have, found in one process."""
    assert run(folder, ("--workers", "0")).wait(PATIENCE) == 0
    return folder


def disturbed(fault: Fault, folder: Path, rng: random.Random, expected: Path) -> Findings:
    with fault.around(folder) as variables:
        _count_writes(folder)
        process = run(folder, fault.arguments, variables)
        _wait_for(folder, process, rng.randrange(NETWORKS))
        fault.strike(process, rng, folder)
        process.wait(PATIENCE)
        stored = scores_of(folder)
        again = run(folder, fault.arguments, variables)
        assert again.wait(PATIENCE) == 0, f"{fault.name}: the search cannot be resumed"
        final = scores_of(folder)
        return Findings(
            stored=len(stored),
            lost=sum(final.get(key) != score for key, score in stored.items() if score[1] != "failed"),
            written=_written(folder),
            different=len(final),
            equal=best_of(folder) == best_of(expected) and final.items() >= scores_of(expected).items(),
        )


def run(folder: Path, arguments: Sequence[str], variables: Mapping[str, str] = MappingProxyType({})) -> Process:
    command = [sys.executable, "-m", "firstlight", *SEARCH, *arguments, "--out", str(folder)]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, env={**os.environ, **variables}, stdout=quiet, stderr=quiet)


def best_of(folder: Path) -> tuple[str, float]:
    best = json.loads((folder / RESULT_NAME).read_text())["best"]
    return best["architecture"], best["scores"]["naswot"]["value"]


def scores_of(folder: Path) -> Scores:
    with closing(sqlite3.connect(folder / STORE_NAME)) as store:
        rows = store.execute("SELECT architecture, proxy, value, status FROM scores").fetchall()
    return {(architecture, proxy): (value, status) for architecture, proxy, value, status in rows}


def _wait_for(folder: Path, process: Process, scores: int) -> None:
    """Until there are so many, or the search has ended."""
    give_up = time.monotonic() + PATIENCE
    while process.poll() is None and len(scores_of(folder)) < scores:
        assert time.monotonic() < give_up, f"there are not even {scores} scores"
        time.sleep(0.005)


def _count_writes(folder: Path) -> None:
    """Have the store itself count what is ever written, for the program would not know after it was killed."""
    folder.mkdir(parents=True, exist_ok=True)
    Store(folder / STORE_NAME).close()
    with closing(sqlite3.connect(folder / STORE_NAME)) as store, store:
        store.execute("CREATE TABLE writes (architecture TEXT)")
        store.execute(
            "CREATE TRIGGER count_writes AFTER INSERT ON scores BEGIN INSERT INTO writes VALUES (new.architecture); END"
        )


def _written(folder: Path) -> int:
    with closing(sqlite3.connect(folder / STORE_NAME)) as store:
        (count,) = store.execute("SELECT count(*) FROM writes").fetchone()
    return int(count)
