"""HNAS (Shu et al., NeurIPS 2022): the effect of initialization, batch size and width."""

from __future__ import annotations

from collections.abc import Mapping

from firstlight.evaluation.correlate import Study
from firstlight.papers.base import Finding, Findings, Published
from firstlight.papers.benchmarks import NB201_C10
from firstlight.papers.experiment import Experiment
from firstlight.papers.hnas_bounds import KAPPA, METRICS, TUNED, bound, size
from firstlight.papers.lab import Lab
from firstlight.papers.published import read_paper
from firstlight.papers.rank_rows import RankRow, correlation

HNAS = read_paper("hnas")
TABLE10, TABLE11, TABLE12 = HNAS["table10"], HNAS["table11"], HNAS["table12"]
INITIALIZATIONS = {"LeCun": "default", "Xavier": "xavier", "He": "he"}
CASES = {"realizable": size, "non-realizable": bound}
TUNED_CASE = "Grad, non-realizable"
SMALL_BATCH = 4
NARROWER = 4
LECUN = (
    "LeCun is PyTorch's default initialization, as the paper calls it. Xavier and He draw from a normal distribution."
)


def _tables10_to_12(lab: Lab) -> Findings:
    proxies = [*METRICS.values(), KAPPA]
    usual = lab.study([NB201_C10], proxies)
    lines = []
    for name, initialization in INITIALIZATIONS.items():
        found = lab.study([NB201_C10], proxies, initialization=initialization)
        for metric in METRICS:
            for case, formula in CASES.items():
                row = RankRow(f"{metric}, {case}, {name}", (METRICS[metric], KAPPA), formula=formula(metric))
                lines.append(correlation(lab, found, NB201_C10, row, TABLE10.at(f"{metric}, {case}", name)))
    small = lab.study([NB201_C10], [METRICS["Grad"], KAPPA], batch_size=SMALL_BATCH)
    channels = max(1, dict(lab.skeleton).get("channels", _usual_channels(lab)) // NARROWER)
    skeleton = tuple(sorted({**dict(lab.skeleton), "channels": channels}.items()))
    narrow = lab.study([NB201_C10], [METRICS["Grad"], KAPPA], skeleton_settings=skeleton)
    for part, m, kappa in (("kappa", usual, small), ("M", small, usual)):
        name = f"{part} of a batch of {SMALL_BATCH}"
        lines.append(_mixed(lab, name, m, kappa, TABLE11.at(TUNED_CASE, name)))
    for part, m, kappa in (("kappa", usual, narrow), ("M", narrow, usual)):
        published = TABLE12.at(TUNED_CASE, f"{part} of a narrow network")
        lines.append(_mixed(lab, f"{part} of {channels} channels", m, kappa, published))
    return Findings(tuple(lines))


def _mixed(lab: Lab, name: str, of_metric: Study, of_kappa: Study, published: Published | None) -> Finding:
    """Return the correlation of the bound of Grad whose two parts were measured differently on the same networks."""
    metric = METRICS["Grad"]
    pairs = zip(of_metric.utilities, of_kappa.utilities, strict=True)
    utilities = tuple({metric: one[metric], KAPPA: other[KAPPA]} for one, other in pairs)
    together = Study(of_metric.sample, of_metric.seeds, utilities)
    row = RankRow(f"{TUNED_CASE}, {name}", (metric, KAPPA), formula=bound("Grad"))
    return correlation(lab, together, NB201_C10, row, published)


def _usual_channels(lab: Lab) -> int:
    skeleton: Mapping[str, int] = vars(lab.setting(NB201_C10.space).space.skeleton())
    return skeleton["channels"]


hnas_tables10_12 = Experiment(
    "hnas-tables10-12",
    (TABLE10, TABLE11, TABLE12),
    "how these correlations depend on initialization, batch size and width",
    (NB201_C10,),
    samples=30,
    run=_tables10_to_12,
    remarks=(LECUN, TUNED),
)
