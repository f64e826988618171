"""HNAS (Shu et al., NeurIPS 2022): what its search finds in NAS-Bench-201, beside simpler uses of the queries.

Each seed of the lab is one search. Proxies score `samples` networks, each once. Every search chooses among a random
half of them, the same half for all methods.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from firstlight.core.errors import SettingError
from firstlight.core.seeds import python_generator
from firstlight.evaluation.compare import Run
from firstlight.evaluation.contest import Contest
from firstlight.evaluation.methods import MEASURED_WITH, parse_method
from firstlight.evaluation.truth import TRUTH, TableSetting, TableTruth, read_truth
from firstlight.papers.base import Finding, Findings
from firstlight.papers.benchmarks import NB201_SHORT, NB201_TEST
from firstlight.papers.experiment import Experiment
from firstlight.papers.hnas import ABSOLUTE, HNAS
from firstlight.papers.hnas_bounds import METRICS, OTHER_METRICS
from firstlight.papers.lab import Lab
from firstlight.papers.lookup import Lookup, few_seeds_remark
from firstlight.papers.published import PublishedTable
from firstlight.search.algorithms.hnas import MeasuredPool
from firstlight.search.guides import draw_pool
from firstlight.search.measuring import Measuring, Twin
from firstlight.search.objective import Objective
from firstlight.search.queries import Queries
from firstlight.spaces.in_space import in_space

# A search queries at most a third of the networks it chooses among, which are half of the samples
QUERIES, SAMPLES_FOR_A_QUERY = 20, 6
# The batches that M is measured on
SMALL_BATCH, PAPER_BATCH = 16, 64
RATIO_METRICS = METRICS | {"KNAS": OTHER_METRICS["KNAS"]}
# Dextr and MeCo are not in the paper
SEARCH_METRICS = RATIO_METRICS | {"Dextr": "dextr", "MeCo": "meco"}
GUIDED = {f"HNAS, {title}": f"hnas:metric={metric}" for title, metric in SEARCH_METRICS.items()} | {
    "best by independence": "verify:by=independence",
    "best by SynFlow": "verify:by=synflow",
    "best by kappa": "verify:by=ntk_condition",
    "best by Dextr and MeCo": "verify:by=rank_mean(dextr,meco)",
    "portfolio": "portfolio",
}
UNGUIDED = {"random search": "random", "regularized evolution": "evolution"}
TABLE3, TABLE15, TABLE16 = HNAS["table3"], HNAS["table15"], HNAS["table16"]
ACQUISITIONS = {"EI": "ei", "UCB": "ucb"}
TABLE16_METRICS = ("Grad", "Trace")

POOLS = (
    "Proxies score all sampled networks once, with the weights of seed 0. Each seed is one search, which chooses among "
    "a random half of them; the paper draws 2,000 networks for every query. Halves overlap, so that intervals, which "
    "are over seeds, understate the effect of the choice of networks: take more samples."
)
BATCHES = (
    f"M is measured on batches of {SMALL_BATCH} images, and kappa on 64 images with a narrow version of the network. "
    f"The paper uses {PAPER_BATCH} images for M, which changes it little, and mostly the network itself for kappa."
)
BY_RANK = (
    "HNAS compares ranks among the networks that a search chooses among, not raw values as in the paper, because no "
    "scale of nu suits every metric."
)
BESIDE = (
    "Random search and regularized evolution choose among the whole table. The published figures of evolution come "
    "from many more queries. `best by` queries the networks that a proxy ranks best, and the portfolio those that "
    "independence, SynFlow and kappa rank best in turn. The paper has neither, nor HNAS with Dextr and MeCo."
)
OF_ITSELF = "lowest kappa / M, Trace, kappa of the network itself"
BEST_IN_POOL = "best of what a search chooses among"


def queries_of(lab: Lab) -> int:
    """Return the number of queries of each search."""
    return min(QUERIES, lab.samples // SAMPLES_FOR_A_QUERY)


def short_training(lab: Lab) -> TableTruth:
    """Return the accuracies after twelve epochs, which searches query."""
    setting = TableSetting(**in_space(NB201_SHORT.space))
    return read_truth(lab.data.table(NB201_SHORT), setting, lab.data.column(NB201_SHORT), (), ())


def halves(lab: Lab, truth: TableTruth) -> list[TableTruth]:
    """Return what the search of each seed chooses among. More samples include all networks of fewer samples."""
    if lab.samples > len(truth):
        raise SettingError(
            f"samples is {lab.samples:,}, but the table has {len(truth):,} different networks. Ask for fewer."
        )
    everyone = sorted(truth.networks)
    python_generator(MEASURED_WITH, "networks of the pool").shuffle(everyone)
    scored, known = everyone[: lab.samples], truth.figures[truth.target]
    found = []
    for seed in lab.seeds:
        half = python_generator(seed, "half of the pool").sample(scored, len(scored) // 2)
        found.append(replace(truth, figures={truth.target: {text: known[text] for text in half}}))
    return found


def search(lab: Lab, guided: Mapping[str, str], unguided: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the network that the search of each seed chooses, by the title of the method."""
    truth, queries = short_training(lab), queries_of(lab)
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
                assert best is not None  # a table answers every query
                found[title].append(best.architecture)
                done += queries
                lab.progress(done, total)
    return found


