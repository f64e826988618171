"""Runs of several search methods on one contest, with checks before and remarks after."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from firstlight.core.errors import SettingError
from firstlight.core.events import Callback, Event, ignore
from firstlight.evaluation.compare import Comparison, Run, short_labels
from firstlight.evaluation.contest import Contest
from firstlight.evaluation.methods import Method
from firstlight.evaluation.truth import TableTruth
from firstlight.search.objective import Candidate


def run_methods(
    contest: Contest,
    methods: Sequence[Method],
    queries: Sequence[int],
    seeds: Sequence[int],
    *,
    within: float | None = None,
    against: str = "",
    callback: Callback = ignore,
) -> Comparison:
    """Run each method with each seed, as far as the largest number of queries. `against` names one of the methods."""
    _check(contest, methods, queries, seeds, within)
    compared = _named(methods, against)
    runs: dict[str, list[Run]] = {str(method): [] for method in methods}
    total, done = len(methods) * len(seeds) * queries[-1], 0

    def count(event: Event) -> None:
        nonlocal done
        if isinstance(event.item, Candidate):  # and not a state of a supernet
            done += 1
            callback(Event("scoring", done, total))

    with contest.executor.staying():
        for method, seed in itertools.product(methods, seeds):
            runs[str(method)].append(Run(str(method), seed, tuple(method.run(contest, queries[-1], seed, count))))
    everyone = itertools.chain.from_iterable(runs.values())
    best = {query.architecture for run in everyone for query in run.incumbents if query}
    figures = contest.truth.reached(sorted(best), contest.report)
    return Comparison(
        contest.truth.target,
        contest.report,
        tuple(queries),
        runs,
        figures,
        contest.seconds,
        within,
        tuple(_remarks(contest, methods, runs, queries[-1], within)),
        best=max(contest.truth.figures[contest.report[0]].values()) if isinstance(contest.truth, TableTruth) else None,
        against=compared,
    )


def _named(methods: Sequence[Method], against: str) -> str:
    """Return the text of the method that the user named, with or without its settings; "" for none."""
    texts = [str(method) for method in methods]
    labels = short_labels(texts)
    if not against or against in texts:
        return against
    found = [text for text, label in labels.items() if label == against]
    if len(found) != 1:
        raise SettingError(
            f"against (--against) is {against!r}; name one of the methods: {', '.join(labels.values())}."
        )
    return found[0]


def _remarks(
    contest: Contest, methods: Sequence[Method], runs: Mapping[str, Sequence[Run]], most: int, within: float | None
) -> Iterator[str]:
    """Yield notes that are needed to interpret the rows."""
    if contest.seconds is None:
        yield "The table has no training times, so seconds are omitted. Use --seconds to name a column."
    for method, own in zip(methods, runs.values(), strict=True):
        if said := method.remark(contest):
            yield said
        unanswered = sum(not run.queries for run in own)
        if unanswered:
            yield f"{method}: {unanswered} of {len(own)} runs chose a network whose true value is unknown."
        early = [run for run in own if 0 < len(run.queries) < most]
        if early:
            share = f"{len(early)} of {len(own)} runs"
            yield f"{method}: {share} ended before {most} queries, because no new network was left."
        cheap = [run for run in own if within is not None and run.elapsed and run.elapsed[-1] < within]
        if cheap:
            share = f"{len(cheap)} of {len(own)} runs"
            yield f"{method}: {share} took less than {within:,.0f} s for {most} queries; use more queries."
    if any(len(own) == 1 for own in runs.values()):
        yield "There is only one seed, so there is no standard deviation; use two or more."


def _check(
    contest: Contest, methods: Sequence[Method], queries: Sequence[int], seeds: Sequence[int], within: float | None
) -> None:
    for method in methods:
        method.check(contest)
    names = [str(method) for method in methods]
    if not names or len(set(names)) < len(names):
        raise SettingError(f"The methods are {', '.join(names) or 'none'}; name at least one, and each only once.")
    if not queries or list(queries) != sorted(set(queries)) or queries[0] < 1:
        raise SettingError(f"The numbers of queries are {list(queries)}; write ascending numbers, such as 20,50,100.")
    if not seeds or len(set(seeds)) < len(seeds):
        raise SettingError(f"The seeds are {list(seeds)}; give one, or several different ones.")
    try:
        known = len(contest.truth)
    except (TypeError, OverflowError):  # the space cannot be counted
        known = queries[-1]
    if queries[-1] > known:
        raise SettingError(f"{queries[-1]} queries were requested, but there are only {known:,} different networks.")
    if within is not None and (contest.seconds is None or not within > 0):
        raise SettingError(
            f"within is {within:g}; it must be more than 0 seconds, and the table must have a column of training times "
            "(--seconds COLUMN)."
        )
