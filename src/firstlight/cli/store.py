"""`firstlight store`: check, compact, export and merge what runs have stored."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer

from firstlight.cli.options import Json
from firstlight.core.quoting import joined

store = typer.Typer(help="Check, compact, export and merge what runs have stored.", no_args_is_help=True)

StoreArgument = Annotated[
    Path, typer.Argument(metavar="STORE", help="The folder of a run, or the file with its scores.")
]


@store.command()
def check(path: StoreArgument, as_json: Json = False) -> None:
    """Read all of a store: is it whole, what does it hold, and how large is it? The exit code is 1 if it is damaged.

    Nothing is changed.

    Example: firstlight store check runs/mine
    """
    from firstlight.storage.store import find_store
    from firstlight.storage.upkeep import check_store
    from firstlight.views.console import console

    found = check_store(find_store(path))
    if as_json:
        typer.echo(json.dumps(found.to_dict()))
    else:
        state = "no damage found" if found.ok else "DAMAGED"
        free = f", of which {found.free / 1e6:,.1f} MB are unused" if found.free else ""
        lines = [f"{found.path}: {state}. {found.size / 1e6:,.1f} MB{free}; schema {found.schema}."]
        lines += found.problems
        lines += [f"{count:,} {table}" for table, count in found.rows.items()]
        statuses = ", ".join(f"{count:,} {status}" for status, count in found.statuses.items())
        lines += [f"scores: {statuses}"] if statuses else []
        lines += [f"runs: {found.finished_runs:,} finished"] if found.rows.get("runs") else []
        lines += [f"computed by {environment}" for environment in found.environments]
        if not found.ok:
            lines.append(
                "Move it away, and put a backup in its place if you have one; or, if single rows are damaged, make a "
                f"store without them: {joined(['firstlight', 'store', 'merge', 'new.sqlite', str(found.path)])}. "
                "Runs that are started again compute what is missing."
            )
        for line in lines:
            console.print(line, markup=False, soft_wrap=True)
    if not found.ok:
        raise typer.Exit(1)


@store.command()
def compact(path: StoreArgument, as_json: Json = False) -> None:
    """Give back the space that a store does not use. Needs as much free space on the disk as it holds.

    Example: firstlight store compact runs/mine
    """
    from firstlight.storage.store import find_store
    from firstlight.storage.upkeep import compact_store
    from firstlight.views.console import console

    file = find_store(path)
    before, after = compact_store(file)
    if as_json:
        typer.echo(json.dumps({"path": str(file), "before": before, "after": after}))
    else:
        said = f"{file}: {before / 1e6:,.1f} MB before, {after / 1e6:,.1f} MB now."
        console.print(said, markup=False, soft_wrap=True)


@store.command()
def export(
    path: StoreArgument,
    out: Annotated[Path, typer.Argument(metavar="FILE", help="What to write: FILE.parquet or FILE.csv.")],
    table: Annotated[str, typer.Option(help="What to export: scores, evaluations or trials.")] = "scores",
    as_json: Json = False,
) -> None:
    """Write rows of a store to a table for other programs, with the versions that computed them.

    Example: firstlight store export runs/mine scores.parquet

    Example: firstlight store export all.sqlite trials.csv --table trials
    """
    from firstlight.storage.export import export_rows
    from firstlight.storage.store import find_store
    from firstlight.views.console import console

    count = export_rows(find_store(path), out, table)
    if as_json:
        typer.echo(json.dumps({"path": str(out), "table": table, "rows": count}))
    else:
        console.print(f"{count:,} {table} written to {out}.", markup=False, soft_wrap=True)


@store.command()
def merge(
    into: Annotated[Path, typer.Argument(metavar="INTO", help="The store that grows; made if it is not there.")],
    sources: Annotated[list[Path], typer.Argument(metavar="FROM...", help="Stores or run folders to add to it.")],
    as_json: Json = False,
) -> None:
    """Add the results and runs of other stores, such as those of other machines, to one.

    What both have stays as it is in INTO, and results that differ are counted. The others are left as they are.

    Example: firstlight store merge all.sqlite runs/* other-machine/store.sqlite
    """
    from firstlight.storage.merge import merge_stores
    from firstlight.storage.store import STORE_NAME, find_store
    from firstlight.views.console import console

    file = into / STORE_NAME if into.is_dir() else into
    merged = merge_stores(file, [find_store(source) for source in sources])
    if as_json:
        rows = [dataclasses.asdict(entry) | {"path": str(entry.path)} for entry in merged]
        typer.echo(json.dumps({"into": str(file), "merged": rows}))
        return
    for entry in merged:
        added = ", ".join(f"{getattr(entry, name):,} {name}" for name in ("scores", "evaluations", "runs", "trials"))
        console.print(f"{entry.path}: {added} added to {file}.", markup=False, soft_wrap=True)
        if entry.damaged:
            command = joined(["firstlight", "store", "check", str(entry.path)])
            said = f"{entry.damaged:,} damaged rows were left out; `{command}` names the first ten of them."
            console.print(said, markup=False, soft_wrap=True)
        if entry.differing:
            said = (
                f"{entry.differing:,} of its results are others than those of {file}, which were kept. Were they "
                "computed by other versions or on another kind of processor? See `firstlight store check`."
            )
            console.print(said, markup=False, soft_wrap=True)
