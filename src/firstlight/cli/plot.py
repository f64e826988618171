"""`firstlight plot`: figures for publications."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from firstlight.api.network_figure import network_figure as call
from firstlight.cli.derive import command_group, derived
from firstlight.cli.networks import from_flag, read_networks, seed_of
from firstlight.cli.printing import print_json, say
from firstlight.core.errors import SettingError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

plot = command_group("plot", "Draw the results of runs as figures for publications, in SVG, PNG or PDF.")

Study = Annotated[Path, Parameter(help="The folder of `correlate` or `trust`, as given to --out.")]
Search = Annotated[Path, Parameter(help="The folder of a search, as given to --out.")]
Out = Annotated[Path, Parameter(name=("--out", "-o"), help="The figure: FILE.svg, .png or .pdf.")]
Width = Annotated[str, Parameter(help="Width of the figure: column (3.35 inches), page (6.9), or a number of inches.")]
Target = Annotated[str | None, Parameter(help="The column to compare with. Default: the first of the run.")]
Json = Annotated[bool, Parameter(help="Print only JSON, for use in scripts.", negative=(), show_default=False)]


@plot.command
def scatter(
    directory: Study,
    /,
    *,
    out: Out,
    proxy: Annotated[str | None, Parameter(help="The proxy to plot. Default: the best one.")] = None,
    target: Target = None,
    ranks: Annotated[bool, Parameter(help="Plot ranks instead of values.", negative=())] = False,
    width: Width = "column",
    json: Json = False,
) -> None:
    """Plot the scores of a proxy against true performance, one dot per network.

    For example:
    firstlight plot scatter runs/study --proxy dextr -o dextr.pdf
    """
    _check(out)
    from firstlight.views import plot_scatter

    _write(plot_scatter(directory, proxy, target, ranks=ranks, width=width), out, as_json=json)


@plot.command
def bars(directory: Study, /, *, out: Out, target: Target = None, width: Width = "column", json: Json = False) -> None:
    """Plot how well each proxy ranks, with 95% intervals.

    For example:
    firstlight plot bars runs/study -o ranks.pdf
    """
    _check(out)
    from firstlight.views import plot_bars

    _write(plot_bars(directory, target, width=width), out, as_json=json)


@plot.command
def agreement(directory: Study, /, *, out: Out, width: Width = "page", json: Json = False) -> None:
    """Plot how well proxies agree, as a heat map.

    For example:
    firstlight plot agreement runs/study -o agreement.pdf
    """
    _check(out)
    from firstlight.views import plot_agreement

    _write(plot_agreement(directory, width=width), out, as_json=json)


@plot.command
def curves(
    *directories: Annotated[Path, Parameter(help="The folder of `compare`, or those of searches.")],
    out: Out,
    against: Annotated[
        str, Parameter(help="The horizontal axis: queries (networks evaluated) or seconds.")
    ] = "queries",
    target: Target = None,
    width: Width = "column",
    json: Json = False,
) -> None:
    """Plot the best so far over queries or seconds, with bands over seeds.

    Searches that differ only in their seed are drawn as one line.

    For example:
    firstlight plot curves runs/compared --against seconds -o methods.pdf
    firstlight plot curves runs/seed0 runs/seed1 runs/seed2 -o search.pdf
    """
    _check(out)
    from firstlight.views.plots import is_comparison, plot_curve, plot_curves

    if not directories:
        raise SettingError("Name the folder of a comparison, or those of one or more searches.")
    if any(map(is_comparison, directories)):
        if len(directories) > 1:
            raise SettingError(
                f"A comparison is drawn as one figure, but {len(directories)} folders were given. Name only the folder "
                "of the comparison."
            )
        _write(plot_curves(directories[0], target, against, width=width), out, as_json=json)
        return
    if target is not None:
        raise SettingError(
            f"--target {target} selects a column of a comparison, but searches are drawn by their score. Leave it out."
        )
    _write(plot_curve(list(directories), against, width=width), out, as_json=json)


@plot.command
def front(
    directory: Search,
    /,
    *,
    out: Out,
    cost: Annotated[
        str | None, Parameter(help="params, macs, or another cost of the search. Default: its first objective.")
    ] = None,
    width: Width = "column",
    json: Json = False,
) -> None:
    """Plot the networks of a search by score and cost, with the Pareto front.

    For example:
    firstlight plot front runs/pareto --cost latency -o front.pdf
    """
    _check(out)
    from firstlight.views import plot_front

    _write(plot_front(directory, cost, width=width), out, as_json=json)


@plot.command
def surface(directory: Search, /, *, out: Out, width: Width = "column", json: Json = False) -> None:
    """Plot the accuracy that HNAS expects for each pair of its two parameters, and its queries.

    For example:
    firstlight plot surface runs/hnas -o surface.pdf
    """
    _check(out)
    from firstlight.views import plot_surface

    _write(plot_surface(directory, width=width), out, as_json=json)


def _out(*, out: Out) -> None:
    """The flag `--out`."""


@derived(call, without=("labels", "batch_size", "num_batches", "warmup", "repeats"), more=(from_flag, _out))
def network(given: dict[str, Any]) -> None:
    """Plot the layers or the outputs of untrained networks.

    layers: how independent the channels of each layer are, from the first to the last. outputs: how the output moves
    as the input moves along a circle.

    For example:
    firstlight plot network nasbench201 ARCH ARCH --names good,bad -o layers.pdf
    firstlight plot network mine:model --show outputs --width page -o outputs.pdf
    """
    as_json, out = given.pop("json", False), given.pop("out")
    _check(out)
    name, others = given.pop("networks"), given.pop("architectures", ())
    networks, texts = read_networks(name, others, given.pop("from_file", None), seed_of(given))
    _write(call(networks, texts, **given), out, as_json=as_json)


plot.command(network, name="network")


def _check(out: Path) -> None:
    """Refuse other endings before anything is read or measured."""
    from firstlight.views.drawing.files import check_suffix

    check_suffix(out)


def _write(figure: Figure, out: Path, *, as_json: bool) -> None:
    from firstlight.views import save_figure

    save_figure(figure, out)
    if as_json:
        print_json({"figure": str(out)})
    else:
        say(f"Figure: {out}")
