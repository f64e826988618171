"""`firstlight algorithms`: how can be searched."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from firstlight.cli.options import Json


def algorithms(
    name: Annotated[str | None, typer.Argument(help="An algorithm, to be told everything about it.")] = None,
    as_json: Json = False,
) -> None:
    """List the search algorithms, or tell all about one: how it works, its settings, where it was published.

    Example: firstlight algorithms

    Example: firstlight algorithms evolution-budget
    """
    from dataclasses import asdict

    from firstlight.search.algorithms import ALGORITHMS
    from firstlight.views.catalog import algorithm_facts
    from firstlight.views.console import console, show_facts, show_table

    if name is None:
        known = [algorithm_facts(entry) for entry in ALGORITHMS.values()]
        if as_json:
            typer.echo(json.dumps([asdict(entry) for entry in known]))
            return
        show_table(("algorithm", "how it searches"), ((entry.name, entry.summary) for entry in known))
        console.print("\nSettings are written behind the name:")
        console.print("  firstlight search nasbench201 --algorithm evolution:population=32:children=4", soft_wrap=True)
        return
    facts = algorithm_facts(ALGORITHMS[name])
    if as_json:
        typer.echo(json.dumps(asdict(facts)))
        return
    rows = {
        "settings": ", ".join(f"{setting}={default}" for setting, default in facts.settings.items()) or "none",
        **({"keeps low": ", ".join(facts.costs)} if facts.costs else {}),
        "reference": facts.citation or "none",
    }
    show_facts(facts.name, facts.summary, facts.remarks, rows)
