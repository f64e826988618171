"""The network of a search or of a training."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from firstlight.core.errors import DataError, MissingFileError
from firstlight.export.weights import WEIGHTS_NAME
from firstlight.search.result import RESULT_NAME, RETRAINED_NAME
from firstlight.spaces.base import Skeleton, Space
from firstlight.training.trained import Trained


@dataclass(frozen=True)
class RunFacts:
    """The network that a run ended with.

    Attributes:
        space: Name of the space.
        architecture: Text of the architecture.
        skeleton: Text of the skeleton.
        seed: Seed of the initial weights.
        weights: The trained weights, in a file or in memory; None if nothing was trained.
        inputs: How images were prepared in training: mean and deviation of each channel, names of the classes.
        origin: More about the weights, in words, if the run was not the training of this network alone.
    """

    space: str
    architecture: str
    skeleton: str
    seed: int
    weights: Path | Mapping[str, Tensor] | None
    inputs: dict[str, Any]
    origin: str = ""


def is_run(text: str) -> bool:
    """Whether a text is the name of a folder; no architecture is."""
    return os.path.isdir(text)  # unlike Path, it accepts a text too long for a file name


def read_run(folder: Path) -> RunFacts:
    """Read the network of a run from `result.json`.

    A search that retrained its best networks gives the one that is best on the validation set.
    """
    path = folder / RESULT_NAME
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        settings = content["settings"]
        if content.get("status", "ok") != "ok":
            raise DataError(f"The training in {folder} failed: {content.get('note')} Give another folder.")
        found = settings if "architecture" in settings else content["best"]
        space, architecture, skeleton = settings["space"], found["architecture"], settings["skeleton"]
        if not all(isinstance(text, str) for text in (space, architecture, skeleton)):
            raise TypeError("space, architecture and skeleton must be strings")
        weights = folder / WEIGHTS_NAME
        facts = RunFacts(
            space.partition("@")[0],  # a digest of the code follows the name of a user's own space
            architecture,
            skeleton,
            int(settings["seed"]),
            weights if weights.is_file() else None,
            dict(content.get("inputs", {})),
        )
        return _best_retrained(facts, folder, content.get("retrained") or {})
    except FileNotFoundError as error:
        raise MissingFileError(
            f"{folder} holds no result ({RESULT_NAME} is missing). Give the folder of a finished search or training. "
            "To resume an interrupted one, run the same command again."
        ) from error
    except (OSError, KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise DataError(f"{path} does not name a network: {type(error).__name__}: {error}.") from error


def facts_of_training(trained: Trained) -> RunFacts:
    """Return the network of a training, with its weights from memory."""
    if trained.model is None or not trained.result.ok:
        raise DataError(f"The training failed: {trained.result.note} There are no weights to export.")
    settings, epochs = trained.settings, len(trained.result.epochs)
    return RunFacts(
        str(settings["space"]).partition("@")[0],
        str(settings["architecture"]),
        str(settings["skeleton"]),
        int(settings["seed"]),
        trained.model.state_dict(),
        dict(trained.inputs),
        f"{epochs} epoch{'s' * (epochs != 1)}",
    )


def _best_retrained(facts: RunFacts, folder: Path, retrained: dict[str, Any]) -> RunFacts:
    """Return the best network that a search retrained, with its weights; `facts` if there is none."""
    found = [entry for entry in retrained.get("networks", ()) if entry["kind"] == "found"]
    best = next((entry for entry in found if entry["name"] == retrained.get("best")), None)
    if best is None or best.get("weights") is None:
        return facts
    weights = folder / RETRAINED_NAME / Path(best["weights"]).name
    if not weights.is_file():
        return facts
    key = json.loads(weights.with_suffix(".json").read_text(encoding="utf-8"))["key"]
    origin = f"best of {len(found)} networks that the search retrained, on the validation set"
    return dataclasses.replace(
        facts,
        architecture=str(best["name"]),
        skeleton=str(key["skeleton"]),  # the recipe may have changed it
        seed=int(key["seed"]),
        weights=weights,
        origin=origin if len(found) > 1 else "retrained by the search",
    )


def read_skeleton(space: Space[Any], text: str) -> Skeleton:
    """Read the text of a skeleton; the inverse of `str(skeleton)`."""
    known = {field.name: field for field in dataclasses.fields(space.skeleton_type)}
    settings: dict[str, Any] = {}
    for item in filter(None, text.split(",")):
        name, _, value = item.partition("=")
        try:
            numbers = tuple(map(int, value.split("x")))
        except ValueError as error:
            raise DataError(f"{item!r} in {text!r} is not a setting of a skeleton, such as channels=16.") from error
        several = name in known and isinstance(known[name].default, tuple)
        settings[name] = numbers if several else numbers[0]
    return space.skeleton(**settings)
