"""Every kind of official benchmark files that can become a table, found by looking into this folder."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from firstlight.errors import BenchmarkFileError, MissingFileError
from firstlight.evaluate.importers.base import Importer, Progress
from firstlight.evaluate.tables import Table, as_table
from firstlight.registry import Registry


def _importers_of(module: ModuleType) -> dict[str, Importer]:
    return {entry.name: entry for entry in vars(module).values() if isinstance(entry, Importer)}


KINDS: Registry[Importer] = Registry("kind of benchmark files", __name__, _importers_of)


def import_table(kind: str, source: str | Path, progress: Progress = lambda done, total: None) -> Table:
    """Read official files into a table; nothing in them is run."""
    importer = KINDS[kind]
    source = Path(source).expanduser()
    if not source.exists():
        raise MissingFileError(f"There is no {source}. The kind {kind!r} reads {importer.source}.")
    try:
        return as_table(importer.read(source, progress), source.name)
    except OSError as error:
        raise BenchmarkFileError(
            f"{source} cannot be read: {error}. The kind {kind!r} reads {importer.source}."
        ) from error


__all__ = ["KINDS", "Importer", "Progress", "import_table"]
