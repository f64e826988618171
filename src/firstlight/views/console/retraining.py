"""Results of the found networks after training from scratch, next to handcrafted ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firstlight.views.console.terminal import console, show_figures

if TYPE_CHECKING:
    from firstlight.training.retrained import Retraining, Standing

# Number of characters of an architecture that are shown; the files of the run have the whole text
LONGEST = 48


def show_retraining(found: Retraining) -> None:
    times = "" if len(found.seeds) == 1 else f", {len(found.seeds)} times each"
    console.print(f"\nRetrained from scratch{times} ({found.recipe}), best on the validation set first:", markup=False)
    rows = [
        [
            _figure(standing, "validation", "log_loss"),
            _figure(standing, "validation", "auc"),
            _figure(standing, "test", "log_loss"),
            _figure(standing, "test", "auc"),
            f"{standing.results[0].params:,}",
            _name(standing),
        ]
        for standing in found.standings
    ]
    headers = ["log loss, validation", "AUC", "log loss, test", "AUC", "parameters", "network"]
    show_figures(headers, rows, "network")
    for standing in found.standings:
        for result in standing.results:
            if result.status != "ok":
                console.print(f"{_name(standing)}: {result.status} ({result.note})", markup=False, soft_wrap=True)
    if found.median_random is not None:
        console.print(f"Median test log loss of random networks: {found.median_random:.4f}.")
    if (verdict := found.verdict) is not None:
        console.print(verdict.text, markup=False, soft_wrap=True)
    if found.best is not None:
        console.print("Best found network by validation log loss:")
        console.print(found.best.name, style="bold", markup=False, soft_wrap=True)
        if found.best.weights is not None:
            console.print(
                f"Its weights: {found.best.weights} in the run folder; `firstlight export` uses them.", markup=False
            )


def _figure(standing: Standing, part: str, figure: str) -> str:
    mean, deviation = standing.mean(part, figure), standing.deviation(part, figure)
    if mean is None:
        return "-"
    return f"{mean:.4f}" if deviation is None else f"{mean:.4f}±{deviation:.4f}"


def _name(standing: Standing) -> str:
    if standing.kind == "by hand":
        return f"{standing.name} (handcrafted)"
    short = standing.name if len(standing.name) <= LONGEST else f"{standing.name[: LONGEST - 3]}..."
    return short if standing.kind == "found" else f"random: {short}"
