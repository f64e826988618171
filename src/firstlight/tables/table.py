"""Tables of trained networks: one row for each architecture, one column for each data set, split and number of epochs.

The form is described in docs/tables.md. A table knows nothing of a space until it is joined with one.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from firstlight.core.errors import FirstlightError, MissingFileError, TableError, UnknownNameError
from firstlight.spaces.base import Space
from firstlight.spaces.nasbench101.cell import Cell101
from firstlight.spaces.nasbench201.cell import Cell201
from firstlight.tables.targets import Target

ARCHITECTURE = "architecture"
# What else says which architecture a row is; none of these is a figure to compare with
_IDENTITIES = (ARCHITECTURE, "arch_str", "adjacency", "ops", "num_vertices", "module_hash", "index", "isomorph")
_TEXTS = (ARCHITECTURE, "arch_str", "adjacency", "ops", "module_hash")
# Below this many architectures a rank correlation says next to nothing
FEWEST_ROWS = 10


@dataclass(frozen=True)
class Joined:
    """The rows of a table that have a value for a target, as architectures of one space.

    `rows` has the columns `architecture` (exact text), `canonical` (that of the class it belongs to) and `value`.
    Members of a class were trained separately and keep their own values.
    """

    target: Target
    rows: pd.DataFrame
    without_value: int
    repeated: int

    def spread(self, scores: Mapping[str, float]) -> pd.Series[float]:
        """The score of each row, given one score for each canonical text; NaN where there is none."""
        return self.rows["canonical"].map(dict(scores)).astype(float)


@dataclass(frozen=True)
class Census:
    """How many different architectures of a table are of a space, in how many classes, and which are not."""

    members: int
    classes: int
    strangers: list[str]


@dataclass(frozen=True)
class Table:
    """A table with its texts in the column `architecture`; `written_in` names the columns they came from."""

    frame: pd.DataFrame
    origin: str
    written_in: tuple[str, ...] = (ARCHITECTURE,)

    def __len__(self) -> int:
        return len(self.frame)

    def targets(self) -> list[Target]:
        """Every column of numbers that does not just name the architecture."""
        columns = self.frame.select_dtypes("number").columns
        return [Target.of_column(name) for name in columns if name not in _IDENTITIES]

    def target(self, name: str) -> Target:
        known = {target.name: target for target in self.targets()}
        if name not in known:
            if name in self.frame.columns:
                raise TableError(
                    f"The column {name!r} of {self.origin} is no target: it does not hold figures of trained networks. "
                    f"These do: {', '.join(known) or 'none'}."
                )
            raise UnknownNameError(f"target column in {self.origin} named", name, known)
        return known[name]

    def known(self, target: str) -> pd.Series[float]:
        """The column's figures, where there are any."""
        values = self.frame[self.target(target).name].astype(float)
        return values[np.isfinite(values)]

    def values(self, target: str) -> pd.Series[float]:
        """The same; an accuracy that cannot be one is refused."""
        values = self.frame[self.target(target).name].astype(float)
        wrong = values[values.notna() & ~values.between(0, 100)]
        if self.target(target).is_accuracy and len(wrong):
            raise TableError(
                f"{self.origin}: {target} is an accuracy by its name, and {len(wrong)} of its {len(values)} values "
                f"are not between 0 and 100: {_some(wrong)}. Mend the column, or give it another name."
            )
        return self.known(target)

    def census(self, space: Space[Any]) -> Census:
        places = [(text, _place(space, text)) for text in self.frame[ARCHITECTURE].unique()]
        known = [place for _, place in places if not isinstance(place, FirstlightError)]
        strangers = [text for text, place in places if isinstance(place, FirstlightError)]
        return Census(len({exact for exact, _ in known}), len({canonical for _, canonical in known}), strangers)

    @functools.cached_property
    def _places(self) -> dict[Space[Any], dict[str, tuple[str, str] | FirstlightError]]:
        """What is known of each text, by the space; several columns are joined with one."""
        return {}

    def _placed(self, space: Space[Any], rows: pd.Index[Any]) -> pd.DataFrame:
        """Exact and canonical text of some rows; architectures that are not of the space are refused."""
        texts = self.frame.loc[rows, ARCHITECTURE]
        known = self._places.setdefault(space, {})
        known |= {text: _place(space, text) for text in texts.unique() if text not in known}
        places = {text: known[text] for text in texts.unique()}
        strangers = {text: place for text, place in places.items() if isinstance(place, FirstlightError)}
        if strangers:
            examples = "\n".join(f"  {text}" for text in list(strangers)[:3])
            raise TableError(
                f"{len(strangers)} of {len(places)} architectures of {self.origin} are not of the space "
                f"{space.name!r}:\n{examples}\nName the space that the table is of; `firstlight spaces` lists them.\n"
                f"Of the first: {next(iter(strangers.values()))}"
            )
        return pd.DataFrame([places[text] for text in texts], index=rows, columns=[ARCHITECTURE, "canonical"])

    def join(self, space: Space[Any], target: str) -> Joined:
        """The rows with a value for `target`, each with the text of its class, which scores are known by."""
        values = self.values(target)
        rows = self._placed(space, values.index).assign(value=values)
        once = rows.drop_duplicates([ARCHITECTURE, "value"]).reset_index(drop=True)
        twice = once[once.duplicated(ARCHITECTURE, keep=False)]
        if len(twice):
            differing = twice.groupby(ARCHITECTURE, sort=False)["value"]
            examples = "\n".join(f"  {text}: {_some(group, ' and ')}" for text, group in list(differing)[:3])
            raise TableError(
                f"{differing.ngroups} architectures of {self.origin} occur more than once with different values of "
                f"{target}:\n{examples}\nKeep one row of each, or their mean."
            )
        if len(once) < FEWEST_ROWS:
            raise TableError(
                f"{self.origin} has {len(once)} architectures of {space.name!r} with a value for {target}; "
                f"at least {FEWEST_ROWS} are needed to compare with."
            )
        if once["value"].nunique() == 1:
            others = ", ".join(other.name for other in self.targets() if other.name != target) or "none"
            raise TableError(
                f"{target} is {once['value'].iloc[0]:g} for all {len(once)} architectures of {self.origin}: "
                f"a correlation with it is not defined. Choose another column: {others}."
            )
        return Joined(Target.of_column(target), once, len(self) - len(values), len(rows) - len(once))


