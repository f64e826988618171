"""Make the benchmark of the plain spaces: train networks of three sizes alike, and write the table.

    python -m tools.plain_benchmark train --store runs/plain-benchmark --bands 20k,100k --networks 20
    python -m tools.plain_benchmark write --store runs/plain-benchmark

`train` can be stopped and started again: it trains only what the store does not know, one network after another, on one
thread. The first network of each space and band is the textbook network, scaled to the band, and is trained with three
seeds, for the noise; the others are drawn at random and scaled. `write` makes the table of all that is in the store.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pandas as pd
import torch

from firstlight import __version__
from firstlight.core.seeds import derive
from firstlight.evaluation.service import EvaluationService
from firstlight.execution.executor import InProcess
from firstlight.spaces.plain.shape import Plain
from firstlight.spaces.plain.space import PlainSpace
from firstlight.storage.outcome import TrainingResult
from firstlight.storage.store import Store, open_store
from firstlight.tables.table import bundled_path
from firstlight.training.job import EvaluationSetting
from firstlight.training.recipes import read_recipe

NAMES = ("plain-resnet", "plain-mobile", "plain-bottleneck", "plain-convnext", "plain-vit")
BANDS = {"20k": 20_000, "100k": 100_000, "300k": 300_000}
TOLERANCE = 0.25  # of the number of parameters of a band
DATA, RECIPE = "cifar10@16", "short:epochs=8:validation=0.2"
TEXTBOOK_SEEDS = 3
FIRST_ROUNDS = 6


@dataclass(frozen=True)
class Plan:
    """A network to train with one seed."""

    space: str
    band: str
    architecture: str
    seed: int


def settings_of(names: Sequence[str] = NAMES, data: str = DATA, recipe: str = RECIPE) -> dict[str, EvaluationSetting]:
    """Return how networks are trained, by space. Seeds decide weights, order of images, and which are held out."""
    return {name: EvaluationSetting(name, source_name=data, recipe=read_recipe(recipe).recipe) for name in names}


def networks_of(setting: EvaluationSetting, band: str) -> Iterator[Plain]:
    """Yield the textbook network and different random ones, scaled to about the parameters of the band."""
    space, params = setting.space, BANDS[band]
    assert isinstance(space, PlainSpace)
    rng = random.Random(derive(0, "plain benchmark", space.name, band))
    seen = set()
    drawn = space.read("textbook")
    while True:
        found = space.canonical(space.scaled(drawn, params, setting.skeleton))
        near = abs(math.log(space.cost(found, setting.skeleton).params / params)) < math.log(1 + TOLERANCE)
        if found not in seen and (near or not seen):
            seen.add(found)
            yield found
        drawn = space.sample(rng)


def plans(settings: Mapping[str, EvaluationSetting], bands: Sequence[str], networks: int) -> Iterator[Plan]:
    """Yield the networks of all spaces and bands in turn, so that the table is balanced whenever it is written.

    The other seeds of textbook networks follow after the first rounds.
    """
    drawn = {(name, band): networks_of(setting, band) for name, setting in settings.items() for band in bands}
    textbook: list[Plan] = []
    for number in range(networks):
        for (name, band), found in drawn.items():
            plan = Plan(name, band, str(next(found)), 0)
            textbook += [plan] if number == 0 else []
            yield plan
        if number == min(FIRST_ROUNDS, networks) - 1:
            yield from (replace(plan, seed=seed) for plan in textbook for seed in range(1, TEXTBOOK_SEEDS))


def train(store: Store, settings: Mapping[str, EvaluationSetting], bands: Sequence[str], networks: int) -> None:
    """Train what the store does not know."""
    for number, plan in enumerate(plans(settings, bands, networks), start=1):
        setting = replace(settings[plan.space], seed=plan.seed)
        for done in EvaluationService(setting, InProcess(), store).evaluations([plan.architecture]):
            accuracy = "-" if done.result.accuracy is None else f"{100 * done.result.accuracy:.2f}"
            known = "known" if done.reused else f"{done.result.seconds:.0f} s"
            print(number, plan.space, plan.band, f"seed {plan.seed}", plan.architecture, accuracy, known, flush=True)


def table_of(
    store: Store, settings: Mapping[str, EvaluationSetting], bands: Sequence[str], networks: int
) -> pd.DataFrame:
    """Return a row for each network of the plan that the store knows: the mean over its seeds."""
    found: dict[Plan, list[TrainingResult]] = {}
    for plan in plans(settings, bands, networks):
        result = store.find_evaluation(replace(settings[plan.space], seed=plan.seed).key(plan.architecture))
        if result is not None and result.accuracy is not None:
            found.setdefault(replace(plan, seed=0), []).append(result)
    frame = pd.DataFrame([_row(settings[plan.space], plan, results) for plan, results in found.items()])
    first = next(iter(settings.values()))
    data = first.dataset
    frame.attrs = {
        "recipe": str(first.recipe),
        "data": f"{first.source_name}: {len(data.x_train):,} images to train on, {len(data.x_val):,} to validate on",
        "made with": f"firstlight {__version__}, PyTorch {torch.__version__}, one thread, {datetime.now(UTC):%Y-%m-%d}",
    }
    return frame


def _row(setting: EvaluationSetting, plan: Plan, results: list[TrainingResult]) -> dict[str, Any]:
    accuracies = [100 * result.accuracy for result in results if result.accuracy is not None]
    cost = setting.space.cost(setting.space.parse(plan.architecture), setting.skeleton)
    data, epochs = setting.source_name.partition("@")[0], setting.recipe.epochs
    return {
        "space": plan.space,
        "band": plan.band,
        "architecture": plan.architecture,
        f"{data}_val_{epochs}": fmean(accuracies),
        f"{data}_val_std_{epochs}": stdev(accuracies) if len(accuracies) > 1 else math.nan,
        "seeds": len(accuracies),
        f"{data}_train_seconds_{epochs}": fmean(result.seconds for result in results),
        "params": cost.params,
        "macs": cost.macs,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("train", "write"))
    parser.add_argument("--store", type=Path, required=True, help="folder of the store")
    parser.add_argument("--bands", default=",".join(BANDS), help="sizes, separated by commas")
    parser.add_argument("--networks", type=int, default=30, help="networks of each space and band")
    given = parser.parse_args()
    torch.set_num_threads(1)
    bands = given.bands.split(",")
    if not set(bands) <= set(BANDS):
        parser.error(f"bands are {given.bands}; name some of {', '.join(BANDS)}.")
    with open_store(given.store) as store:
        if given.what == "train":
            train(store, settings_of(), bands, given.networks)
            return
        frame = table_of(store, settings_of(), bands, given.networks)
        path = bundled_path("plain")
        path.parent.mkdir(exist_ok=True)
        frame.to_parquet(path, index=False, compression="zstd")
        print(f"{path}: {len(frame)} networks")


if __name__ == "__main__":
    main()
