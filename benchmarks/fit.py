"""`firstlight fit` on six tasks, against plain networks, random search, and the searches `hnas` and `verify`.

    python -m benchmarks.fit run --out runs/fit-benchmark                              # everything, for many hours
    python -m benchmarks.fit run --out runs/fit-benchmark --task digits-5k --time 3m   # one task
    python -m benchmarks.fit run --out runs/fit-benchmark --task mnist-20k --against plain,random
    python -m benchmarks.fit write --out runs/fit-benchmark                            # the figures for docs/measured

It can be stopped at any time and run again: nothing is trained twice, and parts that were left out can be added. In the
end, all networks of a task are trained alike: with five seeds and the recipe that the fit has chosen, each with the
optimizer of its family and the learning rate of its own range test. Images come from the folder FIRSTLIGHT_DATA.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.fit_figures import figures_of

import firstlight
from firstlight.core.amounts import parse_duration
from firstlight.core.errors import FirstlightError, UnknownNameError
from firstlight.core.events import Event
from firstlight.data.images import path_of
from firstlight.evaluation.baselines import ScaledBaseline, scaled_baselines
from firstlight.evaluation.finals import FINALS, train_finalists
from firstlight.evaluation.fit.candidates import Candidate, Family, drawn, recipe_of, with_recipe
from firstlight.evaluation.fit.families import learning_rate
from firstlight.evaluation.fit.halving import Trainings, rung
from firstlight.evaluation.fit.notebook import NOTEBOOK, Notebook
from firstlight.evaluation.fit.plan import REFINED
from firstlight.evaluation.fit.result import Fit
from firstlight.execution.executor import Executor, make_executor, one_thread
from firstlight.options import Limits, read_list
from firstlight.storage.environment import versions
from firstlight.storage.store import open_store
from firstlight.storage.tensor_files import write_whole
from firstlight.training.finalists import Finalist, FinalResult
from firstlight.training.job import EvaluationSetting
from firstlight.training.recipe import TrainingRecipe
from firstlight.training.recipes import RecipeRequest
from firstlight.training.verdict import judge

MEASURED = Path(__file__).parent.parent / "docs" / "measured" / "fit-against-baselines.json"
RESULT = "result.json"
SEEDS = 5
FIT, PLAIN, RANDOM, SEARCHES = "fit", "plain", "random", ("hnas", "verify")
AGAINST = (PLAIN, RANDOM, *SEARCHES)
# Networks of each family among which a random search finds more than it has time to train
DRAWN = 60
# What a recipe consists of besides optimizer, learning rate and weight decay, which belong to a family
SHARED = ("epochs", "batch_size", "crop", "flip", "label_smoothing", "average", "validation")


@dataclass(frozen=True)
class Task:
    """Data, a limit and a time.

    Attributes:
        name: Its name.
        source: The data.
        params: The most parameters of a network.
        time: How long a fit may take.
        images: Use only this many of the training images.
    """

    name: str
    source: str
    params: str
    time: str = "45m"
    images: int | None = None

    def data(self, folder: Path) -> str:
        """Return the name of the data; a file in the folder holds them if only some of the images are used."""
        if self.images is None:
            return self.source
        place, there = folder / f"{self.name}.npz", path_of(self.source)
        assert there is not None
        if not place.exists():
            folder.mkdir(parents=True, exist_ok=True)
            with np.load(there) as arrays:
                kept = {name: arrays[name][: self.images] for name in ("x_train", "y_train")}
                np.savez(place, **kept, x_test=arrays["x_test"], y_test=arrays["y_test"])
        return f"npz:{place}"


TASKS = {
    task.name: task
    for task in (
        Task("digits-5k", "digits@8", "5k", "3m"),
        Task("mnist-20k", "mnist_10k_2k", "20k"),
        Task("cifar10-1000-300k", "cifar10_10k_2k", "300k", images=1000),
        Task("imagenet16-300k", "tinyimagenet16_120", "300k"),
        Task("cifar10-100k", "cifar10_10k_2k", "100k"),
        Task("cifar10-300k", "cifar10_10k_2k", "300k"),
    )
}


@dataclass(frozen=True)
class Measurement:
    """Measures one task.

    Attributes:
        task: The task.
        time: How long a fit may take, and a random search as well.
        folder: Where everything is kept.
        executor: Where networks are trained.
        workers: The number of worker processes, for calls that make their own; None for one per core.
        seeds: The trainings of each network in the end.
        epochs: Their epochs; by default those of the finals of the fit.
    """

    task: Task
    time: str
    folder: Path
    executor: Executor
    workers: int | None = None
    seeds: int = SEEDS
    epochs: int | None = None

    def run(self, against: Sequence[str]) -> dict[str, Any]:
        """Run the fit, and what it is compared with, one after the other; the result so far is always in the folder.

        What an earlier run has compared with stays in the result.
        """
        place = self.folder / RESULT
        earlier = json.loads(place.read_text(encoding="utf-8"))["against"] if place.exists() else []
        against = [name for name in AGAINST if name in (*against, *earlier)]
        found = firstlight.fit(
            self.task.data(self.folder.parent),
            time=self.time,
            max_params=self.task.params,
            out=self.folder / FIT,
            workers=self.workers,
            callback=_say,
        )
        known = {(FIT, number): trained for number, trained in enumerate(found.best.trainings)}
        recipe = found.best.finalist.request.recipe
        if self.epochs is not None and self.epochs != recipe.epochs:
            known, recipe = {}, replace(recipe, epochs=self.epochs)
        own = replace(found.best.finalist, name=FIT, title="fit", request=RecipeRequest.of(recipe))
        results, without = self._finals([own], known), dict[str, str]()
        families = self._families(found, recipe)
        if not earlier:
            self._write(found, [], results, without)
        for number, name in enumerate(against, start=1):
            finalists: list[Finalist] = []
            try:
                if name == PLAIN:
                    finalists = [self._finalist(family, recipe) for family in families]
                elif name == RANDOM:
                    finalists = [self._random(found, families, recipe)]
                else:
                    finalists = [self._searched(name, found, recipe)]
            except FirstlightError as error:
                without[name] = str(error).partition("\n")[0]
            results += self._finals(finalists, {})
            if number == len(against) or not earlier:
                self._write(found, against[:number], results, without)
        return dict(json.loads(place.read_text(encoding="utf-8")))

    def _finals(self, finalists: Sequence[Finalist], known: Mapping[tuple[str, int], Any]) -> list[FinalResult]:
        if not finalists:
            return []
        asked = {key: trained for key, trained in known.items() if key[1] < self.seeds}
        return train_finalists(
            finalists, range(self.seeds), self.executor, self.folder / FINALS, known=asked, callback=_say
        )

    def _families(self, found: Fit, recipe: TrainingRecipe) -> list[Family]:
        """Return the plain networks within the limits, with a learning rate that suits each."""
        usual = found.best.finalist.setting
        validated = replace(recipe_of("plain-mlp", recipe.batch_size), epochs=recipe.epochs)
        setting = EvaluationSetting(
            "plain-mlp", source_name=usual.source_name, recipe=validated, seed=usual.seed, tests_later=True
        )
        plain = scaled_baselines(["all"], setting, Limits(max_params=self.task.params))
        return [self._with_rate(entry.setting, entry) for entry in plain]

    def _with_rate(self, setting: EvaluationSetting, plain: ScaledBaseline) -> Family:
        """Return a family with the learning rate of a range test, which is remembered."""
        place = self.folder / "rates.json"
        rates = json.loads(place.read_text(encoding="utf-8")) if place.exists() else {}
        usual = recipe_of(setting.space_name, setting.recipe.batch_size)
        placed = with_recipe(setting, **{name: getattr(usual, name) for name in vars(usual) if name != "epochs"})
        name = f"{setting.space_name} {plain.architecture}"
        if name not in rates:
            with one_thread():
                rates[name] = learning_rate(Family(placed, plain))
            write_whole(place, json.dumps(rates, indent=2).encode())
        with_rate = with_recipe(placed, learning_rate=rates[name])
        return Family(with_rate, replace(plain, setting=with_rate))

    def _finalist(self, family: Family, recipe: TrainingRecipe, name: str = "", text: str = "") -> Finalist:
        """Return a network of a family, to be trained as the fit trains its finalists."""
        assert family.baseline is not None
        own = replace(family.setting.recipe, **{part: getattr(recipe, part) for part in SHARED})
        title = name or family.baseline.title
        architecture = text or family.baseline.architecture
        return Finalist(name or family.baseline.name, title, family.setting, architecture, RecipeRequest.of(own))

    def _random(self, found: Fit, families: Sequence[Family], recipe: TrainingRecipe) -> Finalist:
        """Train random networks of all families for as long as a fit searches, and return the best by validation."""
        assert found.directory is not None
        plan = json.loads((found.directory / NOTEBOOK).read_text(encoding="utf-8"))["schedule"]["plan"]
        place, limits = self.folder / RANDOM, Limits(max_params=self.task.params)
        searched = [family for family in families if family.title != "logistic"]
        with open_store(place) as store, self.executor.staying():
            notebook = Notebook(place, {"task": self.task.name}, REFINED * parse_duration(self.time), _say)
            notebook.begin_plan()
            lists = {
                family.title: notebook.decide(
                    family.title, lambda family=family: drawn(family, limits, DRAWN, 0, near_textbook=0.0)
                )
                for family in searched
            }
            candidates = [
                Candidate(family.setting, lists[family.title][number])
                for number in range(DRAWN)
                for family in searched
                if number < len(lists[family.title])
            ]
            trainings = Trainings(self.executor, store, notebook, _say)
            ranked, _ = rung(trainings, "random search", candidates, plan["rungs"][-1], 1.0)
        best = ranked[0].candidate
        family = next(family for family in searched if family.name == best.setting.space_name)
        return self._finalist(family, recipe, RANDOM, best.architecture)

    def _searched(self, algorithm: str, found: Fit, recipe: TrainingRecipe) -> Finalist:
        """Search NAS-Bench-201 with the usual settings of an algorithm, and return what it finds."""
        source = found.best.finalist.setting.source_name
        result = firstlight.search(
            "nasbench201",
            algorithm=algorithm,
            data=source,
            max_params=self.task.params,
            out=self.folder / algorithm,
            workers=self.workers,
            callback=_say,
        )
        skeleton = {
            name: value
            for name, value in result.setting.skeleton.settings().items()
            if name not in ("input_shape", "classes")
        }
        setting = EvaluationSetting(
            "nasbench201",
            source_name=source,
            recipe=recipe_of("nasbench201", recipe.batch_size),
            skeleton_settings=tuple(sorted(skeleton.items())),
            tests_later=True,
        )
        family = self._with_rate(setting, ScaledBaseline(algorithm, algorithm, setting, result.best.architecture))
        return self._finalist(family, recipe)

    def _write(
        self, found: Fit, against: Sequence[str], results: Sequence[FinalResult], without: Mapping[str, str]
    ) -> None:
        own = results[0]
        content = {
            "task": self.task.name,
            "data": self.task.source,
            "images": self.task.images,
            "params": self.task.params,
            "time": self.time,
            "date": datetime.now(UTC).date().isoformat(),
            "against": list(against),
            "fit": found.to_dict(),
            "decisions": list(found.decisions),
            "networks": [entry.to_dict() for entry in results],
            "differences": {
                entry.finalist.title: judge(own.answers, entry.answers).to_dict()
                for entry in results[1:]
                if entry.finished
            },
            "without": dict(without),
            "versions": versions(),
        }
        write_whole(self.folder / RESULT, (json.dumps(content, indent=2) + "\n").encode())


def _say(event: Event) -> None:
    if event.stage == "message" and event.note:
        print(event.note, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("do", choices=("run", "write"))
    parser.add_argument("--out", type=Path, default=Path("runs/fit-benchmark"))
    parser.add_argument("--task", default=",".join(TASKS), help=f"of {', '.join(TASKS)}")
    parser.add_argument("--against", default=",".join(AGAINST), help=f"of {', '.join(AGAINST)}")
    parser.add_argument("--time", help="of each fit, and of each random search")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--epochs", type=int, help="of the final trainings; default: those of the fit")
    parser.add_argument("--workers", type=int)
    asked = parser.parse_args()
    if asked.do == "write":
        places = [place for name in TASKS if (place := asked.out / name / RESULT).exists()]
        if not places:
            parser.error(f"{asked.out} holds no result; run `python -m benchmarks.fit run --out {asked.out}` first")
        tasks = [json.loads(place.read_text(encoding="utf-8")) for place in places]
        write_whole(MEASURED, (json.dumps(figures_of(tasks), indent=2) + "\n").encode())
        print(f"{MEASURED} is written. Now: python -m tools.docs")
        return
    names, against = read_list(asked.task), read_list(asked.against)
    for kind, given, allowed in (("task", names, TASKS), ("contender", against, AGAINST)):
        for name in given:
            if name not in allowed:
                raise UnknownNameError(kind, name, allowed)
    for name in names:
        task = TASKS[name]
        place = make_executor(asked.workers)
        measurement = Measurement(
            task, asked.time or task.time, asked.out / name, place, asked.workers, asked.seeds, asked.epochs
        )
        with place.staying():
            print(f"== {name}", flush=True)
            measurement.run(against)
            print(f"{asked.out / name / RESULT} is written.", flush=True)


if __name__ == "__main__":
    main()
