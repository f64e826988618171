"""`firstlight proxies`: the proxies and ensembles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firstlight.api.common import check_names
from firstlight.cli.printing import print_json, say

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from firstlight.views.catalog import EnsembleFacts, Facts


def proxies(name: str | None = None, /, *, ensembles: bool = False, json: bool = False) -> None:
    """List proxies and ensembles, or describe one: formula, direction, needs, settings, cost, reference.

    For example:
    firstlight proxies
    firstlight proxies dextr

    Args:
        name: A proxy, your own proxy as module:name, or an ensemble.
        ensembles: List only the ensembles. With --json, only the proxies are listed otherwise.
        json: Print only JSON, for use in scripts.
    """
    check_names(proxies=name)
    from dataclasses import asdict

    from firstlight.proxies import PROXIES
    from firstlight.proxies.requests import find_proxy
    from firstlight.views.catalog import ensemble_facts, facts

    by_rank = ensemble_facts()
    if name is None and json:
        entries = by_rank.values() if ensembles else map(facts, PROXIES.values())
        print_json([asdict(entry) for entry in entries])
    elif name is None:
        if not ensembles:
            _list_proxies(map(facts, PROXIES.values()))
        _list_ensembles(list(by_rank.values()))
    elif json:
        print_json(asdict(by_rank[name] if name in by_rank else facts(find_proxy(name))))
    elif name in by_rank:
        _show_ensemble(by_rank[name])
    else:
        _show_proxy(facts(find_proxy(name)))


def _list_proxies(known: Iterable[Facts]) -> None:
    from firstlight.views.console.terminal import console, show_table

    show_table(
        ("proxy", "better", "needs", "what it measures"),
        ((entry.name, entry.better, entry.needs, entry.summary) for entry in known),
    )
    console.print()


def _list_ensembles(known: Sequence[EnsembleFacts]) -> None:
    from firstlight.views.console.terminal import console, show_table

    show_table(
        ("ensemble", "how it scores networks, by their ranks in a pool"),
        ((entry.name, entry.summary) for entry in known),
    )
    console.print("\nRank networks by an ensemble, or search with one:")
    for use in known[-1].uses:
        say(f"  {use}")


def _show_proxy(known: Facts) -> None:
    from rich.padding import Padding
    from rich.text import Text

    from firstlight.views.console.terminal import show_facts

    settings = {f"{name}={default}": _setting_words(known, name) for name, default in known.settings.items()}
    rows = {
        "direction": known.direction or f"{known.better} is better",
        "needs": known.needs_in_words,
        **(settings or {"settings": "none"}),
        "cost": known.cost,
        "scale": known.scale,
        "reference": known.citation or "none",
    }
    show_facts(known.name, known.summary, [Padding(Text(known.formula), (0, 0, 0, 4)), *known.remarks], rows)


def _setting_words(known: Facts, name: str) -> str:
    allowed = known.choices.get(name)
    return f"{known.setting_help[name]} ({', '.join(allowed)})" if allowed else known.setting_help[name]


def _show_ensemble(known: EnsembleFacts) -> None:
    from firstlight.views.console.terminal import show_facts

    rows = {
        "direction": "Higher is better.",
        "members": ", ".join(known.members) or f"the proxies that you name, with optional weights: {known.example}",
        "cost": "the total cost of its members",
        "use": "\n".join(known.uses),
        "reference": known.citation or "none",
    }
    show_facts(
        known.name,
        known.summary,
        ["An ensemble ranks the networks of a pool by each member and combines the ranks."],
        rows,
    )
