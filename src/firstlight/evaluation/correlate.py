"""Correlation of proxies with the results of trained networks in a table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
import pandas as pd

from firstlight.core.errors import SettingError
from firstlight.core.events import Callback, Event, ignore
from firstlight.core.seeds import derive
from firstlight.core.statistics import (
    Estimate,
    Groups,
    Numbers,
    RankQuality,
    difference,
    rank_quality,
    spearman,
    unscored_last,
)
from firstlight.evaluation.selection import JudgedEnsemble, judge_ensemble, mostly_scored
from firstlight.execution.executor import Executor
from firstlight.proxies.base import NetworkScore
from firstlight.proxies.requests import ProxyRequest
from firstlight.scoring.service import ScoreService, Setting, with_cost
from firstlight.storage.store import Store
from firstlight.tables.table import Table

# Statistics of which a study has paired differences
PAIRED = ("spearman", "kendall", "ndcg", "precision_10", "regret_1")


@dataclass(frozen=True)
class Sample:
    """A sample of the networks of a table.

    Networks of one class compute the same function. They are scored once and share the score of the canonical network.
    A proxy that counts layers or weights would also count the idle ones of the others.

    Attributes:
        rows: The columns `architecture` (the exact text), `canonical` (the text of its class), and one for each target.
        targets: The names of the targets.
    """

    rows: pd.DataFrame
    targets: tuple[str, ...]

    @property
    def classes(self) -> list[str]:
        """The canonical texts, which are scored."""
        return list(self.rows["canonical"].unique())


@dataclass(frozen=True)
class Study:
    """How well proxies rank trained networks; the result of `firstlight.correlate`.

    Attributes:
        sample: The networks with their true values.
        seeds: The seeds of weights and inputs; the sample is the same for all.
        utilities: For each seed, the utilities of the networks by the name of the proxy. Higher is better; networks
            without a score have NaN and rank last.
        resamples: The number of bootstrap resamples.
        remarks: Notes on the results.
        reasons: The most frequent reason of each proxy that has no score for some networks.
        costs: Parameters and MACs of each network, for the correlation at equal cost; empty if unknown.
        against: The proxy that the others are compared with in pairs; "" for none.

    Example:
        >>> import numpy as np
        >>> import pandas as pd
        >>> from firstlight.evaluation.correlate import Sample, Study
        >>> rows = pd.DataFrame({"architecture": list("abcdefghij"), "canonical": list("abcdefghij"), "acc": range(10)})
        >>> study = Study(Sample(rows, ("acc",)), (0,), ({"mine": np.arange(10.0)},))
        >>> study.quality["acc"]["mine"].estimates["spearman"].value
        1.0
    """

    sample: Sample
    seeds: tuple[int, ...]
    utilities: tuple[dict[str, Numbers], ...]
    resamples: int | None = None
    remarks: tuple[str, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)
    directory: Path | None = None
    costs: Mapping[str, Numbers] = field(default_factory=dict)
    against: str = ""

    @property
    def names(self) -> list[str]:
        """The names of the proxies."""
        return list(self.utilities[0])

    @cached_property
    def groups(self) -> Groups:
        """The class of each network; the networks of a class are resampled together, since they share a score."""
        return pd.factorize(self.sample.rows["canonical"])[0].astype(np.int64)

    @property
    def _drawing(self) -> dict[str, Any]:
        return {"groups": self.groups, "seed": self.seeds[0], "resamples": self.resamples}

    def truth(self, target: str) -> Numbers:
        """Return the true values of a target."""
        return self.sample.rows[target].to_numpy(dtype=float)

    @cached_property
    def quality(self) -> dict[str, dict[str, RankQuality]]:
        """The statistics for the first seed, by target and proxy."""
        return {target: {name: self._quality(target, name) for name in self.names} for target in self.sample.targets}

    def _quality(self, target: str, name: str) -> RankQuality:
        values, costs = self.utilities[0][name], list(self.costs.values())
        return rank_quality(values, self.truth(target), costs=costs, **self._drawing)

    def judge(self, callback: Callback) -> None:
        """Compute all statistics now, with an `Event` for each, instead of when they are asked for."""
        pairs = [(target, name) for target in self.sample.targets for name in self.names]
        total = len(pairs) + 2
        quality: dict[str, dict[str, RankQuality]] = {target: {} for target in self.sample.targets}
        for done, (target, name) in enumerate(pairs):
            callback(Event("judging", done, total, note=name))
            quality[target][name] = self._quality(target, name)
        self.__dict__["quality"] = quality  # where `cached_property` looks
        for done, part in enumerate(("behind_best", "ahead"), start=len(pairs)):
            callback(Event("judging", done, total, note="differences between proxies"))
            getattr(self, part)
        callback(Event("judging", total, total))

    def without_score(self, target: str, name: str) -> str:
        """Return how many networks have no score by a proxy, and why, in words; "" if all have one."""
        found = self.quality[target][name]
        if not found.unscored:
            return ""
        why = f": {self.reasons[name]}" if name in self.reasons else ""
        return f"no score for {found.unscored:,} of {found.networks:,} networks, which rank last{why}"

    def best(self, target: str) -> str | None:
        """Return the proxy with the highest Spearman correlation among those that score most networks."""
        return next((name for name, found in self.ordered(target) if found.estimates), None)

    def ordered(self, target: str) -> list[tuple[str, RankQuality]]:
        """Return proxies with their statistics, best first; those that score few networks, or none, come last."""

        def place(item: tuple[str, RankQuality]) -> tuple[bool, bool, float]:
            name, found = item
            value = found.estimates["spearman"].value if found.estimates else 0.0
            return not found.estimates, not mostly_scored(self.utilities[0][name]), -value

        return sorted(self.quality[target].items(), key=place)

    @cached_property
    def behind_best(self) -> dict[str, dict[str, Estimate]]:
        """The difference in Spearman correlation of each proxy to the best one, by target and proxy."""
        found: dict[str, dict[str, Estimate]] = {}
        for target in self.sample.targets:
            best, first, found[target] = self.best(target), self.utilities[0], {}
            for name in first if best is not None else ():
                defined = name != best and self.quality[target][name].estimates
                lead = self._lead(first[best or name], first[name], target) if defined else None
                if lead is not None:
                    found[target][name] = lead
        return found

    def _lead(self, first: Numbers, second: Numbers, target: str) -> Estimate | None:
        return difference(first, second, self.truth(target), **self._drawing)

    @cached_property
    def ahead(self) -> dict[str, dict[str, dict[str, Estimate]]]:
        """How far each proxy is ahead of the one named by `against`, by target, proxy and statistic.

        A regret is lower if it is better, so that a proxy with the smaller one has a negative difference.
        """
        found: dict[str, dict[str, dict[str, Estimate]]] = {}
        first = self.utilities[0]
        for target in self.sample.targets:
            found[target] = {}
            for name in first if self.against else ():
                if name == self.against or not self.quality[target][name].estimates:
                    continue
                leads = {
                    statistic: difference(
                        first[name], first[self.against], self.truth(target), statistic=statistic, **self._drawing
                    )
                    for statistic in PAIRED
                }
                found[target][name] = {statistic: lead for statistic, lead in leads.items() if lead is not None}
        return found

    def over_seeds(self, target: str, name: str) -> tuple[float, float] | None:
        """Return mean and deviation of Spearman's correlation over seeds; None for a single seed, or if undefined."""
        values = [spearman(unscored_last(utilities[name]), self.truth(target)) for utilities in self.utilities]
        return None if len(values) < 2 or any(map(math.isnan, values)) else (fmean(values), stdev(values))

    @cached_property
    def ensembles(self) -> dict[str, JudgedEnsemble | None]:
        """For each target, the proxies whose mean rank correlates best, chosen on one half and tested on the other."""
        first = self.utilities[0]
        return {target: judge_ensemble(first, self.truth(target), **self._drawing) for target in self.sample.targets}

    def agreement(self) -> pd.DataFrame:
        """Return Spearman's correlation between each pair of proxies, over the networks that both have scored."""
        first = self.utilities[0]
        table = [[1.0 if a == b else spearman(first[a], first[b]) for b in first] for a in first]
        return pd.DataFrame(table, index=self.names, columns=self.names)

    def table(self) -> pd.DataFrame:
        """Return a row for each network: its text, the true values, and the utility by each proxy."""
        rows = self.sample.rows.drop(columns="canonical")
        named = {f"{name} (score)" if name in rows else name: values for name, values in self.utilities[0].items()}
        return rows.assign(**named)

    def to_dict(self, *, ensemble: bool = False) -> dict[str, Any]:
        """Return the statistics of the first target at the top level, and those of each under `targets`."""
        targets = {}
        for target in self.sample.targets:
            behind = self.behind_best[target]
            proxies = {name: found.to_dict() for name, found in self.quality[target].items()}
            for name, found in proxies.items():
                if found["unscored"] and name in self.reasons:
                    found["unscored_reason"] = self.reasons[name]
                if name in behind:
                    gap = behind[name]
                    found |= {"behind_best": gap.value, "behind_best_ci": [gap.low, gap.high]}
                for statistic, lead in self.ahead[target].get(name, {}).items():
                    found[f"{statistic}_ahead"] = lead.value
                    found[f"{statistic}_ahead_ci"] = [lead.low, lead.high]
                if spread := self.over_seeds(target, name):
                    found |= {"spearman_mean": spread[0], "spearman_std": spread[1], "seeds": len(self.seeds)}
            targets[target] = {"best": self.best(target), "proxies": proxies}
            if ensemble and (judged := self.ensembles[target]):
                targets[target]["ensemble"] = judged.to_dict()
        first = targets[self.sample.targets[0]]
        shape = {"networks": len(self.sample.rows), "classes": len(self.sample.classes), "seeds": list(self.seeds)}
        against = {"against": self.against} if self.against else {}
        remarks = {"remarks": list(self.remarks)} if self.remarks else {}
        return {**shape, "target": self.sample.targets[0], **first, "targets": targets, **against, **remarks}


