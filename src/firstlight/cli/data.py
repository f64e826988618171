"""`firstlight data`: logs of clicks, prepared for networks that predict them, or made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from firstlight.cli.options import Json
from firstlight.core.errors import SettingError

if TYPE_CHECKING:
    from firstlight.data.clicks import ClickData

data = typer.Typer(
    help="Logs of clicks: prepare one for networks of the nasrec spaces, look into it, or make one up.",
    no_args_is_help=True,
)


@data.command()
def prepare(
    layout: Annotated[str, typer.Argument(metavar="LAYOUT", help="criteo, avazu, kdd, or clicks with named columns.")],
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="The log: text with tabs or commas (.gz too), or parquet.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The prepared file.")],
    hash_rows: Annotated[
        int | None,
        typer.Option("--hash-rows", metavar="N", help="Hash categories to N rows for each field; default: 500000."),
    ] = None,
    min_count: Annotated[
        int | None,
        typer.Option(
            "--min-count",
            metavar="N",
            help="Instead of hashing, give each category seen N times in training a row of its own.",
        ),
    ] = None,
    split: Annotated[
        str, typer.Option("--split", help="Shares of the rows for train, validation and test.")
    ] = "0.8,0.1,0.1",
    seed: Annotated[int, typer.Option("--seed", help="Decides which row is for which part.")] = 0,
    bad_rows: Annotated[
        str, typer.Option("--bad-rows", metavar="stop|skip", help="What is done about rows that cannot be read.")
    ] = "stop",
    label: Annotated[str | None, typer.Option("--label", help="For clicks: the column of the label.")] = None,
    numbers: Annotated[str, typer.Option("--numbers", help="For clicks: columns of numbers, with commas.")] = "",
    categories: Annotated[
        str, typer.Option("--categories", help="For clicks: columns of categories, with commas.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Turn a published log of clicks into one file to score, search and train with. Memory stays small for any size.

    Example: firstlight data prepare criteo train.txt -o criteo.parquet

    Example: firstlight data prepare avazu train.gz -o avazu.parquet --min-count 2

    Example: firstlight data prepare clicks log.csv -o log.parquet --label click --numbers price --categories site,user
    """
    from firstlight.data.clicks.layouts import find_layout
    from firstlight.data.clicks.prepare import prepare_clicks
    from firstlight.views.console import notices, phases

    found = find_layout(layout, label, _listed(numbers), _listed(categories))
    with phases() as phase:
        prepared = prepare_clicks(
            found,
            path,
            out,
            hash_rows=hash_rows,
            min_count=min_count,
            split=_shares(split),
            seed=seed,
            bad_rows=bad_rows,
            phase=phase,
        )
    bad = prepared.facts["bad_rows"]
    if bad["count"]:
        notices.print(f"Left out {bad['count']:,} rows that cannot be read, such as", markup=False, soft_wrap=True)
        for example in bad["examples"]:
            notices.print(f"  {example}", markup=False, soft_wrap=True)
    _show(prepared, out, as_json)
    if not as_json:
        typer.echo(
            f"Use it with: firstlight search nasrec-small --input {prepared.title}:{out} --proxy sigeo --samples 100"
        )


@data.command()
def show(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `firstlight data prepare` has written.")],
    as_json: Json = False,
) -> None:
    """Say what a prepared file holds: rows and clicks of each part, numbers, categories, and how it was made.

    Example: firstlight data show criteo.parquet
    """
    from firstlight.data.clicks.prepared import open_prepared

    _show(open_prepared(path.expanduser()), path, as_json)


@data.command()
def synthesize(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The log: FILE.tsv, .csv or .parquet.")],
    rows: Annotated[int, typer.Option("--rows", metavar="N", help="How many rows.", min=1)],
    seed: Annotated[int, typer.Option("--seed", help="Decides everything in it.")] = 0,
    as_json: Json = False,
) -> None:
    """Make up a log of clicks in Criteo's layout, in which pairs of categories decide most clicks.

    Example: firstlight data synthesize -o made-up.tsv --rows 200000
    """
    from firstlight.data.clicks.synthetic import synthesize_clicks
    from firstlight.views.console import counting

    with counting("making up clicks") as progress:
        synthesize_clicks(out, rows, seed=seed, progress=progress)
    if as_json:
        typer.echo(json.dumps({"log": str(out), "layout": "criteo", "rows": rows, "seed": seed}))
    else:
        typer.echo(f"{out}: {rows:,} rows, {out.expanduser().stat().st_size:,} bytes.")
        typer.echo(f"Prepare it with: firstlight data prepare criteo {out} -o {out.with_suffix('.prepared.parquet')}")


def _listed(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")] if text else []


def _shares(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(share) for share in text.split(","))
    except ValueError:
        raise SettingError(f"--split is {text!r}; write three shares such as 0.8,0.1,0.1.") from None


def _show(found: ClickData, path: Path, as_json: bool) -> None:
    facts = found.facts
    if as_json:
        typer.echo(json.dumps({"data": str(path), **facts}))
        return
    from firstlight.views.console import console, show_figures

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
        else f"of {min(found.tables):,} to {max(found.tables):,} rows; categories seen {options['min_count']} times in "
        "training have their own"
    )
    numbers = "one number that is always 0" if not facts["numbers"] else f"{found.dense} numbers"
    console.print(f"{numbers}, {found.fields} fields of categories, {how}.", markup=False, soft_wrap=True)
    for remark in facts["remarks"]:
        console.print(f"Note: {remark}.", markup=False, soft_wrap=True)
