"""Importers of official benchmark files. `KINDS` knows the module of each."""

from __future__ import annotations

from pathlib import Path

from firstlight.core.errors import BenchmarkFileError, MissingFileError
from firstlight.core.events import Callback, ignore
from firstlight.core.registry import Kind, Registry
from firstlight.tables.importers.base import Importer
from firstlight.tables.table import Table, as_table


def _read_importer(entry: object) -> Importer | None:
    return entry if isinstance(entry, Importer) else None


_MODULES = {
    "nasbench101": "nasbench101",
    "nats": "nats",
    "suite_zero": "suite_zero",
    "transnas_macro": "transnas",
    "transnas_micro": "transnas",
}
KINDS: Registry[Importer] = Registry(
    Kind("kind of benchmark files", _read_importer),
    {name: f"{__name__}.{module}" for name, module in _MODULES.items()},
)


def import_table(kind: str, source: str | Path, callback: Callback = ignore) -> Table:
    """Read official benchmark files into a table. No code in them is run.

    Args:
        kind: The kind of files; one of `KINDS`.
        source: The file or folder.
        callback: Called with "reading" events.

    Returns:
        The table, with one row for each architecture.

    Raises:
        UnknownNameError: If there is no such kind.
        MissingFileError: If the source does not exist.
        BenchmarkFileError: If it cannot be read.
    """
    importer = KINDS[kind]
    source = Path(source).expanduser()
    if not source.exists():
        raise MissingFileError(f"{source} does not exist. The kind {kind!r} reads {importer.source}.")
    try:
        return as_table(importer.read(source, callback), source.name)
    except OSError as error:
        raise BenchmarkFileError(
            f"{source} cannot be read: {error}. The kind {kind!r} reads {importer.source}."
        ) from error


__all__ = ["KINDS", "Importer", "import_table"]
