"""Printing that commands share."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from firstlight.proxies.base import NetworkScore


def print_json(content: Any) -> None:
    """Print one JSON document on a line of standard output."""
    print(json.dumps(content), flush=True)


def say(text: str) -> None:
    """Print a line of text as it is."""
    from firstlight.views.console.terminal import console

    console.print(text, markup=False, soft_wrap=True)


@contextmanager
def resumable(folder: Path | None) -> Iterator[None]:
    """End on Ctrl-C with a word about what is kept, and no traceback."""
    try:
        yield
    except KeyboardInterrupt:
        from firstlight.views.console.terminal import notices

        kept = folder is not None and folder.exists()
        said = (
            f"All results so far are stored in {folder}; run the same command again to resume."
            if kept
            else "There are no results yet, so nothing was stored."
        )
        notices.print(f"\nInterrupted. {said}", markup=False)
        sys.exit(130)


def fail_without_scores(networks: Iterable[NetworkScore]) -> None:
    """Exit with 1 if there is no score to use."""
    if not any(score.ok for network in networks for score in network.scores.values()):
        sys.exit(1)
