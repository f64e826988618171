"""Everything that can go wrong in a way a user can mend.

Each message says what was given, what is allowed, and what to do next. Each kind has a short code, which the command
prints behind the message, and under which docs/troubleshooting.md has more to say.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from difflib import get_close_matches
from typing import ClassVar


class FirstlightError(Exception):
    """The root of every error that Firstlight raises on purpose."""

    code: ClassVar[str] = "firstlight"  # each kind's own, or that of the kind it belongs to

    @property
    def hint(self) -> str:
        """Where to read on."""
        return f"See docs/troubleshooting.md#{self.code}."


class NothingScoredError(FirstlightError):
    """A search that ends with nothing to choose from."""

    code = "nothing-scored"


class UnknownNameError(FirstlightError):
    """A name that is not in its registry."""

    code = "unknown-name"

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        known = sorted(known)
        nearest = get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
        super().__init__(f"There is no {kind} {name!r}.{hint} Known: {', '.join(known)}.")


class SettingError(FirstlightError):
    """A setting that does not exist or has a value that makes no sense."""

    code = "setting"


class MissingExtraError(FirstlightError):
    """Something that needs a package which is not installed with Firstlight unless asked for."""

    code = "missing-extra"

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(
            f"{what} needs packages that are not installed. Install them: pip install 'firstlight[{extra}]'"
        )


class PluginError(FirstlightError):
    """An entry point of another package that cannot be used."""

    code = "plugin"


class ParseError(FirstlightError):
    """Text that is not of the expected grammar; points at the place, and may show how one looks that is."""

    code = "parse"

    def __init__(self, text: str, position: int, expected: str, example: str = "") -> None:
        start, stop = max(0, position - 60), position + 60  # of a long text, what fits into a line
        before, behind = "..." if start else "", "..." if stop < len(text) else ""
        caret = " " * (len(before) + position - start)
        super().__init__(
            f"Cannot read this text: expected {expected} at character {position + 1}.\n"
            f"  {before}{text[start:stop]}{behind}\n  {caret}^" + (f"\n{example}" if example else "")
        )
        self.text = text
        self.position = position
        self.expected = expected


class LimitError(FirstlightError):
    """Limits that no network was found to meet."""

    code = "limits"


class DataError(FirstlightError):
    """Input data that is missing, unreadable or of the wrong form."""

    code = "data"


class MissingFileError(DataError):
    """Data that are not where they were said to be."""

    code = "missing-file"


class TooFewError(DataError):
    """Fewer samples than are asked for, or than a judgment needs."""

    code = "too-few"


class BatchError(DataError):
    """Batches, labels or logits that do not fit each other or the network."""

    code = "batch"


class TableError(DataError):
    """A table of trained networks that does not say what is asked of it."""

    code = "table"


class BenchmarkFileError(DataError):
    """An official file of a benchmark that is not laid out as such, or damaged."""

    code = "benchmark-file"


class UnsafePickleError(BenchmarkFileError):
    """A pickle that asks for more than numbers, text, arrays and plain containers; nothing of it was run."""

    code = "unsafe-pickle"


class ModelError(FirstlightError):
    """A network whose own forward pass raised."""

    code = "model"


class UnsupportedError(FirstlightError):
    """A quantity that is not defined for this network; the score's status becomes `unsupported`."""

    code = "unsupported"


class DivergedError(FirstlightError):
    """A training whose loss or weights are no numbers any more; the score's status becomes `non_finite`."""

    code = "diverged"


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means that memory ran out; PyTorch's CPU allocator raises a plain RuntimeError."""
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
        or (isinstance(error, RuntimeError) and "can't allocate memory" in str(error))
    )


class StoreError(FirstlightError):
    """A store or run directory that cannot be used as asked."""

    code = "store"


class WorkerError(FirstlightError):
    """Worker processes that could not be started."""

    code = "worker"
