"""`firstlight export`: a network as files for use elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from firstlight.cli.options import Json, SkeletonOption, read_pairs
from firstlight.core.errors import SettingError


def export(
    space: Annotated[
        str,
        typer.Argument(
            metavar="SPACE|RUN",
            help="The search space, or module:space of your own; or the folder of a search or training alone.",
        ),
    ],
    architecture: Annotated[
        str | None,
        typer.Argument(
            help="An architecture, as the space writes it; that of the run, if its folder is given.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FOLDER", help="Where the files go; required.")
    ] = None,
    weights: Annotated[
        Path | None,
        typer.Option(
            help="A safetensors file; default: those of the run if it has trained (of a search with --retrain, those "
            "of the best on the validation part), else initial ones."
        ),
    ] = None,
    format: Annotated[
        str,
        typer.Option(
            help="What to write, separated by commas: json, source, safetensors, onnx. Default: all but onnx."
        ),
    ] = "",
    onnx: Annotated[
        bool, typer.Option("--onnx", help="Write network.onnx as well, checked with ONNX Runtime.")
    ] = False,
    skeleton: SkeletonOption = "",
    seed: Annotated[
        int | None, typer.Option(help="Decides the initial weights; default: that of the run, or 0.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier export in the folder.")] = False,
    as_json: Json = False,
) -> None:
    """Write a network into a folder: what it is, PyTorch source that needs no Firstlight, weights, and ONNX.

    network.py holds this network alone, and gives exactly the outputs that it has in Firstlight.

    Example: firstlight export runs/mine -o exported --onnx

    Example: firstlight export nats-sss 8:16:16:32:32 -o exported --format source,json

    Example: firstlight export runs/mine -o exported --weights trained/weights.safetensors
    """
    from firstlight.export import export as export_network
    from firstlight.export.exporter import read_formats
    from firstlight.views.console.export import show_export

    if out is None:
        raise SettingError("Name the folder for the files: -o FOLDER.")
    named, source = (None, space) if architecture is None else (space, architecture)
    done = export_network(
        source,
        out,
        space=named,
        skeleton=dict(read_pairs(skeleton)),
        seed=seed,
        weights=weights,
        formats=read_formats(format, onnx=onnx),
        overwrite=overwrite,
    )
    if as_json:
        typer.echo(json.dumps(done.to_dict()))
    else:
        show_export(done)
