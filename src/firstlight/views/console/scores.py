"""Networks and their scores, a line each."""

from __future__ import annotations

from firstlight.core.wording import figure
from firstlight.proxies.base import NetworkScore, Score
from firstlight.views.console.terminal import console


def show_network(network: NetworkScore) -> None:
    console.print(network.architecture, style="bold", markup=False, soft_wrap=True)
    for name, score in network.scores.items():
        console.print(f"  {name}: {describe(score)}", markup=False, soft_wrap=True)
    if network.cost is not None:
        console.print(f"  {network.cost.params:,} parameters, {network.cost.macs:,} MACs", markup=False)


def describe(score: Score) -> str:
    """A score in one line: value and parts, or what came instead."""
    if not score.ok:
        return score.reason
    parts = ", ".join(f"{name} {value:.4f}" for name, value in score.parts.items())
    details = "; ".join(text for text in (parts, score.note) if text)
    return figure(score.value) + (f"  ({details})" if details else "")
