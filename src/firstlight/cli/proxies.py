"""`firstlight proxies`: what can be asked of a network."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from firstlight.cli.options import Json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from firstlight.views.catalog import EnsembleFacts, Facts


def proxies(
    name: Annotated[
        str | None,
        typer.Argument(help="A proxy, module:name of your own, or an ensemble, to be told everything about it."),
    ] = None,
    ensembles: Annotated[
        bool, typer.Option("--ensembles", help="List only the ensembles; JSON without it lists only the proxies.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List proxies and ensembles of them, or tell all about one: formula, direction, needs, settings, cost, reference.

    Example: firstlight proxies

    Example: firstlight proxies dextr
    """
    from dataclasses import asdict

    from firstlight.core.errors import UnknownNameError
    from firstlight.proxies import PROXIES
    from firstlight.proxies.requests import find_proxy
    from firstlight.views.catalog import ensemble_facts, facts

    by_rank = ensemble_facts()
    if name is None and as_json:
        entries = by_rank.values() if ensembles else map(facts, PROXIES.values())
        typer.echo(json.dumps([asdict(entry) for entry in entries]))
    elif name is None:
        if not ensembles:
            _list_proxies(map(facts, PROXIES.values()))
        _list_ensembles(list(by_rank.values()))
    elif name not in PROXIES and name not in by_rank and ":" not in name:
        raise UnknownNameError("proxy or ensemble", name, [*PROXIES, *by_rank])
    elif as_json:
        typer.echo(json.dumps(asdict(by_rank[name] if name in by_rank else facts(find_proxy(name)))))
    elif name in by_rank:
        _show_ensemble(by_rank[name])
    else:
        _show_proxy(facts(find_proxy(name)))


def _list_proxies(known: Iterable[Facts]) -> None:
    from firstlight.views.console import console, show_table

    show_table(
        ("proxy", "better", "needs", "what it measures"),
        ((entry.name, entry.better, entry.needs, entry.summary) for entry in known),
    )
    console.print()


def _list_ensembles(known: Sequence[EnsembleFacts]) -> None:
    from firstlight.views.console import console, show_table

    show_table(
        ("ensemble", "how it judges networks, by their ranks in a pool"),
        ((entry.name, entry.summary) for entry in known),
    )
    console.print("\nOrder networks by an ensemble, or search by it:")
    for use in known[-1].uses:
        console.print(f"  {use}", markup=False, soft_wrap=True)


def _show_proxy(known: Facts) -> None:
    from rich.padding import Padding
    from rich.text import Text

    from firstlight.views.console import show_facts

    settings = (
        f"{name}={default}" + (f" ({', '.join(known.choices[name])})" if name in known.choices else "")
        for name, default in known.settings.items()
    )
    rows = {
        "direction": known.direction or f"{known.better} is better",
        "needs": known.needs_in_words,
        "settings": ", ".join(settings) or "none",
        "cost": known.cost,
        "scale": known.scale,
        "reference": known.citation or "none",
    }
    show_facts(known.name, known.summary, [Padding(Text(known.formula), (0, 0, 0, 4)), *known.remarks], rows)


def _show_ensemble(known: EnsembleFacts) -> None:
    from firstlight.views.console import show_facts

    rows = {
        "direction": "Higher is better.",
        "members": ", ".join(known.members) or f"those you name, with weights if you like: {known.example}",
        "cost": "that of the members",
        "use": "\n".join(known.uses),
        "reference": known.citation or "none",
    }
    show_facts(known.name, known.summary, ["An ensemble: networks are ranked by each member, within the pool."], rows)
