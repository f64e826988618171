"""The `firstlight` command: one file for each sub-command; they parse, call and print."""

from __future__ import annotations

import errno
import os
import signal
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from firstlight._version import __version__
from firstlight.cli.algorithms import algorithms
from firstlight.cli.compare import compare
from firstlight.cli.correlate import correlate
from firstlight.cli.data import data
from firstlight.cli.export import export
from firstlight.cli.plot import plot
from firstlight.cli.proxies import proxies
from firstlight.cli.rank import rank
from firstlight.cli.report import report
from firstlight.cli.reproduce import reproduce
from firstlight.cli.score import score
from firstlight.cli.search import search
from firstlight.cli.show import show
from firstlight.cli.spaces import spaces
from firstlight.cli.store import store
from firstlight.cli.table import table
from firstlight.cli.train import train
from firstlight.cli.trust import trust
from firstlight.cli.watch import watch
from firstlight.core.errors import FirstlightError


class Commands(TyperGroup):
    """Ctrl-C ends a command that says no more about it with a word, and no traceback."""

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override] # which is a click.Context
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            typer.echo("\nInterrupted.", err=True)
            raise typer.Exit(130) from None


app = typer.Typer(
    cls=Commands,
    help="Judge neural networks before they are trained, and find the best one in a search space.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command; errors a user can mend are printed without a traceback.

    Whoever asks it to end by SIGTERM, as schedulers do, gets what Ctrl-C gives.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        app()
    except FirstlightError as error:
        typer.secho(f"Error: {error} [{error.code}]", fg="red", err=True)
        sys.exit(1)
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        typer.secho(f"Error: {str(error.filename)[:60]!r}... is too long for the name of a file.", fg="red", err=True)
        sys.exit(1)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    from firstlight.execution.memory import keep_freed_memory

    keep_freed_memory()
    if sys.path[0] != os.getcwd():  # as `python -m` does, so that a module of the user's can be imported
        sys.path.insert(0, os.getcwd())


_JUDGING = (proxies, spaces, algorithms, show, score, rank, search)
for _command in (*_JUDGING, train, export, correlate, trust, compare, reproduce, report, watch):
    app.command()(_command)
app.add_typer(plot, name="plot")
app.add_typer(table, name="table")
app.add_typer(data, name="data")
app.add_typer(store, name="store")
