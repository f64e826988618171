"""Cells of the DARTS space, trained from scratch at a reduced size: methods, published cells, and random ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from firstlight.core.statistics import Estimate
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
from firstlight.papers.experiment import Experiment
from firstlight.papers.from_scratch import ACCURACY, Standings, incomplete, require_images, source_name, train_all
from firstlight.papers.lab import Lab
from firstlight.papers.published import read_paper
from firstlight.spaces.darts.genotypes import Genotype
from firstlight.spaces.darts.space import DARTS
from firstlight.views.charts.description import Point, Scatter
from firstlight.views.charts.svg import draw_svg

PAPERS = read_paper("darts")
# The network that published sizes are of
FULL_SIZE = DARTS().skeleton(channels=36, cells=20)
PARAMETERS = Scale("parameters, millions", tolerance=0.1, widest=math.inf)
SKELETON = (("cells", 5), ("channels", 8), ("input_shape", (3, 16, 16)))
RECIPE = "quick:epochs=5:flip=true:validation=0.02"


def _run(lab: Lab) -> Findings:
    require_images(lab, "darts-small")
    setting = lab.setting(SPACE)
    setting.check()
    with lab.executor.staying():
        genotypes = {
            **found(lab, setting, source_name(setting)),
            **published(),
            LARGEST: largest(),
            **at_random(lab.samples),
        }
        trainings = train_all(lab, SPACE, [str(genotype) for genotype in genotypes.values()])
    params = [setting.space.cost(genotype, setting.skeleton).params for genotype in genotypes.values()]
    standings = Standings(genotypes, params, trainings, lab.samples, "genotypes")
    lines = (*standings.accuracies(), *standings.spreads(), *standings.excesses(), *_sizes(genotypes))
    answer = standings.answer(len(METHODS), "cells of methods")
    return Findings(lines, (answer, *incomplete(trainings), *_cells(genotypes)), (_chart(standings),))


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
