"""`firstlight algorithms`: the search algorithms."""

from __future__ import annotations

from firstlight.api.common import check_names
from firstlight.cli.printing import print_json


def algorithms(name: str | None = None, /, *, json: bool = False) -> None:
    """List the search algorithms, or describe one: how it works, its settings, and where it was published.

    For example:
    firstlight algorithms
    firstlight algorithms evolution

    Args:
        name: An algorithm, or your own algorithm as module:name.
        json: Print only JSON, for use in scripts.
    """
    check_names(algorithm=name)
    from dataclasses import asdict

    from firstlight.search.algorithms import ALGORITHMS
    from firstlight.views.catalog import algorithm_facts
    from firstlight.views.console.terminal import console, show_facts, show_table

    if name is None:
        known = [algorithm_facts(entry) for entry in ALGORITHMS.values()]
        if json:
            print_json([asdict(entry) for entry in known])
            return
        show_table(("algorithm", "how it searches"), ((entry.name, entry.summary) for entry in known))
        console.print("\nSettings follow the name:")
        console.print("  firstlight search nasbench201 --algorithm evolution:population=32:children=4", soft_wrap=True)
        return
    facts = algorithm_facts(ALGORITHMS.find(name))
    if json:
        print_json(asdict(facts))
        return
    rows = {
        **({} if facts.settings else {"settings": "none"}),
        **{f"{setting}={default}": facts.setting_help[setting] for setting, default in facts.settings.items()},
        **({"minimizes": ", ".join(facts.costs)} if facts.costs else {}),
        "reference": facts.citation or "none",
    }
    show_facts(facts.name, facts.summary, facts.remarks, rows)
