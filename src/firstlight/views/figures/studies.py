"""The figures of a study, whether it was just made or lies in a folder of `correlate` or `trust`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from firstlight.core.errors import SettingError, StoreError
from firstlight.core.statistics import spearman
from firstlight.views.figures import ranks
from firstlight.views.figures.ranks import Bar

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class StudyFigures:
    """`table` has a row for each network, as `Study.table` writes it; `targets` the statistics as in its JSON."""

    table: pd.DataFrame
    targets: dict[str, dict[str, Any]]

    @classmethod
    def of_folder(cls, folder: Path) -> StudyFigures:
        try:
            content = json.loads((folder / "result.json").read_text(encoding="utf-8"))
            found = cls(pd.read_csv(folder / "scores.csv"), dict(content["targets"]))
            found._check()
            return found
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise StoreError(
                f"{folder} holds no study of proxies ({type(error).__name__}: {error}). Give the folder that "
                "`firstlight correlate --out` or `firstlight trust --out` has written."
            ) from error

    def _check(self) -> None:
        """A folder may hold anything: what figures will ask for must be there, and be numbers."""
        if not self.targets:
            raise ValueError("there are no targets")
        for target, found in self.targets.items():
            self.table[target].astype(float)
            if found["best"] is not None and found["best"] not in found["proxies"]:
                raise ValueError(f"{found['best']!r} is no proxy of it")
            for name, statistics in found["proxies"].items():
                self.table[self._column(name)].astype(float)
                low, high = statistics["spearman_ci"] or (None, None)
                for figure in (statistics["spearman"], low, high):
                    if not (figure is None or isinstance(figure, (int, float))):
                        raise TypeError(f"{figure!r} is no correlation")

    def scatter(
        self,
        proxy: str | None = None,
        target: str | None = None,
        *,
        ranks_only: bool = False,
        width: str | float = "column",
    ) -> Figure:
        """Of one proxy, by default the best, against the truth."""
        target = self._target(target)
        found = self.targets[target]
        proxy = proxy or found["best"] or next(iter(found["proxies"]))
        if proxy not in found["proxies"]:
            raise SettingError(f"{proxy!r} is not among the proxies of this study: {', '.join(found['proxies'])}.")
        scores = self.table[self._column(proxy)].to_numpy(dtype=float)
        truth = self.table[target].to_numpy(dtype=float)
        label = f"{proxy} (higher is better)"  # that of a proxy that should be low is turned around
        known = found["proxies"][proxy]["spearman"]  # in which networks without a score rank last
        return ranks.scatter(scores, truth, label, target, ranks=ranks_only, correlation=known, width=width)

    def bars(self, target: str | None = None, *, width: str | float = "column") -> Figure:
        """How well each proxy ranks, the best on top, with 95 % intervals."""
        target = self._target(target)
        known = [
            Bar(name, value, *(value if end is None else end for end in entry["spearman_ci"] or (None, None)))
            for name, entry in self.targets[target]["proxies"].items()
            if (value := entry["spearman"]) is not None
        ]
        best = self.targets[target]["best"]  # by most of the networks, which those above it may have no score for
        known.sort(key=lambda bar: (bar.name != best, -bar.value))
        return ranks.bars(known, f"Spearman correlation with {target}", width=width)

    def agreement(self, *, width: str | float = "page") -> Figure:
        """Spearman's correlation between proxies, over the networks that both have scored."""
        names = list(next(iter(self.targets.values()))["proxies"])
        columns = [self.table[self._column(name)].to_numpy(dtype=float) for name in names]
        between = np.array([[1.0 if a is b else spearman(a, b) for b in columns] for a in columns])
        return ranks.agreement(names, between, width=width)

    def _column(self, proxy: str) -> str:
        """A proxy that is called as a column of the table has another name there."""
        return f"{proxy} (score)" if f"{proxy} (score)" in self.table else proxy

    def _target(self, name: str | None) -> str:
        if name is None:
            return next(iter(self.targets))
        if name not in self.targets:
            raise SettingError(f"{name!r} is not among the targets of this study: {', '.join(self.targets)}.")
        return name
