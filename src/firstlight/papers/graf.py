"""GRAF (Kadlecová et al., ICML 2024): predictors on features of cells and proxies, and ours on the same labels.

The protocol is that of the paper: the cells of NAS-Bench-201 without operations that have no effect, as listed with
their proxies by NAS-Bench-Suite-Zero; a random forest with the defaults of scikit-learn, and all other cells as the
test.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from firstlight.core.errors import MissingFileError, SettingError
from firstlight.core.statistics import CONFIDENCE, Estimate, Numbers, kendall, spearman
from firstlight.papers.base import CORRELATION, FIGURE, Finding, Findings, Published, Scale
from firstlight.papers.benchmarks import NB201_C10, Benchmark
from firstlight.papers.experiment import Experiment
from firstlight.papers.lab import Lab
from firstlight.papers.published import read_paper
from firstlight.predict.design import design, prior_of
from firstlight.predict.features import features_of
from firstlight.predict.predictor import Observed, Predicted, predict_pool
from firstlight.spaces import SPACES
from firstlight.tables.table import ARCHITECTURE

Places = NDArray[np.int64]
GRAF = read_paper("graf")
SIZES = (32, 128, 1024)
OURS_SIZES = (100, 1024)
FEW = (5, 10, 20, 50, 100)
# The splits of the published code: seed 42 for the first, and the same seed for each forest
FIRST_SPLIT, FOREST_SEED = 42, 42
# The features of the paper among ours
PUBLISHED = r"^(op_count|min_path|max_path|in_degree|out_degree|mean_degree)\("
PROXIES = (
    *("epe_nas", "fisher", "flops", "grad_norm", "grasp", "jacov", "l2_norm", "nwot", "params", "plain", "snip"),
    *("synflow", "zen"),
)
# Chosen on ImageNet16-120; what is measured here is CIFAR-10
PRIOR = ("nwot", "synflow", "jacov")
FULL, SHORT, TEST = "cifar10_val_200", "cifar10_val_12", "cifar10_test_200"
# What our models are told and judged by: the accuracy of the protocol, or one with less noise
OURS = {"ours": FULL, "ours, test accuracy": TEST}
SUITE_ZERO = Benchmark(
    "NB201 CIFAR-10",
    "nasbench201",
    ("nb201_zc_proxies.parquet",),
    ("nwot",),
    "the cells with scores of NAS-Bench-Suite-Zero, with the columns dataset, ops and one for each proxy",
)


@dataclass(frozen=True)
class Cells:
    """The cells of the protocol: a row for each in all frames.

    Attributes:
        features: Features of the cells.
        proxies: Their scores.
        accuracies: Their accuracies by column.
    """

    features: pd.DataFrame
    proxies: pd.DataFrame
    accuracies: pd.DataFrame

    @classmethod
    def of(cls, lab: Lab) -> Cells:
        """Return the cells that have scores and accuracies.

        Raises:
            MissingFileError: If the table of accuracies lacks a column.
        """
        scores = lab.data.table(SUITE_ZERO).frame
        scores = scores[scores["dataset"] == "cifar10"].set_index(ARCHITECTURE)
        table = lab.data.table(NB201_C10).frame.set_index(ARCHITECTURE)
        missing = [name for name in (FULL, SHORT, TEST) if name not in table]
        if missing:
            raise MissingFileError(f"The table of {NB201_C10.name} has no column {missing[0]}.")
        texts = [text for text in scores.index if text in table.index]
        return cls(
            features_of(SPACES[SUITE_ZERO.space], texts),
            scores.loc[texts, list(PROXIES)].astype(float),
            table.loc[texts, [FULL, SHORT, TEST]].astype(float),
        )

    def __len__(self) -> int:
        return len(self.features)

    @functools.cached_property
    def seen(self) -> Numbers:
        """What our models see of each cell."""
        return design(self.features, self.proxies).to_numpy()

    @functools.cached_property
    def prior(self) -> Numbers:
        """Our prior."""
        return prior_of(self.proxies[list(PRIOR)])

    @functools.cached_property
    def published(self) -> dict[str, Numbers]:
        """What the forest of the paper sees, by the name of its row in the published table."""
        graph = self.features.filter(regex=PUBLISHED).to_numpy()
        return {
            "GRAF": np.column_stack([graph, self.proxies[["flops", "params"]]]),
            "proxies": self.proxies.to_numpy(),
            "GRAF and proxies": np.column_stack([graph, self.proxies]),
        }

    def drawn(self, seed: int, count: int) -> Places:
        """Return the places of the labeled cells of a draw; a smaller draw is the beginning of a larger one."""
        return np.random.RandomState(FIRST_SPLIT + seed).permutation(len(self))[:count]

    def rest(self, drawn: Places) -> Places:
        """Return the places of all other cells."""
        return np.setdiff1d(np.arange(len(self)), drawn)


def forest(rows: Numbers, values: Numbers, drawn: Places) -> Numbers:
    """Return what the published predictor expects of all cells."""
    from sklearn.ensemble import RandomForestRegressor

    found: Numbers = RandomForestRegressor(random_state=FOREST_SEED).fit(rows[drawn], values[drawn]).predict(rows)
    return found


def over_draws(values: Sequence[float]) -> Estimate:
    """Return the mean over draws of labels with its 95 % interval by Student's t.

    Raises:
        SettingError: If there is only one draw.
    """
    from scipy.stats import t

    mean, count = float(np.mean(values)), len(values)
    if count < 2:
        raise SettingError("One seed is one draw of labels, which has no interval. Give two or more: --seed 0,1.")
    width = float(t.ppf((1 + CONFIDENCE) / 2, count - 1)) * float(np.std(values, ddof=1)) / np.sqrt(count)
    return Estimate(mean, mean - width, mean + width)


def _figure(lab: Lab) -> Findings:
    cells = Cells.of(lab)
    accuracy = cells.accuracies[FULL].to_numpy()
    lines = []
    for count in [size for size in SIZES if size <= lab.samples]:
        for name, rows in cells.published.items():
            found = []
            for seed in lab.seeds:
                drawn = cells.drawn(seed, count)
                rest = cells.rest(drawn)
                found.append((forest(rows, accuracy, drawn)[rest], accuracy[rest]))
                lab.progress(len(found), len(lab.seeds), f"{name}, {count} labels")
            figure = GRAF["figure"].at(name, SUITE_ZERO.name) if count == SIZES[-1] else None
            kendalls = [kendall(*pair) for pair in found]
            lines.append(_line(f"{name}, {count:,} labels: Kendall", kendalls, figure, CORRELATION))
            lines.append(_line(f"{name}, {count:,} labels: Spearman", [spearman(*pair) for pair in found]))
    for count, (name, column) in itertools.product([size for size in OURS_SIZES if size <= lab.samples], OURS.items()):
        predicted = list(_ours(lab, cells, count, column, short=False, intervals=False))
        results = cells.accuracies[column].to_numpy()
        for title, statistic in (("Kendall", kendall), ("Spearman", spearman)):
            values = [statistic(found.score[rest], results[rest]) for found, rest in predicted]
            lines.append(_line(f"{name}, {count:,} labels: {title}", values))
    both = spearman(accuracy, cells.accuracies[TEST].to_numpy())
    lines.append(_exactly("validation and test accuracy of all cells: Spearman", both))
    return Findings(tuple(lines), (f"{len(cells):,} cells.",))


def _ours(
    lab: Lab, cells: Cells, count: int, column: str, *, short: bool, intervals: bool
) -> Iterator[tuple[Predicted, Places]]:
    """Yield our prediction for each draw, and the places of the cells without a label."""
    for number, seed in enumerate(lab.seeds, start=1):
        drawn = cells.drawn(seed, count)
        observed = Observed(column, drawn, cells.accuracies[column].to_numpy()[drawn], short)
        found = predict_pool(cells.seen, cells.prior, [observed], intervals=intervals, seed=seed)
        lab.progress(number, len(lab.seeds), f"ours, {count} labels of {column}")
        yield found, cells.rest(drawn)


def _few_labels(lab: Lab) -> Findings:
    cells = Cells.of(lab)
    truth, short = cells.accuracies[TEST].to_numpy(), cells.accuracies[SHORT].to_numpy()
    lines = [
        _exactly("12 epochs of all cells: Spearman", spearman(short, truth)),
        _exactly("the prior: Spearman", spearman(cells.prior, truth)),
    ]
    both = predict_pool(cells.seen, cells.prior, [_everything(short)], model="prior", intervals=False)
    lines.append(_exactly("the prior and 12 epochs of all cells: Spearman", spearman(both.score, truth)))
    for count in [size for size in FEW if size <= lab.samples]:
        ranked: dict[str, list[float]] = {"ours": [], "ours minus the prior": [], "forest, GRAF and proxies": []}
        covered, widths = [], []
        rows = cells.published["GRAF and proxies"]
        for found, rest in _ours(lab, cells, count, SHORT, short=True, intervals=True):
            drawn = found.fits[0].observed.rows
            own = spearman(found.score[rest], truth[rest])
            ranked["ours"].append(own)
            ranked["ours minus the prior"].append(own - spearman(cells.prior[rest], truth[rest]))
            ranked["forest, GRAF and proxies"].append(spearman(forest(rows, short, drawn)[rest], truth[rest]))
            covered.append(float(np.mean((found.low[rest] <= short[rest]) & (short[rest] <= found.high[rest]))))
            widths.append(float(np.median((found.high - found.low)[rest])))
        lines += [_line(f"{name}, {count} labels: Spearman", values) for name, values in ranked.items()]
        lines.append(_line(f"coverage of 80 % intervals, {count} labels", covered))
        lines.append(_line(f"median width of the intervals, {count} labels, points", widths))
    return Findings(tuple(lines), (f"{len(cells):,} cells.",))


def _everything(values: Numbers) -> Observed:
    return Observed(SHORT, np.arange(len(values)), values, short=True)


def _line(what: str, values: Sequence[float], published: Published | None = None, scale: Scale = FIGURE) -> Finding:
    note = f"{len(values)} draws, lowest {min(values):.3f}"
    return Finding(what, SUITE_ZERO.name, over_draws(values), published, scale, note)


def _exactly(what: str, value: float) -> Finding:
    return Finding(what, SUITE_ZERO.name, Estimate(value, value, value))


OUR_REMARK = (
    "Ours is the default of `firstlight predict`: a Gaussian process and a forest on all features and the same "
    f"thirteen proxies, with {', '.join(PRIOR)} as the prior. Prior and settings were chosen on ImageNet16-120."
)
graf_figure: Experiment = Experiment(
    "graf-figure",
    (GRAF["figure"],),
    "how well a random forest predicts accuracy from features of cells, from proxies and from both; and ours",
    (SUITE_ZERO,),
    SIZES[-1],
    _figure,
    (
        "Means over draws of labels, with all other cells as the test. Of GRAF's 191 features, 31 are repetitions, "
        "which are left out; without proxies, parameters and FLOPs are added, as in its code.",
        OUR_REMARK
        + " The validation accuracies seem to be of single trainings; ours is also told, and judged by, test "
        "accuracies, which are means over trainings.",
    ),
    seeds=3,
    sampled=("labels",),
)
graf_few_labels: Experiment = replace(
    graf_figure,
    name="graf-few-labels",
    answers=(GRAF["few"],),
    shows="predictors that are told accuracies after 12 epochs, judged by test accuracy after 200",
    samples=FEW[-1],
    run=_few_labels,
    remarks=(
        "Labels are validation accuracies after 12 epochs; rankings are compared with test accuracies after 200, "
        "intervals with accuracies after 12.",
        OUR_REMARK,
    ),
)