def draw_sample(
    table: Table,
    setting: Setting,
    targets: Sequence[str],
    *,
    samples: int | None = None,
    first: int | None = None,
    exact: bool = False,
) -> Sample:
    """Draw networks that have a value for the first target.

    Args:
        table: The table.
        setting: The space, and the seed of the sample.
        targets: The names of the targets.
        samples: Draw N networks at random.
        first: Take the first N rows. Default: all.
        exact: Treat each network as a class of its own.

    Raises:
        SettingError: If more networks are asked for than there are, or fewer than 10.
    """
    joined = table.join(setting.space, targets[0])
    rows = joined.rows.rename(columns={"value": targets[0]})
    if exact:
        rows["canonical"] = rows["architecture"]
    for target in targets[1:]:
        values = table.join(setting.space, target).rows.set_index("architecture")["value"]
        rows[target] = rows["architecture"].map(values)
    for name, count in (("samples", samples), ("first", first)):
        if count is not None and not 10 <= count <= len(rows):
            raise SettingError(
                f"{name} is {count}; it must be between 10 and {len(rows)}, the number of networks of {table.origin} "
                f"with a value for {targets[0]}."
            )
    if samples is not None and first is not None:
        raise SettingError("Give either samples (drawn at random) or first (the first rows), not both.")
    if first is not None:
        rows = rows.iloc[:first]
    if samples is not None:
        chosen = np.random.default_rng(derive(setting.seed, "sample of a table")).permutation(len(rows))[:samples]
        rows = rows.iloc[np.sort(chosen)]
    return Sample(rows.reset_index(drop=True), tuple(targets))


