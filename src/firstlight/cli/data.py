"""`firstlight data`: click logs, prepared for networks that predict clicks, or synthesized."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from firstlight.api.clicks import prepare as call
from firstlight.cli.derive import command_group, derived
from firstlight.cli.printing import print_json, say

if TYPE_CHECKING:
    from firstlight.data.clicks import ClickData

# A tenth of fewer rows is not enough for the batches of a warm-up
ENOUGH_ROWS = 40_000

data = command_group(
    "data", "Click logs: prepare one for networks of the nasrec spaces, show its contents, or synthesize one."
)


@derived(call)
def prepare(given: dict[str, Any]) -> None:
    """Convert a click log of any size to one file for scoring, searching and training, with little memory.

    For example:
    firstlight data prepare criteo train.txt -o criteo.parquet
    firstlight data prepare avazu train.gz -o avazu.parquet --min-count 2
    firstlight data prepare clicks log.csv -o log.parquet --label click --numbers price --categories site,user
    """
    as_json = given.pop("json", False)
    from firstlight.core.wording import counted
    from firstlight.views.console.progress import showing
    from firstlight.views.console.terminal import notices

    with showing() as callback:
        prepared = call(**given, callback=callback)
    bad = prepared.facts["bad_rows"]
    if bad["count"]:
        notices.print(
            f"Skipped {counted(bad['count'], 'row')} that cannot be read, such as", markup=False, soft_wrap=True
        )
        for example in bad["examples"]:
            notices.print(f"  {example}", markup=False, soft_wrap=True)
    _show(prepared, Path(given["out"]), as_json=as_json)
    if not as_json:
        name = f"{prepared.title}:{given['out']}"
        share = "10%" if prepared.rows["train"] >= ENOUGH_ROWS else "100%"
        say(f"Use it with: firstlight search nasrec-small --input {name} --warmup {share} --samples 100")


data.command(prepare, name="prepare")


@data.command
def show(path: Path, /, *, json: bool = False) -> None:
    """Show the contents of a prepared file: rows and clicks of each split, numbers, categories, and options.

    For example:
    firstlight data show criteo.parquet

    Args:
        path: A file written by `firstlight data prepare`.
        json: Print only JSON, for use in scripts.
    """
    from firstlight.data.clicks.prepared import open_prepared

    _show(open_prepared(path.expanduser()), path, as_json=json)


@data.command
def synthesize(
    *,
    out: Annotated[Path, Parameter(name=("--out", "-o"))],
    rows: int,
    layout: str = "criteo",
    seed: int = 0,
    json: bool = False,
) -> None:
    """Synthesize a click log in which clicks mostly depend on pairs of categories.

    For example:
    firstlight data synthesize -o made-up.tsv --rows 200000

    Args:
        out: The log: FILE.tsv, .csv or .parquet.
        rows: Number of rows.
        layout: The columns: criteo or kdd.
        seed: Random seed.
        json: Print only JSON, for use in scripts.
    """
    from firstlight.core.events import Event
    from firstlight.data.clicks.synthetic import synthesize_clicks
    from firstlight.views.console.progress import showing

    with showing() as callback:
        synthesize_clicks(
            out,
            rows,
            layout=layout,
            seed=seed,
            progress=lambda done, total: callback(Event("reading", done, total, note="rows")),
        )
    if json:
        print_json({"log": str(out), "layout": layout, "rows": rows, "seed": seed})
        return
    say(f"{out}: {rows:,} rows, {out.expanduser().stat().st_size:,} bytes.")
    say(f"Prepare it with: firstlight data prepare {layout} {out} -o {out.with_suffix('.prepared.parquet')}")


def _show(found: ClickData, path: Path, *, as_json: bool) -> None:
    facts = found.facts
    if as_json:
        print_json({"data": str(path), **facts})
        return
    from firstlight.views.console.terminal import console, show_figures

    total = sum(found.rows.values())
    console.print(
        f"{path}: {total:,} rows of the layout {found.title}, fingerprint {found.fingerprint}.",
        markup=False,
        soft_wrap=True,
    )
    show_figures(
        ("part", "rows", "clicks", "rate"),
        (
            (part, f"{rows:,}", f"{facts['clicks'][part]:,}", f"{facts['clicks'][part] / rows:.4f}" if rows else "-")
            for part, rows in found.rows.items()
        ),
        "part",
    )
    options = facts["options"]
    how = (
        f"hashed to {options['hash_rows']:,} rows each"
        if "hash_rows" in options
        else f"of {min(found.tables):,} to {max(found.tables):,} rows; categories that occur at least "
        f"{options['min_count']} times in the training set have their own row"
    )
    numbers = "one number that is always 0" if not facts["numbers"] else f"{found.dense} numbers"
    console.print(f"{numbers}, {found.fields} fields of categories, {how}.", markup=False, soft_wrap=True)
    for remark in facts["remarks"]:
        console.print(f"Note: {remark}.", markup=False, soft_wrap=True)
