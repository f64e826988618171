"""The page of one network: its searched part as a picture, and the whole of it by stages that unfold."""

from __future__ import annotations

from collections.abc import Sequence

from firstlight.core.quoting import joined
from firstlight.core.wording import compact
from firstlight.probe.cost import Cost
from firstlight.probe.stages import Stage
from firstlight.spaces.base import Drawing, Skeleton
from firstlight.views.pages.blocks import draw_in_page, draw_stages
from firstlight.views.pages.template import render_page

TRAINING = ("--data", "digits", "--out", "runs/trained")


def network_page(
    space: str,
    architecture: str,
    skeleton: Skeleton,
    changed: str,
    cost: Cost,
    drawing: Drawing | None,
    stages: Sequence[Stage],
) -> str:
    """Render the page of a network.

    Args:
        space: Name of the space.
        architecture: Text of the architecture.
        skeleton: The network around the searched part.
        changed: The settings of the skeleton that the user gave, as text.
        cost: Parameters and MACs.
        drawing: The picture of the searched part, if there is one.
        stages: The whole network; empty if it takes no images.

    Returns:
        The page.
    """
    around = ["--skeleton", changed] if changed else []
    layers = sum(len(stage.layers) for stage in stages)
    return render_page(
        "network.html",
        headline=f"{space}: {compact(cost.params)} parameters, {compact(cost.macs)} MACs",
        subtitle=f"skeleton {str(skeleton).replace(',', ', ')}",
        space=space,
        architecture=architecture,
        facts={
            "parameters": f"{cost.params:,}",
            "MACs for one input": f"{cost.macs:,}",
            **({"layers with weights": f"{layers:,}", "stages": f"{len(stages)}"} if stages else {}),
        },
        graph=draw_in_page(drawing) if drawing else "",
        stages=draw_stages(stages),
        commands_given=[
            f"firstlight {joined(['score', space, architecture, *around])}",
            *([f"firstlight {joined(['train', space, architecture, *around, *TRAINING])}"] if stages else []),
        ],
    )
