"""Networks of the benchmarks at hand, all scored by the same proxies: what priors are fitted on and judged by.

Networks are much smaller than those that were trained, and are shown small images, so that many of them can be scored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from firstlight.core.settings import Settings
from firstlight.papers.benchmarks import NB101, NB201_TEST, NB301, TRANSNAS_TASKS, Benchmark
from firstlight.papers.lab import Lab
from firstlight.papers.plain_networks import BAND, FAMILIES, SIDE, TARGET
from firstlight.papers.plain_networks import SKELETONS as PLAIN_SKELETONS
from firstlight.papers.plain_networks import measured as measured_plain
from firstlight.papers.plain_networks import rows_of as plain_rows
from firstlight.predict.features import network_features
from firstlight.predict.prior import Pool
from firstlight.proxies import PROXIES
from firstlight.spaces import SPACES
from firstlight.tables.table import ARCHITECTURE, SPACE

# Fewer networks of a family say nothing of their order
FEWEST_NETWORKS = 10
BATCH = 16
# What is made for transformers or after a warm-up, and what would take more time than all others together
LEFT_OUT = (
    *("curvature", "decoder_params", "dss", "fr_norm", "gradsign", "loss", "nasgraph_degree", "ntk_trace_exact"),
    *("sigeo", "te_ntk", "zerolm"),
)
ASKED = tuple(name for name in PROXIES if name not in LEFT_OUT)
SMALL = (3, SIDE, SIDE)
SKELETONS: Mapping[str, Settings] = {
    "nasbench101": (("channels", 16), ("input_shape", SMALL)),
    "nasbench201": (("cells", 1), ("channels", 8), ("input_shape", SMALL)),
    "darts": (("cells", 4), ("channels", 8), ("input_shape", SMALL)),
    "transnas-micro": (("channels", 8), ("input_shape", (3, 64, 64))),
    **PLAIN_SKELETONS,
}
# Benchmarks of one space share a table. Small networks of NAS-Bench-101 cost no more than the others
BENCHMARKS: Mapping[str, tuple[Benchmark, ...]] = {
    "NAS-Bench-101": (replace(NB101, cost_factor=1),),
    "NAS-Bench-201": NB201_TEST,
    "TransNAS-Bench-101": TRANSNAS_TASKS,
    "NAS-Bench-301": (NB301,),
}
PLAIN = "plain spaces"


def pools_of(lab: Lab, proxies: Sequence[str] = ASKED) -> list[Pool]:
    """Score networks of all benchmarks that are available."""
    found = [
        _of_table(lab, title, available, proxies)
        for title, benchmarks in BENCHMARKS.items()
        if (available := lab.data.available(benchmarks))
    ]
    return [*found, *_plain(lab, proxies)]


def _of_table(lab: Lab, title: str, benchmarks: Sequence[Benchmark], proxies: Sequence[str]) -> Pool:
    study = lab.study(benchmarks, proxies, batch_size=BATCH)
    rows = study.sample.rows
    texts = rows["canonical"].tolist()
    setting = lab.setting_of(benchmarks[0])
    utilities = pd.DataFrame(study.utilities[0], index=texts)
    truths = {benchmark.name: rows[lab.data.column(benchmark)].to_numpy(dtype=float) for benchmark in benchmarks}
    features = network_features(setting.space, setting.skeleton, [setting.space.parse(text) for text in texts])
    return Pool(title, title, utilities, features.set_axis(texts), truths)


def _plain(lab: Lab, proxies: Sequence[str]) -> list[Pool]:
    """Return a pool for each family and size of the plain benchmark that has enough networks."""
    rows = plain_rows(replace(lab, samples=lab.samples * len(FAMILIES)))
    enough = rows.groupby([SPACE, BAND])[TARGET].transform("size") >= FEWEST_NETWORKS
    rows = rows[enough].reset_index(drop=True)
    if not len(rows):
        return []
    networks = measured_plain(lab, rows, proxies)
    scores, found = pd.DataFrame(networks.utilities), []
    for (family, band), members in rows.groupby([SPACE, BAND], sort=False):
        space, texts = SPACES[str(family)], members[ARCHITECTURE].tolist()
        skeleton = lab.setting(str(family)).skeleton
        features = network_features(space, skeleton, [space.parse(text) for text in texts])
        utilities = scores.loc[members.index].set_axis(texts)
        truth = members[TARGET].to_numpy(dtype=float)
        found.append(Pool(f"{family}, {band}", PLAIN, utilities, features.set_axis(texts), {TARGET: truth}))
    return found
