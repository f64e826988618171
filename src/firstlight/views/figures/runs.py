"""The figures of searches and comparisons, whether they have just ended or lie in their folders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from firstlight.core.errors import SettingError, StoreError
from firstlight.evaluation.compare import short_labels
from firstlight.scoring.costs import UNITS
from firstlight.search.curves import AGAINST, Against, mean_curves
from firstlight.search.front import on_front
from firstlight.search.result import SearchResult
from firstlight.search.run_folder import ACCURACY, last_search, utility_name
from firstlight.views.figures import searches

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SECONDS = {"networks": "seconds of search", "queries": "seconds of training"}


@dataclass(frozen=True)
class SearchFigures:
    """`history` has a row for each network, in the order of scoring, with `utility`, costs and `elapsed`."""

    settings: Mapping[str, Any]
    history: pd.DataFrame
    merit: str  # what the score is called, of which more is better
    best: str | None
    findings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of_result(cls, result: SearchResult) -> SearchFigures:
        by, is_truth = str(result.setting.by), result.setting.truth is not None
        merit = ACCURACY if is_truth else by if result.score.higher_is_better else f"-{by}"
        return cls(result.setting.to_dict(), result.to_frame(), merit, result.best.architecture, result.findings)

    @classmethod
    def of_folder(cls, folder: Path) -> SearchFigures:
        """A search that goes on is shown as far as it is."""
        run, trials = last_search(folder)
        if not trials:
            raise StoreError(f"The search in {folder} has scored no network yet.")
        expensive = dict.fromkeys(name for trial in trials for name in trial.expensive_costs)
        history = pd.DataFrame(
            {
                "architecture": [trial.architecture for trial in trials],
                "utility": [np.nan if trial.utility is None else trial.utility for trial in trials],
                "params": [trial.amount("params") for trial in trials],
                "macs": [trial.amount("macs") for trial in trials],
                **{name: [trial.expensive_costs.get(name, np.nan) for trial in trials] for name in expensive},
                "elapsed": [trial.elapsed for trial in trials],
            }
        )
        result = run.result or {}
        try:  # settings and results may be of any form in a file that was damaged or made up
            best, findings = result.get("best", {}).get("architecture"), dict(result.get("findings", {}))
            return cls(run.settings | {"seed": int(run.settings["seed"])}, history, utility_name(run), best, findings)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise StoreError(f"The run in {folder} is damaged ({type(error).__name__}: {error!s:.80}).") from error

    def log(self, method: str) -> pd.DataFrame:
        """The best score so far after each network, as `mean_curves` takes it."""
        best = self.history["utility"].astype(float).cummax().ffill()
        count = np.arange(1, len(self.history) + 1)
        elapsed = self.history["elapsed"].cummax()
        return pd.DataFrame(
            {"method": method, "seed": self.settings["seed"], "query": count, "elapsed": elapsed, "best": best}
        )

    def front(self, cost: str | None = None, *, width: str | float = "column") -> Figure:
        """All networks by score and cost, and those that no other beats; without objectives, the chosen one."""
        costs = [name for name in str(self.settings.get("objectives", "")).split(",") if name]
        cost = cost or (costs[0] if costs else "params")
        known = [name for name in UNITS if name in self.history]
        if cost not in known:
            raise SettingError(f"{cost!r} is not among the costs that this search knows: {', '.join(known)}.")
        amounts = self.history[cost].to_numpy(dtype=float)
        scores = self.history["utility"].to_numpy(dtype=float)
        usable = np.isfinite(amounts) & np.isfinite(scores)
        chosen = np.zeros(len(scores), dtype=bool)
        if costs:  # a cost that was no objective has a front of its own
            aims = costs if cost in costs else [cost]
            columns = [self.history[name].to_numpy(dtype=float) for name in aims]
            usable &= np.isfinite(columns).all(axis=0)
            points = np.stack([scores, *(-column for column in columns)], axis=1)[usable]
            chosen[usable] = on_front(points) if len(points) else False
        else:
            chosen = (self.history["architecture"] == self.best).to_numpy()
        return searches.front(amounts, scores, chosen, UNITS[cost], self.merit, width=width)

    def surface(self, *, width: str | float = "column") -> Figure:
        if "hnas" not in self.findings:
            raise SettingError("This search was not made by hnas (--algorithm hnas), whose surface this would be.")
        return searches.surface(self.findings["hnas"], width=width)


def search_curves(
    runs: Sequence[SearchFigures], against: Against = "queries", *, width: str | float = "column"
) -> Figure:
    """The best score so far. Runs that differ in nothing but their seed are one line, with a band."""
    if not runs:
        raise SettingError("There is no search to draw.")
    merits = list(dict.fromkeys(run.merit for run in runs))
    if len(merits) > 1:
        raise SettingError(
            f"These searches go by different things, {' and '.join(merits)}, which share no axis. Compare such methods "
            "by what they reach: `firstlight compare`."
        )
    names = _names([run.settings for run in runs])
    known = [(name, run.settings["seed"]) for name, run in zip(names, runs, strict=True)]
    if len(set(known)) < len(known):
        raise SettingError(
            "Two of these searches are the same, seed and all, so that one would count twice. Name each only once."
        )
    log = pd.concat([run.log(name) for run, name in zip(runs, names, strict=True)])
    label = "networks" if against == "queries" else SECONDS["networks"]
    first = 1 if merits[0] == ACCURACY else None
    return searches.curves(mean_curves(log, "best", against, first=first), label, f"best {merits[0]}", width=width)


def _names(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Each search by what sets it apart from the others, but for its seed and the very inputs that this one draws."""
    settings = [{**entry, "input": str(entry.get("input")).rpartition(":")[0]} for entry in settings]
    keys = [key for key in dict.fromkeys(key for entry in settings for key in entry) if key != "seed"]
    differing = [key for key in keys if len({str(entry.get(key)) for entry in settings}) > 1]
    if not differing:
        return [f"{entry.get('algorithm')}" for entry in settings]
    return [", ".join(_named(key, entry.get(key)) for key in differing) for entry in settings]


