"""One SQLite file holding every score, every evaluation and every run.

Each result is committed as it arrives, under a key that names everything it depends on. A run that is cut off and
started again asks for the same in the same order and finds what was computed before.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, astuple, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from firstlight.cost import Cost
from firstlight.errors import StoreError
from firstlight.proxies import Score
from firstlight.run.outcome import Epoch, TrainingResult
from firstlight.run.schema import MIGRATIONS

# Marks the file as ours ("1stL"), so that nobody else's database is written into
APPLICATION_ID = 0x3173744C
# What may be different the next time: these are kept for the record and computed again when asked for
_PASSING_STATUSES = ("failed", "out_of_memory")


STORE_NAME = "store.sqlite"


@contextmanager
def open_store(directory: Path | None) -> Iterator[Store]:
    """The store of a run's folder, which is made if it is not there; without one, all is forgotten afterwards.

    What fails before it has stored anything leaves nothing behind that was not there before.
    """
    if directory is None:
        with Store(":memory:") as store:
            yield store
        return
    path = directory / STORE_NAME
    is_new = not path.exists()
    made = [folder for folder in (directory, *directory.parents) if not folder.exists()]
    try:
        make_folder(directory)
        with Store(path) as store:
            try:
                yield store
            except BaseException:
                if is_new:
                    store.remove_if_useless()
                raise
    except BaseException:
        with suppress(OSError):  # as far as nothing has come to lie there; the error is what matters
            for folder in made:
                folder.rmdir()
        raise


def make_folder(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"The folder {directory} cannot be made: {error}. Name another one with --out.") from error


@dataclass(frozen=True)
class ScoreKey:
    """Everything that a score depends on."""

    space: str
    skeleton: str
    architecture: str
    proxy: str
    revision: int
    input: str
    seed: int

    def as_tuple(self) -> tuple[str | int, ...]:
        return self.space, self.skeleton, self.architecture, self.proxy, self.revision, self.input, self.seed


@dataclass(frozen=True)
class EvaluationKey:
    """Everything that the accuracy of a trained network depends on."""

    space: str
    skeleton: str
    architecture: str
    data: str
    recipe: str
    seed: int
    revision: int


@dataclass(frozen=True)
class Trial:
    """One network looked at in a run: what it costs, how well it did (None: no score, or none yet), and when."""

    architecture: str
    cost: Cost
    utility: float | None
    elapsed: float
    dear_costs: dict[str, float] = field(default_factory=dict)  # those that not every run asks for

    def amount(self, cost: str) -> float:
        return float(self.dear_costs[cost] if cost in self.dear_costs else getattr(self.cost, cost))

    def as_json(self) -> dict[str, Any]:
        costs = asdict(self.cost) | self.dear_costs
        return {"architecture": self.architecture, "utility": self.utility, "cost": costs, "elapsed": self.elapsed}


@dataclass(frozen=True)
class Run:
    id: int
    settings: dict[str, Any]
    version: str
    started: str
    finished: str | None
    result: dict[str, Any] | None


class Store:
    """`Store(path)` opens or creates the file; `Store(":memory:")` keeps everything for the life of the object."""

    def __init__(self, path: Path | str) -> None:
        self.path = str(path)
        self._open()
        if self.path != ":memory:" and not Path(self.path).exists():
            self._connection.close()  # in this moment another process has removed what it had made
            self._open()

    @property
    def folder(self) -> Path | None:
        """Where the file lies; None for a store that is in memory only."""
        return None if self.path == ":memory:" else Path(self.path).parent

    def _open(self) -> None:
        with self._explained():
            self._connection = sqlite3.connect(self.path, isolation_level=None, timeout=60)
            try:
                version = self._check_owner()
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute("PRAGMA synchronous = NORMAL")
                if version < len(MIGRATIONS):  # else whoever only reads need not wait for those who write
                    self._migrate()
            except BaseException:
                self._connection.close()  # which also undoes a migration that was under way
                raise

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def remove_if_useless(self) -> None:
        """Delete the file if it holds no result and no one else has it open."""
        with suppress(sqlite3.OperationalError):  # others are there: this fails while anyone else is connected
            self._connection.execute("PRAGMA busy_timeout = 0")
            self._connection.execute("PRAGMA journal_mode = DELETE")
            self._connection.execute("BEGIN EXCLUSIVE")
            if self.is_empty():
                Path(self.path).unlink(missing_ok=True)
            self._connection.execute("ROLLBACK")

    def is_empty(self) -> bool:
        """Whether it holds no result; a run that has only begun is none."""
        ((found,),) = self._execute(
            "SELECT EXISTS (SELECT 1 FROM scores UNION ALL SELECT 1 FROM evaluations UNION ALL SELECT 1 FROM trials)"
        )
        return not found

    def find_score(self, key: ScoreKey) -> Score | None:
        """The stored score, unless it is of a kind that may turn out differently next time."""
        rows = self._execute(
            "SELECT value, parts, status, note, seconds FROM scores "
            "WHERE (space, skeleton, architecture, proxy, revision, input, seed) = (?, ?, ?, ?, ?, ?, ?)",
            key.as_tuple(),
        )
        if not rows or rows[0][2] in _PASSING_STATUSES:
            return None
        value, parts, status, note, seconds = rows[0]
        return Score(float("nan") if value is None else value, json.loads(parts), status, note, seconds)

    def add_score(self, key: ScoreKey, score: Score) -> None:
        value = score.value if score.ok else None
        self._execute(
            f"INSERT OR REPLACE INTO scores VALUES ({', '.join('?' * 12)})",
            (*key.as_tuple(), value, json.dumps(dict(score.parts)), score.status, score.note, score.seconds),
        )

    def find_evaluation(self, key: EvaluationKey) -> TrainingResult | None:
        """The stored result, unless it is of a kind that may turn out differently next time."""
        rows = self._execute(
            "SELECT epochs, status, note, seconds FROM evaluations "
            "WHERE (space, skeleton, architecture, data, recipe, seed, revision) = (?, ?, ?, ?, ?, ?, ?)",
            astuple(key),
        )
        if not rows or rows[0][1] in _PASSING_STATUSES:
            return None
        epochs, status, note, seconds = rows[0]
        return TrainingResult(tuple(Epoch(**epoch) for epoch in json.loads(epochs)), status, note, seconds)

    def add_evaluation(self, key: EvaluationKey, result: TrainingResult) -> None:
        epochs = json.dumps([asdict(epoch) for epoch in result.epochs])
        self._execute(
            f"INSERT OR REPLACE INTO evaluations VALUES ({', '.join('?' * 12)})",
            (*astuple(key), result.accuracy, epochs, result.status, result.note, result.seconds),
        )

    def begin_run(self, settings: dict[str, Any], version: str, seed: int) -> Run:
        """The run of exactly these settings: the stored one, to be resumed, or a new one."""
        text = json.dumps(settings, sort_keys=True)
        self._execute("INSERT OR IGNORE INTO runs (settings, version, seed) VALUES (?, ?, ?)", (text, version, seed))
        ((identifier,),) = self._execute("SELECT id FROM runs WHERE settings = ?", (text,))
        return self.run(identifier)

    def run(self, identifier: int) -> Run:
        rows = self._execute(
            "SELECT id, settings, version, started, finished, result FROM runs WHERE id = ?", (identifier,)
        )
        if not rows:
            raise StoreError(f"{self.path} has no run {identifier}.")
        number, settings, version, started, finished, result = rows[0]
        return Run(number, json.loads(settings), version, started, finished, json.loads(result) if result else None)

    def runs(self) -> list[Run]:
        return [self.run(identifier) for (identifier,) in self._execute("SELECT id FROM runs ORDER BY id")]

    def activity(self) -> tuple[int | float, ...]:
        """Numbers that change with everything a report shows: whoever looks on need read no more while they do not."""
        (of_runs,) = self._execute(
            "SELECT count(*), count(finished), total(length(result)), (SELECT count(*) FROM trials), "
            "(SELECT total(elapsed) + total(utility) FROM trials), (SELECT count(*) FROM scores), "
            "(SELECT count(*) FROM evaluations) FROM runs"
        )
        return tuple(of_runs)

    def finish_run(self, run: Run, result: dict[str, Any]) -> None:
        self.keep_result(run, result)
        self._execute("UPDATE runs SET finished = CURRENT_TIMESTAMP WHERE id = ?", (run.id,))

    def keep_result(self, run: Run, result: dict[str, Any]) -> None:
        """What a run that may not be finished has come to so far."""
        self._execute("UPDATE runs SET result = ? WHERE id = ?", (json.dumps(result), run.id))

    def add_trial(self, run: Run, trial: Trial) -> None:
        """Remember that the run looked at this network; a replayed trial keeps its first time."""
        self._execute(
            "INSERT INTO trials VALUES (?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (run, architecture) DO UPDATE SET utility = excluded.utility",
            (
                run.id,
                trial.architecture,
                trial.cost.params,
                trial.cost.macs,
                trial.utility,
                trial.elapsed,
                json.dumps(trial.dear_costs),
            ),
        )

    def elapsed(self, run: Run) -> float:
        """Seconds that the run had been going on when its last network was scored."""
        ((seconds,),) = self._execute("SELECT max(elapsed) FROM trials WHERE run = ?", (run.id,))
        return float(seconds or 0.0)

    def set_utilities(self, run: Run, utilities: Mapping[str, float | None]) -> None:
        """How well the networks of a run did, by architecture: an ensemble says so when all have been looked at."""
        rows = [(utility, run.id, architecture) for architecture, utility in utilities.items()]
        with self._explained(), self._connection:  # all of them or none
            self._connection.execute("BEGIN")
            self._connection.executemany("UPDATE trials SET utility = ? WHERE run = ? AND architecture = ?", rows)

    def trials(self, run: Run) -> list[Trial]:
        """In the order in which they came in."""
        rows = self._execute(
            "SELECT architecture, params, macs, utility, elapsed, dear_costs FROM trials WHERE run = ? "
            "ORDER BY elapsed, architecture",
            (run.id,),
        )
        return [
            Trial(text, Cost(params, macs), utility, elapsed, json.loads(dear))
            for text, params, macs, utility, elapsed, dear in rows
        ]

    def _execute(self, statement: str, values: tuple[Any, ...] = ()) -> list[Any]:
        with self._explained():
            return self._connection.execute(statement, values).fetchall()

    def _check_owner(self) -> int:
        """The schema's version; what is not ours or too new is refused before anything is written."""
        self._connection.execute("BEGIN")  # what is read is of one moment, though others may be creating the store
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        (owner,) = self._connection.execute("PRAGMA application_id").fetchone()
        (tables,) = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        self._connection.execute("COMMIT")
        if tables and owner != APPLICATION_ID:
            raise StoreError(f"{self.path} is a database of another program. Name another folder with --out.")
        if version > len(MIGRATIONS):
            raise StoreError(
                f"The store {self.path} was written by a newer Firstlight (schema {version}; this one knows up to "
                f"{len(MIGRATIONS)}). Update Firstlight, or name another folder with --out."
            )
        return int(version)

    def _migrate(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")  # two processes may open a new store at once
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        for statements in MIGRATIONS[version:]:
            for statement in statements:
                self._connection.execute(statement)
        self._connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        self._connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        self._connection.execute("COMMIT")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OverflowError) as error:
            raise StoreError(
                f"The store {self.path} cannot be used: {error}. If it may not be written to, or is damaged or not a "
                "Firstlight store, move it away or name another folder with --out."
            ) from error
