"""Where a person reads: standard output and standard error, and tables, facts and graphs on them."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from firstlight.probe.stages import Stage
    from firstlight.spaces.base import Drawing

console = Console(highlight=False)
# progress and remarks go here, so that standard output holds only what was asked for
notices = Console(stderr=True, highlight=False)


def show_table(headers: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, header in enumerate(headers):
        table.add_column(header, overflow="fold", no_wrap=place == 0)  # names stay in one piece
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)


def show_facts(name: str, summary: str, blocks: Iterable[RenderableType], rows: Mapping[str, str]) -> None:
    """All about one thing: a headline, paragraphs, and labelled lines."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for label, text in rows.items():
        table.add_row(Text(label, style="bold"), Text(text))
    console.print(Text(name, style="bold"))
    console.print(Text(summary))
    for block in (*(Text(block) if isinstance(block, str) else block for block in blocks), table):
        console.print()
        console.print(block)


def show_graph(drawing: Drawing) -> None:
    """Print a graph: nodes stand out, and nothing is wrapped."""
    from firstlight.views.drawing.terminal import NODE, text_graph

    for line in text_graph(drawing):
        console.print(Text(line, style="bold" if NODE in line else "", no_wrap=True), soft_wrap=True)


def show_stages(stages: Iterable[Stage]) -> None:
    """Print a whole network, a line for each stage."""
    rows = []
    for stage in stages:
        low, high = stage.widths
        width = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        rows.append([stage.resolution, width if high else "-", f"{len(stage.layers):,}", f"{stage.params:,}"])
    show_figures(["stage", "width", "layers", "parameters"], rows, "stage")


def show_figures(headers: Sequence[str], rows: Iterable[Iterable[str]], *text: str) -> None:
    """A table of numbers, but for the columns headed `text`; it stays in one piece however narrow the terminal is."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for header in headers:
        table.add_column(Text(header), justify="left" if header in text else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    table.width = console.measure(table, options=console.options.update(width=100_000)).maximum
    console.print(table, soft_wrap=True)


def program() -> str:
    """How to call this program again from the same shell: by its name if that is found, else by its path."""
    path = Path(sys.argv[0])
    if path.name == "__main__.py":
        return "python -m firstlight"
    return path.name if shutil.which(path.name) else shlex.quote(str(path))
