"""`firstlight proxies` and `firstlight spaces`: what there is."""

from __future__ import annotations

import json
from typing import Any

import typer

from firstlight.cli.options import Json


def proxies(as_json: Json = False) -> None:
    """List the proxies: what each one measures, its direction, needs, settings and reference.

    Example: firstlight proxies
    """
    from firstlight.proxies import PROXIES

    rows: list[dict[str, Any]] = [
        {
            "name": entry.name,
            "summary": entry.summary,
            "higher_is_better": entry.higher_is_better,
            "needs_data": entry.needs_data,
            "needs_labels": entry.needs_labels,
            "settings": {name: parameter.default for name, parameter in entry.settings.items()},
            "reference": entry.reference,
        }
        for entry in PROXIES.values()
    ]
    if as_json:
        typer.echo(json.dumps(rows))
        return
    from firstlight.console import show_table

    show_table(
        ("proxy", "better", "needs", "settings", "reference", "what it measures"),
        (
            (
                str(row["name"]),
                "higher" if row["higher_is_better"] else "lower",
                "labels" if row["needs_labels"] else "inputs" if row["needs_data"] else "nothing",
                ", ".join(f"{name}={default}" for name, default in row["settings"].items()) or "-",
                str(row["reference"]) or "-",
                str(row["summary"]),
            )
            for row in rows
        ),
    )


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