def _named(key: str, value: Any) -> str:
    return str(value) if key in ("algorithm", "proxy", "space") else f"{key} {value}"


@dataclass(frozen=True)
class ComparisonFigures:
    """`log` has a row for each query of each run, as `Comparison.log` writes it."""

    log: pd.DataFrame
    report: tuple[str, ...]

    @classmethod
    def of_folder(cls, folder: Path) -> ComparisonFigures:
        path = folder / "queries.csv"
        try:
            log = pd.read_csv(path).astype({"method": str, "seed": int, "query": int, "elapsed": float})
            report = tuple(map(str, log.columns[list(log.columns).index("best") + 1 :]))
            log = log.astype(dict.fromkeys(report, float))
            if log.empty or not report:
                raise ValueError("it has no queries, or says of none what it reached")
        except (OSError, ValueError, LookupError, TypeError, OverflowError) as error:
            raise StoreError(
                f"{folder} holds no comparison ({type(error).__name__}: {error}). Give the folder that "
                "`firstlight compare --out` has written."
            ) from error
        return cls(log, report)

    def curves(
        self, target: str | None = None, against: Against = "queries", *, width: str | float = "column"
    ) -> Figure:
        """What the best network up to then reaches, by each method."""
        if target is not None and target not in self.report:
            raise SettingError(f"{target!r} is not among the columns of this comparison: {', '.join(self.report)}.")
        column = target or self.report[0]
        labels = short_labels(self.log["method"].unique())
        found = mean_curves(self.log.assign(method=self.log["method"].map(labels)), column, against)
        label = "queries" if against == "queries" else SECONDS["queries"]
        return searches.curves(found, label, column, width=width)


def is_comparison(folder: Path) -> bool:
    return (folder / "queries.csv").is_file()


def read_against(text: str) -> Against:
    for known in AGAINST:
        if text == known:
            return known
    raise SettingError(f"--against is {text!r}; write {' or '.join(AGAINST)}.")
