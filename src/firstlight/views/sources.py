"""The numbers behind figures, from results and from the folders of runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from firstlight.core.errors import SettingError, StoreError
from firstlight.evaluation.compare import Comparison, short_labels
from firstlight.evaluation.correlate import Study
from firstlight.evaluation.selection import mostly_scored
from firstlight.evaluation.trust import Trust
from firstlight.options import UNITS
from firstlight.search.curves import Against, Curve, mean_curves
from firstlight.search.front import on_front
from firstlight.search.result import SearchResult
from firstlight.search.run_folder import ACCURACY, last_search, utility_name
from firstlight.views.charts.description import Bar, Scatter
from firstlight.views.charts.searches import cost_scatter
from firstlight.views.charts.studies import Numbers

Folder = str | Path


@dataclass(frozen=True)
class SearchData:
    """One search.

    Attributes:
        settings: Its settings.
        history: A row for each network in the order of scoring, with `utility`, costs and `elapsed`.
        utility_label: What the score is called, higher being better.
        best: The chosen network, if there is one yet.
        findings: What the algorithm found besides.
    """

    settings: Mapping[str, Any]
    history: pd.DataFrame
    utility_label: str
    best: str | None
    findings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, source: SearchResult | Folder) -> SearchData:
        """Take a result, or read the folder of a search, finished or not."""
        if not isinstance(source, SearchResult):
            return cls._of_folder(Path(source))
        by, is_truth = str(source.setting.by), source.setting.truth is not None
        label = ACCURACY if is_truth else by if source.score.higher_is_better else f"-{by}"
        return cls(source.setting.to_dict(), source.to_frame(), label, source.best.architecture, source.findings)

    @classmethod
    def _of_folder(cls, folder: Path) -> SearchData:
        run, trials = last_search(folder)
        if not trials:
            raise StoreError(f"The search in {folder} has not scored any network yet. Try again later.")
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
        try:  # a damaged file may hold anything
            best, findings = result.get("best", {}).get("architecture"), dict(result.get("findings", {}))
            return cls(run.settings | {"seed": int(run.settings["seed"])}, history, utility_name(run), best, findings)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise StoreError(f"The run in {folder} is damaged ({type(error).__name__}: {error!s:.80}).") from error

    def log(self, method: str) -> pd.DataFrame:
        """The best score so far after each network, in the form that `mean_curves` takes."""
        best = self.history["utility"].astype(float).cummax().ffill()
        count = np.arange(1, len(self.history) + 1)
        elapsed = self.history["elapsed"].cummax()
        return pd.DataFrame(
            {"method": method, "seed": self.settings["seed"], "query": count, "elapsed": elapsed, "best": best}
        )

    def against(self, cost: str | None = None) -> Scatter:
        """Describe score against cost, and the front; without objectives, the chosen network."""
        objectives = [name for name in str(self.settings.get("objectives", "")).split(",") if name]
        cost = cost or (objectives[0] if objectives else "params")
        known = [name for name in UNITS if name in self.history]
        if cost not in known:
            raise SettingError(f"{cost!r} is not a known cost of this search; choose from {', '.join(known)}.")
        amounts, scores = (self.history[name].to_numpy(dtype=float) for name in (cost, "utility"))
        chosen = (self.history["architecture"] == self.best).to_numpy()
        if objectives:  # a cost that is not an objective has a front of its own
            names = objectives if cost in objectives else [cost]
            columns = np.stack([scores, *(-self.history[name].to_numpy(dtype=float) for name in names)], axis=1)
            usable = np.isfinite(columns).all(axis=1)
            chosen = np.zeros(len(scores), dtype=bool)
            if usable.any():
                chosen[usable] = on_front(columns[usable])
        return cost_scatter(cost, amounts.tolist(), scores.tolist(), chosen.tolist(), self.utility_label)


def search_curves(searches: Sequence[SearchData], against: Against = "queries") -> list[Curve]:
    """Return the best score so far of each search. Searches that differ only in their seed are one curve."""
    if not searches:
        raise SettingError("There is no search to draw. Name the folder of at least one.")
    labels = list(dict.fromkeys(search.utility_label for search in searches))
    if len(labels) > 1:
        raise SettingError(
            f"These searches maximize different things, {' and '.join(labels)}, which share no axis. Use `firstlight "
            "compare` to compare methods by the accuracy that they reach."
        )
    names = _names([search.settings for search in searches])
    known = [(name, search.settings["seed"]) for name, search in zip(names, searches, strict=True)]
    if len(set(known)) < len(known):
        raise SettingError("Two of these searches are the same, including the seed. Name each search only once.")
    log = pd.concat([search.log(name) for search, name in zip(searches, names, strict=True)])
    return mean_curves(log, "best", against, first=1 if labels[0] == ACCURACY else None)


def _names(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Name each search by the settings in which it differs, except the seed and the inputs drawn with it."""
    settings = [{**entry, "input": str(entry.get("input")).rpartition(":")[0]} for entry in settings]
    keys = [key for key in dict.fromkeys(key for entry in settings for key in entry) if key != "seed"]
    differing = [key for key in keys if len({str(entry.get(key)) for entry in settings}) > 1]
    if not differing:
        return [f"{entry.get('algorithm')}" for entry in settings]
    return [", ".join(_named(key, entry.get(key)) for key in differing) for entry in settings]


def _named(key: str, value: Any) -> str:
    return str(value) if key in ("algorithm", "proxy", "space") else f"{key} {value}"


