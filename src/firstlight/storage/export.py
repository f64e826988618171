"""Export of the rows of a store to parquet and CSV, chunk by chunk."""

from __future__ import annotations

import os
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firstlight.core.errors import SettingError, StoreError
from firstlight.storage.database import explained, open_database
from firstlight.storage.rows import COLUMNS, damage, damaged_error

if TYPE_CHECKING:
    import pyarrow as pa

CHUNK = 50_000
_KEY = "space, skeleton, architecture"
_COMPUTED = "status, note, seconds, firstlight, torch, python, cpu"
_ELSEWHERE = "LEFT JOIN environments ON environments.id = environment"
# The columns of each table; trials come with the settings of their run
QUERIES = {
    "scores": f"SELECT {_KEY}, proxy, revision, input, seed, value, parts, {_COMPUTED} FROM scores {_ELSEWHERE}",
    "evaluations": f"SELECT {_KEY}, data, recipe, seed, revision, accuracy, epochs, {_COMPUTED} "
    f"FROM evaluations {_ELSEWHERE}",
    "trials": "SELECT run, architecture, params, macs, utility, elapsed, dear_costs AS expensive_costs, settings "
    "FROM trials JOIN runs ON runs.id = run",
}
_WHOLE = {"revision", "seed", "run", "params", "macs"}
_REAL = {"value", "accuracy", "seconds", "utility", "elapsed"}
FORMATS = (".parquet", ".csv")
# Columns that have another name in the file
EXPORTED = {"dear_costs": "expensive_costs"}


def export_rows(path: Path, out: Path, table: str = "scores") -> int:
    """Write a table of the store to a file.

    Args:
        path: The store.
        out: The file, which ends in .parquet or .csv.
        table: "scores", "evaluations" or "trials".

    Returns:
        The number of rows.

    Raises:
        SettingError: If the table or the suffix of the file is unknown.
        StoreError: If the store is damaged, or the file cannot be written.
    """
    if table not in QUERIES:
        raise SettingError(f"There is no table {table!r} to export. Tables: {', '.join(QUERIES)}.")
    if out.suffix not in FORMATS:
        raise SettingError(f"{out} must end in {' or '.join(FORMATS)}, which determines the format.")
    unfinished = out.with_name(out.name + ".part")
    try:
        with explained(str(path)), closing(open_database(str(path))) as connection:
            rows = connection.execute(QUERIES[table])
            schema = _schema([column[0] for column in rows.description])
            with _writer(unfinished, out.suffix, schema) as writer:
                count = 0
                while chunk := rows.fetchmany(CHUNK):
                    _refuse_damaged(path, table, schema.names, chunk)
                    writer.write_table(_as_table(str(path), chunk, schema))
                    count += len(chunk)
        os.replace(unfinished, out)
    except (OSError, UnicodeError) as error:  # a file name may not be UTF-8
        raise StoreError(f"{out} cannot be written: {error}. Free some space, or name another file.") from error
    finally:
        with suppress(OSError):
            unfinished.unlink()
    return count


def _refuse_damaged(path: Path, table: str, columns: list[str], rows: list[tuple[Any, ...]]) -> None:
    """Raise `StoreError` if a row is damaged, rather than write numbers that may be wrong."""
    places = [columns.index(EXPORTED.get(name, name)) for name in COLUMNS[table]]
    for row in rows:
        what = damage(table, [row[place] for place in places])
        if what is not None:
            raise damaged_error(str(path), what)


def _schema(names: list[str]) -> pa.Schema:
    import pyarrow as pa  # slow to import

    kinds = {**dict.fromkeys(_WHOLE, pa.int64()), **dict.fromkeys(_REAL, pa.float64())}
    return pa.schema([(name, kinds.get(name, pa.string())) for name in names])


def _writer(path: Path, suffix: str, schema: pa.Schema) -> Any:
    if suffix == ".csv":
        from pyarrow.csv import CSVWriter

        return CSVWriter(path, schema)
    from pyarrow.parquet import ParquetWriter

    return ParquetWriter(path.absolute(), schema)  # a relative name with a colon would be read as a URL


def _as_table(path: str, rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    import pyarrow as pa

    kinds = [field.type for field in schema]
    try:
        columns = [pa.array(values, kind) for values, kind in zip(zip(*rows, strict=True), kinds, strict=True)]
    except (pa.ArrowException, UnicodeError) as error:
        raise damaged_error(path, f"A value does not have the type of its column: {error}") from error
    return pa.table(columns, schema=schema)
