"""From the name of an experiment to its findings: what is needed, what was measured, and the files that are kept."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from firstlight._version import __version__
from firstlight.core.errors import MissingFileError, SettingError, StoreError
from firstlight.core.statistics import FEWEST, RESAMPLES
from firstlight.data.sources import DATA_FOLDER
from firstlight.execution.executor import LOCAL, Executor, make_executor
from firstlight.papers.base import Choice, Experiment, Findings, Sampled
from firstlight.papers.benchmarks import Shelf
from firstlight.papers.lab import Lab
from firstlight.spaces import SPACES
from firstlight.storage.environment import versions
from firstlight.storage.store import open_store
from firstlight.training.shared_warm_up import SharedWarmUp
from firstlight.training.warm_up import WarmUp, read_warm_up

CHOSEN: dict[Choice, str] = {
    "first": "the first of the table",
    "random": "drawn at random",
    "picked": "picked by accuracy",
}
TITLES = {"cifar10": "CIFAR-10", "mnist": "MNIST"}
# How many samples there must be, and of what. The shorter of two searches may have a quarter of the steps, and one in
# a pool asks about a sixth of it
LEAST: dict[Sampled, tuple[int, str]] = {
    "networks": (FEWEST, "networks or more, or no interval is defined"),
    "steps": (4, "steps of each search or more"),
    "pool": (12, "networks or more for searches to choose among"),
    "images": (2, "images or more, or a kernel has no condition number"),
    "widths": (FEWEST, "widths or more, or no interval is defined"),
}


@dataclass(frozen=True)
class Outcome:
    """What was found, with which settings, by which command, and when; `missing` parts could not run."""

    experiment: Experiment
    settings: Mapping[str, str]
    findings: Findings
    missing: Mapping[str, str]
    command: str = ""
    date: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {
            "experiment": self.experiment.name,
            "published_in": self.experiment.published_in,
            "paper": self.experiment.citation,
            "shows": self.experiment.shows,
            "command": self.command,
            "date": self.date,
            "settings": dict(self.settings),
            "findings": [finding.to_dict() for finding in self.findings.lines],
            "remarks": list(self.findings.remarks),
            "missing": dict(self.missing),
            "version": __version__,
            "versions": versions(),
        }


def shelf_in(data: str | os.PathLike[str] | None) -> Shelf:
    """The folder that is named, or else the one of the environment."""
    folder = data or os.environ.get(DATA_FOLDER)
    if folder and not Path(folder).expanduser().is_dir():
        raise MissingFileError(
            f"There is no folder {folder}. Name the one with tables and images by --data or {DATA_FOLDER}."
        )
    return Shelf(Path(folder).expanduser() if folder else None)


def missing_parts(experiment: Experiment, shelf: Shelf) -> dict[str, str]:
    needed = {benchmark.name: shelf.missing(benchmark) for benchmark in experiment.needs}
    return {name: reason for name, reason in needed.items() if reason}


def reproduce(
    experiment: Experiment,
    *,
    data: str | os.PathLike[str] | None = None,
    samples: int | None = None,
    input: str | None = None,
    seed: int | Sequence[int] = 0,
    skeleton: Mapping[str, Any] | None = None,
    warmup: str | None = None,
    workers: int | None = None,
    executor: str | Executor = LOCAL,
    out: str | os.PathLike[str] | None = None,
    same_versions: bool = False,
    resamples: int = RESAMPLES,
    watch: Callable[[int, int], None] = lambda done, total: None,
) -> Outcome:
    """Run an experiment on the data at hand. With `out`, scores and findings are kept in that folder.

    `warmup` is for experiments that warm networks up: one or several, such as "0,10%,40%:epochs=10". Intervals come
    from so many `resamples` of the networks.
    """
    shelf = shelf_in(data)
    missing = missing_parts(experiment, shelf)
    if missing and len(missing) == len(experiment.needs):
        reasons = "\n".join(f"  {name}: {reason}" for name, reason in missing.items())
        raise MissingFileError(f"{experiment.name} cannot run yet. It needs one of these:\n{reasons}")
    seeds = (seed,) if isinstance(seed, int) else tuple(seed)
    if len(seeds) == 1:
        seeds = tuple(range(seeds[0], seeds[0] + experiment.seeds))
    if not seeds or len(set(seeds)) < len(seeds):
        raise SettingError(f"The seeds are {list(seeds)}; give one, or several different ones.")
    directory = None if out is None else Path(out)
    settings = tuple(sorted((skeleton or {}).items()))
    count = experiment.samples if samples is None else samples
    _refuse_few(experiment, count)
    warm_ups = _read_warm_ups(experiment, warmup)
    place = make_executor(workers, executor)
    with open_store(directory, same_versions=same_versions) as store, place.staying():
        lab = Lab(
            shelf,
            place,
            store,
            count,
            seeds,
            input,
            settings,
            experiment.chosen,
            resamples,
            watch,
            experiment.images,
            warm_ups,
            experiment.skeletons,
        )
        described = _described(lab, experiment)
        found = experiment.run(lab)
        remarks = (*_caveats(lab), *found.remarks, *store.remarks())
        command = _command(experiment, samples=samples, seed=seed, input=input, skeleton=skeleton, warmup=warmup)
        today = datetime.now(timezone.utc).date().isoformat()
        outcome = Outcome(experiment, described, replace(found, remarks=remarks), missing, command, today)
    if directory is not None:
        _write(outcome, directory)
    return outcome


def _command(
    experiment: Experiment, *, seed: int | Sequence[int], skeleton: Mapping[str, Any] | None, **options: object
) -> str:
    """What to type for the same findings, wherever the data are."""
    seeds = str(seed) if isinstance(seed, int) else ",".join(map(str, seed))
    around = ",".join(
        f"{name}={'x'.join(map(str, value)) if isinstance(value, tuple) else value}"
        for name, value in sorted((skeleton or {}).items())
    )
    given = {**options, "seed": seeds if seeds != "0" else None, "skeleton": around or None}
    words = [word for name, value in given.items() if value is not None for word in (f"--{name}", str(value))]
    return shlex.join(["firstlight", "reproduce", experiment.name, *words])


def _read_warm_ups(experiment: Experiment, given: str | None) -> tuple[WarmUp | SharedWarmUp | None, ...]:
    if given is not None and not experiment.warm_ups:
        raise SettingError(f"warmup is {given!r}, but {experiment.name} trains no network before it is looked at.")
    texts = experiment.warm_ups if given is None else given.split(",")
    space = SPACES[experiment.space]
    return tuple(dict.fromkeys(read_warm_up(text, space) for text in texts)) or (None,)


def _refuse_few(experiment: Experiment, count: int) -> None:
    least, why = LEAST[experiment.sampled[0]]
    if experiment.chosen == "picked":
        least *= 2
    if count < least:
        raise SettingError(f"samples is {count}; {experiment.name} needs {least} {why}.")


def _caveats(lab: Lab) -> tuple[str, ...]:
    """What makes this another experiment than the paper's, whatever the experiment."""
    reduced = lab.skeleton or lab.skeletons
    smaller = "The skeleton is not the paper's: what differs may differ for that reason." if reduced else ""
    usual, named = lab.shelf.images(lab.usual_images), TITLES.get(lab.usual_images, lab.usual_images)
    other = "" if lab.images == usual else f"Networks are not shown {named} images: what differs may be due to that."
    return tuple(filter(None, (smaller, other)))