def _place(space: Space[Any], text: str) -> tuple[str, str] | FirstlightError:
    """Exact and canonical text, or why it is none of the space."""
    try:
        architecture = space.parse(text)
    except FirstlightError as error:
        return error
    return str(architecture), str(space.canonical(architecture))


def as_table(frame: pd.DataFrame, origin: str) -> Table:
    """Find out where the architectures are written, and check that every row has one."""
    frame = frame.reset_index(drop=not any(frame.index.names))  # a file may keep its first column as an index
    written_in = _architecture_columns(list(frame.columns), origin)
    if not len(frame):
        raise TableError(f"{origin} has no rows.")
    first = frame[written_in[0]]  # that of `ops` may be empty: a cell without inner vertices
    missing = int((frame[list(written_in)].isna().any(axis=1) | (first == "")).sum())
    if missing:
        raise TableError(
            f"{missing} of {len(frame)} rows of {origin} have nothing in {' or '.join(written_in)}; "
            "every row must name its architecture."
        )
    if written_in == ("adjacency", "ops"):
        texts = [str(Cell101.from_digits(*row)) for row in zip(frame["adjacency"], frame["ops"], strict=True)]
    elif written_in == ("ops",):
        texts = [str(Cell201.from_digits(str(digits))) for digits in first]
    else:
        texts = [str(text) for text in first]
    columns = {ARCHITECTURE: texts} | {name: frame[name] for name in frame.columns if name not in written_in}
    return Table(pd.DataFrame(columns), origin, written_in)


def _architecture_columns(columns: Sequence[str], origin: str) -> tuple[str, ...]:
    for names in ((ARCHITECTURE,), ("arch_str",), ("adjacency", "ops"), ("ops",)):
        if set(names) <= set(columns):
            return names
    raise TableError(
        f"{origin} has no column that names the architectures: expected 'architecture', 'arch_str', 'ops' "
        f"(NAS-Bench-201 in digits), or 'adjacency' and 'ops' (NAS-Bench-101). "
        f"It has: {', '.join(map(str, columns)) or 'no columns'}."
    )


def load_table(path: str | Path) -> Table:
    """Read a table from a .parquet or .csv file."""
    path = Path(path).expanduser()
    check_suffix(path)
    try:
        whole = path.absolute()  # a relative name with a colon would be taken for an address, and asked for
        frame = pd.read_parquet(whole) if path.suffix == ".parquet" else _read_csv(whole)
    except FileNotFoundError:
        raise MissingFileError(f"There is no file {path}.") from None
    except (OSError, ValueError) as error:
        raise TableError(f"{path} cannot be read as a table: {error}") from error
    return as_table(frame, path.name)


def _read_csv(path: Path) -> pd.DataFrame:
    """Texts stay texts: leading zeros are kept, and an architecture called NULL is no gap."""
    names = pd.read_csv(path, nrows=0).columns
    texts = {name: str for name in names if name in _TEXTS}
    gaps = {name: ["", "NA", "N/A", "nan", "NaN", "null", "None"] for name in names if name not in _TEXTS}
    return pd.read_csv(path, dtype=texts, na_values=gaps, keep_default_na=False, float_precision="round_trip")


def write_table(table: Table, path: str | Path) -> None:
    """Write a table to a .parquet or .csv file, whole or not at all."""
    path = Path(path).expanduser()
    check_suffix(path)
    unfinished = path.absolute().with_name(f"{path.name}.unfinished")
    try:
        if path.suffix == ".parquet":
            table.frame.to_parquet(unfinished, index=False, compression="zstd")
        else:
            table.frame.to_csv(unfinished, index=False)
        os.replace(unfinished, path)
    except OSError as error:
        raise TableError(f"{path} cannot be written: {error}") from error
    finally:
        unfinished.unlink(missing_ok=True)


def check_writable(path: Path) -> None:
    """Say early what writing would say late."""
    check_suffix(path)
    if not path.expanduser().parent.is_dir():
        raise TableError(f"{path} cannot be written: there is no folder {path.parent}.")


def check_suffix(path: Path) -> None:
    if path.suffix not in (".parquet", ".csv"):
        raise TableError(
            f"{path} is not named like a table: the name ends in .parquet or .csv. "
            "Files of other kinds become tables with `firstlight table import`."
        )


def _some(values: pd.Series[float], separator: str = ", ") -> str:
    shown = separator.join(f"{value:g}" for value in values.iloc[:3])
    return f"{shown}{separator}..." if len(values) > 3 else shown
