"""Dextr (Asthana et al., TMLR 2025): what its searches find, short of training it on ImageNet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from firstlight.core.seeds import python_generator
from firstlight.core.statistics import Estimate
from firstlight.data.inputs import SYNTHETIC
from firstlight.options import Limits
from firstlight.papers.base import FIGURE, Finding, Findings, Scale
from firstlight.papers.dextr_tables import DEXTR
from firstlight.papers.experiment import Experiment
from firstlight.papers.hnas_cells import depth
from firstlight.papers.lab import Lab
from firstlight.papers.lookup import few_seeds_remark
from firstlight.papers.published import PublishedTable
from firstlight.probe.cost import Cost
from firstlight.proxies.ensembles import members, parse_criterion
from firstlight.scoring.service import ScoreService, Setting, source_for
from firstlight.search.algorithm import AlgorithmRequest
from firstlight.search.objective import Objective
from firstlight.search.problem import Problem
from firstlight.spaces import SPACES
from firstlight.spaces.darts.genotypes import Genotype

TABLE2, TABLE3, TABLE8, FIGURE4 = (DEXTR[key] for key in ("table2", "table3", "table8", "figure4"))
PROXIES = {"Dextr": "dextr", "MeCo": "meco", "ZiCo": "zico"}
BATCH = 16
# The networks that the paper trains on ImageNet
IMAGENET = {"cells": 14, "channels": 48, "classes": 1000, "input_shape": (3, 224, 224), "stem_stride": 8}
LIMITS = {"tiny": "6M", "small": "24M"}
SAMPLES_FOR_A_PROPOSAL = 10
SCALES = {
    "parameters, M": Scale("millions of parameters that a short search finds", tolerance=1.0, widest=4.0),
    "MACs, M": Scale("millions of MACs that a short search finds", tolerance=100.0, widest=400.0),
}
UNTRAINED = "needs training on ImageNet"
NOTHING_TRAINED = (
    "The paper trains what a search finds on ImageNet for hundreds of epochs on GPUs. That cannot be done here: only "
    "sizes are measured, and errors are listed."
)
SMALLER = (
    "The searches are those of the settings dextr-darts, dextr-autoformer and dextr-mobilenetv2, but shorter: the "
    "paper makes ten proposals with a DARTS supernet of 16 channels and 8 cells (here one for every ten samples, with "
    "4 channels, 3 cells and images of 16x16 pixels), and compares 1,000 vision transformers and 100,000 networks of "
    "MobileNetV2."
)


@dataclass(frozen=True)
class Search:
    """A search: where, how, by which proxy, and within which limits."""

    space: str
    algorithm: str
    proxy: str
    limits: Limits = Limits()
    images: str | None = None  # by default noise of the size that the networks are for

    def setting(self, lab: Lab) -> Setting:
        """Return how networks are built, and what they are shown."""
        requests = members(parse_criterion(self.proxy))
        many = BATCH if any(request.proxy.batch_size > 1 for request in requests) else None
        return lab.setting(self.space, source_for(requests, self.images or SYNTHETIC, many))

    def run(self, lab: Lab) -> str:
        """Return the best network."""
        setting, by = self.setting(lab), parse_criterion(self.proxy)
        service = ScoreService(setting, members(by), lab.executor, lab.store)
        rng = python_generator(setting.seed, "search", self.algorithm, self.proxy)
        problem = Problem(service, Objective(by, self.limits), rng, lab.samples, callback=lab.callback)
        AlgorithmRequest.parse(self.algorithm).run(problem)
        return problem.pool.best(1)[0]

    def found(self, lab: Lab) -> list[str]:
        """Return the best network for each seed."""
        return [self.run(replace(lab, seeds=(seed,))) for seed in lab.seeds]

    def costs(self, lab: Lab) -> list[Cost]:
        """Return the cost of the best network for each seed."""
        setting = self.setting(lab)
        return [setting.space.cost(setting.space.parse(text), setting.skeleton) for text in self.found(lab)]


def _sizes(lab: Lab, table: PublishedTable, row: str, on: str, costs: list[Cost]) -> Iterator[Finding]:
    """Yield a line for each column of a row: mean sizes over searches, and errors as published."""
    counted = {
        "parameters, M": np.array([cost.params / 1e6 for cost in costs]),
        "MACs, M": np.array([cost.macs / 1e6 for cost in costs]),
    }
    for column in table.columns:
        values, published = counted.get(column), table.at(row, column)
        if values is None:
            yield Finding(column, on, None, published, FIGURE, UNTRAINED)
        else:
            note = f"{len(values)} {'search' if len(values) == 1 else 'searches'}: {values.mean():.4g}"
            ours = lab.estimate(lambda sizes: float(sizes.mean()), values)
            yield Finding(column, on, ours, published, SCALES[column], note)


def _cells(lab: Lab) -> Iterator[Finding]:
    proposals = max(1, lab.samples // SAMPLES_FOR_A_PROPOSAL)
    space = SPACES["darts"]
    imagenet = space.skeleton(**IMAGENET)
    for title, proxy in PROXIES.items():
        search = Search("darts", f"zero-cost-pt:proposals={proposals}", proxy, images=lab.images)
        genotypes, on = [space.parse(text) for text in search.found(lab)], f"DARTS, {title}"
        yield from _sizes(lab, TABLE2, title, on, [space.cost(genotype, imagenet) for genotype in genotypes])
        first = genotypes[0]
        assert isinstance(first, Genotype)
        for kind, cell in (("normal", first.normal), ("reduction", first.reduce)):
            names = sorted({operation for operation, _ in cell.edges})
            yield _counted(f"kinds of operations, {kind} cell", on, len(names), ", ".join(names))
            yield _counted(f"depth, {kind} cell", on, depth(cell), "by counting")


def _counted(what: str, on: str, value: float, note: str) -> Finding:
    return Finding(what, on, Estimate(value, value, value), note=note)


def _searches(lab: Lab) -> Findings:
    lines: list[Finding] = []
    with lab.executor.staying():
        lines += _cells(lab)
        for size, limit in LIMITS.items():
            search = Search(f"autoformer-{size}", "random", "dextr", Limits(max_params=limit))
            lines += _sizes(lab, TABLE3, f"{size}, Dextr", search.space, search.costs(lab))
        search = Search("mobilenetv2", "evolution-budget:population=1024", "dextr", Limits(max_macs="450M"))
        lines += _sizes(lab, TABLE8, "Dextr", search.space, search.costs(lab))
    return Findings(tuple(lines), tuple(few_seeds_remark(lab)))


dextr_searches = Experiment(
    "dextr-searches",
    (TABLE2, TABLE3, TABLE8, FIGURE4),
    "the sizes and the cells of networks that searches with Dextr find",
    (),
    samples=10,
    run=_searches,
    remarks=(NOTHING_TRAINED, SMALLER),
    sampled=("steps",),
    skeletons={"darts": (("cells", 3), ("channels", 4), ("input_shape", (3, 16, 16)))},
)
