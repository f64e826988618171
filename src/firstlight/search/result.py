"""What a search found, and what finding it took."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import nn

from firstlight.core.errors import StoreError
from firstlight.options import Limits
from firstlight.proxies.base import NetworkScore, Score
from firstlight.proxies.ensembles import Criterion
from firstlight.scoring.service import Setting
from firstlight.search.algorithm import AlgorithmRequest
from firstlight.search.front import Points, hypervolumes, on_front
from firstlight.search.source import TruthRequest
from firstlight.search.summary import effort, next_steps
from firstlight.spaces.base import Skeleton
from firstlight.storage.environment import versions
from firstlight.storage.records import Trial
from firstlight.storage.store import STORE_NAME
from firstlight.training.warm_up import FOLDER

if TYPE_CHECKING:
    import pandas as pd

    from firstlight.training.retrained import Retraining

# In a run's folder; the second holds networks that were trained after the search
RESULT_NAME, RETRAINED_NAME = "result.json", "retrained"
# In how many steps the growth of a front is shown, by the number of aims; of more aims volumes take too long
FRONT_STEPS = {2: 40, 3: 10}


@dataclass(frozen=True)
class SearchSetting:
    """Everything that decides what a search finds. Where it runs, and on how many workers, is not part of it.

    `costs` are to be low besides a high score; `latency` says where milliseconds come from, if any are asked for. With
    a `truth`, networks are judged by what they reach when trained, and `samples` is the number of queries.
    """

    setting: Setting
    by: Criterion
    algorithm: str = "random"
    samples: int = 500
    limits: Limits = Limits()
    costs: tuple[str, ...] = ()
    latency: str = "measured"
    truth: TruthRequest | None = None

    @property
    def skeleton(self) -> Skeleton:
        """What is around the searched part of the networks that are judged."""
        return self.setting.skeleton if self.truth is None else self.truth.skeleton

    @property
    def request(self) -> AlgorithmRequest:
        return AlgorithmRequest.parse(self.algorithm)

    @property
    def wanted_costs(self) -> tuple[str, ...]:
        return self.costs or self.request.algorithm.costs

    @property
    def asks_for_latency(self) -> bool:
        return "latency" in self.wanted_costs or "latency" in self.limits.bounds

    def to_dict(self) -> dict[str, Any]:
        return {
            "space": self.setting.space_name,
            "skeleton": str(self.skeleton),
            "proxy": str(self.by),
            "algorithm": str(self.request),
            "samples": self.samples,
            **(self.truth.to_dict() if self.truth else {}),
            **self.limits.recorded(),
            **({"objectives": ",".join(self.wanted_costs)} if self.wanted_costs else {}),
            **({"latency": self.latency} if self.asks_for_latency else {}),
            "input": self.setting.inputs.fingerprint,
            "seed": self.setting.seed,
            **({"repeats": self.setting.repeats} if self.setting.repeats > 1 else {}),
            **({"warmup": self.setting.described.partition("warmup=")[2]} if self.setting.warm_up else {}),
        }


@dataclass(frozen=True)
class SearchResult:
    """The chosen network and what finding it took. `scored` were computed now, `reused` were known from before.

    Searched by an ensemble, the network has a score by it among those of the members. With costs to be kept low,
    `front` holds all networks that no other one beats in everything, best score first, and `best` is the first of them.
    `rejected` networks were beyond the limits and not scored; `states` of a supernet were, besides the networks, and
    `states_reused` of these were known from before. All scores took `score_seconds` by the clock, as much as
    `forward_passes` of the chosen network with one input; `reused_seconds` of them were spent before. `expensive_costs` are
    those of the chosen network that limits or objectives asked for beyond parameters and MACs; `findings` are what the
    algorithm found out besides, and `retrained` is what the best came to when trained from scratch, if that was asked
    for. A search by the truth took `training_seconds`, NaN if a table does not say, and has let
    proxies judge so many networks before: `judged`.
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
    finished: bool = True
    states_reused: int = 0
    reused_seconds: float = 0.0
    training_seconds: float = 0.0
    judged: int = 0
    findings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    retrained: Retraining | None = None
    history: Mapping[str, Sequence[Any]] = field(default_factory=dict, repr=False, compare=False)

    def __str__(self) -> str:
        """What a reader wants to know first: the network, its score, its cost, and what finding it took."""
        cost = self.best.cost
        lines = [self.best.architecture, f"  {self.setting.by}: {self.score.value:.6g}"]
        if cost is not None:
            lines.append(f"  {cost.params:,} parameters, {cost.macs:,} MACs")
        return "\n".join([*lines, effort(self)])

    @property
    def score(self) -> Score:
        return self.best.scores[str(self.setting.by)]

    def build(self, *, device: str | None = None) -> nn.Module:
        """The chosen network, with the very weights it was scored with."""
        setting = self.setting.setting
        if setting.warm_up is not None and self.setting.truth is None:
            kept_in = None if self.directory is None else self.directory / FOLDER
            return replace(setting, device=device).network(self.best.architecture, kept_in)
        return setting.space.build(self.best.architecture, self.setting.skeleton, seed=setting.seed, device=device)

    def to_frame(self) -> pd.DataFrame:
        """Every network in the order in which it was scored: values of the proxies, utility, costs, time."""
        import pandas as pd  # slow to import

        return pd.DataFrame(dict(self.history))

    def _best_to_dict(self) -> dict[str, Any]:
        known = self.best.to_dict()
        return known | {"cost": known["cost"] | dict(self.expensive_costs)}

    def _truth_to_dict(self) -> dict[str, Any]:
        if self.setting.truth is None:
            return {}
        known = None if math.isnan(self.training_seconds) else self.training_seconds
        return {"training_seconds": known, "judged": self.judged}

    def to_dict(self) -> dict[str, Any]:
        passes = None if math.isnan(self.forward_passes) else self.forward_passes
        return {
            "best": self._best_to_dict(),
            **({"front": [trial.to_dict() for trial in self.front]} if self.front else {}),
            "finished": self.finished,
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
            "directory": None if self.directory is None else str(self.directory),
        }


