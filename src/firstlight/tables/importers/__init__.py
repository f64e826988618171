"""Official benchmark files that can become a table. `KINDS` knows where the importer of each kind lives."""

from __future__ import annotations

from pathlib import Path

from firstlight.core.errors import BenchmarkFileError, MissingFileError
from firstlight.core.registry import Kind, Registry
from firstlight.tables.importers.base import Importer, Progress
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
