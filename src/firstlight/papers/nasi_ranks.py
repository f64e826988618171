"""NASI (Shu et al., ICLR 2022): the estimated trace against accuracy, with the constraint and without."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from firstlight.core.statistics import Estimate, Groups, Numbers, kendall, spearman, unscored_last
from firstlight.papers.base import CORRELATION, Finding, Findings
from firstlight.papers.benchmarks import ONE_SHOT, Benchmark
from firstlight.papers.experiment import Experiment
from firstlight.papers.lab import Lab
from firstlight.papers.lookup import in_percent
from firstlight.papers.nasi import BATCH, ESTIMATE, NASI, networks, width_remark
from firstlight.probe import Probe
from firstlight.proxies.base import Parts
from firstlight.proxies.requests import measure_all, parse_requests
from firstlight.scoring.service import Setting, source_for
from firstlight.spaces.nasbench1shot1.supernet import OneShot1Shot1
from firstlight.spaces.supernets import set_weights
from firstlight.views.charts.description import Line, Lines
from firstlight.views.charts.svg import draw_svg

TABLE3 = NASI["table3"]
OTHERS = {"SNIP": "snip", "GraSP": "grasp", "SynFlow": "synflow", "NASWOT": "naswot"}
ON_PATHS = {name: proxy for name, proxy in OTHERS.items() if name != "GraSP"}
STATISTICS = {"Spearman": spearman, "Kendall": kendall}
# nu = gamma n / eta with the Lipschitz constant of cross-entropy, ten classes, and the learning rate of NAS-Bench-101
RATE_NU = 1 * 10 / 0.2
BINS = 10
# The least share of the networks that a threshold chosen by accuracy must leave
LEAST_LEFT = 0.25
PATHS = "on paths of the one-shot network: "
ABOUT_PATHS = (
    "The paper does not say whether it measures networks of their own or paths through the one-shot network, so that "
    "both are measured. GraSP, which takes long, is measured on networks only."
)


@dataclass(frozen=True)
class OnPath:
    """Proxies of a cell as a path through the one-shot network of its space; the value is the estimated trace."""

    proxies: tuple[str, ...]
    revision: ClassVar[int] = 1

    def __call__(self, setting: Setting, architecture: str) -> Parts:
        one_shot = setting.space.one_shot()
        assert isinstance(one_shot, OneShot1Shot1)
        network = one_shot.build(one_shot.skeleton(setting.skeleton), seed=setting.seed, device=setting.device)
        path = one_shot.path(setting.space.parse(architecture))
        for choice in one_shot.choices:
            set_weights(network, choice.name, [float(option in path[choice.name]) for option in choice.options])
        probe = Probe(network, setting.inputs.batches, seed=setting.seed)
        scores = measure_all(parse_requests([ESTIMATE, *self.proxies]), probe)
        others: dict[str, Any] = {name: scores[name].value for name in self.proxies}
        return Parts(scores[ESTIMATE].value, **others)


@dataclass(frozen=True)
class Ranked:
    """Networks of a benchmark: utilities by the name of the row, the trace, and the accuracy."""

    others: Mapping[str, Numbers]
    trace: Numbers
    accuracy: Numbers
    groups: Groups


def measured(
    lab: Lab, benchmark: Benchmark, others: Mapping[str, str], on_paths: Mapping[str, str]
) -> dict[str, Ranked]:
    """Measure the trace and other proxies of networks, and of the same cells as paths; by what findings begin with."""
    study = networks(lab, benchmark, [ESTIMATE, *others.values()], batch_size=BATCH)
    accuracy, groups = study.truth(lab.data.column(benchmark)), study.groups
    first = study.utilities[0]
    source = source_for(parse_requests([ESTIMATE]), lab.images, BATCH)
    texts = study.sample.rows["canonical"].tolist()
    scores = lab.measured(lab.setting(benchmark.space, source), texts, OnPath(tuple(on_paths.values())))
    of_paths = {
        name: np.array([scores[text].parts.get(proxy, math.nan) for text in texts]) for name, proxy in on_paths.items()
    }
    trace = np.array([scores[text].value for text in texts])
    return {
        "": Ranked({name: first[proxy] for name, proxy in others.items()}, first[ESTIMATE], accuracy, groups),
        PATHS: Ranked(of_paths, trace, accuracy, groups),
    }


def _table3(lab: Lab) -> Findings:
    found: list[Finding] = []
    for (benchmark,) in lab.data.by_table(ONE_SHOT):
        for prefix, ranked in measured(lab, benchmark, OTHERS, ON_PATHS).items():
            for kind in STATISTICS:
                found += _correlations(lab, benchmark, ranked, prefix, kind)
    return Findings(tuple(found), width_remark(lab))


def _correlations(lab: Lab, benchmark: Benchmark, ranked: Ranked, prefix: str, kind: str) -> Iterator[Finding]:
    for name, values in ranked.others.items():
        published = TABLE3.at(f"{kind}: {name}", benchmark.name)
        ours = lab.estimate(STATISTICS[kind], unscored_last(values), ranked.accuracy, groups=ranked.groups)
        note = f"{len(values)} networks"
        yield Finding(f"{prefix}{kind}: {name}", benchmark.name, ours, published, CORRELATION, note)
    published = TABLE3.at(f"{kind}: NASI", benchmark.name)
    for name, values in conditioned(ranked.trace, ranked.accuracy).items():
        said = published if "T < nu" in name else None
        ours = lab.estimate(STATISTICS[kind], values, ranked.accuracy, groups=ranked.groups)
        note = f"{np.isfinite(values).sum()} of {len(values)} networks"
        yield Finding(f"{prefix}{kind}: NASI, {name}", benchmark.name, ours, said, CORRELATION, note)


def conditioned(trace: Numbers, accuracy: Numbers) -> dict[str, Numbers]:
    """Return what NASI ranks networks by, with NaN for networks that do not meet the condition, by the condition."""
    mean = float(np.nanmean(trace))
    thresholds = {
        "T < nu = mean T (Eq. 40)": mean,
        f"T < nu = n / eta = {RATE_NU:g}": RATE_NU,
        "T < nu, nu chosen by these accuracies": best_threshold(trace, accuracy),
    }
    return {
        "no condition": trace,
        "R with mu = 2, nu = mean T (Eq. 13)": trace - 2 * np.maximum(0, trace - mean),
        **{name: np.where(trace < nu, trace, np.nan) for name, nu in thresholds.items()},
    }


def best_threshold(trace: Numbers, accuracy: Numbers) -> float:
    """Return the threshold below which the trace ranks networks best; a quarter of them are below it at least."""
    ordered = np.sort(trace[np.isfinite(trace)])
    few = max(2, round(LEAST_LEFT * len(ordered)))
    candidates: list[float] = [*ordered[few:].tolist(), math.inf]
    return max(candidates, key=lambda nu: _correlation(trace[trace < nu], accuracy[trace < nu]))


def _correlation(trace: Numbers, accuracy: Numbers) -> float:
    found = spearman(trace, accuracy)
    return -math.inf if math.isnan(found) else found


def _figure3(lab: Lab) -> Findings:
    found, charts = [], []
    for (benchmark,) in lab.data.by_table(ONE_SHOT):
        lines = []
        for prefix, ranked in measured(lab, benchmark, {}, ON_PATHS).items():  # as for Table 3, which shares them
            error = 100 - in_percent(ranked.accuracy)
            ours = lab.estimate(spearman, ranked.trace, ranked.accuracy, groups=ranked.groups)
            found.append(Finding(f"{prefix}Spearman: estimated trace and accuracy", benchmark.name, ours))
            binned = bins(ranked.trace, error)
            means = [float(rows.mean()) for rows in binned]
            for number, rows in enumerate(binned, start=1):
                name = f"{prefix}mean error, %, in bin {number} of {len(binned)} by trace"
                found.append(lab.mean(name, benchmark.name, rows.tolist()))
            least = 1.0 + int(np.argmin(means))
            name = f"{prefix}bin with the least mean error, of {len(binned)}"
            found.append(Finding(name, benchmark.name, Estimate(least, least, least)))
            lines.append(Line(prefix.rstrip(": ") or "networks", list(enumerate(means, start=1))))
        chart = draw_svg(Lines("bin of networks, by trace", "mean error, %", lines))
        charts.append((f"Error against the estimated trace, {benchmark.name}", str(chart)))
    return Findings(tuple(found), width_remark(lab), tuple(charts))


def bins(trace: Numbers, error: Numbers) -> list[Numbers]:
    """Return errors in equal bins by trace, at least ten networks in each and at most ten bins."""
    known = np.isfinite(trace) & np.isfinite(error)
    order = np.argsort(trace[known], kind="stable")
    parts = max(1, min(BINS, len(order) // 10))
    return [error[known][rows] for rows in np.array_split(order, parts)]


nasi_table3 = Experiment(
    "nasi-table3",
    (TABLE3,),
    "how well NASI and four other proxies rank networks, with the constraint of NASI and without",
    ONE_SHOT,
    samples=100,
    run=_table3,
    remarks=(ABOUT_PATHS,),
)
nasi_figure3 = Experiment(
    "nasi-figure3",
    (NASI["figure3"],),
    "error against the estimated trace, in bins of networks",
    ONE_SHOT,
    samples=100,
    run=_figure3,
    remarks=("Bins hold equal numbers of networks, lowest trace first.", ABOUT_PATHS),
)
