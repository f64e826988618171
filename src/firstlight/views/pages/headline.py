"""The headline of a search: what it found, and below that what was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from firstlight.core.wording import compact, counted, enumerated, significant, titled
from firstlight.options import UNITS
from firstlight.search.run_folder import asks_truth, is_turned
from firstlight.storage.records import Run, Trial


@dataclass(frozen=True)
class Progress:
    """How far a search is.

    Attributes:
        best: The chosen network, or the best so far.
        networks: Networks that were scored or evaluated.
        front: Networks on the front, if there are costs.
        steps: Steps through a one-shot network, if the algorithm takes any.
    """

    best: Trial | None
    networks: int
    front: int = 0
    steps: int = 0


def score_of(utility: float | None, run: Run) -> float | None:
    """Return the score as the proxy gives it; the utility of a proxy of which less is better is its negative."""
    return -utility if utility is not None and is_turned(run) else utility


def headline(run: Run, progress: Progress, costs: tuple[str, ...]) -> str:
    """Say what a search found: `Best of 1,000 networks: Dextr 2.605, 830k parameters`."""
    best, so_far = progress.best, "" if run.finished else " so far"
    if progress.steps:
        found = f"Network after {counted(progress.steps, 'step')}{so_far}"
        return f"{found}: {_figures(run, best)}" if best else found
    if best is None:
        return "No network has a score yet"
    if costs:
        front = f"Front of {progress.front:,} among {counted(progress.networks, 'network')}{so_far}"
        return f"{front}, highest score: {_figures(run, best)}"
    of = f"Best of {progress.networks:,} networks" if progress.networks > 1 else "One network"
    return f"{of}{so_far}: {_figures(run, best)}"


def subtitle(run: Run, costs: tuple[str, ...]) -> str:
    """Say what was asked for: `nasbench201, at most 1.0M parameters, random search, no training`."""
    settings = run.settings
    proxy = str(settings["proxy"])
    objectives = [UNITS.get(proxy, titled(proxy)), *(UNITS[cost] for cost in costs)] if costs else []
    parts = [
        str(settings["space"]),
        f"trade-off of {enumerated(objectives)}" if objectives else "",
        limits(settings),
        f"{str(settings['algorithm']).partition(':')[0]} search",
        _training(settings),
    ]
    return ", ".join(filter(None, parts))


def limits(settings: Mapping[str, Any]) -> str:
    """Say what networks may cost, such as `at most 1.0M parameters`; empty without limits."""
    found = []
    for name, unit in UNITS.items():
        low, high = (settings.get(f"{kind}_{name}") for kind in ("min", "max"))
        if low is not None and high is not None:
            found.append(f"{compact(low)} to {compact(high)} {unit}")
        elif high is not None:
            found.append(f"at most {compact(high)} {unit}")
        elif low is not None:
            found.append(f"at least {compact(low)} {unit}")
    return ", ".join(found)


def _figures(run: Run, best: Trial) -> str:
    """The score and the size of a network."""
    proxy, score = str(run.settings["proxy"]), score_of(best.utility, run)
    size = f"{compact(best.amount('params'))} parameters"
    if asks_truth(run.settings):
        return size if score is None else f"{score:.2f}% validation accuracy, {size}"
    if score is None or proxy == "params":
        return size
    reached = f"{compact(score)} {UNITS[proxy]}" if proxy in UNITS else f"{titled(proxy)} {significant(score)}"
    return f"{reached}, {size}"


def _training(settings: Mapping[str, Any]) -> str:
    """How far networks were trained before they were scored."""
    if "target" in settings:
        return f"accuracies from a table ({settings['target']})"
    if "training" in settings:
        return "each network trained"
    share = str(settings.get("warmup", "")).partition("%")[0]
    if share in ("", "0"):
        return "no training"
    return f"warm-up on {share}% of {str(settings['input']).partition(':')[0]}"
