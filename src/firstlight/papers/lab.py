"""What experiments are run with: data, sizes and seeds, workers, and the store that remembers what was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol

from firstlight.core.events import Event
from firstlight.core.settings import Settings
from firstlight.core.statistics import RESAMPLES, Estimate, Groups, Numbers, bootstrapped
from firstlight.data import InputSource
from firstlight.data.inputs import TRUE_LABELS
from firstlight.evaluation.correlate import Sample, Study, draw_sample, study
from firstlight.execution.executor import Executor, Lost
from firstlight.papers.base import USUAL_IMAGES, Choice
from firstlight.papers.benchmarks import Benchmark, Shelf
from firstlight.proxies.base import Parts, Score
from firstlight.proxies.requests import parse_requests
from firstlight.scoring.service import Setting, source_for
from firstlight.storage.records import ScoreKey
from firstlight.storage.store import Store
from firstlight.training.shared_warm_up import SharedWarmUp
from firstlight.training.warm_up import WarmUp

FEWEST_DEAR = 20  # networks of a benchmark that costs more than others, unless fewer are asked for


class Measure(Protocol):
    """A number of a network that is no proxy, with its parts: a frozen dataclass, whose text tells it from others."""

    revision: ClassVar[int]

    def __call__(self, setting: Setting, architecture: str) -> Parts: ...


@dataclass(frozen=True)
class MeasureJob:
    """What executors run. A network that fails costs only its own figures."""

    setting: Setting
    measure: Measure

    def __call__(self, architecture: str) -> Score:
        try:
            return Score.of_parts(self.measure(self.setting, architecture))
        except Exception as error:  # whatever a measure meets: its kind and text become the score's status
            return Score.of_error(error)


@dataclass(frozen=True)
class Lab:
    """Experiments ask it for scores; what was measured before, by this experiment or another, is not measured again."""

    shelf: Shelf
    executor: Executor
    store: Store
    samples: int
    seeds: tuple[int, ...] = (0,)
    input: str | None = None
    skeleton: tuple[tuple[str, Any], ...] = ()
    chosen: Choice = "random"
    resamples: int = RESAMPLES
    watch: Callable[[int, int], None] = field(default=lambda done, total: None)

    usual_images: str = USUAL_IMAGES
    warm_ups: tuple[WarmUp | SharedWarmUp | None, ...] = (None,)
    skeletons: Mapping[str, Settings] = field(default_factory=dict)

    def callback(self, event: Event) -> None:
        """Pass the counts of an event on to `watch`."""
        self.watch(event.done, event.total or 0)

    @property
    def images(self) -> str:
        """What networks are shown: the user's choice, else the usual ones (CIFAR-10) if at hand, else noise."""
        if self.input is None:
            return self.shelf.images(self.usual_images) or "synthetic"
        return self.input if ":" in self.input else self.shelf.images(self.input) or self.input

    @property
    def images_name(self) -> str:
        return Path(self.images.removeprefix("npz:")).name

    def setting(self, space: str, source: InputSource | None = None, **changes: Any) -> Setting:
        """What networks are built and asked with, for the first seed.

        Where an experiment has smaller networks than usual, images are reduced to what these take.
        """
        source, skeleton = source or InputSource(self.images), self.skeleton or self.skeletons.get(space, ())
        if self.skeletons and len(shape := dict(skeleton).get("input_shape", ())) == 3:
            source = replace(source, side=max(shape[1:]))
        return replace(Setting(space, source, self.seeds[0], skeleton), **changes)

    def sample(self, benchmarks: Sequence[Benchmark], setting: Setting) -> Sample:
        """Networks of benchmarks that stand in one table: the first ones, or some at random."""
        columns = [self.shelf.column(benchmark) for benchmark in benchmarks]
        table = self.shelf.table(benchmarks[0])
        count = min(self.samples, max(FEWEST_DEAR, self.samples // benchmarks[0].dearness))
        if self.chosen == "first":
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
        """Scores of the sample for each seed. The sample does not depend on the changes, so that studies line up."""
        requests = parse_requests(list(dict.fromkeys(proxies)))
        source = source_for(requests, images or self.images, batch_size, labels=labels)
        settings = [self.setting(benchmarks[0].space, source, **changes, seed=seed) for seed in self.seeds]
        settings[0].check()
        sample = self.sample(benchmarks, settings[0])
        return study(sample, settings, requests, self.executor, self.store, watch=self.watch)

    def estimate(
        self, statistic: Callable[..., float], *columns: Numbers, groups: Groups | None = None
    ) -> Estimate | None:
        """The statistic with its 95 % interval over the networks; None for a few of them, or if it is undefined."""
        return bootstrapped(statistic, *columns, groups=groups, seed=self.seeds[0], resamples=self.resamples)

    def measured(self, setting: Setting, architectures: Sequence[str], measure: Measure) -> dict[str, Score]:
        """What a measure says of each architecture, in their order; from the store where it is known."""

        def key(text: str) -> ScoreKey:
            where = (setting.space_key, setting.described, text)
            repeats = f":{setting.repeats} repeats" if setting.repeats > 1 else ""
            shown = f"{setting.inputs.fingerprint}{repeats}"
            return ScoreKey(*where, str(measure), measure.revision, shown, setting.seed)

        texts = list(dict.fromkeys(architectures))
        found = {text: score for text in texts if (score := self.store.find_score(key(text)))}
        missing = [text for text in texts if text not in found]
        for text, answer in self.executor.map(MeasureJob(setting, measure), missing):
            score = Score.without_value(answer.status, answer.reason) if isinstance(answer, Lost) else answer
            self.store.add_score(key(text), score)
            found[text] = score
            self.watch(len(found), len(texts))
        return {text: found[text] for text in texts}


def same_table(shelf: Shelf, benchmarks: tuple[Benchmark, ...]) -> list[list[Benchmark]]:
    """Those that are at hand, together where one table holds them."""
    groups: dict[tuple[str, tuple[str, ...]], list[Benchmark]] = {}
    for benchmark in shelf.available(benchmarks):
        groups.setdefault((benchmark.space, benchmark.files), []).append(benchmark)
    return list(groups.values())
