"""`firstlight store`: check, compact, export and merge the stored results of runs."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

from firstlight.cli.derive import command_group
from firstlight.cli.printing import print_json, say
from firstlight.core.quoting import joined

store = command_group("store", "Check, compact, export and merge the stored results of runs.")


@store.command
def check(path: Path, /, *, json: bool = False) -> None:
    """Check a store for damage, and print its contents and size. The exit code is 1 if it is damaged.

    The store is not changed.

    For example:
    firstlight store check runs/mine

    Args:
        path: The folder of a run, or the file with its scores.
        json: Print only JSON, for use in scripts.
    """
    from firstlight.storage.store import find_store
    from firstlight.storage.upkeep import check_store

    found = check_store(find_store(path))
    if json:
        print_json(found.to_dict())
    else:
        state = "no damage found" if found.ok else "DAMAGED"
        free = f", of which {found.free / 1e6:,.1f} MB is unused" if found.free else ""
        lines = [f"{found.path}: {state}. {found.size / 1e6:,.1f} MB{free}; schema {found.schema}."]
        lines += found.problems
        lines += [f"{count:,} {table}" for table, count in found.rows.items()]
        statuses = ", ".join(f"{count:,} {status}" for status, count in found.statuses.items())
        lines += [f"scores: {statuses}"] if statuses else []
        lines += [f"runs: {found.finished_runs:,} finished"] if found.rows.get("runs") else []
        lines += [f"computed by {environment}" for environment in found.environments]
        if not found.ok:
            lines.append(
                "Restore a backup if you have one. If only some rows are damaged, create a store without them: "
                f"{joined(['firstlight', 'store', 'merge', 'new.sqlite', str(found.path)])}. Missing results are "
                "computed again when you repeat a run."
            )
        for line in lines:
            say(line)
    if not found.ok:
        sys.exit(1)


@store.command
def compact(path: Path, /, *, json: bool = False) -> None:
    """Return the unused space of a store to the disk. Needs as much free disk space as the size of the store.

    For example:
    firstlight store compact runs/mine

    Args:
        path: The folder of a run, or the file with its scores.
        json: Print only JSON, for use in scripts.
    """
    from firstlight.storage.store import find_store
    from firstlight.storage.upkeep import compact_store

    file = find_store(path)
    before, after = compact_store(file)
    if json:
        print_json({"path": str(file), "before": before, "after": after})
    else:
        said = f"{file}: {before / 1e6:,.1f} MB before, {after / 1e6:,.1f} MB now."
        say(said)


@store.command
def export(path: Path, out: Path, /, *, table: str = "scores", json: bool = False) -> None:
    """Export rows of a store to a table for other programs, with the versions that computed them.

    For example:
    firstlight store export runs/mine scores.parquet
    firstlight store export all.sqlite trials.csv --table trials

    Args:
        path: The folder of a run, or the file with its scores.
        out: The file to write: FILE.parquet or FILE.csv.
        table: What to export: scores, evaluations or trials.
        json: Print only JSON, for use in scripts.
    """
    from firstlight.storage.export import export_rows
    from firstlight.storage.store import find_store

    count = export_rows(find_store(path), out, table)
    if json:
        print_json({"path": str(out), "table": table, "rows": count})
    else:
        say(f"{count:,} {table} written to {out}.")


@store.command
def merge(into: Path, /, *sources: Path, json: bool = False) -> None:
    """Merge the results and runs of other stores, such as those of other machines, into one.

    If a row is in both, INTO keeps its own, and results that differ are counted. The sources are not changed.

    For example:
    firstlight store merge all.sqlite runs/* other-machine/store.sqlite

    Args:
        into: The destination; created if it does not exist.
        sources: Stores or run folders to merge into it.
        json: Print only JSON, for use in scripts.
    """
    from firstlight.storage.merge import merge_stores
    from firstlight.storage.store import STORE_NAME, find_store

    file = into / STORE_NAME if into.is_dir() else into
    merged = merge_stores(file, [find_store(source) for source in sources])
    if json:
        rows = [dataclasses.asdict(entry) | {"path": str(entry.path)} for entry in merged]
        print_json({"into": str(file), "merged": rows})
        return
    for entry in merged:
        added = ", ".join(f"{getattr(entry, name):,} {name}" for name in ("scores", "evaluations", "runs", "trials"))
        say(f"{entry.path}: {added} added to {file}.")
        if entry.damaged:
            command = joined(["firstlight", "store", "check", str(entry.path)])
            said = f"{entry.damaged:,} damaged rows were skipped; `{command}` lists the first ten of them."
            say(said)
        if entry.differing:
            said = (
                f"{entry.differing:,} of its results differ from those in {file}, which were kept. They may come from "
                "other versions or another kind of processor; see `firstlight store check`."
            )
            say(said)
