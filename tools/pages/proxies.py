"""One page for each proxy, and a list of them by family."""

from __future__ import annotations

import re
from itertools import groupby

from tools.pages.markdown import block, origin, settings, table

from firstlight.proxies import PROXIES
from firstlight.views.catalog import Facts, ensemble_facts, facts, family

ORIGIN = origin("src/firstlight/proxies")
INDEX = """# Proxies

One page for each proxy: formula, direction, needs, settings, cost, scale and reference. `firstlight proxies NAME`
prints the same in the terminal. [Which proxy to trust](../which-proxy-when.md) summarizes what works where.

*Needs* is what you must provide: nothing (except the shape of an input), inputs, or inputs with labels.
"""
ENSEMBLES = """## Ensembles

An ensemble ranks the networks of a pool by each of several proxies and combines the ranks.

"""


def pages() -> dict[str, str]:
    """Every page by the name of its file."""
    return {f"{name}.md": page(facts(PROXIES[name])) for name in PROXIES} | {"README.md": index()}


def index() -> str:
    parts = [ORIGIN, INDEX]
    entries = sorted(PROXIES.values(), key=lambda entry: family(entry)[0].casefold())
    for (title, explanation), members in groupby(entries, key=family):
        rows = [
            (f"[`{known.name}`]({known.name}.md)", known.summary, known.better, known.needs)
            for known in map(facts, members)
        ]
        listed = table(("proxy", "what it measures", "better", "needs"), rows)
        parts += [f"## {title}\n", f"{_linked(explanation)}\n", listed]
    rows = [(f"`{known.name}`", known.summary, f"`{known.example}`") for known in ensemble_facts().values()]
    return "\n".join([*parts, ENSEMBLES, table(("ensemble", "how it scores networks", "example"), rows)])


def page(known: Facts) -> str:
    parts = [
        ORIGIN,
        f"# {known.name}\n",
        f"{known.summary}\n",
        block("text", known.formula),
        *(f"{_linked(paragraph, known.name)}\n" for paragraph in known.remarks),
        f"- **Direction:** {_linked(known.direction, known.name)}",
        f"- **Needs:** {known.needs_in_words}",
        f"- **Cost:** {_linked(known.cost, known.name)}",
        f"- **Scale:** {_linked(known.scale, known.name)}",
        f"- **Family:** [{known.family}](README.md)\n",
        *settings(known.name, known.settings, known.choices, known.setting_help),
        "## Use it\n",
        block("bash", f"firstlight score mypackage.models:network --input-shape 3,32,32 --proxy {known.name}"),
        block("python", _example(known)),
        "## Reference\n",
        f"{known.citation}\n" if known.citation else "None (a plain count).\n",
    ]
    return "\n".join(parts)


def _example(known: Facts) -> str:
    one = f"torch.randn({known.batch_size}, 3, 32, 32)"
    if known.needs_labels:
        one = f"({one}, torch.randint(10, ({known.batch_size},)))"
    batches = one if known.batches == 1 else f"[{one} for _ in range({known.batches})]"
    return (
        "import firstlight, torch\n\n"
        f"batches = {batches}  # or your own inputs\n"
        f'score = firstlight.score(model, batches, "{known.name}")["{known.name}"]\n'
        "print(score.value, score.parts, score.note)"
    )


def _linked(text: str, page: str = "") -> str:
    """Names of other proxies become links to their pages."""
    others = PROXIES.keys() - {page}
    return re.sub(r"`(\w+)`", lambda match: f"[{match[0]}]({match[1]}.md)" if match[1] in others else match[0], text)
