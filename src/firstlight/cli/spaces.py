"""`firstlight spaces`: the search spaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firstlight.cli.printing import print_json, say
from firstlight.options import read_skeleton

if TYPE_CHECKING:
    from firstlight.probe.cost import Cost
    from firstlight.spaces.base import Architecture, Space
    from firstlight.views.catalog import SpaceFacts


def spaces(
    name: str | None = None, /, *, samples: int = 100, skeleton: str = "", seed: int = 0, json: bool = False
) -> None:
    """List the search spaces, or describe one: its size, an example, the costs of its networks, and who uses it.

    For example:
    firstlight spaces
    firstlight spaces nasbench101

    Args:
        name: A space, or your own space as module:name.
        samples: Number of random networks to measure costs on.
        skeleton: Settings of the network around the searched part, such as channels=8,cells=2.
        seed: Seed of the random networks.
        json: Print only JSON, for use in scripts.
    """
    from dataclasses import asdict

    from firstlight.spaces import SPACES
    from firstlight.spaces.finding import find_space
    from firstlight.views.catalog import space_facts

    if name is not None:
        _tell(find_space(name), name, samples, skeleton, seed, as_json=json)
    elif json:
        print_json([asdict(space_facts(space)) for space in SPACES.values()])
    else:
        _list(list(map(space_facts, SPACES.values())))


def _list(known: list[SpaceFacts]) -> None:
    from firstlight.spaces import SPACES
    from firstlight.views.console.terminal import console, show_table

    show_table(
        ("space", "architectures", "skeleton", "reference", "contents"),
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
    console.print("\nDescribe one: firstlight spaces nasbench101. Your own space: module:name.")


def _tell(space: Space[Any], name: str, samples: int, skeleton: str, seed: int, *, as_json: bool) -> None:
    import random
    from dataclasses import asdict

    from firstlight.core.events import Event
    from firstlight.core.quoting import quoted
    from firstlight.core.seeds import derive
    from firstlight.views.catalog import space_facts
    from firstlight.views.console.progress import showing
    from firstlight.views.console.terminal import console, show_facts, show_graph

    known = space_facts(space)
    around = space.skeleton(**dict(read_skeleton(skeleton)))
    rng = random.Random(derive(seed, "examples", space.name))
    drawn = [space.sample(rng) for _ in range(samples)]
    measured: list[tuple[Architecture, Cost]] = []
    failed: list[Exception] = []
    with showing() as callback:
        for number, architecture in enumerate(drawn, start=1):
            try:
                measured.append((architecture, space.cost(architecture, around)))
            except Exception as error:  # one that cannot be built; there may be others
                failed.append(error)
            callback(Event("measuring", number, samples))
    if not measured:
        raise failed[0]
    example = measured[0][0]
    drawing = space.drawing(example, around)
    ranges = {name: _range(getattr(cost, name) for _, cost in measured) for name in ("params", "macs")}
    if as_json:
        graph = None if drawing is None else asdict(drawing)
        told = {"skeleton": asdict(around), "samples": samples, "failed": len(failed), **ranges}
        told |= {"example": str(example), "drawing": graph}
        print_json(asdict(known) | told)
        return
    size = f"{known.architectures:,} architectures" if known.architectures else "too many to count"
    unbuilt = {"cannot be built": f"{len(failed)} of {samples} random networks: {failed[0]}"} if failed else {}
    rows = {
        "size": size,
        "skeleton": str(around).replace(",", ", "),
        "parameters": _in_words(ranges["params"], len(measured)),
        "MACs": _in_words(ranges["macs"], len(measured)),
        **unbuilt,
        "default proxy": known.proxy,
        "its evidence": known.evidence or "none",
        **({"textbook": space.textbook} if space.textbook else {}),
        "benchmark": known.benchmark or "none known",
        "reference": known.citation or "none",
        "used by": "\n".join(known.used_by) or "none known",
    }
    show_facts(known.name, known.summary, [], rows)
    say(f"\nExample: {example}\n")
    if drawing is not None:
        show_graph(drawing)
        console.print()
    say(f"Draw an architecture: firstlight show {name} {quoted(str(example))}")
    console.print(f"Search the space: firstlight search {name}", markup=False)


def _range(values: Any) -> dict[str, float]:
    from statistics import median

    known = list(values)
    return {"lowest": min(known), "median": median(known), "highest": max(known)}


def _in_words(found: dict[str, float], samples: int) -> str:
    lowest, middle, highest = (f"{found[key]:,.0f}" for key in ("lowest", "median", "highest"))
    return f"{lowest} to {highest}, median {middle} ({samples} random networks)"
