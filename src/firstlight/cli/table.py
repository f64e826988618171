"""`firstlight table`: tables of trained networks, from official benchmark files and of one's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from firstlight.cli.options import Json

if TYPE_CHECKING:
    from firstlight.tables.table import Table

table = typer.Typer(
    help="Tables of trained networks: make one from official benchmark files, or look into one.",
    no_args_is_help=True,
)


@table.command("import")
def import_(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND", help="nats, nasbench101, transnas_micro, transnas_macro or suite_zero; see docs/tables.md."
        ),
    ],
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="The official file or folder, unpacked.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The table: FILE.parquet or FILE.csv.")],
    as_json: Json = False,
) -> None:
    """Turn the official files of a benchmark into a table, without the benchmark's own package. Nothing in them is run.

    Example: firstlight table import nats NATS-tss-v1_0-3ffb9-simple -o nb201.parquet

    Example: firstlight table import nasbench101 nasbench_only108.tfrecord -o nb101.parquet
    """
    from firstlight.tables.importers import KINDS, import_table
    from firstlight.tables.table import check_writable, write_table
    from firstlight.views.console import counting

    check_writable(out)  # before minutes of reading
    with counting(f"reading {KINDS[kind].summary}") as progress:
        imported = import_table(kind, source, progress)
    write_table(imported, out)
    if as_json:
        typer.echo(json.dumps({"table": str(out), "rows": len(imported), "targets": _targets(imported)}))
    else:
        typer.echo(f"{out}: {len(imported):,} architectures, {len(imported.targets())} columns.")
        typer.echo(f"Look into it with: firstlight table show {out}")


@table.command()
def show(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A table: FILE.parquet or FILE.csv.")],
    space: Annotated[
        str | None, typer.Option(help="Count the architectures of this space; see `firstlight spaces`.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what a table holds: data set, split, epochs and range of every column.

    Example: firstlight table show nb201.parquet --space nasbench201
    """
    from firstlight.spaces.finding import find_space
    from firstlight.tables.table import load_table

    entry = find_space(space) if space else None
    found = load_table(path)
    census = found.census(entry) if entry else None
    rows = _targets(found)
    if as_json:
        content: dict[str, Any] = {"table": str(path), "rows": len(found), "architectures": found.written_in}
        if census:
            content["space"] = {
                "name": space,
                "members": census.members,
                "classes": census.classes,
                "strangers": len(census.strangers),
                "examples": census.strangers[:3],
            }
        typer.echo(json.dumps(content | {"targets": rows}))
        return
    from firstlight.views.console import console, show_figures

    console.print(f"{path}: {len(found):,} rows, architectures in {', '.join(found.written_in)}.", markup=False)
    if census:
        console.print(f"{census.members:,} architectures of {space}, in {census.classes:,} classes.", markup=False)
    if census and census.strangers:
        console.print(f"{len(census.strangers):,} are not of it, such as:", markup=False)
        for text in census.strangers[:3]:
            console.print(f"  {text}", markup=False, soft_wrap=True)
    show_figures(
        ("column", "rows", "lowest", "highest", "meaning"),
        (
            (row["column"], f"{row['rows']:,}", _figure(row["lowest"]), _figure(row["highest"]), row["meaning"])
            for row in rows
        ),
        "meaning",
    )


def _targets(found: Table) -> list[dict[str, Any]]:
    """All that is known of each target, for JSON."""
    rows = []
    for target in found.targets():
        values = found.known(target.name)
        rows.append(
            {
                "column": target.name,
                "dataset": target.dataset,
                "split": target.split,
                "figure": target.figure,
                "epochs": target.epochs,
                "rows": len(values),
                "lowest": float(values.min()) if len(values) else None,
                "highest": float(values.max()) if len(values) else None,
                "meaning": str(target),
            }
        )
    return rows


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:,.6g}"
