"""Networks and their scores, a line each."""

from __future__ import annotations

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
        return f"{score.status} ({score.note})"
    parts = ", ".join(f"{name} {value:.4f}" for name, value in score.parts.items())
    details = "; ".join(text for text in (parts, score.note) if text)
    return figure(score.value) + (f"  ({details})" if details else "")


def figure(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.6g}"


def figure_or_dash(value: float | None) -> str:
    return "-" if value is None else figure(value)