def settings_of_result(directory: Path) -> dict[str, Any] | None:
    """Those of the search whose result lies in the folder; None while there is none."""
    settings = _written(directory).get("settings")
    if settings is not None and not isinstance(settings, dict):
        raise _damaged(directory / RESULT_NAME, f"its settings are {settings!r:.60}")
    return settings


def store_of_run(directory: Path) -> Path:
    """The file with the scores of the folder's run: in it, or where the result says that they are."""
    return directory / str(_written(directory).get("store", STORE_NAME))


def _written(directory: Path) -> dict[str, Any]:
    path = directory / RESULT_NAME
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise ValueError("it holds no result")
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(path, str(error)) from error
    return content


def _damaged(path: Path, what: str) -> StoreError:
    return StoreError(f"{path} is damaged: {what}. Move it away and run the search again, which repeats no work.")


class SearchInterrupted(KeyboardInterrupt):
    """Ctrl-C during a search; `result` is that of what was scored so far."""

    def __init__(self, result: SearchResult) -> None:
        count = result.scored + result.reused
        super().__init__(
            f"the best of {count} networks so far is {result.best.architecture}; `result` of this exception has it all"
        )
        self.result = result


def aims(trials: Sequence[Trial], costs: Sequence[str]) -> tuple[list[Trial], Points]:
    """Networks that have a score and every cost, and the point of each: the score, and the costs turned around."""
    rows = [(trial.utility, *(-trial.amount(name) for name in costs)) for trial in trials]
    usable = [i for i, row in enumerate(rows) if all(value is not None and math.isfinite(value) for value in row)]
    points = np.array([rows[i] for i in usable], dtype=float).reshape(len(usable), 1 + len(costs))
    return [trials[i] for i in usable], points


def front_of(trials: Sequence[Trial], costs: Sequence[str]) -> tuple[Trial, ...]:
    """Best score first."""
    usable, points = aims(trials, costs)
    if not usable:
        return ()
    chosen = [trial for trial, kept in zip(usable, on_front(points), strict=True) if kept]
    return tuple(sorted(chosen, key=lambda trial: (-(trial.utility or 0.0), trial.architecture)))


def front_over_time(trials: Sequence[Trial], costs: Sequence[str]) -> list[tuple[int, float]]:
    """After how many networks the front had reached how much of all that is possible, which counts 1."""
    usable, points = aims(trials, costs)
    if not usable:
        return []
    steps = FRONT_STEPS.get(points.shape[1], 0)
    counts = sorted({max(1, round(len(usable) * step / steps)) for step in range(1, steps + 1)})
    return list(zip(counts, hypervolumes(points, counts), strict=True))
