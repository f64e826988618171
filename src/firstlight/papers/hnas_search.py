"""HNAS (Shu et al., NeurIPS 2022): what its search finds in NAS-Bench-201, beside simpler uses of the queries.

Each seed of the lab is one search. Metrics are those of the classes that were measured; searches query the accuracy
after twelve epochs. Finished searches are kept in the folder of the experiment, so that a run that was cut off goes on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from firstlight.core.events import Event
from firstlight.core.seeds import python_generator
from firstlight.core.statistics import Estimate
from firstlight.evaluation.truth import TRUTH, TableSetting, TableTruth, read_truth
from firstlight.papers.base import ACCURACY, Finding, Findings, Published
from firstlight.papers.benchmarks import NB201_SHORT, NB201_TEST, Benchmark
from firstlight.papers.class_study import NARROW, USUAL, FromClasses, KnownScores
from firstlight.papers.experiment import Experiment
from firstlight.papers.hnas import ABSOLUTE, BATCHES, HNAS, hnas_table1
from firstlight.papers.hnas_bounds import KAPPA, METRICS, PROXY_OF, TINY, size_of
from firstlight.papers.lab import Lab
from firstlight.papers.lookup import Lookup, few_seeds_remark
from firstlight.papers.published import PublishedTable
from firstlight.search.algorithm import AlgorithmRequest
from firstlight.search.measuring import Measuring
from firstlight.search.objective import Candidate, Objective
from firstlight.search.queries import Queries
from firstlight.spaces.in_space import in_space

QUERIES, GROWING = 20, 2000
SEARCHES = "hnas-searches.jsonl"
# What a search chooses among, by what a finding calls it
POOLS = {
    "growing pool": f"pool={GROWING}:growing=true",
    "pool of 2,000": "pool=2000",
    "pool of 450": "pool=450",
}
FORMS = {"": "paper", "published code's objective": "official", "by ranks": "rank"}
BASELINES = {"random search": "random", "regularized evolution": "evolution"}
BEST_BY = {"best by SynFlow": PROXY_OF["SynFlow"], "best by kappa": KAPPA, "best by Trace": PROXY_OF["Trace"]}
ACQUISITIONS = {"EI": "ei", "UCB": "ucb"}
TABLE16_METRICS = ("Grad", "Trace")
BEST_IN_POOL = "best of what a search chooses among"
KAPPAS = (
    "kappa is that of the narrow twin, which ranks networks better than that of the network itself. The paper mostly "
    "uses that of the network."
)
ON_POOLS = (
    f"The growing pool gets {GROWING:,} random networks before each query, as in the paper; the others are drawn once. "
    "Only classes that were measured are drawn. Each seed is one search with pools of its own."
)
ON_SCALE = "The scale of M in nu is the 95th percentile of M among all measured classes."
BESIDE = (
    "Random search and regularized evolution choose among the whole table with the same number of queries; the "
    "published figures of evolution and random search come from about 100. `best by` queries the networks that a proxy "
    "ranks best in a pool of 2,000; the paper does not have it."
)


@dataclass(frozen=True)
class Answer:
    """A query of a search: the network, what it reached, and the parameters that chose it, if HNAS did."""

    architecture: str
    reached: float
    u: float | None = None
    exponent: float | None = None


@dataclass(frozen=True)
class Search:
    """A finished search: its queries in order, and the best network that it could have chosen by each benchmark."""

    method: str
    seed: int
    queries: int
    answers: tuple[Answer, ...]
    best_in_pool: Mapping[str, str]

    @property
    def chosen(self) -> str:
        """The network with the highest reached value."""
        return max(self.answers, key=lambda answer: answer.reached).architecture


class Searches:
    """Runs searches on the scores of classes, and keeps those that are finished.

    Args:
        known: The scores of classes.
        kappa: The part that kappa is read from.
    """

    def __init__(self, known: FromClasses, kappa: str) -> None:
        self.known, self._kappa = known, kappa
        lab = known.lab
        self.truth = _restricted(short_training(lab), known.texts(USUAL, kappa))
        self._lookups = [Lookup(lab, benchmark) for benchmark in lab.data.available(NB201_TEST)]
        self._file = None if lab.store.folder is None else lab.store.folder / SEARCHES
        self._context = f"{len(self.truth)} classes, {known.scores.about['date']}, kappa of {kappa}"
        self._finished = {} if self._file is None else dict(_read(self._file, self._context))

    def run(self, method: str, seed: int, queries: int | None = None) -> Search:
        """Run a search, by default of 20 queries, unless it was finished before."""
        queries = queries or QUERIES
        key = (method, seed, queries)
        if key not in self._finished:
            self._finished[key] = self._searched(method, seed, queries)
            if self._file is not None:
                line = {"context": self._context, **asdict(self._finished[key])}
                with self._file.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
        return self._finished[key]

    def _searched(self, method: str, seed: int, queries: int) -> Search:
        asked: list[Answer] = []

        def record(event: Event) -> None:
            if isinstance(event.item, Candidate) and event.item.utility is not None:
                asked.append(Answer(event.architecture, event.item.utility))

        measuring = self.measuring()
        rng = python_generator(seed, "searches of HNAS", method)
        problem = Queries(self.truth, Objective(TRUTH), rng, queries, measuring=measuring, callback=record)
        AlgorithmRequest.parse(method, for_queries=True).run(problem)
        chosen_by = {a["architecture"]: (a["u"], a["exponent"]) for a in problem.findings.get("answers", [])}
        answers = tuple(
            replace(a, u=pair[0], exponent=pair[1]) if (pair := chosen_by.get(a.architecture)) else a for a in asked
        )
        among = sorted(measuring.measured) or self.truth.networks
        best = {lookup.benchmark.name: lookup.best_of(among) for lookup in self._lookups}
        return Search(method, seed, queries, answers, best)

    def measuring(self) -> Measuring:
        """Return what searches have scores from."""
        return KnownScores(self.known, USUAL, self._kappa)

    def hnas(self, metric: str, pool: str, form: str = "paper", more: str = "") -> str:
        """Return the text of HNAS with a metric of the paper; the scale is that of all classes."""
        scale = np.nanpercentile(size_of(self.known.utilities(USUAL, PROXY_OF[metric], self.truth.networks)), 95)
        name = PROXY_OF[metric].partition(":")[0]  # which the scores know without its settings
        return f"hnas:metric={name}:{pool}:form={form}:scale={float(scale):.6g}{more}"


def _read(path: Path, context: str) -> Iterator[tuple[tuple[str, int, int], Search]]:
    if path.is_file():
        for line in path.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            if entry.pop("context") == context:
                found = Search(**entry | {"answers": tuple(Answer(**answer) for answer in entry["answers"])})
                yield (found.method, found.seed, found.queries), found


def short_training(lab: Lab) -> TableTruth:
    """Return the accuracies after twelve epochs, which searches query."""
    setting = TableSetting(**in_space(NB201_SHORT.space))
    return read_truth(lab.data.table(NB201_SHORT), setting, lab.data.column(NB201_SHORT), (), ())


def _restricted(truth: TableTruth, texts: Sequence[str]) -> TableTruth:
    known = truth.figures[truth.target]
    return replace(truth, figures={truth.target: {text: known[text] for text in texts if text in known}})


def searches_of(lab: Lab) -> Searches:
    """Return what runs searches with kappa of the narrow twin."""
    known = FromClasses.of(lab, USUAL, "twin")
    return Searches(known, known.kappa_parts[NARROW])


def looked_up(
    lab: Lab, found: Mapping[str, Sequence[Search]], tables: Sequence[PublishedTable], published_as: Mapping[str, str]
) -> Iterator[Finding]:
    """Yield the mean accuracy over seeds for each method, and the difference to the best of its pools."""
    for benchmark in lab.data.available(NB201_TEST):
        lookup = Lookup(lab, benchmark)
        for title, searches in found.items():
            row = published_as.get(title, "")
            published = next((table.at(row, benchmark.name) for table in tables if row in table.rows), None)
            chosen = [search.chosen for search in searches]
            yield lookup.mean(title, chosen, published)
            best = [search.best_in_pool[benchmark.name] for search in searches]
            yield lookup.difference(f"{title}, minus the {BEST_IN_POOL}", chosen, best)


def _run(lab: Lab, searches: Searches, methods: Mapping[str, str]) -> dict[str, list[Search]]:
    found: dict[str, list[Search]] = {title: [] for title in methods}
    total, done = len(methods) * len(lab.seeds), 0
    for title, method in methods.items():
        for seed in lab.seeds:
            found[title].append(searches.run(method, seed))
            done += 1
            lab.progress(done, total)
    return found


def _table3(lab: Lab) -> Findings:
    searches = searches_of(lab)
    methods, published = dict(BASELINES), {title: title for title in BASELINES}
    for pool_title, pool in POOLS.items():
        for metric in PROXY_OF:
            title = f"HNAS, {metric}, {pool_title}"
            methods[title], published[title] = searches.hnas(metric, pool), f"HNAS, {metric}"
    for form_title, form in FORMS.items():
        if form_title:
            for metric in METRICS:
                title = f"HNAS, {metric}, growing pool, {form_title}"
                methods[title] = searches.hnas(metric, POOLS["growing pool"], form)
                published[title] = f"HNAS, {metric}"
    methods |= {title: f"verify:by={proxy}:pool={GROWING}" for title, proxy in BEST_BY.items()}
    lines = looked_up(lab, _run(lab, searches, methods), (HNAS["table3"], HNAS["table14"]), published)
    return Findings(tuple(lines), _remarks(lab, searches))


def _table16(lab: Lab) -> Findings:
    searches = searches_of(lab)
    methods = {
        f"HNAS, {metric}, {title}": searches.hnas(metric, POOLS["growing pool"], more=f":acquisition={name}")
        for metric in TABLE16_METRICS
        for title, name in ACQUISITIONS.items()
    }
    found = _run(lab, searches, methods)
    lines = list(looked_up(lab, found, (HNAS["table16"],), {title: title for title in methods}))
    for benchmark in lab.data.available(NB201_TEST):
        for metric in TABLE16_METRICS:
            first, second = ([s.chosen for s in found[f"HNAS, {metric}, {name}"]] for name in ACQUISITIONS)
            lines.append(Lookup(lab, benchmark).difference(f"HNAS, {metric}, EI minus UCB", first, second))
    return Findings(tuple(lines), _remarks(lab, searches))


def _table15(lab: Lab) -> Findings:
    known = FromClasses.of(lab, USUAL)
    lines: list[Finding] = []
    for kappa_title, part in known.kappa_parts.items():
        for metric in METRICS:
            text = lowest_ratio(known, metric, part)
            what = f"lowest kappa / M, {metric}"
            for benchmark in lab.data.available(NB201_TEST):
                published = HNAS["table15"].at(what, benchmark.name) if what in HNAS["table15"].rows else None
                lines.append(_of_one(lab, benchmark, f"{what}, {kappa_title}", text, published))
    return Findings(tuple(lines), (known.remark,))


def lowest_ratio(known: FromClasses, metric: str, part: str) -> str:
    """Return the class with the lowest kappa / M, without a query; networks without a signal are left out."""
    texts = known.texts(USUAL, part)
    m, kappa = size_of(known.utilities(USUAL, PROXY_OF[metric], texts)), -known.utilities(part, KAPPA, texts)
    ratio = np.where(np.isfinite(kappa) & (kappa > 0) & (m > 0), kappa / (m + TINY), np.inf)
    return min(zip(ratio, texts, strict=True))[1]


def _of_one(lab: Lab, benchmark: Benchmark, what: str, text: str, published: Published | None) -> Finding:
    value = Lookup(lab, benchmark).of(text)
    exact = Estimate(value, value, value)
    return Finding(f"{what}: accuracy, %", benchmark.name, exact, published, ACCURACY, "one network")


def _remarks(lab: Lab, searches: Searches) -> tuple[str, ...]:
    return (
        f"Each search queries {QUERIES} networks, and chooses the best of these.",
        searches.known.remark,
        *few_seeds_remark(lab),
    )


hnas_table3: Experiment = replace(
    hnas_table1,
    name="hnas-table3",
    answers=(HNAS["table3"], HNAS["table7"], HNAS["table14"]),
    shows="what twenty queries find with HNAS, with other uses of proxies, and without proxies",
    run=_table3,
    remarks=(ON_POOLS, ON_SCALE, KAPPAS, BATCHES, ABSOLUTE, BESIDE),
    seeds=10,
)
hnas_table15: Experiment = replace(
    hnas_table1,
    name="hnas-table15",
    answers=(HNAS["table15"],),
    shows="what the lowest kappa / M of all classes finds without any query",
    run=_table15,
    remarks=(BATCHES, ABSOLUTE),
)
hnas_table16: Experiment = replace(
    hnas_table3,
    name="hnas-table16",
    answers=(HNAS["table16"],),
    shows="two acquisition functions, which choose the next query",
    run=_table16,
    remarks=(ON_POOLS, ON_SCALE, KAPPAS, BATCHES, ABSOLUTE),
)
