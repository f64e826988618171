"""Reading rows of a store: each becomes a record, or is reported as damaged.

A file may be intact for SQLite although another program, or a failing disk, has changed its content.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, get_args

from firstlight.core.errors import StoreError
from firstlight.core.quoting import joined
from firstlight.probe.cost import Cost
from firstlight.proxies.base import Score
from firstlight.proxies.base import Status as ScoreStatus
from firstlight.storage.environment import Environment
from firstlight.storage.outcome import Epoch, Status, TrainingResult
from firstlight.storage.records import EvaluationKey, Run, ScoreKey, Trial

# The columns with the content of each table, in the order of the arguments of its reader below
CONTENTS = {
    "scores": ("status", "value", "parts", "note", "seconds"),
    "evaluations": ("status", "accuracy", "epochs", "note", "seconds"),
    "runs": ("id", "settings", "version", "started", "finished", "result"),
    "trials": ("architecture", "params", "macs", "utility", "elapsed", "dear_costs"),
    "environments": ("firstlight", "torch", "python", "cpu"),
}
# The columns of the key
KEYS = {
    "scores": tuple(field.name for field in fields(ScoreKey)),
    "evaluations": tuple(field.name for field in fields(EvaluationKey)),
    "runs": ("seed",),
    "trials": ("run",),
    "environments": (),
}
COLUMNS = {table: KEYS[table] + CONTENTS[table] for table in CONTENTS}
# The columns that identify a row
NAMES = {
    "scores": KEYS["scores"],
    "evaluations": KEYS["evaluations"],
    "runs": ("id",),
    "trials": ("run", "architecture"),
    "environments": CONTENTS["environments"],
}
_WHOLE = ("revision", "seed", "run")
_SHOWN = 60  # characters of a damaged value


class DamagedRowError(ValueError):
    """A column with a value that cannot have been stored there."""


def read_score(status: Any, value: Any, parts: Any, note: Any, seconds: Any) -> Score:
    _one_of("status", status, get_args(ScoreStatus))
    if (value is None) == (status == "ok"):
        raise DamagedRowError(f"value is {_short(value)} though the status is {status}")
    found = math.nan if value is None else _number("value", value)
    return Score(found, _numbers("parts", parts), status, _text("note", note), _number("seconds", seconds))


def read_evaluation(status: Any, accuracy: Any, epochs: Any, note: Any, seconds: Any) -> TrainingResult:
    _one_of("status", status, get_args(Status))
    found = _json("epochs", epochs, list)
    try:
        read = tuple(Epoch(**{key: _number(f"epochs: {key}", v, finite=False) for key, v in e.items()}) for e in found)
    except (TypeError, AttributeError):
        raise DamagedRowError(f"epochs is {_short(epochs)}, which is not a list of epochs") from None
    if status == "ok" and not read:
        raise DamagedRowError("there are no epochs though the status is ok")
    result = TrainingResult(read, status, _text("note", note), _number("seconds", seconds))
    if not _same(accuracy, result.accuracy):
        raise DamagedRowError(f"accuracy is {_short(accuracy)}, but {result.accuracy} by its epochs")
    return result


def read_run(number: Any, settings: Any, version: Any, started: Any, finished: Any, result: Any) -> Run:
    ended = None if finished is None else _text("finished", finished)
    found = None if result is None else _json("result", result, dict)
    begun = _text("started", started)
    return Run(number, _json("settings", settings, dict), _text("version", version), begun, ended, found)


def read_trial(architecture: Any, params: Any, macs: Any, utility: Any, elapsed: Any, dear_costs: Any) -> Trial:
    return Trial(
        _text("architecture", architecture),
        _cost(params, macs),
        None if utility is None else _number("utility", utility),
        _number("elapsed", elapsed),
        _numbers("dear_costs", dear_costs),
    )


def _cost(params: Any, macs: Any) -> Cost | None:
    """Return the cost; None for a network that could not be built."""
    return None if params is None and macs is None else Cost(_count("params", params), _count("macs", macs))


def read_environment(firstlight: Any, torch: Any, python: Any, cpu: Any) -> Environment:
    given = {"firstlight": firstlight, "torch": torch, "python": python, "cpu": cpu}
    return Environment(**{name: _text(name, value) for name, value in given.items()})


READERS: Mapping[str, Callable[..., Any]] = {
    "scores": read_score,
    "evaluations": read_evaluation,
    "runs": read_run,
    "trials": read_trial,
    "environments": read_environment,
}


def damage(table: str, row: Sequence[Any]) -> str | None:
    """Return what is wrong with a row, given its COLUMNS; None if nothing is."""
    keys = KEYS[table]
    try:
        for name, value in zip(keys, row, strict=False):
            _whole(name, value) if name in _WHOLE else _text(name, value)
        READERS[table](*row[len(keys) :])
    except DamagedRowError as error:
        names = zip(NAMES[table], identity(table, row), strict=True)
        return f"{table}, {', '.join(f'{name} {value!a}' for name, value in names)}: {error}"
    return None


def identity(table: str, row: Sequence[Any]) -> tuple[Any, ...]:
    """Return the values that identify a row, given its COLUMNS."""
    values = dict(zip(COLUMNS[table], row, strict=True))
    return tuple(values[name] for name in NAMES[table])


def damaged_error(path: str, what: str) -> StoreError:
    """Return the error for a damaged row."""
    check, merge = (joined(["firstlight", "store", *words, path]) for words in (["check"], ["merge", "new.sqlite"]))
    return StoreError(
        f"The store {path} has a damaged row. {what}. `{check}` lists the first ten, and `{merge}` creates a "
        "store without them; missing results are computed again when they are needed."
    )


def _json(column: str, text: Any, kind: type[Any]) -> Any:
    try:
        found = json.loads(_text(column, text))
    except (ValueError, RecursionError) as error:
        if isinstance(error, DamagedRowError):
            raise
        raise DamagedRowError(f"{column} is {_short(text)}, which is not JSON") from None
    if not isinstance(found, kind):
        raise DamagedRowError(f"{column} is {_short(text)}, which is not a JSON {kind.__name__}")
    return found


def _numbers(column: str, text: Any) -> dict[str, float]:
    """Read numbers by name; NaN and infinity are allowed, as measurements may be either."""
    return {key: _number(f"{column}: {key}", v, finite=False) for key, v in _json(column, text, dict).items()}


def _number(column: str, value: Any, *, finite: bool = True) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or (finite and not math.isfinite(value)):
        raise DamagedRowError(f"{column} is {_short(value)}, which is not a number")
    try:
        return float(value)
    except OverflowError:
        raise DamagedRowError(f"{column} is {_short(value)}, which is too large") from None


def _whole(column: str, value: Any) -> int:
    if not isinstance(value, int):
        raise DamagedRowError(f"{column} is {_short(value)}, which is not an integer")
    return value


def _count(column: str, value: Any) -> int:
    if _whole(column, value) < 0:
        raise DamagedRowError(f"{column} is {value}, which is less than 0")
    return int(value)


def _text(column: str, value: Any) -> str:
    if not isinstance(value, str):
        raise DamagedRowError(f"{column} is {_short(value)}, which is not text")
    if not value.isascii() and any("\ud800" <= sign <= "\udfff" for sign in value):
        raise DamagedRowError(f"{column} is {_short(value)}, which is not UTF-8")
    return value


def _one_of(column: str, value: Any, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise DamagedRowError(f"{column} is {_short(value)}, which is not one of {', '.join(allowed)}")


def _same(stored: Any, expected: float | None) -> bool:
    """Compare with a stored number; SQLite stores NaN as NULL."""
    if expected is None or math.isnan(expected):
        return stored is None
    return isinstance(stored, (int, float)) and float(stored) == expected


def _short(value: Any) -> str:
    text = ascii(value) if not isinstance(value, int) or abs(value) < 10**_SHOWN else "a huge number"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
