"""`firstlight show`: an architecture as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from firstlight.api.common import check_names
from firstlight.cli.printing import print_json, say
from firstlight.core.errors import SettingError
from firstlight.options import read_skeleton

if TYPE_CHECKING:
    from firstlight.probe.stages import Stage
    from firstlight.spaces.base import Skeleton, Space


def show(
    space: str,
    architecture: str,
    /,
    *,
    out: Annotated[Path | None, Parameter(name=("--out", "-o"))] = None,
    html: Path | None = None,
    skeleton: str = "",
    json: bool = False,
) -> None:
    """Draw an architecture in the terminal or to a file, and print the cost of its network.

    Lines between nodes are edges, labeled with their operations, from the lane of the source to just above the target.

    For example:
    firstlight show nasbench101 'conv3x3~0|maxpool3x3~0,1|output~1,2' -o cell.svg
    firstlight show nats-sss 8:16:16:32:32 --html network.html

    Args:
        space: The search space, or your own space as module:name.
        architecture: An architecture, as the space writes it; or textbook, for spaces that have such a network.
        out: Write the picture to this file: .svg, .png or .pdf.
        html: Write a page of the whole network to this file: stages, resolutions, widths and parameters, which unfold
            to layers.
        skeleton: Settings of the network around the searched part, such as channels=8,cells=2.
        json: Print only JSON, for use in scripts.
    """
    check_names(space=space)
    from dataclasses import asdict

    from firstlight.spaces.finding import find_space
    from firstlight.views.console.terminal import console, show_graph, show_stages
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
    stages = _stages(found, parsed, around)
    canonical = str(found.canonical(parsed))
    if html is not None:
        from firstlight.views.pages.network import network_page

        try:
            html.write_text(network_page(space, str(parsed), around, skeleton, cost, drawing, stages), encoding="utf-8")
        except OSError as error:
            raise SettingError(f"{html} cannot be written: {error}. Name another file with --html.") from error
    if json:
        graph = None if drawing is None else asdict(drawing)
        known = {"space": found.name, "architecture": str(parsed), "canonical": canonical, **asdict(cost)}
        files = {"file": None if out is None else str(out), "html": None if html is None else str(html)}
        print_json(known | {"drawing": graph, "stages": [stage.to_dict() for stage in stages], **files})
        return
    console.print(str(parsed), markup=False, soft_wrap=True, style="bold")
    if canonical != str(parsed):
        say(f"computes the same function as {canonical}")
    console.print(f"{cost.params:,} parameters, {cost.macs:,} MACs for one input\n")
    if drawing is not None:
        show_graph(drawing)
    if stages:
        console.print()
        show_stages(stages)
    if html is not None:
        say(f"\nPage: {html}")
    if out is not None:
        say(f"\nPicture: {out}")


def _stages(space: Space[Any], architecture: Any, skeleton: Skeleton) -> tuple[Stage, ...]:
    """Return the stages of a network that takes images; none of others."""
    import torch

    from firstlight.probe.stages import find_stages

    if space.data_kind != "images":
        return ()
    return find_stages(space.build(architecture, skeleton), torch.zeros(1, *skeleton.input_shape))
