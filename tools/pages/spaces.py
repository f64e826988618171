"""One page for each search space, and a list of them."""

from __future__ import annotations

import inspect
import random
import re
import shlex
from typing import Any

from tools.pages.algorithms import can_search
from tools.pages.markdown import block, code, origin, table
from tools.pages.measured import FINDINGS

from firstlight.spaces import SPACES
from firstlight.spaces.base import Space
from firstlight.views.catalog import space_facts
from firstlight.views.drawing.terminal import text_graph

ORIGIN = origin("src/firstlight/spaces")
INDEX = """# Search spaces

A search space is a set of networks to choose from. `firstlight spaces NAME` also prints the costs of a hundred random
networks and draws an example. [Choosing a space](../choosing-a-space.md) describes what the spaces have in common.
[Your own space](../own-space.md) takes ten lines.
"""


def pages() -> dict[str, str]:
    return {f"{name}.md": page(SPACES[name]) for name in SPACES} | {"README.md": index()}


def index() -> str:
    rows = [
        (f"[`{name}`]({name}.md)", _size(space), space.summary, _skeleton(space, values=False))
        for name, space in SPACES.items()
    ]
    return "\n".join([ORIGIN, INDEX, table(("space", "architectures", "contents", "skeleton settings"), rows)])


def page(space: Space[Any]) -> str:
    from firstlight.search.algorithms import ALGORITHMS

    known = space_facts(space)
    example = space.sample(random.Random(1))
    if space.textbook:
        example = space.read("textbook")
    cost = space.cost(example, space.skeleton())
    drawing = space.drawing(example)
    special = [name for name, entry in ALGORITHMS.items() if entry.needs and can_search(entry, space.name)]
    parts = [
        ORIGIN,
        f"# {known.name}\n",
        f"{known.summary[:1].upper()}{known.summary[1:]}.\n",
        f"{inspect.getdoc(type(space))}\n",
        f"- **Architectures:** {_size(space)}.",
        f"- **Skeleton settings (`--skeleton`):** {_skeleton(space, values=True)}.",
        f"- **Inputs:** {space.data_kind}. **Default proxy:** [`{known.proxy}`](../proxies/{known.proxy}.md).",
        *(
            [f"- **Evidence (Spearman correlation with accuracy):** {_linked(known.evidence)}."]
            if known.evidence
            else []
        ),
        *([f"- **Textbook network (`textbook`):** `{space.textbook}`."] if space.textbook else []),
        f"- **Benchmark:** {known.benchmark or 'none known'}.",
        f"- **Used by:** {'; '.join(known.used_by) or 'none known'}.",
        f"- **Also searched by:** {', '.join(f'[`{name}`](../algorithms/{name}.md)' for name in special)}.\n",
        "## Example\n",
        block("text", str(example)),
        f"{cost.params:,} parameters, {cost.macs:,} multiply-accumulates for one input, with this skeleton.\n",
        *([block("text", "\n".join(text_graph(drawing)))] if drawing is not None else []),
        "## Use it\n",
        "<!-- checked, not run: what the other pages run, on large networks -->",
        block(
            "bash",
            f"firstlight show {known.name} {shlex.quote(str(example))}\nfirstlight search {known.name} --samples 100",
        ),
        "## Reference\n",
        f"{known.citation or 'None.'}\n",
    ]
    return "\n".join(parts)


def _linked(evidence: str) -> str:
    """Return the evidence with a link to where it was measured: an experiment, or a page of the guide."""

    def link(found: re.Match[str]) -> str:
        folder = "measured/" if (FINDINGS / f"{found[1]}.json").exists() else ""
        return f"([{found[1]}](../{folder}{found[1]}.md))"

    return re.sub(r"\(([a-z]+-[a-z0-9-]+)\)", link, evidence)


def _size(space: Space[Any]) -> str:
    known = space_facts(space).architectures
    return f"{known:,}" if known else "too many to count"


def _skeleton(space: Space[Any], *, values: bool) -> str:
    settings = dict(part.split("=") for part in str(space.skeleton()).split(","))
    return ", ".join(code(f"{name}={setting}" if values else name) for name, setting in settings.items())