def lowest_ratio(lab: Lab, metric: str, batch_size: int, twin: Twin | None) -> list[str]:
    """Return the network with the lowest kappa / M for each seed, without a query; ties are broken by the text."""
    measuring = Measuring(lab.setting(NB201_SHORT.space, seed=MEASURED_WITH), lab.executor, lab.store, lab.callback)
    found = []
    for seed, half in zip(lab.seeds, halves(lab, short_training(lab)), strict=True):
        problem = Queries(half, Objective(TRUTH), python_generator(seed, "least ratio"), 1, measuring=measuring)
        pool = MeasuredPool(problem, metric, batch_size, twin)
        pool.add(draw_pool(problem, len(half)))
        found.append(min(zip(pool.candidates.ratio, pool.candidates.texts, strict=True))[1])
    return found


def looked_up(
    lab: Lab, found: Mapping[str, list[str]], table: PublishedTable, published_as: Mapping[str, str]
) -> Iterator[Finding]:
    """Yield the mean accuracy over seeds for each method, and of the best network of each half.

    Args:
        lab: What to look up with.
        found: The network of each seed, by method.
        table: The published figures.
        published_as: The row of the table, by method.
    """
    among = [half.networks for half in halves(lab, short_training(lab))]
    for benchmark in lab.data.available(NB201_TEST):
        lookup = Lookup(lab, benchmark)
        for title, architectures in found.items():
            row = published_as.get(title)
            yield lookup.mean(title, architectures, table.at(row, benchmark.name) if row else None)
        yield lookup.mean(BEST_IN_POOL, [lookup.best_of(networks) for networks in among])


def _table3(lab: Lab) -> Findings:
    found = search(lab, GUIDED, UNGUIDED)
    lines = looked_up(lab, found, TABLE3, {title: title for title in TABLE3.rows})
    return Findings(tuple(lines), _remarks(lab))


def _table15(lab: Lab) -> Findings:
    with lab.executor.staying():
        found = {
            f"lowest kappa / M, {title}": lowest_ratio(lab, metric, SMALL_BATCH, Twin())
            for title, metric in RATIO_METRICS.items()
        }
        found[OF_ITSELF] = lowest_ratio(lab, RATIO_METRICS["Trace"], PAPER_BATCH, None)
    lines = looked_up(lab, found, TABLE15, dict.fromkeys(("lowest kappa / M, Trace", OF_ITSELF), "Trace"))
    return Findings(tuple(lines), tuple(few_seeds_remark(lab)))


def _table16(lab: Lab) -> Findings:
    asked = {
        f"HNAS, {title}, {name}": f"hnas:metric={METRICS[title]}:acquisition={acquisition}"
        for title in TABLE16_METRICS
        for name, acquisition in ACQUISITIONS.items()
    }
    found = search(lab, asked, {})
    lines = list(looked_up(lab, found, TABLE16, {}))
    for benchmark in lab.data.available(NB201_TEST):
        for title in TABLE16_METRICS:
            first, second = (found[f"HNAS, {title}, {name}"] for name in ACQUISITIONS)
            lines.append(Lookup(lab, benchmark).difference(f"HNAS, {title}, EI minus UCB", first, second))
    return Findings(tuple(lines), _remarks(lab))


def _remarks(lab: Lab) -> tuple[str, ...]:
    queries = f"Each search queries {queries_of(lab)} networks, and chooses the best of these."
    fewer = f" The paper's searches query {QUERIES}: take {QUERIES * SAMPLES_FOR_A_QUERY} samples or more."
    return (queries + (fewer if queries_of(lab) < QUERIES else ""), *few_seeds_remark(lab))


hnas_table3 = Experiment(
    "hnas-table3",
    (TABLE3,),
    "what twenty queries find with HNAS, with other uses of proxies, and without proxies",
    NB201_TEST,
    samples=200,
    run=_table3,
    remarks=(POOLS, BATCHES, BY_RANK, ABSOLUTE, BESIDE),
    seeds=10,
    sampled=("pool",),
)
hnas_table15 = replace(
    hnas_table3,
    name="hnas-table15",
    answers=(TABLE15,),
    shows="what the lowest kappa / M finds without any query",
    samples=120,
    run=_table15,
    remarks=(
        POOLS,
        BATCHES,
        f"{OF_ITSELF}: M and kappa are measured on batches of {PAPER_BATCH}, as in the paper.",
        ABSOLUTE,
    ),
)
hnas_table16 = replace(
    hnas_table3,
    name="hnas-table16",
    answers=(TABLE16,),
    shows="two acquisition functions, which choose the next query",
    run=_table16,
    remarks=(POOLS, BATCHES, BY_RANK, ABSOLUTE),
)
