"""The recipe: augmentation, label smoothing and averaged weights, chosen by the validation samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from firstlight.evaluation.fit.candidates import Candidate
from firstlight.evaluation.fit.halving import Trainings
from firstlight.evaluation.fit.notebook import Notebook

# An image is shifted by at most this part of its side
SHIFT = 8
SMOOTHING = 0.1
# The weights of about the last tenth of an epoch, or of ten steps
LEAST_DECAY, MOST_DECAY = 0.9, 0.999


def changes_for(input_shape: tuple[int, ...], steps: int) -> list[dict[str, dict[str, Any]]]:
    """Return what is tried, one round after the other, by the name of each change.

    Args:
        input_shape: The shape of one sample. Only images are augmented.
        steps: The steps of an epoch.
    """
    rounds: list[dict[str, dict[str, Any]]] = []
    if len(input_shape) == 3 and min(input_shape[1:]) >= SHIFT:
        shift = {"crop": max(1, min(input_shape[1:]) // SHIFT)}
        rounds.append({"shifts": shift, "shifts and flips": shift | {"flip": True}})
    decay = min(MOST_DECAY, max(LEAST_DECAY, 1 - 10 / max(steps, 1)))
    rounds.append({"label smoothing": {"label_smoothing": SMOOTHING}, "averaged weights": {"average": decay}})
    return rounds


def refine(
    trainings: Trainings, networks: Sequence[Candidate], rounds: Sequence[Mapping[str, Mapping[str, Any]]], until: float
) -> dict[str, Any]:
    """Choose changes of the recipe by the mean validation accuracy of the best found network and the best plain one.

    Each round keeps the change that helps most, if one does. So that the recipe suits both, neither is favored.

    Args:
        trainings: Where and how to train.
        networks: The networks, with the epochs that recipes are compared with.
        rounds: What is tried, by name.
        until: The share of the time after which no further training is begun.

    Returns:
        The settings that were changed.
    """
    notebook = trainings.notebook
    kept: dict[str, Any] = {}
    reached = _reached(trainings, "recipe as it is", networks, kept, until)
    for options in rounds:
        found = {
            name: _reached(trainings, f"recipe with {name}", networks, kept | dict(change), until)
            for name, change in options.items()
        }
        tried = {name: accuracy for name, accuracy in found.items() if accuracy is not None}
        if reached is None or not tried:
            notebook.say("No time was left to compare recipes.")
            break
        best = max(tried, key=lambda name: tried[name])
        words = ", ".join(f"{name} {accuracy:.1%}" for name, accuracy in tried.items())
        if tried[best] > reached:
            notebook.say(f"Recipe: {best} raises the validation accuracy from {reached:.1%} ({words}).")
            kept |= options[best]
            reached = tried[best]
        else:
            notebook.say(f"Recipe: nothing is better than {reached:.1%} as it is ({words}).")
    return kept


def _reached(
    trainings: Trainings, name: str, networks: Sequence[Candidate], changes: Mapping[str, Any], until: float
) -> float | None:
    """Return the mean validation accuracy with changes; None if not all networks could be trained."""
    notebook: Notebook = trainings.notebook
    if not notebook.schedule(f"{name} tried", lambda: notebook.left(until) > 0):
        return None
    changed = [network.with_recipe(**changes) for network in networks]
    found = [result.accuracy or 0.0 for _, result in trainings.results(name, changed, lambda took: True)]
    return fmean(found) if found else None
