"""What the folder of a search or of a training says about its network."""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firstlight.core.errors import DataError, MissingFileError
from firstlight.export.weights import WEIGHTS_NAME
from firstlight.search.result import RESULT_NAME, RETRAINED_NAME
from firstlight.spaces.base import Skeleton, Space


@dataclass(frozen=True)
class RunFacts:
    """The network that a run ended with; `skeleton` is its text, and `weights` are there if it was trained.

    `inputs` says how the images were prepared that it was trained on: mean and deviation of each channel, class names.
    `origin` says how the weights came about, unless the whole run was the training of this network.
    """

    space: str
    architecture: str
    skeleton: str
    seed: int
    weights: Path | None
    inputs: dict[str, Any]
    origin: str = ""


def is_run(text: str) -> bool:
    """Whether a word of the user's means a folder: no architecture is the name of one."""
    return os.path.isdir(text)  # unlike Path, it minds no text that is too long for a name


def read_run(folder: Path) -> RunFacts:
    """From `result.json`; trainings name their network among the settings, searches under `best`.

    Of a search that has trained the best from scratch it is the one of these that did best on the validation part.
    """
    path = folder / RESULT_NAME
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        settings = content["settings"]
        if content.get("status", "ok") != "ok":
            raise DataError(f"The training of {folder} came to nothing: {content.get('note')} Give another folder.")
        found = settings if "architecture" in settings else content["best"]
        space, architecture, skeleton = settings["space"], found["architecture"], settings["skeleton"]
        if not all(isinstance(text, str) for text in (space, architecture, skeleton)):
            raise TypeError("space, architecture and skeleton must be texts")
        weights = folder / WEIGHTS_NAME
        facts = RunFacts(
            space.partition("@")[0],  # one's own has a digest of its code behind it
            architecture,
            skeleton,
            int(settings["seed"]),
            weights if weights.is_file() else None,
            dict(content.get("inputs", {})),
        )
        return _best_retrained(facts, folder, content.get("retrained") or {})
    except FileNotFoundError as error:
        raise MissingFileError(
            f"{folder} holds no result ({RESULT_NAME} is missing). Give the folder of a search or a training that has "
            "come to its end; run the same command again to resume one that was cut off."
        ) from error
    except (OSError, KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise DataError(f"{path} does not name a network: {type(error).__name__}: {error}.") from error


def _best_retrained(facts: RunFacts, folder: Path, retrained: dict[str, Any]) -> RunFacts:
    """The network and the weights of the best that a search has trained; as it was if there are none."""
    found = [entry for entry in retrained.get("networks", ()) if entry["kind"] == "found"]
    best = next((entry for entry in found if entry["name"] == retrained.get("best")), None)
    if best is None or best.get("weights") is None:
        return facts
    weights = folder / RETRAINED_NAME / Path(best["weights"]).name
    if not weights.is_file():
        return facts
    key = json.loads(weights.with_suffix(".json").read_text(encoding="utf-8"))["key"]
    origin = f"the best on the validation part of {len(found)} that the search has trained"
    return dataclasses.replace(
        facts,
        architecture=str(best["name"]),
        skeleton=str(key["skeleton"]),  # the recipe may have changed that of the search
        seed=int(key["seed"]),
        weights=weights,
        origin=origin if len(found) > 1 else "of the one that the search has trained",
    )


def read_skeleton(space: Space[Any], text: str) -> Skeleton:
    """The inverse of `str(skeleton)`."""
    known = {field.name: field for field in dataclasses.fields(space.skeleton_type)}
    settings: dict[str, Any] = {}
    for item in filter(None, text.split(",")):
        name, _, value = item.partition("=")
        try:
            numbers = tuple(map(int, value.split("x")))
        except ValueError as error:
            raise DataError(f"{item!r} is no setting of a skeleton such as channels=16; it is in {text!r}.") from error
        several = name in known and isinstance(known[name].default, tuple)
        settings[name] = numbers if several else numbers[0]
    return space.skeleton(**settings)