@dataclass(frozen=True)
class StudyData:
    """A study of proxies.

    Attributes:
        table: A row for each network, as `Study.table` returns it.
        targets: The statistics of each target, as `Study.to_dict` returns them.
    """

    table: pd.DataFrame
    targets: dict[str, dict[str, Any]]

    @classmethod
    def of(cls, source: Study | Trust | Folder) -> StudyData:
        """Take a study, or read the folder of `correlate` or `trust`."""
        study = source.study if isinstance(source, Trust) else source
        if isinstance(study, Study):
            return cls(study.table(), study.to_dict()["targets"])
        folder = Path(study)
        try:
            content = json.loads((folder / "result.json").read_text(encoding="utf-8"))
            found = cls(pd.read_csv(folder / "scores.csv"), dict(content["targets"]))
            found._check()
            return found
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise StoreError(
                f"{folder} holds no study of proxies ({type(error).__name__}: {error}). Give a folder written by "
                "`firstlight correlate --out` or `firstlight trust --out`."
            ) from error

    def _check(self) -> None:
        """Check that everything a figure needs is there and is a number, since a folder may hold anything."""
        if not self.targets:
            raise ValueError("there are no targets")
        for target, found in self.targets.items():
            self.table[target].astype(float)
            if found["best"] is not None and found["best"] not in found["proxies"]:
                raise ValueError(f"{found['best']!r} is not one of its proxies")
            for name, statistics in found["proxies"].items():
                self.table[self._column(name)].astype(float)
                low, high = statistics["spearman_ci"] or (None, None)
                for figure in (statistics["spearman"], low, high):
                    if not (figure is None or isinstance(figure, (int, float))):
                        raise TypeError(f"{figure!r} is not a correlation")

    def target(self, name: str | None) -> str:
        """Check the name of a target; None is the first."""
        if name is None:
            return next(iter(self.targets))
        if name not in self.targets:
            raise SettingError(f"{name!r} is not a target of this study; choose from {', '.join(self.targets)}.")
        return name

    def proxy(self, name: str | None, target: str) -> str:
        """Check the name of a proxy; None is the best for the target."""
        found = self.targets[target]
        name = name or found["best"] or next(iter(found["proxies"]))
        if name not in found["proxies"]:
            raise SettingError(f"{name!r} is not a proxy of this study; choose from {', '.join(found['proxies'])}.")
        return str(name)

    def scores(self, proxy: str) -> Numbers:
        """What a proxy says of each network, higher being better; shape (networks,)."""
        return self.table[self._column(proxy)].to_numpy(dtype=float)

    def truth(self, target: str) -> Numbers:
        """The true value of each network; shape (networks,)."""
        return self.table[target].to_numpy(dtype=float)

    def correlation(self, proxy: str, target: str) -> float | None:
        """Spearman's correlation, in which networks without a score rank last."""
        value: float | None = self.targets[target]["proxies"][proxy]["spearman"]
        return value

    def bars(self, target: str) -> list[Bar]:
        """The correlation of each proxy, best first; those with a score for few networks come last."""
        known = [
            Bar(name, value, *(value if end is None else end for end in entry["spearman_ci"] or (None, None)))
            for name, entry in self.targets[target]["proxies"].items()
            if (value := entry["spearman"]) is not None
        ]
        return sorted(known, key=lambda bar: (not mostly_scored(self.scores(bar.name)), -bar.value))

    def agreement(self) -> tuple[list[str], Numbers]:
        """The proxies, and Spearman's correlation of each pair over the networks that both have scored."""
        names = list(next(iter(self.targets.values()))["proxies"])
        columns = self.table[[self._column(name) for name in names]].replace([np.inf, -np.inf], np.nan)
        return names, columns.corr(method="spearman").to_numpy(dtype=float)

    def _column(self, proxy: str) -> str:
        """A proxy that has the name of another column is renamed in the table."""
        return f"{proxy} (score)" if f"{proxy} (score)" in self.table else proxy


@dataclass(frozen=True)
class ComparisonData:
    """A comparison of methods.

    Attributes:
        log: A row for each query of each run, as `Comparison.log` returns it.
        report: The columns of the table that were reported.
    """

    log: pd.DataFrame
    report: tuple[str, ...]

    @classmethod
    def of(cls, source: Comparison | Folder) -> ComparisonData:
        """Take a comparison, or read its folder."""
        if isinstance(source, Comparison):
            return cls(source.log(), source.report)
        try:
            log = pd.read_csv(queries_file(source)).astype({"method": str, "seed": int, "query": int, "elapsed": float})
            report = tuple(map(str, log.columns[list(log.columns).index("best") + 1 :]))
            log = log.astype(dict.fromkeys(report, float))
            if log.empty or not report:
                raise ValueError("it has no queries, or no column after `best`")
        except (OSError, ValueError, LookupError, TypeError, OverflowError) as error:
            raise StoreError(
                f"{source} holds no comparison ({type(error).__name__}: {error}). Give a folder written by "
                "`firstlight compare --out`."
            ) from error
        return cls(log, report)

    def column(self, name: str | None) -> str:
        """Check the name of a reported column; None is the first."""
        if name is not None and name not in self.report:
            raise SettingError(f"{name!r} is not a column of this comparison; choose from {', '.join(self.report)}.")
        return name or self.report[0]

    def curves(self, column: str, against: Against = "queries") -> list[Curve]:
        """What the best network so far reaches, by method."""
        labels = short_labels(self.log["method"].unique())
        return mean_curves(self.log.assign(method=self.log["method"].map(labels)), column, against)


def queries_file(folder: Folder) -> Path:
    """The file by which the folder of a comparison is known."""
    return Path(folder) / "queries.csv"
