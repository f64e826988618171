"""Tables of trained networks: one row for each architecture, one column for each data set, split and number of epochs.

docs/tables.md describes the form. A table is independent of any space until it is joined with one.
"""

from __future__ import annotations

import dataclasses
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
# Names the space of each row, in tables of several spaces
SPACE = "space"
# Columns that identify the architecture of a row, and are not targets
_IDENTITIES = (
    *(ARCHITECTURE, "arch_str", "adjacency", "ops", "num_vertices", "module_hash", "index", "isomorph"),
    *("space", "band", "seeds"),
)
# Tables that come with the package, by name, and the folder that they are in
BUNDLED = ("plain", "plain-mnist", "plain-imagenet")
_BUNDLE = Path(__file__).parent / "bundled"
_TEXTS = (ARCHITECTURE, "arch_str", "adjacency", "ops", "module_hash")
# The smallest number of architectures for which a rank correlation is meaningful
FEWEST_ROWS = 10


@dataclass(frozen=True)
class Joined:
    """The rows of a table with a value for a target, as architectures of a space.

    Attributes:
        target: The target.
        rows: The columns `architecture` (the exact text), `canonical` (the text of its class) and `value`. Members of
            a class were trained separately and keep their own values.
        without_value: The number of rows without a value.
        repeated: The number of duplicate rows.
    """

    target: Target
    rows: pd.DataFrame
    without_value: int
    repeated: int

    def spread(self, scores: Mapping[str, float]) -> pd.Series[float]:
        """Return the score of each row, given one score for each canonical text; NaN where there is none."""
        return self.rows["canonical"].map(dict(scores)).astype(float)


@dataclass(frozen=True)
class Census:
    """How the architectures of a table relate to a space.

    Attributes:
        members: The number of different architectures of the space.
        classes: The number of their classes.
        strangers: The texts that are not architectures of the space.
    """

    members: int
    classes: int
    strangers: list[str]


