"""HNAS (Shu et al., NeurIPS 2022): what its search finds in NAS-Bench-201, beside plainer ways to spend the queries.

A search is one seed of the lab. Proxies judge as many networks as there are samples, each once, and every search
chooses among a random half of them, which is the same half for all methods.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from firstlight.core.errors import SettingError
from firstlight.core.seeds import python_generator
from firstlight.evaluation.compare import Run
from firstlight.evaluation.contest import Contest
from firstlight.evaluation.methods import MEASURED_WITH, parse_method
from firstlight.evaluation.truth import TRUTH, TableSetting, TableTruth, read_truth
from firstlight.papers.base import Experiment, Finding, Findings, Published
from firstlight.papers.benchmarks import NB201_BRIEFLY, NB201_TEST
from firstlight.papers.hnas import ABSOLUTE, PAPER
from firstlight.papers.hnas_bounds import METRICS, OTHER_METRICS
from firstlight.papers.lab import Lab
from firstlight.papers.lookup import Lookup, few_seeds_remark
from firstlight.search.algorithms.hnas import measured
from firstlight.search.measuring import Measuring, Twin
from firstlight.search.objective import Objective
from firstlight.search.queries import Queries
from firstlight.spaces.in_space import in_space

# A search asks about no more than a third of what it chooses among, which is half of the samples
QUERIES, SAMPLES_FOR_A_QUERY = 20, 6
# Of the inputs that M is measured on; the paper's are 64
SMALL_BATCH, PAPER_BATCH = 16, 64
Figures = tuple[float, float, float]  # NB201 CIFAR-10, CIFAR-100, ImageNet16-120
RATIO_METRICS = METRICS | {"KNAS": OTHER_METRICS["KNAS"]}
# Dextr and MeCo are beyond the paper
SEARCH_METRICS = RATIO_METRICS | {"Dextr": "dextr", "MeCo": "meco"}
GUIDED = {f"HNAS, {title}": f"hnas:metric={metric}" for title, metric in SEARCH_METRICS.items()} | {
    "best by independence": "verify:by=independence",
    "best by SynFlow": "verify:by=synflow",
    "best by kappa": "verify:by=ntk_condition",
    "best by Dextr and MeCo": "verify:by=rank_mean(dextr,meco)",
    "portfolio": "portfolio",
}
UNGUIDED = {"random search": "random", "regularised evolution": "evolution"}
TABLE3: dict[str, Figures] = {
    "HNAS, Grad": (94.04, 71.75, 45.91),
    "HNAS, SNIP": (93.94, 71.49, 46.07),
    "HNAS, GraSP": (94.13, 72.59, 46.24),
    "HNAS, Trace": (94.07, 72.30, 45.93),
    "HNAS, KNAS": (94.19, 72.94, 46.31),
    "regularised evolution": (93.92, 71.84, 45.15),
}
TABLE15: Figures = (93.50, 69.78, 43.73)  # Trace
ACQUISITIONS = {"EI": "ei", "UCB": "ucb"}
TABLE16_METRICS = ("Grad", "Trace")

POOLS = (
    "Proxies judge as many networks as there are samples, each once and as seed 0 makes it. A search is one seed and "
    "chooses among a random half of them; the paper draws 2,000 networks for every query. Halves overlap, so that "
    "intervals, which are over seeds, say too little of the choice of networks: take more samples."
)
MEASURED_SO = (
    f"M is that of batches of {SMALL_BATCH} images, and kappa that of 64 images on the narrow twin of a network; the "
    f"paper takes {PAPER_BATCH} for M, which changes it little, and mostly the network itself for kappa."
)
BY_PLACES = (
    "HNAS compares places among the networks that a search chooses among, and not raw values as in the paper, because "
    "no scale of nu suits every metric."
)
BESIDE = (
    "Random search and regularised evolution choose among the whole table. The published figures of evolution are of "
    "many more queries than it has here. Best by a proxy asks about those that it likes best, and the portfolio about "
    "those that independence, SynFlow and kappa like best in turn; the paper has neither, nor HNAS with Dextr and MeCo."
)
IF_ALL = "best of what a search chooses among"


def queries_of(lab: Lab) -> int:
    return min(QUERIES, lab.samples // SAMPLES_FOR_A_QUERY)


def briefly_trained(lab: Lab) -> TableTruth:
    """What every network of the table reaches after twelve epochs, which is what searches ask."""
    setting = TableSetting(**in_space(NB201_BRIEFLY.space))
    return read_truth(lab.shelf.table(NB201_BRIEFLY), setting, lab.shelf.column(NB201_BRIEFLY), (), ())


def halves(lab: Lab, truth: TableTruth) -> list[TableTruth]:
    """What the search of each seed chooses among. Those judged for more samples hold those judged for fewer."""
    if lab.samples > len(truth):
        raise SettingError(
            f"samples is {lab.samples:,}, and the table has {len(truth):,} different networks. Ask for fewer."
        )
    everyone = sorted(truth.networks)
    python_generator(MEASURED_WITH, "networks of the pool").shuffle(everyone)
    judged, known = everyone[: lab.samples], truth.figures[truth.target]
    found = []
    for seed in lab.seeds:
        half = python_generator(seed, "half of the pool").sample(judged, len(judged) // 2)
        found.append(replace(truth, figures={truth.target: {text: known[text] for text in half}}))
    return found


def search(lab: Lab, guided: Mapping[str, str], unguided: Mapping[str, str]) -> dict[str, list[str]]:
    """By the title of a method, the network that the search of each seed decides for."""
    truth, queries = briefly_trained(lab), queries_of(lab)
    contest = Contest(truth, (), None, lab.executor, lab.store, lab.images, lab.skeleton)
    found: dict[str, list[str]] = {title: [] for title in (*guided, *unguided)}
    done, total = 0, len(found) * len(lab.seeds) * queries
    with lab.executor.staying():
        for seed, half in zip(lab.seeds, halves(lab, truth), strict=True):
            told = {title: f"{text}:pool={len(half)}:batch={SMALL_BATCH}" for title, text in guided.items()}
            for title, text in (*told.items(), *unguided.items()):
                method = parse_method(text)
                within = contest if title in unguided else replace(contest, truth=half)
                asked = method.run(within, queries, seed)
                best = Run(text, seed, tuple(asked)).incumbents[-1]
                assert best is not None  # a table has an answer to every query
                found[title].append(best.architecture)
                done += queries
                lab.watch(done, total)
    return found


def least_ratio(lab: Lab, metric: str, batch_size: int, twin: Twin | None) -> list[str]:
    """For each seed the network of least kappa / M, which needs no query; their text decides between equals."""
    measuring = Measuring(
        lab.setting(NB201_BRIEFLY.space, seed=MEASURED_WITH),
        lab.executor,
        lab.store,
        lab.callback,
    )
    found = []
    for seed, half in zip(lab.seeds, halves(lab, briefly_trained(lab)), strict=True):
        problem = Queries(half, Objective(TRUTH), python_generator(seed, "least ratio"), 1, measuring=measuring)
        candidates = measured(problem, metric, len(half), batch_size, twin)
        found.append(min(zip(candidates.ratio, candidates.texts, strict=True))[1])
    return found


def looked_up(
    lab: Lab, found: Mapping[str, list[str]], published: Mapping[str, Figures], source: str
) -> Iterator[Finding]:
    """The mean over seeds for each method, and what there was to be found."""
    among = [half.networks for half in halves(lab, briefly_trained(lab))]
    for benchmark in lab.shelf.available(NB201_TEST):
        lookup = Lookup(lab, benchmark)
        for title, architectures in found.items():
            figures = published.get(title)
            value = None if figures is None else figures[NB201_TEST.index(benchmark)]
            yield lookup.mean(title, architectures, Published.value(source, value))
        yield lookup.mean(IF_ALL, [lookup.best_of(networks) for networks in among])


def _table3(lab: Lab) -> Findings:
    found = search(lab, GUIDED, UNGUIDED)
    lines = looked_up(lab, found, TABLE3, "HNAS Tables 3 and 14")
    return Findings(tuple(lines), (*_remarks(lab), BESIDE))


def _table15(lab: Lab) -> Findings:
    with lab.executor.staying():
        found = {
            f"least kappa / M, {title}": least_ratio(lab, metric, SMALL_BATCH, Twin())
            for title, metric in RATIO_METRICS.items()
        }
        own = "least kappa / M, Trace, kappa of the network itself"
        found[own] = least_ratio(lab, RATIO_METRICS["Trace"], PAPER_BATCH, None)
    published = dict.fromkeys(("least kappa / M, Trace", own), TABLE15)
    of_itself = f"Of the network itself, M and kappa are those of batches of {PAPER_BATCH}, as in the paper."
    lines = looked_up(lab, found, published, "HNAS Table 15")
    return Findings(tuple(lines), (POOLS, MEASURED_SO, of_itself, ABSOLUTE, *few_seeds_remark(lab)))


def _table16(lab: Lab) -> Findings:
    asked = {
        f"HNAS, {title}, {name}": f"hnas:metric={METRICS[title]}:acquisition={acquisition}"
        for title in TABLE16_METRICS
        for name, acquisition in ACQUISITIONS.items()
    }
    found = search(lab, asked, {})
    lines = list(looked_up(lab, found, {}, "HNAS Table 16"))
    for benchmark in lab.shelf.available(NB201_TEST):
        for title in TABLE16_METRICS:
            first, second = (found[f"HNAS, {title}, {name}"] for name in ACQUISITIONS)
            lines.append(Lookup(lab, benchmark).difference(f"HNAS, {title}, EI minus UCB", first, second))
    unrecorded = "Our records have no copy of this table: neither its figures nor which metrics it is about."
    return Findings(tuple(lines), (unrecorded, *_remarks(lab)))


def _remarks(lab: Lab) -> Sequence[str]:
    asked = f"Each search asks about {queries_of(lab)} networks, and decides for the one that does best of these."
    fewer = f" The paper's ask about {QUERIES}: take {QUERIES * SAMPLES_FOR_A_QUERY} samples or more."
    return (
        asked + (fewer if queries_of(lab) < QUERIES else ""),
        POOLS,
        MEASURED_SO,
        BY_PLACES,
        ABSOLUTE,
        *few_seeds_remark(lab),
    )


hnas_table3 = Experiment(
    "hnas-table3",
    "HNAS Tables 3 and 14",
    PAPER,
    "what twenty queries find by HNAS, by other uses of proxies, and without any",
    NB201_TEST,
    samples=200,
    run=_table3,
    seeds=10,
    sampled=("pool",),
)
hnas_table15 = Experiment(
    "hnas-table15",
    "HNAS Table 15",
    PAPER,
    "what the least kappa / M finds without any query",
    NB201_TEST,
    samples=120,
    run=_table15,
    seeds=10,
    sampled=("pool",),
)
hnas_table16 = Experiment(
    "hnas-table16",
    "HNAS Table 16",
    PAPER,
    "two ways to choose the next query",
    NB201_TEST,
    samples=200,
    run=_table16,
    seeds=10,
    sampled=("pool",),
)