def _described(lab: Lab, experiment: Experiment) -> dict[str, str]:
    there = lab.shelf.available(experiment.needs)
    skeletons = {benchmark.space: str(lab.setting(benchmark.space).skeleton) for benchmark in there}
    tables = dict.fromkeys(lab.shelf.table(benchmark).origin for benchmark in there)
    columns = {benchmark.name: lab.shelf.column(benchmark) for benchmark in there}
    taken: dict[Sampled, str] = {
        "networks": f"{lab.samples}, {CHOSEN[lab.chosen]}",
        "steps": f"{lab.samples} of each search",
        "pool": f"{lab.samples} networks, of which each search chooses among a random half",
        "images": f"{lab.samples} in a batch",
        "widths": f"{lab.samples}, evenly spaced",
    }
    described = {
        **{str(sampled): taken[sampled] for sampled in experiment.sampled},
        "tables": ", ".join(tables),
        "compared with": ", ".join(f"{name}: {column}" for name, column in columns.items()),
        "input": lab.images_name,
        "skeleton": "; ".join(f"{space}: {text}" for space, text in skeletons.items()),
        "warm-up": ", ".join("none" if entry is None else str(entry) for entry in lab.warm_ups)
        if experiment.warm_ups
        else "",
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
        raise StoreError(f"The folder {directory} cannot be written to: {error}. Name another with --out.") from error
