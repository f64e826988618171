"""The store: one SQLite file that holds every score, evaluation and run.

Each result is committed as it arrives, under a key that contains everything it depends on. An interrupted run that is
started again makes the same requests in the same order, and finds what was computed before.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, astuple
from pathlib import Path
from sqlite3 import OperationalError
from types import TracebackType
from typing import Any, TypeVar

from firstlight.core.errors import StoreError
from firstlight.proxies.base import Score
from firstlight.storage.database import MEMORY, explained, open_database
from firstlight.storage.environment import Environment, this_environment
from firstlight.storage.outcome import TrainingResult
from firstlight.storage.records import EvaluationKey, Run, ScoreKey, Trial
from firstlight.storage.rows import (
    DamagedRowError,
    damage,
    damaged_error,
    read_environment,
    read_evaluation,
    read_run,
    read_score,
    read_trial,
)

# Results that may change the next time; they are stored for the record, and computed again when they are needed
PASSING_STATUSES = ("failed", "out_of_memory")
STORE_NAME = "store.sqlite"
# SQLite compares any text as larger than any number
_IS_TIME = "trials.elapsed BETWEEN 0 AND 1e12"


Found = TypeVar("Found", Score, TrainingResult)


@contextmanager
def open_store(directory: Path | None, file: Path | None = None, *, same_versions: bool = False) -> Iterator[Store]:
    """Open the store of a run's folder, or a file that several runs share; by default one in memory.

    Folders are created. If the context fails before anything is stored, everything that was created is removed.

    Args:
        directory: The folder of the run.
        file: The file of a shared store.
        same_versions: As in `Store`.
    """
    path = directory / STORE_NAME if directory and not file else file
    if path is None:
        with Store(MEMORY, same_versions=same_versions) as store:
            yield store
        return
    is_new = not path.exists()
    folders = [path.parent, directory or path.parent]
    made = [place for folder in folders for place in (folder, *folder.parents) if not place.exists()]
    try:
        for folder in folders:
            make_folder(folder)
        with Store(path, same_versions=same_versions) as store:
            try:
                yield store
            except BaseException:
                if is_new:
                    store.remove_if_useless()
                raise
    except BaseException:
        for folder in made:
            with suppress(OSError):  # it may not be empty
                folder.rmdir()
        raise


def find_store(path: Path) -> Path:
    """Return the store with this path, or in the folder with this path."""
    file = path / STORE_NAME if path.is_dir() else path
    if not file.is_file():
        raise StoreError(
            f"There is no store {file}. Give the folder of a run, such as runs/mine, or the file given by --store."
        )
    return file


def make_folder(directory: Path) -> None:
    """Create a folder if it does not exist."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"The folder {directory} cannot be created: {error}. Name another one with --out.") from error


