"""One page for each search algorithm, and a list of them."""

from __future__ import annotations

from tools.pages.markdown import block, origin, settings, table

from firstlight.core.errors import FirstlightError
from firstlight.core.settings import choices
from firstlight.search.algorithm import Algorithm
from firstlight.search.algorithms import ALGORITHMS
from firstlight.spaces import SPACES
from firstlight.views.catalog import algorithm_facts

ORIGIN = origin("src/firstlight/search/algorithms")
INDEX = """# Search algorithms

A search algorithm chooses the networks to score. `firstlight algorithms NAME` prints the same in the terminal. Limits,
fronts and budgets apply to all of them ([budgets and latency](../budgets.md)). See [results](../results.md) for what
they find.

Algorithms that need *true performance* train a few networks or look them up in a table ([HNAS](../papers/hnas.md)).
Those that need *a supernet* score its states, and those that need *a one-shot network* take steps through it. States
and steps are counted separately from networks. `--samples` does not limit them, but `zero-cost-pt:proposals=3` and
`nasi:steps=50` do.
"""
NEEDS = {
    "choices": "a space whose architectures are vectors of choices",
    "supernet": "a space with a supernet",
    "one_shot": "a space with a one-shot network",
    "truth": "true performance: `--data` to train on, or a `--table`",
    "optuna": "Optuna: `pip install 'firstlight[optuna]'`",
}
# Options for algorithms that need more than a number of samples.
EXAMPLES = {"truth": "--data digits@16 --queries 8", "one_shot": "--input digits --labels random"}


def pages() -> dict[str, str]:
    return {f"{name}.md": page(ALGORITHMS[name]) for name in ALGORITHMS} | {"README.md": index()}


def index() -> str:
    rows = [
        (f"[`{name}`]({name}.md)", entry.summary, "; ".join(NEEDS[need] for need in entry.needs) or "nothing else")
        for name, entry in ALGORITHMS.items()
    ]
    return "\n".join([ORIGIN, INDEX, table(("algorithm", "how it searches", "needs"), rows)])


def page(algorithm: Algorithm) -> str:
    known = algorithm_facts(algorithm)
    allowed = {name: found for name, setting in algorithm.settings.items() if (found := choices(setting))}
    option = next((EXAMPLES[need] for need in algorithm.needs if need in EXAMPLES), "--samples 200")
    parts = [
        ORIGIN,
        f"# {known.name}\n",
        f"{known.summary}\n",
        *(block("text", _dedented(text)) if text.startswith("    ") else f"{text}\n" for text in known.remarks),
        f"- **Needs:** {'; '.join(NEEDS[need] for need in algorithm.needs) or 'nothing else'}.",
        *([f"- **Also minimizes:** {', '.join(known.costs)}, unless you name objectives."] if known.costs else []),
        *([f"- **Default proxy:** [`{algorithm.proxy}`](../proxies/{algorithm.proxy}.md)."] if algorithm.proxy else []),
        f"- **Spaces:** {_spaces(algorithm)}.\n",
        *settings(known.name, known.settings, allowed, known.setting_help),
        "## Use it\n",
        "<!-- checked, not run: minutes of scoring -->",
        block("bash", f"firstlight search nasbench201 --algorithm {known.name} {option}"),
        "## Reference\n",
        f"{known.citation or 'None (unpublished).'}\n",
    ]
    return "\n".join(parts)


def _dedented(text: str) -> str:
    return "\n".join(line.removeprefix("    ") for line in text.splitlines())


def _spaces(algorithm: Algorithm) -> str:
    taken = [name for name, space in SPACES.items() if can_search(algorithm, name)]
    if len(taken) == len(SPACES):
        return "all"
    return ", ".join(f"[`{name}`](../spaces/{name}.md)" for name in taken)


def can_search(algorithm: Algorithm, space: str) -> bool:
    try:
        algorithm.check(SPACES[space])
    except FirstlightError:
        return False
    return True
