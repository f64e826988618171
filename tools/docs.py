"""`make docs`: pages for every proxy, space, algorithm and command, written from what the code says about itself."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from tools.pages import algorithms, api, commands, measured, proxies, spaces

DOCS = Path(__file__).parent.parent / "docs"
WRITERS: dict[str, Callable[[], dict[str, str]]] = {
    "proxies": proxies.pages,
    "spaces": spaces.pages,
    "algorithms": algorithms.pages,
    "commands": commands.pages,
    "api": api.pages,
    "measured": measured.pages,
}


def pages() -> dict[str, str]:
    """Every generated page by its path below docs/."""
    return {f"{folder}/{name}": text for folder, write in WRITERS.items() for name, text in write().items()}


def committed() -> dict[str, str]:
    """Those that are there."""
    paths = [path for folder in WRITERS for path in (DOCS / folder).glob("*.md")]
    return {path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def main() -> None:
    """Write them all; what is no longer written is removed."""
    written = pages()
    for stale in committed().keys() - written.keys():
        (DOCS / stale).unlink()
    for name, text in written.items():
        path = DOCS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    print(f"{len(written)} pages in {DOCS}", file=sys.stderr)


if __name__ == "__main__":
    main()