class Store:
    """Scores, evaluations and runs in an SQLite file, which several processes may use at the same time.

    Args:
        path: The file, which is created if it does not exist; ":memory:" keeps everything in memory.
        same_versions: Ignore results of another version of PyTorch or another kind of processor, whose digits may
            differ.

    Raises:
        StoreError: If the file cannot be used.

    Example:
        >>> from firstlight.storage.store import Store
        >>> with Store(":memory:") as store:
        ...     store.is_empty()
        True
    """

    def __init__(self, path: Path | str, *, same_versions: bool = False) -> None:
        self.path = str(path)
        self.same_versions = same_versions
        self._connection = open_database(self.path)
        if self.path != MEMORY and not Path(self.path).exists():
            self._connection.close()  # another process has just removed the file it had created
            self._connection = open_database(self.path)
        self._environments: dict[int | None, Environment | None] = {None: None}
        self._own_environment: int | None = None
        # The results that were reused from each environment that may differ, each counted once
        self._reused_from: dict[int | None, set[int]] = defaultdict(set)
        self._damaged: set[int] = set()

    @property
    def folder(self) -> Path | None:
        """The folder of the file; None for a store in memory."""
        return None if self.path == MEMORY else Path(self.path).parent

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def remove_if_useless(self) -> None:
        """Delete the file if it holds no result and no other process has it open."""
        with suppress(OperationalError):  # this fails while another process is connected
            self._connection.execute("PRAGMA busy_timeout = 0")
            self._connection.execute("PRAGMA journal_mode = DELETE")
            self._connection.execute("BEGIN EXCLUSIVE")
            if self.is_empty():
                Path(self.path).unlink(missing_ok=True)
            self._connection.execute("ROLLBACK")

    def is_empty(self) -> bool:
        """Return True if there is no result; a run that has just started is none."""
        ((found,),) = self._execute(
            "SELECT EXISTS (SELECT 1 FROM scores UNION ALL SELECT 1 FROM evaluations UNION ALL SELECT 1 FROM trials)"
        )
        return not found

    def find_score(self, key: ScoreKey) -> Score | None:
        """Return the stored score; None if there is none, or if its status may change the next time."""
        rows = self._execute(
            "SELECT environment, status, value, parts, note, seconds FROM scores "
            "WHERE (space, skeleton, architecture, proxy, revision, input, seed) = (?, ?, ?, ?, ?, ?, ?)",
            key.as_tuple(),
        )
        return self._reusable(key, rows[0], read_score) if rows else None

    def add_score(self, key: ScoreKey, score: Score) -> None:
        """Store a score."""
        value = score.value if score.ok else None
        self._execute(
            f"INSERT OR REPLACE INTO scores VALUES ({', '.join('?' * 13)})",
            (
                *key.as_tuple(),
                value,
                json.dumps(dict(score.parts)),
                score.status,
                score.note,
                score.seconds,
                self._here(),
            ),
        )

    def find_evaluation(self, key: EvaluationKey) -> TrainingResult | None:
        """Return the stored result; None if there is none, or if its status may change the next time."""
        rows = self._execute(
            "SELECT environment, status, accuracy, epochs, note, seconds FROM evaluations "
            "WHERE (space, skeleton, architecture, data, recipe, seed, revision) = (?, ?, ?, ?, ?, ?, ?)",
            astuple(key),
        )
        return self._reusable(key, rows[0], read_evaluation) if rows else None

    def add_evaluation(self, key: EvaluationKey, result: TrainingResult) -> None:
        """Store the result of a training."""
        epochs = json.dumps([asdict(epoch) for epoch in result.epochs])
        self._execute(
            f"INSERT OR REPLACE INTO evaluations VALUES ({', '.join('?' * 13)})",
            (*astuple(key), result.accuracy, epochs, result.status, result.note, result.seconds, self._here()),
        )

    def count_evaluations(self) -> int:
        """Return the number of trainings whose results are stored."""
        ((count,),) = self._execute("SELECT count(*) FROM evaluations")
        return int(count)

    def accuracies(self, space: str) -> list[tuple[str, str, int, float]]:
        """Return the finished trainings of a space: architecture, data, number of epochs, and accuracy in percent.

        Args:
            space: The name of the space.
        """
        rows = self._execute(
            "SELECT architecture, data, status, accuracy, epochs, note, seconds FROM evaluations "
            "WHERE space = ? OR substr(space, 1, length(?) + 1) = ? || '@' ORDER BY data, recipe, architecture, seed",
            (space, space, space),
        )
        found = []
        for architecture, data, *row in rows:
            try:
                result = read_evaluation(*row)
            except DamagedRowError:
                continue
            if result.accuracy is not None:
                found.append((str(architecture), str(data), len(result.epochs), 100 * result.accuracy))
        return found

    def remarks(self) -> list[str]:
        """Return notes on reused results from other environments, and on results that could not be read."""
        unread = len(self._damaged)
        damaged = f"{unread} stored {'result was' if unread == 1 else 'results were'} damaged and computed again."
        return [damaged] * bool(unread) + [
            f"{len(found)} reused {'result was' if len(found) == 1 else 'results were'} computed by "
            f"{self._environments[identifier] or 'versions that were not recorded'}; this is {this_environment()}, so "
            "digits may differ. Use --same-versions to compute them again."
            for identifier, found in self._reused_from.items()
        ]

    def begin_run(self, settings: dict[str, Any], version: str, seed: int) -> Run:
        """Return the run with exactly these settings: the stored one, to be resumed, or a new one."""
        text = json.dumps(settings, sort_keys=True)
        self._execute("INSERT OR IGNORE INTO runs (settings, version, seed) VALUES (?, ?, ?)", (text, version, seed))
        ((identifier,),) = self._execute("SELECT id FROM runs WHERE settings = ?", (text,))
        return self.run(identifier)

    def run(self, identifier: int) -> Run:
        """Return a run by its number."""
        rows = self._execute(
            "SELECT id, settings, version, started, finished, result FROM runs WHERE id = ?", (identifier,)
        )
        if not rows:
            raise StoreError(f"{self.path} has no run {identifier}.")
        try:
            return read_run(*rows[0])
        except DamagedRowError as error:
            raise damaged_error(self.path, f"runs, id {identifier}: {error}") from None

    def runs(self) -> list[Run]:
        """Return all runs in the order in which they were started."""
        return [self.run(identifier) for (identifier,) in self._execute("SELECT id FROM runs ORDER BY id")]

    def activity(self) -> tuple[int | float, ...]:
        """Return numbers that change whenever a report would, so that a live report reads nothing else meanwhile."""
        (of_runs,) = self._execute(
            "SELECT count(*), count(finished), total(length(result)), (SELECT count(*) FROM trials), "
            "(SELECT total(elapsed) + total(utility) FROM trials), (SELECT count(*) FROM scores), "
            "(SELECT count(*) FROM evaluations) FROM runs"
        )
        return tuple(of_runs)

    def finish_run(self, run: Run, result: dict[str, Any]) -> None:
        """Store the result of a run, and mark it as finished."""
        self.keep_result(run, result)
        self._execute("UPDATE runs SET finished = CURRENT_TIMESTAMP WHERE id = ?", (run.id,))

    def keep_result(self, run: Run, result: dict[str, Any]) -> None:
        """Store the result of a run so far."""
        self._execute("UPDATE runs SET result = ? WHERE id = ?", (json.dumps(result), run.id))

    def add_trial(self, run: Run, trial: Trial) -> None:
        """Store a trial of a run; a repeated one keeps its first time, if that is valid."""
        self._execute(
            "INSERT INTO trials VALUES (?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (run, architecture) DO UPDATE SET (params, macs, utility, elapsed, dear_costs) = "
            "(excluded.params, excluded.macs, excluded.utility, "
            f"CASE WHEN {_IS_TIME} THEN trials.elapsed ELSE excluded.elapsed END, excluded.dear_costs)",
            (
                run.id,
                trial.architecture,
                None if trial.cost is None else trial.cost.params,
                None if trial.cost is None else trial.cost.macs,
                trial.utility,
                trial.elapsed,
                json.dumps(trial.expensive_costs),
            ),
        )

    def elapsed(self, run: Run) -> float:
        """Return the seconds from the start of a run to its last trial."""
        ((seconds,),) = self._execute(f"SELECT max(elapsed) FROM trials WHERE run = ? AND {_IS_TIME}", (run.id,))
        return float(seconds or 0.0)

    def set_utilities(self, run: Run, utilities: Mapping[str, float | None]) -> None:
        """Set the utilities of trials by architecture: those of an ensemble are known when all are scored."""
        rows = [(utility, run.id, architecture) for architecture, utility in utilities.items()]
        with explained(self.path), self._connection:  # all of them or none
            self._connection.execute("BEGIN")
            self._connection.executemany("UPDATE trials SET utility = ? WHERE run = ? AND architecture = ?", rows)

    def trials(self, run: Run) -> list[Trial]:
        """Return the trials of a run in the order of their times."""
        rows = self._execute(
            "SELECT architecture, params, macs, utility, elapsed, dear_costs FROM trials WHERE run = ? "
            "ORDER BY elapsed, architecture",
            (run.id,),
        )
        try:
            return [read_trial(*row) for row in rows]
        except DamagedRowError:
            what = next(filter(None, (damage("trials", (run.id, *row)) for row in rows)))
            raise damaged_error(self.path, what) from None

    def _execute(self, statement: str, values: tuple[Any, ...] = ()) -> list[Any]:
        with explained(self.path):
            return self._connection.execute(statement, values).fetchall()

    def _reusable(self, key: ScoreKey | EvaluationKey, row: Sequence[Any], read: Callable[..., Found]) -> Found | None:
        environment, *values = row
        try:
            found = read(*values)
            if environment not in self._environments:
                columns = "firstlight, torch, python, cpu"
                rows = self._execute(f"SELECT {columns} FROM environments WHERE id = ?", (environment,))
                self._environments[environment] = read_environment(*rows[0]) if rows else None
        except DamagedRowError:
            self._damaged.add(hash(key))
            return None
        return found if found.status not in PASSING_STATUSES and self._is_comparable(key, environment) else None

    def _is_comparable(self, key: ScoreKey | EvaluationKey, environment: int | None) -> bool:
        if this_environment().may_differ(self._environments[environment]):
            if self.same_versions:
                return False
            self._reused_from[environment].add(hash(key))
        return True

    def _here(self) -> int:
        """Return the number of this environment, which is stored with its first result."""
        if self._own_environment is None:
            values = astuple(this_environment())
            self._execute(
                "INSERT OR IGNORE INTO environments (firstlight, torch, python, cpu) VALUES (?, ?, ?, ?)", values
            )
            ((self._own_environment,),) = self._execute(
                "SELECT id FROM environments WHERE (firstlight, torch, python, cpu) = (?, ?, ?, ?)", values
            )
        return self._own_environment
