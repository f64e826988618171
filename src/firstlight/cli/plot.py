"""`firstlight plot`: figures for publications."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from firstlight.cli.options import DeviceOption, InputOption, Json, SeedOption, SkeletonOption, read_setting, read_shape
from firstlight.cli.targets import (
    FromOption,
    LogitsOption,
    ShapeOption,
    import_model,
    is_own_model,
    read_architectures,
    read_logits,
)
from firstlight.core.errors import SettingError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from firstlight.probe import Probe

plot = typer.Typer(
    help="Figures for publications, as SVG, PNG or PDF, of what runs have left in their folders.", no_args_is_help=True
)

Study = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of `correlate` or `trust`, as given to --out.")]
Search = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a search, as given to --out.")]


def _picture(path: Path) -> Path:
    """Refused before anything is read or measured."""
    from firstlight.views.drawing.files import check_suffix

    check_suffix(path)
    return path


Out = Annotated[
    Path,
    typer.Option("-o", "--out", metavar="FILE", help="Where to: its ending is .svg, .png or .pdf.", callback=_picture),
]
Width = Annotated[str, typer.Option(help="Inches, or what journals have: column (3.35) or page (6.9).")]
Target = Annotated[str | None, typer.Option(help="The column of the truth; default: the first of the run.")]
Against = Annotated[str, typer.Option(help="What goes to the right: queries (networks scored or asked), or seconds.")]


@plot.command()
def scatter(
    directory: Study,
    out: Out,
    proxy: Annotated[str | None, typer.Option(help="Which proxy; default: the best.")] = None,
    target: Target = None,
    ranks: Annotated[bool, typer.Option("--ranks", help="Ranks instead of values.")] = False,
    width: Width = "column",
    as_json: Json = False,
) -> None:
    """A proxy's scores against the truth, a dot for each network, brighter where many are.

    Example: firstlight plot scatter runs/study --proxy dextr -o dextr.pdf
    """
    from firstlight.views import plot_scatter

    _write(plot_scatter(directory, proxy, target, ranks=ranks, width=width), out, as_json)


@plot.command()
def bars(directory: Study, out: Out, target: Target = None, width: Width = "column", as_json: Json = False) -> None:
    """How well each proxy ranks, with 95 % intervals.

    Example: firstlight plot bars runs/study -o ranks.pdf
    """
    from firstlight.views import plot_bars

    _write(plot_bars(directory, target, width=width), out, as_json)


@plot.command()
def agreement(directory: Study, out: Out, width: Width = "page", as_json: Json = False) -> None:
    """Which proxies rank networks alike, as a heat map.

    Example: firstlight plot agreement runs/study -o agreement.pdf
    """
    from firstlight.views import plot_agreement

    _write(plot_agreement(directory, width=width), out, as_json)


@plot.command()
def curves(
    directories: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="The folder of `compare`, or those of searches, which share an axis."),
    ],
    out: Out,
    against: Against = "queries",
    target: Target = None,
    width: Width = "column",
    as_json: Json = False,
) -> None:
    """The best so far over queries or seconds, with bands over seeds.

    Searches that differ in nothing but their seed are one line.

    Example: firstlight plot curves runs/compared --against seconds -o methods.pdf

    Example: firstlight plot curves runs/seed0 runs/seed1 runs/seed2 -o search.pdf
    """
    from firstlight.views.plots import is_comparison, plot_curve, plot_curves

    if any(map(is_comparison, directories)):
        if len(directories) > 1:
            raise SettingError(f"A comparison is a figure by itself; {len(directories)} folders were given.")
        _write(plot_curves(directories[0], target, against, width=width), out, as_json)
        return
    if target is not None:
        raise SettingError(f"--target {target} chooses a column of a comparison; searches are drawn by their score.")
    _write(plot_curve(directories, against, width=width), out, as_json)


@plot.command()
def front(
    directory: Search,
    out: Out,
    cost: Annotated[
        str | None, typer.Option(help="params, macs, or another cost of the search; default: its first objective.")
    ] = None,
    width: Width = "column",
    as_json: Json = False,
) -> None:
    """All networks of a search by score and cost, and those that no other beats.

    Example: firstlight plot front runs/pareto --cost latency -o front.pdf
    """
    from firstlight.views import plot_front

    _write(plot_front(directory, cost, width=width), out, as_json)


@plot.command()
def surface(directory: Search, out: Out, width: Width = "column", as_json: Json = False) -> None:
    """What HNAS expects for each pair of its two numbers, and what it asked.

    Example: firstlight plot surface runs/hnas -o surface.pdf
    """
    from firstlight.views import plot_surface

    _write(plot_surface(directory, width=width), out, as_json)


@plot.command()
def network(
    target: Annotated[
        str,
        typer.Argument(metavar="SPACE|MODULE:FACTORY", help="A search space, or a function that makes your model."),
    ],
    out: Out,
    architectures: Annotated[
        list[str] | None, typer.Argument(metavar="[ARCH]...", help="Architectures of the space.")
    ] = None,
    show: Annotated[
        str, typer.Option(help="layers (Figure 3 of Dextr's paper) or outputs (its Figure 1), as said above.")
    ] = "layers",
    source: FromOption = None,
    names: Annotated[str, typer.Option(help="What to call the networks, separated by commas.")] = "",
    input: InputOption = "synthetic",
    input_shape: ShapeOption = None,
    logits: LogitsOption = None,
    skeleton: SkeletonOption = "",
    seed: SeedOption = 0,
    device: DeviceOption = None,
    width: Width = "column",
    as_json: Json = False,
) -> None:
    """What untrained networks do inside.

    layers: how independent the channels of each layer are, from the first to the last. outputs: how the output moves
    as the input goes round a circle.

    Example: firstlight plot network nasbench201 ARCH ARCH --names good,bad -o layers.pdf

    Example: firstlight plot network mine:model --show outputs --width page -o outputs.pdf
    """
    from firstlight.views import plot_layers, plot_outputs

    drawings = {"layers": plot_layers, "outputs": plot_outputs}
    if show not in drawings:
        raise SettingError(f"--show is {show!r}; write {' or '.join(drawings)}.")
    shown = input, input_shape, logits
    probes = _probes(target, architectures, source, shown, skeleton, seed, device)
    _write(drawings[show](_named(probes, names), width=width), out, as_json)


def _probes(
    target: str,
    architectures: list[str] | None,
    source: str | None,
    shown: tuple[str, str | None, str | None],
    skeleton: str,
    seed: int,
    device: str | None,
) -> list[Probe]:
    from firstlight.probe import Probe
    from firstlight.proxies.requests import parse_requests
    from firstlight.scoring.models import DrawnBatches, ModelSetting, made_network, refuse_for_space
    from firstlight.scoring.service import source_for

    input, input_shape, logits = shown
    images = source_for(parse_requests("dextr"), input, None, None, "true")
    if is_own_model(target, seed):
        if architectures or source or skeleton:
            raise SettingError(f"{target} names a model of your own; it takes neither architectures nor a skeleton.")
        own = ModelSetting(DrawnBatches(images, read_shape(input_shape)), logits=read_logits(logits))
        return [own.probe(made_network(target, import_model(target, seed), seed, device), seed)]
    refuse_for_space(target, input_shape=input_shape, logits=logits)
    setting = read_setting(target, images, skeleton, seed, device, 1)
    texts = read_architectures(setting.space, architectures, source)
    if not texts:
        raise SettingError("No architecture was given. Name some after the space, or read them with --from FILE.")
    return [Probe(setting.build(text), setting.inputs.batches, seed=seed) for text in texts]


def _named(probes: list[Probe], names: str) -> dict[str, Probe]:
    given = [name.strip() for name in names.split(",")] if names else []
    called = given or [f"network {number}" for number in range(1, len(probes) + 1)]
    if len(set(called)) != len(called) or len(called) != len(probes):
        raise SettingError(f"--names are {', '.join(called)}; give {len(probes)} different ones.")
    return dict(zip(called, probes, strict=True))


def _write(figure: Figure, out: Path, as_json: bool) -> None:
    from firstlight.views import save_figure

    save_figure(figure, out)
    typer.echo(json.dumps({"figure": str(out)}) if as_json else f"Figure: {out}")
