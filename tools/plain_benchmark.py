"""Make the benchmarks of the plain spaces: train networks of a few sizes alike, and write their tables.

    python -m tools.plain_benchmark train --data cifar10 --store runs/plain-benchmark
    python -m tools.plain_benchmark train --data cifar10 --store runs/plain-benchmark --part 2/3
    python -m tools.plain_benchmark write --data cifar10 --store runs/plain-benchmark

`train` trains networks one after another on one thread. It can be stopped and started again: it leaves out what the
committed table or the store holds. Parts can run side by side, with one store or with one each. `write` adds to the
table what is in the store, which is then not needed any more.

The first network of each space and band is the textbook network, scaled to the band, and is trained with three seeds,
for the noise; the others are drawn at random and scaled.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pandas as pd
import torch

from firstlight import __version__
from firstlight.core.errors import FirstlightError, TableError
from firstlight.core.seeds import derive
from firstlight.evaluation.service import EvaluationService
from firstlight.execution.executor import InProcess
from firstlight.spaces.plain.shape import Plain
from firstlight.spaces.plain.space import PlainSpace
from firstlight.storage.store import Store, open_store
from firstlight.tables.table import Table, bundled_path, load_table, write_table
from firstlight.training.classifier import REVISION
from firstlight.training.job import EvaluationSetting
from firstlight.training.recipes import read_recipe

NAMES = ("plain-resnet", "plain-mobile", "plain-bottleneck", "plain-convnext", "plain-vit")
BANDS = {"20k": 20_000, "100k": 100_000, "300k": 300_000}
TOLERANCE = 0.25  # of the number of parameters of a band
TEXTBOOK_SEEDS = 3
FIRST_ROUNDS = 6


@dataclass(frozen=True)
class Benchmark:
    """What networks are trained on, and how many of which sizes.

    Attributes:
        name: What the columns of the table begin with.
        table: The name of the table.
        source: The data.
        recipe: How to train.
        bands: The sizes.
        networks: The number of networks of each space and band.
    """

    name: str
    table: str
    source: str
    recipe: str
    bands: tuple[str, ...]
    networks: int

    @property
    def settings(self) -> dict[str, EvaluationSetting]:
        """How networks are trained, by space. Seeds decide weights, order of images, and which are held out."""
        recipe = read_recipe(self.recipe).recipe
        return {name: EvaluationSetting(name, source_name=self.source, recipe=recipe) for name in NAMES}


BENCHMARKS = {
    "cifar10": Benchmark("cifar10", "plain", "cifar10@16", "short:epochs=8:validation=0.2", tuple(BANDS), 27),
    "mnist": Benchmark("mnist", "plain-mnist", "mnist@16", "short:epochs=4:validation=0.2", ("20k",), 20),
    # 25 images of each class: without augmentation, networks learn them by heart
    "imagenet": Benchmark(
        "imagenet",
        "plain-imagenet",
        "tinyimagenet16_120",
        "short:epochs=32:validation=0.3:flip=True:crop=2",
        ("100k",),
        20,
    ),
}


@dataclass(frozen=True)
class Plan:
    """A network to train with one seed."""

    space: str
    band: str
    architecture: str
    seed: int


@dataclass(frozen=True)
class Trained:
    """What a training reached, in percent, and how long it took. Tables hold the mean time of a network's trainings."""

    accuracy: float
    seconds: float


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


def with_settings(
    settings: Mapping[str, EvaluationSetting], planned: Iterable[Plan]
) -> Iterator[tuple[Plan, EvaluationSetting]]:
    """Yield trainings with their settings, one for each space and seed: each holds the data, which are slow to read."""
    known = {(name, setting.seed): setting for name, setting in settings.items()}
    for plan in planned:
        where = plan.space, plan.seed
        if where not in known:
            known[where] = replace(settings[plan.space], seed=plan.seed)
        yield plan, known[where]


def train(store: Store, settings: Mapping[str, EvaluationSetting], planned: Iterable[Plan]) -> None:
    """Train what the store does not know."""
    for number, (plan, setting) in enumerate(with_settings(settings, planned), start=1):
        for done in EvaluationService(setting, InProcess(), store).evaluations([plan.architecture]):
            accuracy = "-" if done.result.accuracy is None else f"{100 * done.result.accuracy:.2f}"
            known = "known" if done.reused else f"{done.result.seconds:.0f} s"
            print(number, plan.space, plan.band, f"seed {plan.seed}", plan.architecture, accuracy, known, flush=True)


def in_store(store: Store, settings: Mapping[str, EvaluationSetting], planned: Iterable[Plan]) -> dict[Plan, Trained]:
    """Return the trainings of the plan that the store holds."""
    found = {}
    for plan, setting in with_settings(settings, planned):
        result = store.find_evaluation(setting.key(plan.architecture))
        if result is not None and result.accuracy is not None:
            found[plan] = Trained(100 * result.accuracy, result.seconds)
    return found


