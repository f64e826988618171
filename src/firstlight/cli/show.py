"""`firstlight show`: an architecture as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from firstlight.api.common import check_names
from firstlight.cli.printing import print_json, say
from firstlight.core.errors import SettingError
from firstlight.options import read_skeleton


def show(
    space: str,
    architecture: str,
    /,
    *,
    out: Annotated[Path | None, Parameter(name=("--out", "-o"))] = None,
    skeleton: str = "",
    json: bool = False,
) -> None:
    """Draw an architecture in the terminal or to a file, and print the cost of its network.

    Lines between nodes are edges, labeled with their operations, from the lane of the source to just above the target.

    For example:
    firstlight show nasbench101 'conv3x3~0|maxpool3x3~0,1|output~1,2' -o cell.svg

    Args:
        space: The search space, or your own space as module:name.
        architecture: An architecture, as the space writes it; or textbook, for spaces that have such a network.
        out: Write the picture to this file: .svg, .png or .pdf.
        skeleton: Settings of the network around the searched part, such as channels=8,cells=2.
        json: Print only JSON, for use in scripts.
    """
    check_names(space=space)
    from dataclasses import asdict

    from firstlight.spaces.finding import find_space
    from firstlight.views.console.terminal import console, show_graph
    from firstlight.views.drawing.files import check_suffix
    from firstlight.views.drawing.picture import write_picture

    found = find_space(space)
    parsed = found.read(architecture)
    around = found.skeleton(**dict(read_skeleton(skeleton)))
    drawing = found.drawing(parsed, around)
    if out is not None:
        check_suffix(out)
        if drawing is None:
            raise SettingError(f"The space {found.name!r} does not draw its architectures. Leave out --out.")
        write_picture(drawing, out)
    cost = found.cost(parsed, around)
    canonical = str(found.canonical(parsed))
    if json:
        graph = None if drawing is None else asdict(drawing)
        known = {"space": found.name, "architecture": str(parsed), "canonical": canonical, **asdict(cost)}
        print_json(known | {"drawing": graph, "file": None if out is None else str(out)})
        return
    console.print(str(parsed), markup=False, soft_wrap=True, style="bold")
    if canonical != str(parsed):
        say(f"computes the same function as {canonical}")
    console.print(f"{cost.params:,} parameters, {cost.macs:,} MACs for one input\n")
    if drawing is not None:
        show_graph(drawing)
    if out is not None:
        say(f"\nPicture: {out}")
