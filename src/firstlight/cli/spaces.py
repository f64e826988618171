"""`firstlight spaces`: where can be searched."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from firstlight.cli.options import Json, SeedOption, SkeletonOption, read_pairs

if TYPE_CHECKING:
    from firstlight.probe.cost import Cost
    from firstlight.spaces.base import Architecture, Space
    from firstlight.views.catalog import SpaceFacts


def spaces(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[SPACE]", help="A space, or module:space of your own, to be told all of it."),
    ] = None,
    samples: Annotated[
        int,
        typer.Option("--samples", help="How many random networks to tell sizes by, where one space is named.", min=1),
    ] = 100,
    skeleton: SkeletonOption = "",
    seed: SeedOption = 0,
    as_json: Json = False,
) -> None:
    """List the search spaces, or tell all about one: how large, an example, what its networks cost, who uses it.

    Example: firstlight spaces

    Example: firstlight spaces nasbench101
    """
    from dataclasses import asdict

    from firstlight.spaces import SPACES
    from firstlight.spaces.finding import find_space
    from firstlight.views.catalog import space_facts

    if name is not None:
        _tell(find_space(name), name, samples, skeleton, seed, as_json=as_json)
    elif as_json:
        typer.echo(json.dumps([asdict(space_facts(space)) for space in SPACES.values()]))
    else:
        _list(list(map(space_facts, SPACES.values())))


def _list(known: list[SpaceFacts]) -> None:
    from firstlight.spaces import SPACES
    from firstlight.views.console import console, show_table

    show_table(
        ("space", "architectures", "skeleton", "reference", "what it holds"),
        (
            (
                space.name,
                f"{space.architectures:,}" if space.architectures else "-",
                str(SPACES[space.name].skeleton()).replace(",", ", "),
                space.reference,
                space.summary,
            )
            for space in known
        ),
    )
    console.print("\nAll about one: firstlight spaces nasbench101. A space of your own: module:space.")


def _tell(space: Space[Any], name: str, samples: int, skeleton: str, seed: int, *, as_json: bool) -> None:
    import random
    from dataclasses import asdict

    from firstlight.core.quoting import quoted
    from firstlight.core.seeds import derive
    from firstlight.views.catalog import space_facts
    from firstlight.views.console import console, counting, show_facts, show_graph

    known = space_facts(space)
    around = space.skeleton(**dict(read_pairs(skeleton)))
    rng = random.Random(derive(seed, "examples", space.name))
    drawn = [space.sample(rng) for _ in range(samples)]
    measured: list[tuple[Architecture, Cost]] = []
    failed: list[Exception] = []
    with counting("measuring") as progress:
        for number, architecture in enumerate(drawn, start=1):
            try:
                measured.append((architecture, space.cost(architecture, around)))
            except Exception as error:  # one that cannot be built; there may be others
                failed.append(error)
            progress(number, samples)
    if not measured:
        raise failed[0]
    example = measured[0][0]
    drawing = space.drawing(example)
    ranges = {name: _range(getattr(cost, name) for _, cost in measured) for name in ("params", "macs")}
    if as_json:
        graph = None if drawing is None else asdict(drawing)
        told = {"skeleton": asdict(around), "samples": samples, "failed": len(failed), **ranges}
        told |= {"example": str(example), "drawing": graph}
        typer.echo(json.dumps(asdict(known) | told))
        return
    size = f"{known.architectures:,} architectures" if known.architectures else "too many to count"
    unbuilt = {"cannot be built": f"{len(failed)} of {samples} at random: {failed[0]}"} if failed else {}
    rows = {
        "size": size,
        "skeleton": str(around).replace(",", ", "),
        "parameters": _in_words(ranges["params"], len(measured)),
        "MACs": _in_words(ranges["macs"], len(measured)),
        **unbuilt,
        "usual proxy": known.proxy,
        "benchmark": known.benchmark or "none that is known here",
        "reference": known.citation or "none",
        "used by": "\n".join(known.used_by) or "none that is known here",
    }
    show_facts(known.name, known.summary, [], rows)
    console.print(f"\nAn example: {example}\n", markup=False, soft_wrap=True)
    if drawing is not None:
        show_graph(drawing)
        console.print()
    console.print(f"Draw any of them: firstlight show {name} {quoted(str(example))}", markup=False, soft_wrap=True)
    console.print(f"Search it: firstlight search {name}", markup=False)


def _range(values: Any) -> dict[str, float]:
    from statistics import median

    known = list(values)
    return {"lowest": min(known), "median": median(known), "highest": max(known)}


def _in_words(found: dict[str, float], samples: int) -> str:
    lowest, middle, highest = (f"{found[key]:,.0f}" for key in ("lowest", "median", "highest"))
    return f"{lowest} to {highest}, half below {middle} ({samples} at random)"
