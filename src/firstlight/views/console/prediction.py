"""Predicted networks in order, how sure the prediction is, and what it rests on."""

from __future__ import annotations

from firstlight.predict.prediction import Prediction
from firstlight.tables.targets import Target
from firstlight.views.console.terminal import console, show_figures


def show_prediction(found: Prediction, top: int | None = None) -> None:
    """Print the best networks with their intervals, the labels, the agreement, and the features that matter."""
    shown = found.networks[:top]
    targets = [entry.target for entry in found.fitted_on]
    rows = [
        [
            str(network.rank),
            f"{network.value:.4g}",
            f"{network.low:.4g} to {network.high:.4g}",
            *(f"{network.observed[name]:.4g}" if name in network.observed else "-" for name in targets),
            network.architecture,
        ]
        for network in shown
    ]
    interval = f"{found.coverage:.0%} interval"
    show_figures(["rank", "expected", interval, *targets, "network"], rows, "network")
    _say(f"The best {len(shown)} of {len(found.networks)} networks.")
    _say(f"Expected, and the interval: {found.target} ({Target.of_column(found.target)}).")
    for entry in found.fitted_on:
        kind = "short trainings, which count as much as the prior" if entry.short else "full trainings"
        _say(f"Fitted on {entry.labels} labels of {entry.target}, {entry.lowest:.4g} to {entry.highest:.4g}: {kind}.")
    _say(f"Prior: {', '.join(found.proxies)}. Model: {found.model}, {found.features}.")
    _say(
        f"Rank correlation with the labels: {_figure(found.agreement)} for predictions made without them, "
        f"{_figure(found.prior_agreement)} for the prior."
    )
    strongest = [f"{name} {value:.2f}" for name, value in found.importances.items() if value >= 0.005]
    _say(f"What matters (change of the order when shuffled): {', '.join(strongest) or 'nothing much'}.")
    for remark in found.remarks:
        _say(remark)


def _figure(value: float | None) -> str:
    return "not defined" if value is None else f"{value:.2f}"


def _say(text: str) -> None:
    console.print(text, markup=False, soft_wrap=True)
