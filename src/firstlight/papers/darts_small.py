"""Cells of the DARTS space, trained from scratch at a reduced size: methods, published cells, and random ones."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from firstlight.core.errors import DivergedError, MissingFileError
from firstlight.core.statistics import Estimate
from firstlight.data import Dataset, load_dataset
from firstlight.data.images import split_side
from firstlight.papers.base import Finding, Findings, Published, Scale
from firstlight.papers.darts_networks import (
    LARGEST,
    METHODS,
    POOL,
    QUERIES,
    QUERY_EPOCHS,
    SPACE,
    STEP_BATCH,
    STEPS,
    at_random,
    found,
    largest,
    published,
)
from firstlight.papers.equal_size import EqualSize, Trainings
from firstlight.papers.experiment import Experiment
from firstlight.papers.lab import Lab
from firstlight.papers.published import read_paper
from firstlight.proxies.base import Parts
from firstlight.scoring.service import Setting
from firstlight.spaces.darts.genotypes import Genotype
from firstlight.spaces.darts.space import DARTS
from firstlight.training.classifier import evaluate_classifier, train_classifier
from firstlight.training.fitting import build_for_training
from firstlight.training.recipe import TrainingRecipe
from firstlight.views.charts.description import Point, Scatter
from firstlight.views.charts.svg import draw_svg

PAPERS = read_paper("darts")
# The network that published sizes are of
FULL_SIZE = DARTS().skeleton(channels=36, cells=20)
PARAMETERS = Scale("parameters, millions", tolerance=0.1, widest=math.inf)
SKELETON = (("cells", 5), ("channels", 8), ("input_shape", (3, 16, 16)))
RECIPE = "quick:epochs=5:flip=true:validation=0.02"
ACCURACY, EXCESS = "test accuracy, %", "above random genotypes of equal size, points"


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
        _use_channels_last(network)
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


def _use_channels_last(network: nn.Module) -> None:
    """Compute with channels last in memory, which makes depthwise convolutions on a CPU up to twice as fast."""
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload] # its stub lacks this argument

    def reorder(_: nn.Module, inputs: tuple[Tensor]) -> tuple[Tensor]:
        return (inputs[0].contiguous(memory_format=torch.channels_last),)

    network.register_forward_pre_hook(reorder)


@dataclass(frozen=True)
class Standings:
    """All networks by title, and their accuracies.

    Attributes:
        genotypes: The networks.
        params: Their parameters at the reduced size, in this order.
        trainings: Their accuracies, in this order.
        random: How many of them, at the end, are random.
    """

    genotypes: Mapping[str, Genotype]
    params: Sequence[int]
    trainings: Trainings
    random: int

    @functools.cached_property
    def titles(self) -> list[str]:
        return list(self.genotypes)

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


def _run(lab: Lab) -> Findings:
    if not lab.shows_images:
        raise MissingFileError(
            "darts-small trains networks on images: put cifar10.npz or cifar10_*.npz into the data folder, or name "
            "other images with --input, such as digits."
        )
    setting = lab.setting(SPACE)
    setting.check()
    with lab.executor.staying():
        genotypes = {
            **found(lab, setting, source_name(setting)),
            **published(),
            LARGEST: largest(),
            **at_random(lab.samples),
        }
        trainings = _trained(lab, [str(genotype) for genotype in genotypes.values()])
    params = [setting.space.cost(genotype, setting.skeleton).params for genotype in genotypes.values()]
    standings = Standings(genotypes, params, trainings, lab.samples)
    lines = (*_accuracies(standings), *_spreads(standings), *_excesses(standings), *_sizes(genotypes))
    return Findings(lines, (_answer(standings), *_incomplete(trainings), *_cells(genotypes)), (_chart(standings),))


def _trained(lab: Lab, texts: Sequence[str]) -> Trainings:
    """Train all networks with every seed; on Ctrl-C, return what is complete."""
    assert lab.recipe is not None
    measure, settings = AfterTraining(lab.recipe), [lab.setting(SPACE, seed=seed) for seed in lab.seeds]
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


def _accuracies(standings: Standings) -> Iterator[Finding]:
    for place, title in enumerate(standings.titles):
        row = standings.trainings.values[place]
        by_seed = ", ".join("none" if math.isnan(value) else f"{value:.2f}" for value in row)
        note = f"{standings.params[place]:,} parameters; by seed {by_seed}"
        yield Finding(ACCURACY, title, standings.trainings.mean(place), note=note)


def _spreads(standings: Standings) -> Iterator[Finding]:
    """Yield what the differences are to be compared with; for each, a number without an interval."""
    line = standings.line
    spreads = {"between seeds of a network": standings.trainings.deviation}
    if line.defined:
        spreads |= {
            "between random genotypes": float(line.accuracies.std(ddof=1)),
            "between random genotypes of equal size": line.deviation,
        }
    for on, value in spreads.items():
        ours = None if math.isnan(value) else Estimate(value, value, value)
        yield Finding("standard deviation of the accuracy, points", on, ours)


def _excesses(standings: Standings) -> Iterator[Finding]:
    sizes = standings.params[-standings.random :]
    for place, title in enumerate(standings.titles[: -standings.random]):
        beyond = not min(sizes) <= standings.params[place] <= max(sizes)
        note = "beyond the sizes of the random genotypes" if beyond else ""
        yield Finding(EXCESS, title, standings.excess(place), note=note)


def _sizes(genotypes: Mapping[str, Genotype]) -> Iterator[Finding]:
    space = DARTS()
    for table in PAPERS.values():
        for title in table.rows:
            size, error = (table.at(title, column) for column in ("parameters", "error"))
            millions = space.cost(genotypes[title], FULL_SIZE).params / 1e6
            ours = Estimate(millions, millions, millions)
            yield Finding("parameters at full size, M", title, ours, size, PARAMETERS, _error(error))


def _error(error: Published | None) -> str:
    return "" if error is None else f"published test error at full size {error} %"


def _answer(standings: Standings) -> str:
    """Return in a sentence whether methods beat random genotypes of equal size."""
    above, below, neither = "above", "below", "neither above nor below"
    groups: dict[str, list[str]] = {above: [], below: [], neither: []}
    for place, title in enumerate(standings.titles[: len(METHODS)]):
        excess = standings.excess(place)
        if excess is not None:
            groups[above if excess.low > 0 else below if excess.high < 0 else neither].append(f"`{title}`")
    if not any(groups.values()):
        return "There are too few trainings to say whether a method beats random genotypes of equal size."
    told = "; ".join(f"{group}: {', '.join(titles)}" for group, titles in groups.items() if titles)
    return f"At 95 % confidence, compared with random genotypes of equal size, cells of methods are {told}."


def _incomplete(trainings: Trainings) -> Iterator[str]:
    done, total = int(np.isfinite(trainings.values).sum()), trainings.values.size
    if done < total:
        yield f"{done} of {total} trainings are complete. The same command, run again, resumes the others."


def _cells(genotypes: Mapping[str, Genotype]) -> Iterator[str]:
    for title in METHODS:
        yield f"{title} found {genotypes[title]}."


def _chart(standings: Standings) -> tuple[str, str]:
    series = ("methods", "published", "largest", "random")
    first_random, known = len(standings.titles) - standings.random, len(METHODS) + len(published())
    points = []
    for place, accuracy in enumerate(standings.trainings.means):
        if np.isfinite(accuracy):
            number = 1 + sum(place >= bound for bound in (len(METHODS), known, first_random))
            points.append(Point(standings.params[place] / 1e3, float(accuracy), standings.titles[place], series=number))
    chart = Scatter("parameters, thousands", ACCURACY, points, series=series)
    return "Accuracy against parameters", str(draw_svg(chart))


darts_small = Experiment(
    "darts-small",
    tuple(PAPERS.values()),
    "cells that methods find, published cells and random ones, trained alike at a reduced size",
    (),
    samples=10,
    run=_run,
    remarks=(
        "All networks are trained from scratch by the same recipe, with the same skeleton and images. They are much "
        "smaller and trained for much shorter than in the papers: accuracies cannot be compared with published ones.",
        f"The searches are short. Dextr: one proposal of Zero-Cost-PT, on one image. HNAS: {QUERIES} queries in a pool "
        f"of {POOL} genotypes, each a training on half of the images for at most {QUERY_EPOCHS} epochs. NASI: {STEPS} "
        f"steps of {STEP_BATCH} images with mu = 2 and nu by Eq. 40, because the published nu (100 and 500) are of a "
        "larger one-shot network. All search for networks of the reduced size; the papers search with 16 channels and "
        "5 or 8 cells.",
        "Seeds decide weights, the order of images and which images are held out; all seeds train the same networks. "
        "Intervals of accuracies are from the deviation between seeds, pooled over all networks. They do not cover the "
        "choice of the test images, which are the same for all.",
        "Accuracy is regressed on the logarithm of the number of parameters over the random genotypes. A network is "
        "above or below random genotypes of equal size if the 95 % prediction interval excludes 0.",
        "Cells in Figure 5 of NASI and Figure 4 of Dextr are drawings, from which the genotypes have not been read.",
    ),
    seeds=2,
    sampled=("genotypes",),
    space=SPACE,
    skeletons={SPACE: SKELETON},
    recipe=RECIPE,
)
