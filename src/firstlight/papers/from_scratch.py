"""Networks that are trained from scratch alike: those that methods find, known ones, and random ones of their size."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from firstlight.core.errors import DivergedError, MissingFileError
from firstlight.core.statistics import Estimate
from firstlight.data import Dataset, load_dataset
from firstlight.data.images import split_side
from firstlight.papers.base import Finding
from firstlight.papers.equal_size import EqualSize, Trainings
from firstlight.papers.lab import Lab
from firstlight.proxies.base import Parts
from firstlight.scoring.service import Setting
from firstlight.spaces.base import Architecture
from firstlight.training.classifier import evaluate_classifier, train_classifier
from firstlight.training.fitting import build_for_training, channels_last
from firstlight.training.recipe import TrainingRecipe

ACCURACY = "test accuracy, %"


def require_images(lab: Lab, name: str) -> None:
    """Raise an error if networks would be trained on noise.

    Raises:
        MissingFileError: If there are no images.
    """
    if not lab.shows_images:
        raise MissingFileError(
            f"{name} trains networks on images: put cifar10.npz or cifar10_*.npz into the data folder, or name other "
            "images with --input, such as digits."
        )


@dataclass(frozen=True)
class AfterTraining:
    """The accuracy on the test images, in percent, of a network that is trained from scratch by a recipe."""

    recipe: TrainingRecipe
    revision: ClassVar[int] = 1

    def __str__(self) -> str:
        return f"accuracy after {self.recipe}"

    def __call__(self, setting: Setting, architecture: str) -> Parts:
        data = _load(source_name(setting), setting.seed, self.recipe.validation)
        parsed = setting.space.parse(architecture)
        network = build_for_training(setting.space, parsed, setting.skeleton, self.recipe, seed=setting.seed)
        with channels_last(network, setting.space):
            result = train_classifier(network, data, self.recipe, seed=setting.seed)
            if not result.ok:
                raise DivergedError(result.note)
            assert data.x_test is not None
            assert data.y_test is not None
            _, test = evaluate_classifier(network, data.x_test, data.y_test, self.recipe.batch_size)
        return Parts(100 * test, training=100 * result.epochs[-1].train_accuracy)


def source_name(setting: Setting) -> str:
    """Return the name of the images at the size that networks take."""
    name, side = setting.source.name, setting.source.side
    return name if side is None or split_side(name)[1] is not None else f"{name}@{side}"


@functools.lru_cache(maxsize=1)  # all networks of a seed share it
def _load(name: str, seed: int, validation: float) -> Dataset:
    return load_dataset(name, seed=seed, validation=validation, test=True)


@dataclass(frozen=True)
class Standings:
    """All networks by title, and their accuracies.

    Attributes:
        networks: The networks.
        params: Their parameters at the reduced size, in this order.
        trainings: Their accuracies, in this order.
        random: How many of them, at the end, are random.
        noun: What the networks are called.
    """

    networks: Mapping[str, Architecture]
    params: Sequence[int]
    trainings: Trainings
    random: int
    noun: str = "networks"

    @functools.cached_property
    def titles(self) -> list[str]:
        return list(self.networks)

    @functools.cached_property
    def line(self) -> EqualSize:
        """The line through the random networks whose training ended."""
        sizes, means = np.log(np.array(self.params, dtype=float)), self.trainings.means
        places = [place for place in range(len(means) - self.random, len(means)) if np.isfinite(means[place])]
        return EqualSize(sizes[places], means[places])

    def excess(self, place: int) -> Estimate | None:
        """Return how much better a network is than random ones of its size; None if that is unknown."""
        accuracy = float(self.trainings.means[place])
        if not self.line.defined or math.isnan(accuracy):
            return None
        return self.line.excess(math.log(self.params[place]), accuracy)

    def accuracies(self) -> Iterator[Finding]:
        """Yield the accuracy of each network."""
        for place, title in enumerate(self.titles):
            row = self.trainings.values[place]
            by_seed = ", ".join("none" if math.isnan(value) else f"{value:.2f}" for value in row)
            note = f"{self.params[place]:,} parameters; by seed {by_seed}"
            yield Finding(ACCURACY, title, self.trainings.mean(place), note=note)

    def spreads(self) -> Iterator[Finding]:
        """Yield what the differences are to be compared with; for each, a number without an interval."""
        line = self.line
        spreads = {"between seeds of a network": self.trainings.deviation}
        if line.defined:
            spreads |= {
                f"between random {self.noun}": float(line.accuracies.std(ddof=1)),
                f"between random {self.noun} of equal size": line.deviation,
            }
        for on, value in spreads.items():
            ours = None if math.isnan(value) else Estimate(value, value, value)
            yield Finding("standard deviation of the accuracy, points", on, ours)

    def excesses(self) -> Iterator[Finding]:
        """Yield how much better each network that is not random is than random ones of its size."""
        sizes = self.params[-self.random :]
        for place, title in enumerate(self.titles[: -self.random]):
            beyond = not min(sizes) <= self.params[place] <= max(sizes)
            note = f"beyond the sizes of the random {self.noun}" if beyond else ""
            yield Finding(f"above random {self.noun} of equal size, points", title, self.excess(place), note=note)

    def answer(self, methods: int, what: str) -> str:
        """Return in a sentence whether the first networks, which methods found, beat random ones of equal size."""
        above, below, neither = "above", "below", "neither above nor below"
        groups: dict[str, list[str]] = {above: [], below: [], neither: []}
        for place, title in enumerate(self.titles[:methods]):
            excess = self.excess(place)
            if excess is not None:
                groups[above if excess.low > 0 else below if excess.high < 0 else neither].append(f"`{title}`")
        if not any(groups.values()):
            return f"There are too few trainings to say whether a method beats random {self.noun} of equal size."
        told = "; ".join(f"{group}: {', '.join(titles)}" for group, titles in groups.items() if titles)
        return f"At 95 % confidence, compared with random {self.noun} of equal size, {what} are {told}."


def train_all(lab: Lab, space: str, texts: Sequence[str]) -> Trainings:
    """Train all networks with every seed; on Ctrl-C, return what is complete."""
    assert lab.recipe is not None
    measure, settings = AfterTraining(lab.recipe), [lab.setting(space, seed=seed) for seed in lab.seeds]
    try:
        for setting in settings:
            lab.measured(setting, texts, measure)
    except KeyboardInterrupt:
        if not any(lab.known(setting, texts, measure) for setting in settings):
            raise
    columns = [lab.known(setting, texts, measure) for setting in settings]
    return Trainings(
        np.array([[known[text].value if text in known else math.nan for known in columns] for text in texts])
    )


def incomplete(trainings: Trainings) -> Iterator[str]:
    """Yield a remark if trainings are missing."""
    done, total = int(np.isfinite(trainings.values).sum()), trainings.values.size
    if done < total:
        yield f"{done} of {total} trainings are complete. The same command, run again, resumes the others."
