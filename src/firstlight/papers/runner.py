"""Run an experiment: check what it needs, measure, and write the findings."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from firstlight.core.errors import MissingFileError, SettingError, StoreError
from firstlight.core.events import Callback, ignore
from firstlight.core.statistics import FEWEST, RESAMPLES
from firstlight.data.images import DATA_FOLDER
from firstlight.data.sources import data_kind
from firstlight.execution.executor import LOCAL, Executor, make_executor
from firstlight.papers.benchmarks import DataFolder
from firstlight.papers.equal_size import FEWEST_POINTS
from firstlight.papers.experiment import Experiment, Outcome, Sampled
from firstlight.papers.lab import Choice, Lab
from firstlight.predict.predictor import FEWEST_LABELS
from firstlight.search.algorithm import AlgorithmRequest
from firstlight.spaces import SPACES
from firstlight.storage.store import Store, open_store
from firstlight.training.recipe import TrainingRecipe
from firstlight.training.recipes import RecipeRequest
from firstlight.training.shared_warm_up import SharedWarmUp
from firstlight.training.warm_up import WarmUp, read_warm_up

CHOSEN: dict[Choice, str] = {
    "first": "the first of the table",
    "random": "drawn at random",
    "picked": "picked by accuracy",
}
TITLES = {"cifar10": "CIFAR-10", "mnist": "MNIST"}
# The least number of samples, and of what. The shorter of two searches has a quarter of the steps, and a search in a
# pool queries a sixth of it
LEAST: dict[Sampled, tuple[int, str]] = {
    "networks": (FEWEST, "networks or more for an interval"),
    "steps": (4, "steps of each search or more"),
    "pool": (12, "networks or more for searches to choose among"),
    "images": (2, "images or more for a condition number of the kernel"),
    "widths": (FEWEST, "widths or more for an interval"),
    "classes": (FEWEST, "classes or more for an interval"),
    "genotypes": (FEWEST_POINTS, "random genotypes or more for a line through them"),
    "labels": (FEWEST_LABELS, "labels or more to fit a predictor"),
}


@dataclass(frozen=True)
class RunOptions:
    """How to run an experiment."""

    samples: int | None = None
    """The number of networks, or of what the experiment counts. Default: that of the experiment."""
    seed: int | Sequence[int] = 0
    """Decides weights, inputs and sample. Several seeds give mean and spread."""
    input: str | None = None
    """What networks are shown. Default: the images of the experiment if available, else synthetic."""
    skeleton: Mapping[str, Any] | None = None
    """Settings of the skeleton, such as {"channels": 8}."""
    warmup: str | None = None
    """One warm-up or several, such as "0,10%,40%:epochs=10", for experiments that warm networks up."""
    recipe: str | None = None
    """How networks are trained, such as "quick:epochs=10", for experiments that train them from scratch."""
    algorithm: str | None = None
    """The search with its settings, such as "nasi:variant=ada:nu=1000:batch=16", for experiments that search."""
    data: str | os.PathLike[str] | None = None
    """The folder of tables and images. Default: $FIRSTLIGHT_DATA."""
    out: str | os.PathLike[str] | None = None
    """The folder that keeps scores and findings. Experiments share the scores."""
    same_versions: bool = False
    """Compute again what another version of PyTorch or another kind of processor stored."""
    workers: int | None = None
    """The number of worker processes."""
    executor: str | Executor = LOCAL
    """Where networks are measured."""
    resamples: int = RESAMPLES
    """The number of bootstrap resamples of an interval."""

    @property
    def settings(self) -> tuple[tuple[str, Any], ...]:
        """The settings of the skeleton, sorted by name."""
        return tuple(sorted((self.skeleton or {}).items()))


def open_data_folder(path: str | os.PathLike[str] | None) -> DataFolder:
    """Return the named folder, or else the one of the environment.

    Raises:
        MissingFileError: If the folder does not exist.
    """
    folder = path or os.environ.get(DATA_FOLDER)
    if folder and not Path(folder).expanduser().is_dir():
        raise MissingFileError(
            f"There is no folder {folder}. Name the folder of tables and images with --data or {DATA_FOLDER}."
        )
    return DataFolder(Path(folder).expanduser() if folder else None)


def missing_parts(experiment: Experiment, data: DataFolder) -> dict[str, str]:
    """Return the benchmarks that are not available, with what they need."""
    needed = {benchmark.name: data.missing(benchmark) for benchmark in experiment.needs}
    return {name: reason for name, reason in needed.items() if reason}


def reproduce(experiment: Experiment, options: RunOptions | None = None, callback: Callback = ignore) -> Outcome:
    """Run an experiment on the available data.

    Args:
        experiment: The experiment, such as `EXPERIMENTS["dextr-table4"]`.
        options: How to run it. With `options.out`, scores and findings are kept in that folder.
        callback: Called with an event as measuring goes on.

    Returns:
        The findings, with the settings they were measured with.

    Raises:
        MissingFileError: If none of the benchmarks it needs is available.
        SettingError: If an option does not suit the experiment.
    """
    options = options or RunOptions()
    data = open_data_folder(options.data)
    missing = missing_parts(experiment, data)
    if missing and len(missing) == len(experiment.needs) and experiment.needs_tables:
        reasons = "\n".join(f"  {name}: {reason}" for name, reason in missing.items())
        raise MissingFileError(f"{experiment.name} cannot run yet. It needs one of these:\n{reasons}")
    if not experiment.measures and (options.input or options.skeleton):
        other = (
            "scores that come with Firstlight: leave input and skeleton out, or measure other scores with "
            "`python -m benchmarks.hnas_classes`"
            if "classes" in experiment.sampled
            else "tables: leave input and skeleton out"
        )
        raise SettingError(f"{experiment.name} is computed from {other}.")
    directory = None if options.out is None else Path(options.out)
    samples, seeds = _samples(experiment, options), _seeds(experiment, options)
    warm_ups, recipe = _warm_ups(experiment, options), _recipe(experiment, options)
    executor = make_executor(options.workers, options.executor)
    with open_store(directory, same_versions=options.same_versions) as store, executor.staying():
        lab = Lab(
            data,
            executor,
            store,
            samples,
            seeds,
            options.input,
            options.settings,
            experiment.chosen,
            options.resamples,
            callback,
            experiment.images,
            warm_ups,
            experiment.skeletons,
            recipe,
            _algorithm(experiment, options),
        )
        described = _describe(lab, experiment)
        found = experiment.run(lab)
        remarks = _remarks(lab, experiment, found.remarks, store)
        today = datetime.now(UTC).date().isoformat()
        command = _command(experiment, options)
        outcome = Outcome(experiment, described, replace(found, remarks=remarks), missing, command, today)
    if directory is not None:
        _write(outcome, directory)
    return outcome


def _samples(experiment: Experiment, options: RunOptions) -> int:
    count = experiment.samples if options.samples is None else options.samples
    least, why = LEAST[experiment.sampled[0]]
    if experiment.chosen == "picked":
        least *= 2
    if count < least:
        raise SettingError(f"samples is {count}; {experiment.name} needs {least} {why}.")
    return count


def _seeds(experiment: Experiment, options: RunOptions) -> tuple[int, ...]:
    seeds = (options.seed,) if isinstance(options.seed, int) else tuple(options.seed)
    if len(seeds) == 1:
        seeds = tuple(range(seeds[0], seeds[0] + experiment.seeds))
    if not seeds or len(set(seeds)) < len(seeds):
        raise SettingError(f"The seeds are {list(seeds)}. Give one seed, or several different ones.")
    return seeds


def _warm_ups(experiment: Experiment, options: RunOptions) -> tuple[WarmUp | SharedWarmUp | None, ...]:
    given = options.warmup
    if given is not None and not experiment.warm_ups:
        raise SettingError(f"warmup is {given!r}, but {experiment.name} does not train networks. Leave it out.")
    texts = experiment.warm_ups if given is None else given.split(",")
    space = SPACES[experiment.space]
    return tuple(dict.fromkeys(read_warm_up(text, space) for text in texts)) or (None,)


def _recipe(experiment: Experiment, options: RunOptions) -> TrainingRecipe | None:
    given = options.recipe
    if given is not None and not experiment.recipe:
        raise SettingError(
            f"recipe is {given!r}, but {experiment.name} does not train networks from scratch. Leave it out."
        )
    text = given or experiment.recipe
    return RecipeRequest.parse(text).recipe if text else None


def _algorithm(experiment: Experiment, options: RunOptions) -> AlgorithmRequest | None:
    given = options.algorithm
    if not experiment.algorithm:
        if given is not None:
            raise SettingError(
                f"algorithm is {given!r}, but {experiment.name} does not take the settings of a search. Leave it out."
            )
        return None
    usual = AlgorithmRequest.parse(experiment.algorithm)
    request = AlgorithmRequest.parse(given) if given else usual
    if request.algorithm is not usual.algorithm or {"steps", "seconds"} & dict(request.settings).keys():
        raise SettingError(
            f"algorithm is {given!r}, but {experiment.name} takes settings of {usual.name} such as "
            f"{experiment.algorithm!r}; the number of steps is --samples, and there is no limit of seconds."
        )
    return request


def _command(experiment: Experiment, options: RunOptions) -> str:
    """Return the command that gives the same findings, wherever the data are."""
    seeds = str(options.seed) if isinstance(options.seed, int) else ",".join(map(str, options.seed))
    skeleton = ",".join(
        f"{name}={'x'.join(map(str, value)) if isinstance(value, tuple) else value}" for name, value in options.settings
    )
    given = {
        "samples": options.samples,
        "input": options.input,
        "warmup": options.warmup,
        "recipe": options.recipe,
        "algorithm": options.algorithm,
        "seed": seeds if seeds != "0" else None,
        "skeleton": skeleton or None,
    }
    words = [word for name, value in given.items() if value is not None for word in (f"--{name}", str(value))]
    return shlex.join(["firstlight", "reproduce", experiment.name, *words])


def _remarks(lab: Lab, experiment: Experiment, found: tuple[str, ...], store: Store) -> tuple[str, ...]:
    """Return all remarks: what differs from the paper, what the published figures lack, and those of the run."""
    smaller = experiment.answers and (lab.skeleton or lab.skeletons)
    usual, name = lab.data.images(lab.usual_images), TITLES.get(lab.usual_images, lab.usual_images)
    caveats = (
        "The skeleton is not the paper's: differences may be due to that." if smaller else "",
        ""
        if lab.images == usual
        or not experiment.measures
        or data_kind(lab.images) not in (None, data_kind(lab.usual_images))
        else f"Networks are not shown {name} images: differences may be due to that.",
    )
    published = (remark for table in experiment.answers for remark in table.remarks)
    return tuple(filter(None, (*caveats, *published, *experiment.remarks, *found, *store.remarks())))


def _describe(lab: Lab, experiment: Experiment) -> dict[str, str]:
    """Return the settings of a run by name."""
    available = lab.data.available(experiment.needs)
    spaces = {} if available else experiment.skeletons
    skeletons = {
        f"{benchmark.space}: {lab.setting_of(benchmark).skeleton}": lab.setting_of(benchmark).source.name
        for benchmark in available
    } | {f"{space}: {lab.setting(space).skeleton}": lab.setting(space).source.name for space in spaces}
    shown = dict.fromkeys(Path(name.removeprefix("npz:")).name for name in skeletons.values())
    tables = dict.fromkeys(lab.data.table(benchmark).origin for benchmark in available)
    columns = {benchmark.name: lab.data.column(benchmark) for benchmark in available}
    taken: dict[Sampled, str] = {
        "networks": f"{lab.samples}, {CHOSEN[lab.chosen]}",
        "steps": f"{lab.samples} of each search",
        "pool": f"{lab.samples} networks; each search chooses among a random half of them",
        "images": f"{lab.samples} in a batch",
        "widths": f"{lab.samples}, evenly spaced",
        "classes": f"at most {lab.samples:,}",
        "genotypes": f"{lab.samples}, drawn at random",
        "labels": f"at most {lab.samples:,}, drawn anew for each seed",
    }
    measured = experiment.measures
    warm_ups = ", ".join("none" if entry is None else str(entry) for entry in lab.warm_ups)
    described = {
        **{str(sampled): taken[sampled] for sampled in experiment.sampled},
        "tables": ", ".join(tables),
        "compared with": ", ".join(f"{name}: {column}" for name, column in columns.items()),
        "input": (", ".join(shown) or lab.images_name) if measured else "",
        "skeleton": "; ".join(skeletons) if measured else "",
        "warm-up": warm_ups if experiment.warm_ups else "",
        "recipe": "" if lab.recipe is None else str(lab.recipe),
        "search": str(lab.algorithm or ""),
        "seeds": ", ".join(map(str, lab.seeds)),
    }
    return {name: text for name, text in described.items() if text}


def _write(outcome: Outcome, directory: Path) -> None:
    from firstlight.papers.page import reproduction_page

    name = outcome.experiment.name
    try:
        text = json.dumps(outcome.to_dict(), indent=2)
        (directory / f"{name}.json").write_text(text + "\n", encoding="utf-8")
        (directory / f"{name}.html").write_text(reproduction_page(outcome), encoding="utf-8")
    except OSError as error:
        raise StoreError(f"Cannot write to the folder {directory}: {error}. Name another with --out.") from error
