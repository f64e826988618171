"""What goes wrong with click logs."""

from __future__ import annotations

from firstlight.core.errors import DataError


class ClickLogError(DataError):
    """A click log that cannot be read in its layout, or from which nothing can be learned."""

    code = "click-log"
