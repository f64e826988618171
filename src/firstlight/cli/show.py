"""`firstlight show`: an architecture as a picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from firstlight.cli.options import Json, SkeletonOption, read_pairs
from firstlight.core.errors import SettingError


def show(
    space: Annotated[str, typer.Argument(help="The search space, or module:space of your own.")],
    architecture: Annotated[str, typer.Argument(help="An architecture, as the space writes it.")],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="Write the picture to a file: .svg, .png or .pdf."),
    ] = None,
    skeleton: SkeletonOption = "",
    as_json: Json = False,
) -> None:
    """Draw an architecture in the terminal, and into a file; say what its network costs.

    Lines between two nodes are edges, with their operation; they leave the lane of their source and end above their
    target.

    Example: firstlight show nasbench101 'conv3x3~0|maxpool3x3~0,1|output~1,2' -o cell.svg
    """
    from dataclasses import asdict

    from firstlight.spaces.finding import find_space
    from firstlight.views.console import console, show_graph
    from firstlight.views.drawing.files import check_suffix
    from firstlight.views.drawing.picture import write_picture

    found = find_space(space)
    parsed = found.read(architecture)
    drawing = found.drawing(parsed)
    if out is not None:
        check_suffix(out)
        if drawing is None:
            raise SettingError(f"The space {found.name!r} has no drawing of its architectures; leave out --out.")
        write_picture(drawing, out)
    cost = found.cost(parsed, found.skeleton(**dict(read_pairs(skeleton))))
    canonical = str(found.canonical(parsed))
    if as_json:
        graph = None if drawing is None else asdict(drawing)
        known = {"space": found.name, "architecture": str(parsed), "canonical": canonical, **asdict(cost)}
        typer.echo(json.dumps(known | {"drawing": graph, "file": None if out is None else str(out)}))
        return
    console.print(str(parsed), markup=False, soft_wrap=True, style="bold")
    if canonical != str(parsed):
        console.print(f"computes the same as {canonical}", markup=False, soft_wrap=True)
    console.print(f"{cost.params:,} parameters, {cost.macs:,} MACs for one input\n")
    if drawing is not None:
        show_graph(drawing)
    if out is not None:
        console.print(f"\nPicture: {out}", markup=False, soft_wrap=True)