@dataclass(frozen=True)
class Table:
    """A table of trained networks. `load_table` reads one from a file.

    Args:
        frame: The data, with the text of each architecture in the column `architecture`.
        origin: Where the data come from, for error messages.
        written_in: The columns that the texts were made from.

    Example:
        >>> import pandas as pd
        >>> from firstlight import Table
        >>> table = Table(pd.DataFrame({"architecture": ["a", "b"], "cifar10_test_200": [91.2, 93.4]}), "an example")
        >>> [target.name for target in table.targets()]
        ['cifar10_test_200']
    """

    frame: pd.DataFrame
    origin: str
    written_in: tuple[str, ...] = (ARCHITECTURE,)

    def __len__(self) -> int:
        return len(self.frame)

    def targets(self) -> list[Target]:
        """Return the columns of numbers, except those that identify the architecture."""
        columns = self.frame.select_dtypes("number").columns
        return [Target.of_column(name) for name in columns if name not in _IDENTITIES]

    def target(self, name: str) -> Target:
        """Return the target with this name.

        Raises:
            UnknownNameError: If there is no such column.
            TableError: If the column is not a target.
        """
        known = {target.name: target for target in self.targets()}
        if name not in known:
            if name in self.frame.columns:
                raise TableError(
                    f"The column {name!r} of {self.origin} is not a target: it holds no results of trained networks. "
                    f"Targets: {', '.join(known) or 'none'}."
                )
            raise UnknownNameError(f"target column in {self.origin} named", name, known)
        return known[name]

    def known(self, target: str) -> pd.Series[float]:
        """Return the finite values of a target."""
        values = self.frame[self.target(target).name].astype(float)
        return values[np.isfinite(values)]

    def values(self, target: str) -> pd.Series[float]:
        """Return the finite values of a target; raises `TableError` for an accuracy that is not between 0 and 100."""
        values = self.frame[self.target(target).name].astype(float)
        wrong = values[values.notna() & ~values.between(0, 100)]
        if self.target(target).is_accuracy and len(wrong):
            raise TableError(
                f"{self.origin}: {target} is an accuracy by its name, but {len(wrong)} of its {len(values)} values "
                f"are not between 0 and 100: {_some(wrong)}. Fix the column, or give it another name."
            )
        return self.known(target)

    def census(self, space: Space[Any]) -> Census:
        """Count the architectures that belong to a space."""
        texts = self.frame[ARCHITECTURE]
        if SPACE in self.frame:
            texts = texts[self.frame[SPACE] == space.name]
        places = [(text, _place(space, text)) for text in texts.unique()]
        known = [place for _, place in places if not isinstance(place, FirstlightError)]
        strangers = [text for text, place in places if isinstance(place, FirstlightError)]
        return Census(len({exact for exact, _ in known}), len({canonical for _, canonical in known}), strangers)

    @functools.cached_property
    def _places(self) -> dict[Space[Any], dict[str, tuple[str, str] | FirstlightError]]:
        """Exact and canonical text by space and text, kept for joins with several columns."""
        return {}

    def placed(self, space: Space[Any], rows: pd.Index[Any]) -> pd.DataFrame:
        """Return the exact and the canonical text of rows, as `architecture` and `canonical`.

        Args:
            space: The space.
            rows: The index of the rows.

        Raises:
            TableError: If some are architectures of another space.
        """
        texts = self.frame.loc[rows, ARCHITECTURE]
        known = self._places.setdefault(space, {})
        known |= {text: _place(space, text) for text in texts.unique() if text not in known}
        places = {text: known[text] for text in texts.unique()}
        strangers = {text: place for text, place in places.items() if isinstance(place, FirstlightError)}
        if strangers:
            examples = "\n".join(f"  {text}" for text in list(strangers)[:3])
            raise TableError(
                f"{len(strangers)} of {len(places)} architectures of {self.origin} do not belong to the space "
                f"{space.name!r}:\n{examples}\nName the space of the table; `firstlight spaces` lists them.\n"
                f"The first one: {next(iter(strangers.values()))}"
            )
        return pd.DataFrame([places[text] for text in texts], index=rows, columns=[ARCHITECTURE, "canonical"])

    def join(self, space: Space[Any], target: str) -> Joined:
        """Return the rows with a value for a target, as architectures of a space.

        Args:
            space: The space.
            target: The name of the target.

        Raises:
            TableError: If architectures do not belong to the space, have several values, are too few, or all have the
                same value.
        """
        values = self.values(target)
        if SPACE in self.frame:  # a table of several spaces
            values = values[self.frame[SPACE][values.index] == space.name]
        rows = self.placed(space, values.index).assign(value=values)
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
                f"at least {FEWEST_ROWS} are needed."
            )
        if once["value"].nunique() == 1:
            others = ", ".join(other.name for other in self.targets() if other.name != target) or "none"
            raise TableError(
                f"{target} is {once['value'].iloc[0]:g} for all {len(once)} architectures of {self.origin}: "
                f"a correlation with it is not defined. Choose another column: {others}."
            )
        return Joined(Target.of_column(target), once, len(self) - len(values), len(rows) - len(once))


def _place(space: Space[Any], text: str) -> tuple[str, str] | FirstlightError:
    """Return exact and canonical text, or the error that says why it is not of the space."""
    try:
        architecture = space.parse(text)
    except FirstlightError as error:
        return error
    return str(architecture), str(space.canonical(architecture))


def as_table(frame: pd.DataFrame, origin: str) -> Table:
    """Make a table of a data frame: finds the columns with the architectures, and checks that every row has one."""
    frame = frame.reset_index(drop=not any(frame.index.names))  # the first column of a file may be an index
    written_in = _architecture_columns(list(frame.columns), origin)
    if not len(frame):
        raise TableError(f"{origin} has no rows.")
    first = frame[written_in[0]]  # `ops` may be empty for a cell without inner vertices
    missing = int((frame[list(written_in)].isna().any(axis=1) | (first == "")).sum())
    if missing:
        raise TableError(
            f"{missing} of {len(frame)} rows of {origin} have no {' or '.join(written_in)}; every row must name its "
            "architecture."
        )
    if written_in == ("adjacency", "ops"):
        texts = [str(Cell101.from_digits(*row)) for row in zip(frame["adjacency"], frame["ops"], strict=True)]
    elif written_in == ("ops",):
        texts = [str(Cell201.from_digits(str(digits))) for digits in first]
    else:
        texts = [str(text) for text in first]
    columns = {ARCHITECTURE: texts} | {name: frame[name] for name in frame.columns if name not in written_in}
    made = pd.DataFrame(columns)
    made.attrs = dict(frame.attrs)  # where the data come from, if the file says so
    return Table(made, origin, written_in)


