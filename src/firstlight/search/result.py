"""The result of a search."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import nn

from firstlight.proxies.base import NetworkScore, Score
from firstlight.scoring.costs import written
from firstlight.search.front import Points, hypervolumes, on_front
from firstlight.search.setting import SearchSetting
from firstlight.search.summary import effort, next_steps
from firstlight.storage.environment import versions
from firstlight.storage.records import Trial
from firstlight.training.warm_up import FOLDER

if TYPE_CHECKING:
    import pandas as pd

    from firstlight.probe.stages import Stage
    from firstlight.spaces.base import Drawing
    from firstlight.training.finalists import Compared
    from firstlight.training.retrained import Retraining

# In a run's folder; the second holds networks that were retrained after the search.
RESULT_NAME, RETRAINED_NAME = "result.json", "retrained"
# The number of points at which the growth of a front is shown, by the number of objectives; more take too long.
FRONT_STEPS = {2: 40, 3: 10}


@dataclass(frozen=True)
class SearchResult:
    """The result of `firstlight.search`. Its text shows the network, its score and costs, and the cost of the search.

    Attributes:
        setting: The settings of the search.
        best: The chosen network, with its scores and costs. If the search used an ensemble, these include its score.
        scored: The number of networks scored in this run.
        reused: The number of networks whose scores came from the store.
        seconds: How long the search took.
        directory: The folder of the run, if it has one.
        rejected: The number of networks outside the limits, which were not scored.
        score_seconds: The compute time of all scores, in this run or earlier.
        forward_passes: The same as a number of forward passes of the chosen network with one input.
        front: With costs to minimize, the Pareto front, best score first.
        notes: Remarks on the search.
        states: The number of states of a supernet that were scored in addition.
        expensive_costs: Requested costs of the chosen network other than parameters and MACs.
        latency_interval: The 95% interval of the chosen network's latency, if it was measured.
        finished: Whether the search has finished.
        states_reused: The number of states that came from the store.
        reused_seconds: How long scores from the store had taken.
        training_seconds: In a query search, how long training took; NaN if the table has no training times.
        judged: In a query search, the number of networks scored by proxies.
        findings: Other results of the algorithm.
        retrained: The performance of the best networks after retraining, if that was requested.
        compared: How the chosen network compares with plain baselines, if that was requested.
        drawing: A picture of the chosen network, if its space draws one.
        stages: The chosen network as a whole, stage by stage; empty unless it takes images.
        history: The columns of `to_frame`.

    >>> small = {"cells": 1, "channels": 4}
    >>> result = firstlight.search("nasbench201", proxy="params", samples=5, skeleton=small, workers=0)
    >>> result.scored
    5
    """

    setting: SearchSetting
    best: NetworkScore
    scored: int
    reused: int
    seconds: float
    directory: Path | None = None
    rejected: int = 0
    score_seconds: float = 0.0
    forward_passes: float = math.nan
    front: tuple[Trial, ...] = ()
    notes: tuple[str, ...] = ()
    states: int = 0
    expensive_costs: Mapping[str, float] = field(default_factory=dict)
    latency_interval: tuple[float, float] | None = None
    finished: bool = True
    states_reused: int = 0
    reused_seconds: float = 0.0
    training_seconds: float = 0.0
    judged: int = 0
    findings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    retrained: Retraining | None = None
    compared: Compared | None = None
    drawing: Drawing | None = field(default=None, repr=False, compare=False)
    stages: tuple[Stage, ...] = field(default=(), repr=False, compare=False)
    history: Mapping[str, Sequence[Any]] = field(default_factory=dict, repr=False, compare=False)

    def __str__(self) -> str:
        """Return the network, its score, its cost, and what finding it took."""
        cost = self.best.cost
        lines = [self.best.architecture, f"  {self.setting.by}: {self.score.value:.6g}"]
        if cost is not None:
            lines.append(f"  {cost.params:,} parameters, {cost.macs:,} MACs")
        return "\n".join([*lines, effort(self)])

    @property
    def score(self) -> Score:
        """The score of the chosen network, by what the search maximized."""
        return self.best.scores[str(self.setting.by)]

    def build(self, *, device: str | None = None) -> nn.Module:
        """Build the chosen network, with the weights it was scored with."""
        setting = self.setting.setting
        if setting.warm_up is not None and self.setting.truth is None:
            kept_in = None if self.directory is None else self.directory / FOLDER
            return replace(setting, device=device).network(self.best.architecture, kept_in)
        return setting.space.build(self.best.architecture, self.setting.skeleton, seed=setting.seed, device=device)

    def to_frame(self) -> pd.DataFrame:
        """Return a table of all networks in the order in which they were scored: proxies, utility, costs, time."""
        import pandas as pd  # slow to import

        return pd.DataFrame(dict(self.history))

    def _best_to_dict(self) -> dict[str, Any]:
        known = self.best.to_dict()
        interval = {"latency_ci": list(self.latency_interval)} if self.latency_interval else {}
        return known | {"cost": known["cost"] | dict(self.expensive_costs) | interval}

    def written_costs(self) -> dict[str, str]:
        """Return the expensive costs with their units, and the interval and the source of a latency, as text."""
        found = {name: written(name, amount) for name, amount in self.expensive_costs.items()}
        if "latency" in found:
            ends = self.latency_interval
            interval = "" if ends is None else f", 95% interval {ends[0]:.3g} to {ends[1]:.3g}"
            found["latency"] += f"{interval} ({self.setting.latency})"
        return found

    def _truth_to_dict(self) -> dict[str, Any]:
        if self.setting.truth is None:
            return {}
        known = None if math.isnan(self.training_seconds) else self.training_seconds
        return {"training_seconds": known, "judged": self.judged}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as result.json holds them."""
        passes = None if math.isnan(self.forward_passes) else self.forward_passes
        return {
            "best": self._best_to_dict(),
            **({"front": [trial.to_dict() for trial in self.front]} if self.front else {}),
            "finished": self.finished,
            "options": dict(self.setting.options),
            "samples": self.setting.samples,
            "scored": self.scored,
            "reused": self.reused,
            "rejected": self.rejected,
            **({"states": self.states, "states_reused": self.states_reused} if self.states else {}),
            "seconds": self.seconds,
            "score_seconds": self.score_seconds,
            "reused_seconds": self.reused_seconds,
            "forward_passes": passes,
            **self._truth_to_dict(),
            "notes": list(self.notes),
            "effort": effort(self),
            "next_steps": next_steps(self),
            "versions": versions(),
            **({"findings": dict(self.findings)} if self.findings else {}),
            **({"retrained": self.retrained.to_dict()} if self.retrained else {}),
            **({"compared": self.compared.to_dict()} if self.compared else {}),
            "drawing": None if self.drawing is None else asdict(self.drawing),
            "stages": [stage.to_dict() for stage in self.stages],
            "directory": None if self.directory is None else str(self.directory),
        }


