"""Studies and searches from the scores of all classes of NAS-Bench-201, without measuring anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from firstlight.core.errors import MissingFileError, SettingError
from firstlight.core.statistics import Numbers
from firstlight.evaluation.correlate import Sample, Study, draw_sample
from firstlight.papers.benchmarks import Benchmark
from firstlight.papers.class_scores import CLASSES, ClassScores, Part, find_part, load_class_scores, ordered
from firstlight.papers.hnas_bounds import KAPPA
from firstlight.papers.lab import Lab
from firstlight.proxies.ensembles import Criterion
from firstlight.proxies.requests import ProxyRequest
from firstlight.search.measuring import Measuring, Twin

# The part that most metrics are read from, and those of kappa, by what a finding calls them
USUAL = "batch16"
OF_THE_NETWORK, NARROW = "kappa of the network", "kappa of the narrow twin"
# kappa of 64 images, as published, once all classes have it
KAPPA_PARTS = {OF_THE_NETWORK: ("batch64", USUAL), NARROW: ("twin",)}
NO_SCORES = (
    "This experiment is computed from the scores of all classes of NAS-Bench-201, and this copy of Firstlight has none "
    "for it. Measure them with `python -m benchmarks.hnas_classes`."
)


@dataclass(frozen=True)
class FromClasses:
    """What the scores of classes have for a lab, which may ask for fewer classes.

    Attributes:
        lab: The lab.
        scores: The scores.
    """

    lab: Lab
    scores: ClassScores

    @classmethod
    def of(cls, lab: Lab, *parts: str) -> FromClasses:
        """Return them for a lab.

        Raises:
            MissingFileError: If one of the parts was not measured.
        """
        scores = load_class_scores()
        if not all(scores.parts.get(part) for part in parts):
            raise MissingFileError(NO_SCORES)
        return cls(lab, scores)

    def has(self, part: str) -> bool:
        """Return whether some classes were measured with a part."""
        return bool(self.scores.parts.get(part))

    @property
    def kappa_parts(self) -> dict[str, str]:
        """The part that has kappa, by what a finding calls it; the first one that has all classes, else the last."""
        complete = {name for name, count in self.scores.parts.items() if count == CLASSES}
        found = {
            title: next((name for name in names if name in complete), names[-1]) for title, names in KAPPA_PARTS.items()
        }
        return {title: name for title, name in found.items() if self.has(name)}

    def texts(self, *parts: str) -> list[str]:
        """Return the classes that were measured with all parts, at most as many as the lab asks for."""
        known = np.all([self.scores.measured(part, ordered()) for part in parts], axis=0)
        return [text for text, is_known in zip(ordered(), known, strict=True) if is_known][: self.lab.samples]

    def study(self, benchmarks: Sequence[Benchmark], asks: Mapping[str, tuple[str, str]]) -> Study:
        """Return the scores of all networks of a table whose classes were measured.

        Args:
            benchmarks: Benchmarks that share one table.
            asks: The part and the proxy of each column, by its name in the study.
        """
        lab = self.lab
        columns = [lab.data.column(benchmark) for benchmark in benchmarks]
        setting = lab.setting(benchmarks[0].space)
        rows = draw_sample(lab.data.table(benchmarks[0]), setting, columns).rows
        among = set(self.texts(*{part for part, _ in asks.values()}))
        rows = rows[rows["canonical"].isin(among)].reset_index(drop=True)
        found = {name: self.utilities(part, proxy, rows["canonical"].tolist()) for name, (part, proxy) in asks.items()}
        return Study(Sample(rows, tuple(columns)), (lab.seeds[0],), (found,))

    def utilities(self, part: str, proxy: str, texts: Sequence[str]) -> Numbers:
        """Return the utilities of classes: higher is better, NaN without a score."""
        values = self.scores.values(part, proxy, texts)
        return values if ProxyRequest.parse(proxy).proxy.higher_is_better else -values

    def columns(self, part: str, kappa: str | None = None) -> dict[str, tuple[str, str]]:
        """Return all proxies of a part, with kappa of another one if that is given."""
        found = {proxy: (part, proxy) for proxy in find_part(part).proxies}
        return found if kappa is None else found | {KAPPA: (kappa, KAPPA)}

    @property
    def remark(self) -> str:
        """How the scores were measured."""
        about = self.scores.about
        parts = "; ".join(
            f"{name}: {_described(find_part(name))}, {count:,} of {CLASSES:,} classes"
            for name, count in self.scores.parts.items()
            if count
        )
        return (
            "Computed from the scores that come with Firstlight, measured with PyTorch "
            f"{about['versions']['torch']} and written on {about['date']} ({parts}). Networks of one class share a "
            "score; accuracies are their own."
        )


def _described(part: Part) -> str:
    shown = f"batches of {part.batch_size} images of {part.images}"
    width = "narrow twin, " if part.twin else "" if part.channels is None else f"{part.channels} channels, "
    drawn = "" if part.initialization == "default" else f", {part.initialization} initialization"
    return f"{width}{shown}{drawn}"


class KnownScores(Measuring):
    """Answers a search from the scores of classes.

    Args:
        known: The scores.
        part: The part with the metrics.
        kappa: The part with the condition number.
    """

    def __init__(self, known: FromClasses, part: str, kappa: str) -> None:
        lab = known.lab
        super().__init__(lab.setting("nasbench201"), lab.executor, lab.store)
        self._known, self._part, self._kappa = known, part, kappa

    def utilities(
        self, by: Criterion, networks: Sequence[str], batch_size: int | None = None, twin: Twin | None = None
    ) -> Numbers:
        """Return the utility of each network by a proxy; the parts decide batch size, twin and settings.

        Raises:
            SettingError: If the part does not have the proxy.
        """
        part = self._kappa if str(by) == KAPPA else self._part
        there = find_part(part).proxies
        proxy = next((text for text in (str(by), *there) if text in there and text.startswith(str(by))), None)
        if proxy is None:
            raise SettingError(f"The scores of classes have {', '.join(there)}, and not {by}.")
        self.measured.update(networks)
        return self._known.utilities(part, proxy, networks)
