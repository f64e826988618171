"""What experiments run with: data, sizes and seeds, workers, and the store of what was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from firstlight.core.events import Callback, Event, ignore
from firstlight.core.settings import Settings
from firstlight.core.statistics import FEWER_RESAMPLES, MANY, RESAMPLES, Estimate, Groups, Numbers, bootstrapped
from firstlight.data import InputSource
from firstlight.data.inputs import CIRCLE, SYNTHETIC, TRUE_LABELS
from firstlight.evaluation.correlate import Sample, Study, draw_sample, study
from firstlight.execution.executor import Executor, Lost
from firstlight.papers.base import FIGURE, Finding, Published, Scale
from firstlight.papers.benchmarks import Benchmark, DataFolder
from firstlight.proxies.base import Parts, Score
from firstlight.proxies.requests import parse_requests
from firstlight.scoring.service import Setting, source_for
from firstlight.search.algorithm import AlgorithmRequest
from firstlight.storage.records import ScoreKey
from firstlight.storage.store import Store
from firstlight.training.recipe import TrainingRecipe
from firstlight.training.shared_warm_up import SharedWarmUp
from firstlight.training.warm_up import WarmUp

# How networks are chosen: the first rows of a table, at random, or by their accuracy
Choice = Literal["first", "random", "picked"]
USUAL_IMAGES = "cifar10"
# The least number of networks of an expensive benchmark, unless the user asks for fewer
FEWEST_EXPENSIVE = 20


def _fewer(samples: int, cost_factor: int) -> int:
    return min(samples, max(FEWEST_EXPENSIVE, samples // cost_factor))


class Measure(Protocol):
    """A quantity of a network that is not a proxy: a frozen dataclass. Its text identifies it in the store."""

    revision: ClassVar[int]

    def __call__(self, setting: Setting, architecture: str) -> Parts: ...


@dataclass(frozen=True)
class MeasureJob:
    """The job that executors run. A network that fails has no value; the others are not affected."""

    setting: Setting
    measure: Measure

    def __call__(self, architecture: str) -> Score:
        try:
            return Score.of_parts(self.measure(self.setting, architecture))
        except Exception as error:  # any error of a measure becomes the status and note of the score
            return Score.of_error(error)


@dataclass(frozen=True)
class Lab:
    """What an experiment measures with. Whatever is in the store is not measured again.

    Attributes:
        data: The available tables and images.
        executor: Where networks are measured.
        store: Where scores are kept.
        samples: The number of networks, or of what the experiment counts.
        seeds: The seeds of weights, inputs and searches; the first also draws the sample.
        input: The input source that the user named, or None.
        skeleton: The skeleton settings that the user gave.
        chosen: How networks are chosen.
        resamples: The number of bootstrap resamples of an interval.
        callback: Called with an event as measuring goes on.
        usual_images: The images that are shown unless the user names others.
        warm_ups: How networks are trained before they are measured, one after the other; None for not at all.
        skeletons: The default skeletons by space, if smaller than usual.
        recipe: How networks are trained from scratch; None if the experiment does not do that.
        algorithm: The search with its settings, for experiments that search.
    """

    data: DataFolder
    executor: Executor
    store: Store
    samples: int
    seeds: tuple[int, ...] = (0,)
    input: str | None = None
    skeleton: tuple[tuple[str, Any], ...] = ()
    chosen: Choice = "random"
    resamples: int = RESAMPLES
    callback: Callback = ignore
    usual_images: str = USUAL_IMAGES
    warm_ups: tuple[WarmUp | SharedWarmUp | None, ...] = (None,)
    skeletons: Mapping[str, Settings] = field(default_factory=dict)
    recipe: TrainingRecipe | None = None
    algorithm: AlgorithmRequest | None = None

    @property
    def images(self) -> str:
        """What networks are shown: the user's choice, else the usual images if available, else noise."""
        if self.input is None:
            return self.data.images(self.usual_images) or SYNTHETIC
        return self.input if ":" in self.input else self.data.images(self.input) or self.input

    @property
    def images_name(self) -> str:
        """The file name of the images, without its folder."""
        return Path(self.images.removeprefix("npz:")).name

    @property
    def shows_images(self) -> bool:
        """True if networks are shown images, False if noise."""
        return self.images not in (SYNTHETIC, CIRCLE)

    def progress(self, done: int, total: int, note: str = "") -> None:
        """Tell the callback how much of the current measuring is done, and what is worth showing beside it."""
        self.callback(Event("measuring", done, total, note=note))

    def setting(self, space: str, source: InputSource | None = None, **changes: Any) -> Setting:
        """Return how networks are built and measured, with the first seed unless `changes` name another.

        If the experiment uses smaller networks than usual, images are reduced to their input size.
        """
        source, skeleton = source or InputSource(self.images), self.skeleton or self.skeletons.get(space, ())
        if self.skeletons and len(shape := dict(skeleton).get("input_shape", ())) == 3:
            source = replace(source, side=max(shape[1:]))
        return replace(Setting(space, source, self.seeds[0], skeleton), **changes)

    def setting_of(self, benchmark: Benchmark, source: InputSource | None = None, **changes: Any) -> Setting:
        """Return the setting for the networks of a benchmark: its skeleton and images, unless the user set others."""
        setting = self.setting(benchmark.space, source or InputSource(self.images_of(benchmark)), **changes)
        settings = dict(benchmark.skeleton) | dict(setting.skeleton_settings)
        return replace(setting, skeleton_settings=tuple(sorted(settings.items())))

    def images_of(self, benchmark: Benchmark) -> str:
        """What networks of a benchmark are shown."""
        return benchmark.images if benchmark.images and self.input is None else self.images

    def cut(self, cost_factor: int) -> Lab:
        """Return the lab for something that costs more: that many times fewer networks, and the first seed only."""
        if cost_factor == 1:
            return self
        return replace(self, samples=_fewer(self.samples, cost_factor), seeds=self.seeds[:1])

    def sample(self, benchmarks: Sequence[Benchmark], setting: Setting) -> Sample:
        """Choose networks of benchmarks that share one table: the first ones, or some at random.

        A table that is sorted by architecture is always sampled at random.
        """
        columns = [self.data.column(benchmark) for benchmark in benchmarks]
        table = self.data.table(benchmarks[0])
        count = _fewer(self.samples, benchmarks[0].cost_factor)
        if self.chosen == "first" and not benchmarks[0].is_sorted:
            return draw_sample(table, setting, columns, first=count)
        return draw_sample(table, setting, columns, samples=count)

    def study(
        self,
        benchmarks: Sequence[Benchmark],
        proxies: Iterable[str],
        *,
        images: str | None = None,
        batch_size: int | None = None,
        labels: str = TRUE_LABELS,
        **changes: Any,
    ) -> Study:
        """Score the sample with every seed.

        The sample does not depend on `images`, `batch_size`, `labels` or `changes` (of the setting), so that studies
        can be compared network by network.
        """
        first = benchmarks[0]
        asked = {str(request): request.for_space(first.space) for request in parse_requests(list(proxies))}
        requests = list(dict.fromkeys(asked.values()))
        source = source_for(requests, images or self.images_of(first), batch_size, labels=labels)
        settings = [self.setting_of(first, source, **changes, seed=seed) for seed in self.seeds]
        settings[0].check()
        sample = self.sample(benchmarks, settings[0])
        found = study(sample, settings, requests, self.executor, self.store, callback=self.callback)
        named = [{name: values[str(request)] for name, request in asked.items()} for values in found.utilities]
        return replace(found, utilities=tuple(named))

    def estimate(
        self, statistic: Callable[..., float], *columns: Numbers, groups: Groups | None = None
    ) -> Estimate | None:
        """Return a statistic with its 95 % interval; None if there are too few networks, or if it is undefined."""
        few = len(columns[0]) > MANY  # intervals are narrow, and resampling is slow
        resamples = min(self.resamples, FEWER_RESAMPLES) if few else self.resamples
        return bootstrapped(statistic, *columns, groups=groups, seed=self.seeds[0], resamples=resamples)

    def mean(
        self,
        what: str,
        on: str,
        values: Sequence[float],
        published: Published | None = None,
        scale: Scale = FIGURE,
        *,
        classes: Sequence[str] | None = None,
    ) -> Finding:
        """Return the mean over networks as a finding. Networks of one class in `classes` are resampled together."""
        groups = None if classes is None else np.unique(classes, return_inverse=True)[1].astype(np.int64)
        ours = self.estimate(lambda column: float(column.mean()), np.array(values, dtype=float), groups=groups)
        return Finding(what, on, ours, published, scale, f"{len(values)} networks")

    def measured(self, setting: Setting, architectures: Sequence[str], measure: Measure) -> dict[str, Score]:
        """Measure architectures, or look them up in the store; return the scores in the given order."""
        texts, found = list(dict.fromkeys(architectures)), self.known(setting, architectures, measure)
        missing = [text for text in texts if text not in found]
        for text, answer in self.executor.map(MeasureJob(setting, measure), missing):
            score = Score.without_value(answer.status, answer.reason) if isinstance(answer, Lost) else answer
            self.store.add_score(_key(setting, text, measure), score)
            found[text] = score
            self.progress(len(found), len(texts))
        return {text: found[text] for text in texts}

    def known(self, setting: Setting, architectures: Sequence[str], measure: Measure) -> dict[str, Score]:
        """Look architectures up in the store; return the scores of those that were measured."""
        texts = dict.fromkeys(architectures)
        return {text: score for text in texts if (score := self.store.find_score(_key(setting, text, measure)))}


def _key(setting: Setting, architecture: str, measure: Measure) -> ScoreKey:
    where = (setting.space_key, setting.described, architecture)
    repeats = f":{setting.repeats} repeats" if setting.repeats > 1 else ""
    shown = f"{setting.inputs.fingerprint}{repeats}"
    return ScoreKey(*where, str(measure), measure.revision, shown, setting.seed)
