"""The type of importers, which turn the official files of a benchmark into a data frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from firstlight.core.errors import BenchmarkFileError, FirstlightError
from firstlight.core.events import Callback

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Importer:
    """An importer of one kind of official files.

    Attributes:
        name: The name of the kind.
        summary: The benchmark.
        source: The files that it reads, in words.
        read: Reads a file or folder into a data frame in the form of docs/tables.md.
    """

    name: str
    summary: str
    source: str
    read: Callable[[Path, Callback], pd.DataFrame]


@contextmanager
def layout_of(benchmark: str, where: str) -> Iterator[None]:
    """Turn errors of unexpected content into a `BenchmarkFileError`."""
    try:
        yield
    except FirstlightError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        kind = type(error).__name__
        raise BenchmarkFileError(f"{where} does not have the layout of {benchmark} ({kind}: {error}).") from error