class SearchInterrupted(KeyboardInterrupt):
    """Raised on Ctrl-C during a search. It is a KeyboardInterrupt.

    Attributes:
        result: The `SearchResult` of what was scored so far.

    >>> def stop(event):
    ...     if event.done == 2:
    ...         raise KeyboardInterrupt
    >>> try:
    ...     firstlight.search("nasbench201", proxy="params", samples=9, workers=0, callback=stop)
    ... except firstlight.SearchInterrupted as interrupted:
    ...     print(interrupted.result.scored)
    2
    """

    def __init__(self, result: SearchResult) -> None:
        count = result.scored + result.reused
        super().__init__(
            f"the best of {count} networks so far is {result.best.architecture}; see the `result` of this exception"
        )
        self.result = result


def aims(trials: Sequence[Trial], costs: Sequence[str]) -> tuple[list[Trial], Points]:
    """Return the networks that have a score and every cost, with the objective values of each: costs are negated."""
    rows = [(trial.utility, *(-trial.amount(name) for name in costs)) for trial in trials]
    usable = [i for i, row in enumerate(rows) if all(value is not None and math.isfinite(value) for value in row)]
    points = np.array([rows[i] for i in usable], dtype=float).reshape(len(usable), 1 + len(costs))
    return [trials[i] for i in usable], points


def front_of(trials: Sequence[Trial], costs: Sequence[str]) -> tuple[Trial, ...]:
    """Return the networks that no other one beats in everything, best score first."""
    usable, points = aims(trials, costs)
    if not usable:
        return ()
    chosen = [trial for trial, kept in zip(usable, on_front(points), strict=True) if kept]
    return tuple(sorted(chosen, key=lambda trial: (-(trial.utility or 0.0), trial.architecture)))


def front_over_time(trials: Sequence[Trial], costs: Sequence[str]) -> list[tuple[int, float]]:
    """Return the relative hypervolume of the front after some numbers of networks."""
    usable, points = aims(trials, costs)
    if not usable:
        return []
    steps = FRONT_STEPS.get(points.shape[1], 0)
    counts = sorted({max(1, round(len(usable) * step / steps)) for step in range(1, steps + 1)})
    return list(zip(counts, hypervolumes(points, counts), strict=True))
