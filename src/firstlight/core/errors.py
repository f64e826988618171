"""The errors of Firstlight, which users can act on.

Each message says what was given, what is allowed, and what to do next. Each class has a short code, which the command
prints after the message and which docs/troubleshooting.md explains.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from difflib import get_close_matches
from typing import ClassVar


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a sentence that suggests the nearest known name, with a space before it; "" if none is near."""
    nearest = get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" Did you mean {nearest[0]!r}?" if nearest else ""


class FirstlightError(Exception):
    """The base class of all errors that Firstlight raises on purpose.

    Attributes:
        code: A short name of the kind of error, which `--json` prints.

    >>> try:
    ...     firstlight.space("nasbench202")
    ... except firstlight.FirstlightError as error:
    ...     print(error.code)
    unknown-name
    """

    code: ClassVar[str] = "firstlight"  # subclasses may inherit it

    @property
    def hint(self) -> str:
        """The section of the documentation about this error."""
        return f"See docs/troubleshooting.md#{self.code}."


class NothingScoredError(FirstlightError):
    """A search could not score any network."""

    code = "nothing-scored"


class UnknownNameError(FirstlightError):
    """A name is not in its registry."""

    code = "unknown-name"

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        known = sorted(known)
        super().__init__(f"There is no {kind} {name!r}.{did_you_mean(name, known)} Known: {', '.join(known)}.")


class SettingError(FirstlightError):
    """A setting does not exist, or has an invalid value."""

    code = "setting"


class MissingExtraError(FirstlightError):
    """An optional package is not installed."""

    code = "missing-extra"

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(
            f"{what} needs packages that are not installed. Install them: pip install 'firstlight[{extra}]'"
        )


class PluginError(FirstlightError):
    """An entry point of another package cannot be used."""

    code = "plugin"


class ParseError(FirstlightError):
    """A text does not follow its grammar. The message points at the position.

    Args:
        text: The text.
        position: The index of the character at fault.
        expected: What is expected there.
        example: A valid text, in words.
    """

    code = "parse"

    def __init__(self, text: str, position: int, expected: str, example: str = "") -> None:
        start, stop = max(0, position - 60), position + 60  # the part of a long text that fits into a line
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
    """No network was found within the limits."""

    code = "limits"


class DataError(FirstlightError):
    """Input data is missing, unreadable or in the wrong form."""

    code = "data"


class MissingFileError(DataError):
    """A file or folder does not exist."""

    code = "missing-file"


class TooFewError(DataError):
    """There are fewer samples, or networks, than needed."""

    code = "too-few"


class BatchError(DataError):
    """Batches, labels or logits do not match each other or the network."""

    code = "batch"


class TableError(DataError):
    """A table of trained networks lacks what is asked of it."""

    code = "table"


class BenchmarkFileError(DataError):
    """An official file of a benchmark is damaged, or does not have the expected layout."""

    code = "benchmark-file"


class UnsafePickleError(BenchmarkFileError):
    """A pickle contains more than numbers, text, arrays and plain containers. None of its code was run."""

    code = "unsafe-pickle"


class ModelError(FirstlightError):
    """A network cannot be built, or its forward pass fails."""

    code = "model"


class UnsupportedError(FirstlightError):
    """A quantity is not defined for the network; the status of the score becomes "unsupported"."""

    code = "unsupported"


class DivergedError(FirstlightError):
    """The loss or the weights of a training are no longer finite; the status of the score becomes "non_finite"."""

    code = "diverged"


def is_out_of_memory(error: BaseException) -> bool:
    """Return True if an error means that memory ran out; PyTorch's CPU allocator raises a plain RuntimeError."""
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
        or (isinstance(error, RuntimeError) and "can't allocate memory" in str(error))
    )


class StoreError(FirstlightError):
    """A store or the folder of a run cannot be used."""

    code = "store"


class WorkerError(FirstlightError):
    """Worker processes or a cluster could not be used."""

    code = "worker"
