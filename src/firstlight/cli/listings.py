"""`firstlight proxies` and `firstlight spaces`: what there is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from firstlight.cli.options import Json

if TYPE_CHECKING:
    from firstlight.facts import Facts


def proxies(
    name: Annotated[str | None, typer.Argument(help="A proxy, to be told everything about it.")] = None,
    as_json: Json = False,
) -> None:
    """List the proxies, or tell all about one: formula, direction, needs, settings, cost, scale and reference.

    Example: firstlight proxies

    Example: firstlight proxies dextr
    """
    from dataclasses import asdict

    from firstlight.facts import facts
    from firstlight.proxies import PROXIES

    known = [facts(entry) for entry in ([PROXIES[name]] if name else PROXIES.values())]
    if as_json:
        rows = [asdict(entry) for entry in known]
        typer.echo(json.dumps(rows[0] if name else rows))
        return
    if name:
        _show(known[0])
        return
    from firstlight.console import show_table

    show_table(
        ("proxy", "better", "needs", "what it measures"),
        ((entry.name, entry.better, entry.needs, entry.summary) for entry in known),
    )


def _show(known: Facts) -> None:
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    from firstlight.console import console

    settings = (
        f"{name}={default}" + (f" ({', '.join(known.choices[name])})" if name in known.choices else "")
        for name, default in known.settings.items()
    )
    rows = {
        "direction": known.direction or f"{known.better} is better",
        "needs": known.needs_in_words,
        "settings": ", ".join(settings) or "none",
        "cost": known.cost,
        "scale": known.scale,
        "reference": known.citation or "none",
    }
    table = Table.grid(padding=(0, 2, 0, 0))
    for label, text in rows.items():
        table.add_row(Text(label, style="bold"), Text(text))
    console.print(Text(known.name, style="bold"))
    console.print(Text(known.summary))
    for block in (Padding(Text(known.formula), (0, 0, 0, 4)), *map(Text, known.remarks), table):
        console.print()
        console.print(block)


def spaces(as_json: Json = False) -> None:
    """List the search spaces, their size and the settings of their skeleton.

    Example: firstlight spaces
    """
    from dataclasses import asdict

    from firstlight.spaces import SPACES

    rows: list[dict[str, Any]] = [
        {
            "name": entry.name,
            "summary": entry.summary,
            "architectures": _size(entry),
            "skeleton": asdict(entry.skeleton()),
            "reference": entry.reference,
        }
        for entry in SPACES.values()
    ]
    if as_json:
        typer.echo(json.dumps(rows))
        return
    from firstlight.console import show_table

    show_table(
        ("space", "architectures", "skeleton", "reference", "what it holds"),
        (
            (
                row["name"],
                f"{row['architectures']:,}" if row["architectures"] else "-",
                str(SPACES[row["name"]].skeleton()).replace(",", ", "),
                row["reference"],
                row["summary"],
            )
            for row in rows
        ),
    )


def _size(space: Any) -> int | None:
    try:
        return len(space)
    except TypeError:
        return None
