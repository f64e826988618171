"""`firstlight table`: tables of trained networks, imported from official benchmark files, or your own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from firstlight.cli.derive import command_group
from firstlight.cli.printing import print_json, say

if TYPE_CHECKING:
    from firstlight.tables.table import Table

table = command_group(
    "table", "Tables of trained networks: import one from official benchmark files, or show its contents."
)


@table.command(name="import")
def import_(
    kind: str, source: Path, /, *, out: Annotated[Path, Parameter(name=("--out", "-o"))], json: bool = False
) -> None:
    """Import a table from the official files of a benchmark, without its Python package. No code in them is run.

    For example:
    firstlight table import nats NATS-tss-v1_0-3ffb9-simple -o nb201.parquet
    firstlight table import nasbench101 nasbench_only108.tfrecord -o nb101.parquet

    Args:
        kind: nats, nasbench101, transnas_micro, transnas_macro or suite_zero; see docs/tables.md.
        source: The official file or folder, unpacked.
        out: The table: FILE.parquet or FILE.csv.
        json: Print only JSON, for use in scripts.
    """
    from firstlight.tables.importers import import_table
    from firstlight.tables.table import check_writable, write_table
    from firstlight.views.console.progress import showing

    check_writable(out)  # before minutes of reading
    with showing() as callback:
        imported = import_table(kind, source, callback)
    write_table(imported, out)
    if json:
        print_json({"table": str(out), "rows": len(imported), "targets": _targets(imported)})
    else:
        say(f"{out}: {len(imported):,} architectures, {len(imported.targets())} columns.")
        say(f"Show its contents: firstlight table show {out}")


@table.command
def show(path: Path, /, *, space: str | None = None, json: bool = False) -> None:
    """Show the contents of a table: data set, split, epochs and range of every column.

    For example:
    firstlight table show nb201.parquet --space nasbench201
    firstlight table show plain --space plain-resnet

    Args:
        path: A table: FILE.parquet or FILE.csv; or plain, the benchmark of the plain spaces.
        space: Count the architectures of this space; see `firstlight spaces`.
        json: Print only JSON, for use in scripts.
    """
    from firstlight.spaces.finding import find_space
    from firstlight.tables.table import load_table

    entry = find_space(space) if space else None
    found = load_table(path)
    census = None if entry is None else found.census(entry)
    rows = _targets(found)
    if json:
        content: dict[str, Any] = {"table": str(path), "rows": len(found), "architectures": found.written_in}
        if census:
            content["space"] = {
                "name": space,
                "members": census.members,
                "classes": census.classes,
                "strangers": len(census.strangers),
                "examples": census.strangers[:3],
            }
        print_json(content | {"provenance": found.frame.attrs, "targets": rows})
        return
    from firstlight.views.console.terminal import console, show_figures

    console.print(f"{path}: {len(found):,} rows, architectures in {', '.join(found.written_in)}.", markup=False)
    if census:
        console.print(f"{census.members:,} architectures of {space}, in {census.classes:,} classes.", markup=False)
    if census and census.strangers:
        verb = "does" if len(census.strangers) == 1 else "do"
        console.print(f"{len(census.strangers):,} {verb} not belong to it, such as:", markup=False)
        for text in census.strangers[:3]:
            say(f"  {text}")
    for what, told in found.frame.attrs.items():
        say(f"{what}: {told}")
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