def in_table(path: Path, name: str, setting: EvaluationSetting) -> dict[Plan, Trained]:
    """Return the trainings that a table holds; none if there is no file.

    Raises:
        TableError: If its networks were trained in another way, or on other data.
    """
    if not path.exists():
        return {}
    frame, epochs = load_table(path).frame, setting.recipe.epochs
    for key, wanted in provenance_of(setting).items():
        if frame.attrs.get(key) != wanted:
            raise TableError(
                f"{path} was made with the {key} {frame.attrs.get(key)!r}, not {wanted!r}. Networks of one table are "
                "trained alike: remove the table to start a new one, or go back to what it was made with."
            )
    found = {}
    for row in frame.to_dict("records"):
        for seed in range(TEXTBOOK_SEEDS):
            accuracy = row[_seed_column(name, seed, epochs)]
            if not math.isnan(accuracy):
                plan = Plan(row["space"], row["band"], row["architecture"], seed)
                found[plan] = Trained(accuracy, row[f"{name}_train_seconds_{epochs}"])
    return found


def _seed_column(name: str, seed: int, epochs: int) -> str:
    return f"{name}_val_seed{seed}_{epochs}"


def provenance_of(setting: EvaluationSetting) -> dict[str, str]:
    """Return how networks are trained and on what, which is the same for all networks of a table."""
    data = setting.dataset
    return {
        "recipe": str(setting.recipe),
        "data": f"{setting.source_name}: {len(data.x_train):,} images to train on, {len(data.x_val):,} to validate on",
        "fingerprint": data.fingerprint,
        "training revision": str(REVISION),
    }


def table_of(
    name: str, settings: Mapping[str, EvaluationSetting], planned: Sequence[Plan], known: Mapping[Plan, Trained]
) -> pd.DataFrame:
    """Return a row for each network with a known training, in the order of the plan: the mean over its seeds."""
    networks: dict[Plan, dict[int, Trained]] = {replace(plan, seed=0): {} for plan in (*planned, *known)}
    first = next(iter(settings.values()))
    for plan, trained in known.items():
        networks[replace(plan, seed=0)][plan.seed] = trained
    rows = [_row(name, settings[plan.space], plan, by_seed) for plan, by_seed in networks.items() if by_seed]
    frame = pd.DataFrame(rows)
    done, today = sum(plan in known for plan in planned), f"{datetime.now(UTC):%Y-%m-%d}"
    frame.attrs = {
        **provenance_of(first),
        "networks": f"{len(rows)} of {len(networks)} planned, {done} of {len(planned)} trainings",
        "written by": f"firstlight {__version__}, PyTorch {torch.__version__}, one thread, {today}",
    }
    return frame


def _row(name: str, setting: EvaluationSetting, plan: Plan, by_seed: Mapping[int, Trained]) -> dict[str, Any]:
    accuracies = [trained.accuracy for trained in by_seed.values()]
    cost = setting.space.cost(setting.space.parse(plan.architecture), setting.skeleton)
    epochs = setting.recipe.epochs
    each = {seed: by_seed[seed].accuracy if seed in by_seed else math.nan for seed in range(TEXTBOOK_SEEDS)}
    return {
        "space": plan.space,
        "band": plan.band,
        "architecture": plan.architecture,
        f"{name}_val_{epochs}": fmean(accuracies),
        f"{name}_val_std_{epochs}": stdev(accuracies) if len(accuracies) > 1 else math.nan,
        "seeds": len(accuracies),
        f"{name}_train_seconds_{epochs}": fmean(trained.seconds for trained in by_seed.values()),
        "params": cost.params,
        "macs": cost.macs,
        **{_seed_column(name, seed, epochs): accuracy for seed, accuracy in each.items()},
    }


def part_of(planned: Sequence[Plan], text: str) -> list[Plan]:
    """Return every n-th training, beginning with the k-th, of a part written as k/n.

    Raises:
        ValueError: If it is not a part.
    """
    number, _, parts = text.partition("/")
    if not (number.isdecimal() and parts.isdecimal() and 1 <= int(number) <= int(parts)):
        raise ValueError(f"--part is {text!r}; write the number of the part and how many there are, such as 2/3.")
    return list(planned)[int(number) - 1 :: int(parts)]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("train", "write"))
    parser.add_argument("--data", choices=BENCHMARKS, default="cifar10", help="what networks are trained on")
    parser.add_argument("--store", type=Path, required=True, help="folder of the store")
    parser.add_argument("--table", type=Path, help="file of the table; default: the one of the package")
    parser.add_argument("--part", default="1/1", help="train only a part, such as 2/3")
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    chosen = BENCHMARKS[given.data]
    path = given.table or bundled_path(chosen.table)
    try:
        settings = chosen.settings
        planned = list(plans(settings, chosen.bands, chosen.networks))
        part = part_of(planned, given.part)
        known = in_table(path, chosen.name, next(iter(settings.values())))
        with open_store(given.store) as store:
            if given.what == "train":
                train(store, settings, [plan for plan in part if plan not in known])
                return
            known = in_store(store, settings, planned) | known
        frame = table_of(chosen.name, settings, planned, known)
        if frame.empty:
            parser.error(f"neither {path} nor the store in {given.store} holds a training; train some networks first.")
        path.parent.mkdir(exist_ok=True)
        write_table(Table(frame, chosen.table), path)
        print(f"{path}: {frame.attrs['networks']}")
    except (FirstlightError, ValueError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