def _architecture_columns(columns: Sequence[str], origin: str) -> tuple[str, ...]:
    for names in ((ARCHITECTURE,), ("arch_str",), ("adjacency", "ops"), ("ops",)):
        if set(names) <= set(columns):
            return names
    raise TableError(
        f"{origin} has no column that names the architectures: expected 'architecture', 'arch_str', 'ops' "
        f"(NAS-Bench-201 in digits), or 'adjacency' and 'ops' (NAS-Bench-101). "
        f"Columns: {', '.join(map(str, columns)) or 'none'}."
    )


def bundled_path(name: str) -> Path:
    """Return the file of a table that comes with the package."""
    return _BUNDLE / f"{name}.parquet"


def _load_bundled(name: str, band: str) -> Table:
    """Read a table that comes with the package, or the rows of one band of sizes, as in `plain:100k`."""
    path = bundled_path(name)
    if not path.exists():
        raise MissingFileError(
            f"The table {name!r} is not part of this installation. Make it in the source repository with "
            "`python -m tools.plain_benchmark`; see docs/tables.md."
        )
    table = _read(path, name)
    if not band:
        return table
    bands = list(table.frame["band"].unique())
    if band not in bands:
        raise UnknownNameError(f"band of the table {name!r} named", band, bands)
    return dataclasses.replace(
        table, frame=table.frame[table.frame["band"] == band].reset_index(drop=True), origin=f"{name}-{band}"
    )


def load_table(path: str | Path) -> Table:
    """Read a table of trained networks from a file.

    Args:
        path: A .parquet or .csv file in the form of docs/tables.md; or the name of a table that comes with the package:
            plain, or plain:100k for networks of about 100,000 parameters.

    Returns:
        The table.

    Raises:
        MissingFileError: If there is no such file.
        TableError: If it is not a table, or a row names no architecture.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from firstlight import load_table
        >>> path = Path(tempfile.mkdtemp()) / "mine.csv"
        >>> _ = path.write_text("architecture,cifar10_test_200\\na,91.2\\nb,93.4\\n")
        >>> len(load_table(path))
        2
    """
    name, _, band = str(path).partition(":")
    if name in BUNDLED:
        return _load_bundled(name, band)
    path = Path(path).expanduser()
    return _read(path, path.name)


def _read(path: Path, origin: str) -> Table:
    check_suffix(path)
    try:
        whole = path.absolute()  # a relative name with a colon would be read as a URL, and requested
        frame = pd.read_parquet(whole) if path.suffix == ".parquet" else _read_csv(whole)
    except FileNotFoundError:
        raise MissingFileError(f"There is no file {path}.") from None
    except (OSError, ValueError) as error:
        raise TableError(f"{path} cannot be read as a table: {error}") from error
    return as_table(frame, origin)


def _read_csv(path: Path) -> pd.DataFrame:
    """Read a CSV file, with text as text: leading zeros stay, and an architecture called NULL is not missing."""
    names = pd.read_csv(path, nrows=0).columns
    texts = {name: str for name in names if name in _TEXTS}
    gaps = {name: ["", "NA", "N/A", "nan", "NaN", "null", "None"] for name in names if name not in _TEXTS}
    return pd.read_csv(path, dtype=texts, na_values=gaps, keep_default_na=False)


def write_table(table: Table, path: str | Path) -> None:
    """Write a table to a .parquet or .csv file, completely or not at all."""
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
    """Raise `TableError` if a table cannot be written to this path, before any work is done."""
    check_suffix(path)
    if not path.expanduser().parent.is_dir():
        raise TableError(f"{path} cannot be written: the folder {path.parent} does not exist.")


def check_suffix(path: Path) -> None:
    """Raise `TableError` unless the path ends in .parquet or .csv."""
    if path.suffix not in (".parquet", ".csv"):
        raise TableError(
            f"{path} is not a table: the name must end in .parquet or .csv. Use `firstlight table import` for other "
            "files."
        )


def _some(values: pd.Series[float], separator: str = ", ") -> str:
    shown = separator.join(f"{value:g}" for value in values.iloc[:3])
    return f"{shown}{separator}..." if len(values) > 3 else shown
