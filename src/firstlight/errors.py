"""Everything that can go wrong in a way a user can mend.

Each message says what was given, what is allowed, and what to do next.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from difflib import get_close_matches


class FirstlightError(Exception):
    """The root of every error that Firstlight raises on purpose."""


class UnknownNameError(FirstlightError):
    """A name that is not in its registry."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        known = sorted(known)
        nearest = get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
        super().__init__(f"There is no {kind} {name!r}.{hint} Known: {', '.join(known)}.")


class SettingError(FirstlightError):
    """A setting that does not exist or has a value that makes no sense."""


class MissingExtraError(FirstlightError):
    """Something that needs a package which is not installed with Firstlight unless asked for."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(
            f"{what} needs packages that are not installed. Install them: pip install 'firstlight[{extra}]'"
        )


class ParseError(FirstlightError):
    """Text that is not of the expected grammar; points at the place, and may show how one looks that is."""

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


class DataError(FirstlightError):
    """Input data that is missing, unreadable or of the wrong form."""


class UnsafePickleError(DataError):
    """A pickle that asks for more than numbers, text, arrays and plain containers; nothing of it was run."""


class ModelError(FirstlightError):
    """A network whose own forward pass raised."""


class UnsupportedError(FirstlightError):
    """A quantity that is not defined for this network; the score's status becomes `unsupported`."""


class DivergedError(FirstlightError):
    """A training whose loss or weights are no numbers any more; the score's status becomes `non_finite`."""


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


class WorkerError(FirstlightError):
    """Worker processes that could not be started."""