def study(
    sample: Sample,
    settings: Sequence[Setting],
    requests: Sequence[ProxyRequest],
    executor: Executor,
    store: Store,
    *,
    resamples: int | None = None,
    against: str = "",
    callback: Callback = ignore,
) -> Study:
    """Score the sample's classes once for each setting (which differ in their seed), and spread them to the members.

    `callback` is called with an `Event` for each score. `against` names one of the requests.
    """
    found: list[dict[str, Numbers]] = []
    reasons: dict[str, str] = {}
    costs: dict[str, Numbers] = {}
    classes = sample.classes
    for number, setting in enumerate(settings):
        known: dict[str, NetworkScore] = {}
        for network in ScoreService(setting, requests, executor, store).scores(classes):
            known[network.architecture] = network
            callback(Event("scoring", number * len(classes) + len(known), len(settings) * len(classes)))
        texts = zip(sample.rows["architecture"], sample.rows["canonical"], strict=True)
        members = [_member(setting, text, known[canonical]) for text, canonical in texts]
        utilities = {str(r): np.array([m.scores[str(r)].utility for m in members]) for r in requests}
        if not found:  # of the first seed, as the statistics are
            reasons, costs = _reasons(members), _costs(members)
        found.append(utilities)
    seeds = tuple(setting.seed for setting in settings)
    return Study(sample, seeds, tuple(found), resamples, reasons=reasons, costs=costs, against=against)


def with_against(requests: Sequence[ProxyRequest], against: str) -> tuple[list[ProxyRequest], str]:
    """Return the requests with the proxy that others are compared with among them, and its name; "" for none.

    Raises:
        SettingError: If there is no such proxy.
    """
    if not against:
        return list(requests), ""
    request = ProxyRequest.parse(against)
    return [*requests, *([] if request in requests else [request])], str(request)


def _costs(members: Sequence[NetworkScore]) -> dict[str, Numbers]:
    """Return parameters and MACs; NaN for networks whose cost could not be counted."""
    known = [member.cost for member in members]
    return {
        "params": np.array([math.nan if cost is None else cost.params for cost in known], dtype=float),
        "macs": np.array([math.nan if cost is None else cost.macs for cost in known], dtype=float),
    }


def _reasons(members: Sequence[NetworkScore]) -> dict[str, str]:
    """Return, for each proxy, the most frequent reason for a missing score, with an example."""
    counts: dict[str, Counter[str]] = {}
    examples: dict[tuple[str, str], str] = {}
    for member in members:
        for name, score in member.scores.items():
            if not score.ok:
                why = f"{score.status} ({score.note.rstrip('.')})" if score.note else score.status
                counts.setdefault(name, Counter())[why] += 1
                examples.setdefault((name, why), member.architecture)
    frequent = {name: count.most_common(1)[0][0] for name, count in counts.items()}
    return {name: f"{why}, such as {examples[name, why]}" for name, why in frequent.items()}


def _member(setting: Setting, text: str, of_class: NetworkScore) -> NetworkScore:
    """Return the scores of a network of a scored class, with its own cost: it may have idle layers."""
    if text == of_class.architecture:
        return of_class
    network = with_cost(setting, text, of_class.scores, of_class.reused)
    if network.cost is not None:
        for name, amount in (("params", network.cost.params), ("macs", network.cost.macs)):
            if name in network.scores:
                network.scores[name] = replace(network.scores[name], value=float(amount))
    return network
