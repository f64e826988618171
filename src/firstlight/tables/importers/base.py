"""What an importer is: it turns the official files of one benchmark into a frame of the documented form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from firstlight.core.errors import BenchmarkFileError, FirstlightError

if TYPE_CHECKING:
    import pandas as pd

# Called now and then with how much is done, and of how much
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Importer:
    """One kind of official files."""

    name: str
    summary: str
    source: str  # what the user passes, in words
    read: Callable[[Path, Progress], pd.DataFrame]


@contextmanager
def layout_of(benchmark: str, where: str) -> Iterator[None]:
    """Errors of taking a stranger's nested containers apart are the file's fault, and say so."""
    try:
        yield
    except FirstlightError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        kind = type(error).__name__
        raise BenchmarkFileError(f"{where} is not laid out like {benchmark} ({kind}: {error}).") from error
