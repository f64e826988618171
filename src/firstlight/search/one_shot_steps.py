"""Steps through a one-shot network: random paths, and how fast each learns at initialization.

Weights and logits never change, so that a step depends only on its number: steps run on all workers, are kept in the
store, and any rule can be applied to them afterwards.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import pathlib
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from firstlight.core.errors import NothingScoredError, SettingError
from firstlight.core.events import Callback, Event, ignore
from firstlight.core.seeds import derive, torch_generator
from firstlight.data import load_inputs
from firstlight.execution.executor import DIED, Executor, Lost
from firstlight.probe.tangent import LossName, Parameterization
from firstlight.proxies.base import Score
from firstlight.scoring.service import Setting
from firstlight.spaces.base import Architecture, Skeleton
from firstlight.spaces.supernets import Choice, OneShot
from firstlight.spaces.supernets.trace_step import (
    Objective,
    Path,
    ready_for_steps,
    saved_on_disk,
    trace_along,
    trace_step,
)
from firstlight.storage.records import ScoreKey
from firstlight.storage.store import Store

# The share of steps that may fail before the search is given up.
MOST_FAILED = 0.25
# Raise it when the values of a step change.
REVISION = 1

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class StepSetting:
    """What all steps of a search have in common.

    Attributes:
        setting: How networks are made, and what they are shown.
        batch_size: Inputs in the batch of a step.
        slopes: Whether slopes are asked for, and not only the trace norm.
        none: Whether the option `none` may be chosen.
        temperature: Temperature of the softmax that paths are drawn from.
        channels: Width of the one-shot network; 0 for its usual one.
        loss: The loss whose gradient is measured.
        parameterization: What the gradient is with respect to.
    """

    setting: Setting
    batch_size: int
    slopes: bool = True
    none: bool = False
    temperature: float = 1.0
    channels: int = 0
    loss: LossName = "cross_entropy"
    parameterization: Parameterization = "standard"

    def __post_init__(self) -> None:
        self.skeleton  # noqa: B018 - one that cannot be searched is refused before any step

    @functools.cached_property
    def one_shot(self) -> OneShot:
        """The one-shot network of the space."""
        return self.setting.space.one_shot()

    @functools.cached_property
    def skeleton(self) -> Skeleton:
        """The skeleton of the one-shot network."""
        usual = self.one_shot.skeleton(self.setting.skeleton)
        if self.channels and not hasattr(usual, "channels"):
            raise SettingError(
                f"channels is {self.channels}, but the skeleton of {self.one_shot.name} has no such setting: {usual}."
            )
        width: dict[str, Any] = {"channels": self.channels} if self.channels else {}
        return replace(usual, **width)

    @property
    def initialization(self) -> str:
        """How weights are drawn."""
        return "ntk" if self.parameterization == "ntk" else self.setting.initialization

    @functools.cached_property
    def choices(self) -> tuple[Choice, ...]:
        """The choices of the one-shot network, without the option `none` unless it is asked for."""
        return tuple(
            choice if self.none else replace(choice, options=tuple(name for name in choice.options if name != "none"))
            for choice in self.one_shot.choices
        )

    def drawn(self, number: int) -> Draw:
        """Return the path of a step: all options are equally likely."""
        generator = torch_generator(self.setting.seed, "one-shot step", str(number))
        soft, path = [], {}
        for choice in self.choices:
            uniform = torch.rand(len(choice.options), generator=generator, dtype=torch.float64)
            noise = -(-uniform.log()).log()
            soft.append((noise / self.temperature).softmax(0).numpy())
            taken = noise.topk(choice.sampled).indices.sort().values.tolist()
            path[choice.name] = tuple(choice.options[index] for index in taken)
        return Draw(path, np.concatenate(soft))

    def batch(self, number: int) -> tuple[Tensor, Tensor]:
        """Return the inputs and labels of a step."""
        setting = self.setting
        source = replace(setting.source, batch_size=self.batch_size, batches=1).fitting()
        seed = derive(setting.seed, "one-shot step", str(number))
        skeleton = setting.skeleton
        inputs = load_inputs(source, seed=seed, input_shape=skeleton.input_shape, classes=skeleton.classes)
        x, labels = inputs.batches[0]
        assert labels is not None
        return x.to(setting.device), labels.to(setting.device)

    def build(self) -> nn.Module:
        """Build the one-shot network."""
        setting = self.setting
        network = self.one_shot.build(
            self.skeleton, seed=setting.seed, device=setting.device, initialization=self.initialization
        )
        return ready_for_steps(network)

    @property
    def objective(self) -> Objective:
        """The gradient whose squared norm is T."""
        return Objective(self.loss, self.parameterization)

    @property
    def slope_names(self) -> set[str]:
        """The names of all slopes of a step."""
        return {f"{choice.name}:{option}" for choice in self.choices for option in choice.options}

    def key(self, number: int) -> ScoreKey:
        """Return the key of a step in the store."""
        setting = self.setting
        path = " ".join(f"{name}={','.join(options)}" for name, options in self.drawn(number).path.items())
        return ScoreKey(
            space=setting.space_key,
            skeleton=f"{self.one_shot.name}:{self.skeleton},{self.initialization}",
            architecture=path,
            proxy=" ".join(["one-shot", "slopes" if self.slopes else "trace", *self.objective.unusual]),
            revision=REVISION,
            input=f"{setting.inputs.fingerprint}:step {number} of {self.batch_size}",
            seed=setting.seed,
        )


@dataclass(frozen=True)
class Draw:
    """A path, and the soft sample that it is the hard version of: the options of all choices, concatenated."""

    path: Path
    soft: Floats


@dataclass(frozen=True)
class StepJob:
    """Takes a step by its number. The value of the score is T, and its parts are the slopes H."""

    asked: StepSetting
    on_disk: bool = (
        False  # keep tensors between the two backward passes on disk: slower, for batches too large for memory
    )

    @property
    def files(self) -> list[pathlib.Path]:
        """The files that every machine needs: each step reads other images."""
        return self.asked.setting.source.files

    def __call__(self, number: int) -> Score:
        start = time.perf_counter()
        try:
            score = self._measured(number)
        except Exception as error:  # a step that fails does not affect the others
            score = Score.of_error(error)
        return replace(score, seconds=time.perf_counter() - start)

    def _measured(self, number: int) -> Score:
        path, (x, labels) = self.asked.drawn(number).path, self.asked.batch(number)
        network = _network(self.asked)
        slopes: dict[str, float] = {}
        with saved_on_disk() if self.on_disk else contextlib.nullcontext():
            if self.asked.slopes:
                found = trace_step(network, path, x, labels, self.asked.objective)
                trace = found.trace
                for choice in self.asked.one_shot.choices:  # all of them, so that they can be reused
                    slopes |= {f"{choice.name}:{name}": found.slopes[choice.name][name] for name in choice.options}
            else:
                trace = trace_along(network, path, x, labels, self.asked.objective)
        if not all(map(math.isfinite, (trace, *slopes.values()))):
            return Score.without_value("non_finite", f"the gradients of this step are not finite: T is {trace}")
        return Score(trace, slopes)


@functools.lru_cache(maxsize=1)  # its weights never change
def _network(asked: StepSetting) -> nn.Module:
    return asked.build()


@dataclass(frozen=True)
class Steps:
    """The results of steps as arrays: a row for each step, a column for each option of each choice."""

    choices: tuple[Choice, ...]
    traces: Floats
    soft: Floats
    taken: Floats
    slopes: Floats

    def __len__(self) -> int:
        return len(self.traces)

    def by_choice(self, values: Floats) -> dict[str, list[float]]:
        """Return a number for each option, under the name of its choice."""
        ends = np.cumsum([len(choice.options) for choice in self.choices])[:-1]
        return {choice.name: part.tolist() for choice, part in zip(self.choices, np.split(values, ends), strict=True)}

    def summed(self, values: Floats) -> Floats:
        """Return in each column the sum over all options of its choice."""
        sizes = [len(choice.options) for choice in self.choices]
        starts = np.cumsum([0, *sizes[:-1]])
        return np.repeat(np.add.reduceat(values, starts, axis=1), sizes, axis=1)


class StepJudge:
    """Takes steps on the workers of a run, keeps them in its store, and counts their cost."""

    def __init__(self, asked: StepSetting, executor: Executor, store: Store) -> None:
        self.asked = asked
        self._executor = executor
        self._store = store
        self._entered: dict[int, Score] = {}  # by number, including those that failed
        self._rows: dict[int, _Row] = {}
        self._new: set[int] = set()
        self._before: StepJudge | None = None  # of the paths drawn before the first step

    @property
    def scored(self) -> int:
        """The number of steps taken."""
        return len(self._entered)

    @property
    def reused(self) -> int:
        """The number of steps that came from the store."""
        return len(self._entered.keys() - self._new)

    @property
    def seconds(self) -> float:
        """The seconds that all steps took, now or earlier, and the paths before them."""
        before = self._before.seconds if self._before else 0.0
        return before + math.fsum(score.seconds for score in self._entered.values())

    @property
    def reused_seconds(self) -> float:
        """The seconds that steps from the store had taken."""
        before = self._before.reused_seconds if self._before else 0.0
        return before + math.fsum(score.seconds for number, score in self._entered.items() if number not in self._new)

    @property
    def failed(self) -> list[Score]:
        """The scores of steps that failed."""
        return [score for score in self._entered.values() if not score.ok]

    def traces_before(self, count: int, callback: Callback = ignore) -> Floats:
        """Return T of random paths drawn before the first step, without slopes: steps with the numbers -1, -2, ...

        Args:
            count: The number of paths.
            callback: Called with an event after each.

        Raises:
            NothingScoredError: If too many fail.
        """
        self._before = StepJudge(replace(self.asked, slopes=False), self._executor, self._store)
        self._before._take(range(-1, -1 - count, -1), math.inf, callback)
        return self._before.steps().traces

    def take(self, count: int, seconds: float, callback: Callback = ignore) -> None:
        """Take steps.

        Which steps are taken depends on how long each took, and never on the order in which they finish. From the first
        step that does not fit into memory on, tensors are kept on disk.

        Args:
            count: The number of steps.
            seconds: Stop when the steps took this many seconds together, not counting the paths before them.
            callback: Called with an event after each step.

        Raises:
            NothingScoredError: If too many steps fail.
        """
        self._take(range(count), seconds, callback)

    def _take(self, numbers: range, seconds: float, callback: Callback) -> None:
        unknown = self._unknown(numbers, seconds, callback)
        too_large: list[int] = []
        for number, score in self._computed(itertools.takewhile(lambda _: not too_large, unknown), on_disk=False):
            if score.status == "out_of_memory" or score.note.startswith(DIED):
                too_large.append(number)
            else:
                self._enter(number, score, len(numbers), callback, new=True)
        if too_large:
            for number, score in self._computed(self._unknown(numbers, seconds, callback), on_disk=True):
                self._enter(number, score, len(numbers), callback, new=True)
        spent = 0.0
        for number in sorted(self._entered):
            if spent >= seconds:
                del self._entered[number]
                self._rows.pop(number, None)
            else:
                spent += self._entered[number].seconds
        self._give_up_beyond(len(self._entered))

    def _unknown(self, numbers: range, seconds: float, callback: Callback) -> Iterator[int]:
        for number in numbers:
            if math.fsum(score.seconds for score in self._entered.values()) >= seconds:
                return
            if number in self._entered:
                continue
            score = self._found(number)
            if score is None:
                yield number
            else:
                self._enter(number, score, len(numbers), callback)

    def _found(self, number: int) -> Score | None:
        """Return what the store knows of a step. A step with slopes also answers where only T is asked for."""
        found = self._store.find_score(self.asked.key(number))
        if found is None and not self.asked.slopes:
            return self._store.find_score(replace(self.asked, slopes=True).key(number))
        if found is not None and found.ok and self.asked.slopes and not found.parts.keys() >= self.asked.slope_names:
            return None  # a damaged score
        return found

    def _computed(self, numbers: Iterable[int], *, on_disk: bool) -> Iterator[tuple[int, Score]]:
        for number, result in self._executor.map(StepJob(self.asked, on_disk), numbers):
            yield number, (Score.without_value(result.status, result.reason) if isinstance(result, Lost) else result)

    def _enter(self, number: int, score: Score, count: int, callback: Callback, *, new: bool = False) -> None:
        if new:
            self._store.add_score(self.asked.key(number), score)
            self._new.add(number)
        self._entered[number] = score
        if score.ok:
            self._rows[number] = _Row.of(self.asked, number, score)
        self._give_up_beyond(count)
        callback(Event("states", self.scored, count))

    def _give_up_beyond(self, count: int) -> None:
        """Raise an error if too many steps failed: a share of all, so that the order of arrival does not matter."""
        failed = self.failed
        if len(failed) > MOST_FAILED * count:
            score = failed[0]
            raise NothingScoredError(
                f"The search was given up: {len(failed)} of {self.scored} steps through the one-shot network failed. "
                f"One of them ended with {score.status}: {score.note}. Try a smaller skeleton or batch, "
                "another initialization, or other inputs."
            )

    def architecture(self, preferences: Floats) -> Architecture:
        """Return the architecture of given preferences for the options of all choices, concatenated."""
        asked, known = self.asked, iter(preferences.tolist())
        found = {choice.name: {option: next(known) for option in choice.options} for choice in asked.choices}
        return asked.one_shot.architecture(
            {
                choice.name: [found[choice.name].get(option, -math.inf) for option in choice.options]
                for choice in asked.one_shot.choices
            }
        )

    def steps(self) -> Steps:
        """Return the steps that did not fail, in their order."""
        rows = [self._rows[number] for number in sorted(self._rows)]
        columns = sum(len(choice.options) for choice in self.asked.choices)

        def stacked(arrays: Iterable[Floats]) -> Floats:
            return np.array(list(arrays)).reshape(len(rows), columns)

        return Steps(
            self.asked.choices,
            np.array([row.trace for row in rows]),
            stacked(row.soft for row in rows),
            stacked(row.taken for row in rows),
            stacked(row.slopes for row in rows),
        )


@dataclass(frozen=True)
class _Row:
    trace: float
    soft: Floats
    taken: Floats
    slopes: Floats

    @classmethod
    def of(cls, asked: StepSetting, number: int, score: Score) -> _Row:
        draw = asked.drawn(number)
        options = [(choice.name, option) for choice in asked.choices for option in choice.options]
        taken = [float(option in draw.path[name]) for name, option in options]
        slopes = [score.parts[f"{name}:{option}"] if asked.slopes else math.nan for name, option in options]
        return cls(score.value, draw.soft, np.array(taken), np.array(slopes))
