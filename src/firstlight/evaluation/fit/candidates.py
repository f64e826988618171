"""Families of networks that suit data and limits, and the networks of each that proxies prefer."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from firstlight.core.errors import SettingError
from firstlight.core.seeds import python_generator
from firstlight.evaluation.baselines import ScaledBaseline
from firstlight.options import Limits
from firstlight.scoring.costs import Costs, LatencySource
from firstlight.search.suiting import look_at_limits
from firstlight.spaces.plain.baselines import scaled_within
from firstlight.spaces.plain.perceptron import PlainMLP
from firstlight.spaces.plain.space import PlainSpace
from firstlight.training.job import EvaluationSetting
from firstlight.training.recipe import TrainingRecipe

CELLS = "nasbench201"
# What trains each family well: transformers and ConvNeXts have always been trained by AdamW
SGD = TrainingRecipe(epochs=1, learning_rate=0.1, weight_decay=5e-4, clip_norm=5.0)
ADAMW = TrainingRecipe(
    epochs=1, optimizer="adamw", momentum=0.0, nesterov=False, learning_rate=4e-3, weight_decay=0.02, clip_norm=1.0
)
BY_ADAMW = ("plain-convnext", "plain-vit")
# Of the networks that are looked at, this share are changes of the textbook network; the others are random
NEAR_TEXTBOOK = 0.5
FEWEST_CHANGES, MOST_CHANGES = 2, 8
# Networks use at least this share of the limits
LEAST = 0.4
# So many draws in a row without a new network within the limits end the drawing
PATIENCE = 300
FEWEST_DRAWN = 16


@dataclass(frozen=True)
class Candidate:
    """A network that may be trained.

    Attributes:
        setting: Space, data and skeleton, with the recipe of its family.
        architecture: Its text.
        baseline: The name of the baseline that it is; "" for others.
        title: What reports call it.
    """

    setting: EvaluationSetting
    architecture: str
    baseline: str = ""
    title: str = "network"

    def __str__(self) -> str:
        """Return what sentences call it."""
        if not self.baseline:
            return f"a network of {self.setting.space_name}"
        return f"the {self.title}" if self.title.startswith("plain") else self.title

    @property
    def key(self) -> str:
        """A text that tells it apart."""
        return f"{self.setting.space_name}|{self.architecture}"

    def with_recipe(self, **changes: Any) -> Candidate:
        """Return it with settings of the recipe changed."""
        return replace(self, setting=with_recipe(self.setting, **changes))


@dataclass(frozen=True)
class Family:
    """A space with a skeleton that suits data and limits.

    Attributes:
        setting: Space, data and skeleton, with the recipe of the family.
        baseline: Its plain network, if it has one.
    """

    setting: EvaluationSetting
    baseline: ScaledBaseline | None = None

    @property
    def name(self) -> str:
        """The name of the space."""
        return self.setting.space_name

    @property
    def title(self) -> str:
        """The name of the plain network, or that of the space if it has none."""
        return self.name if self.baseline is None else self.baseline.name


def with_recipe(setting: EvaluationSetting, **changes: Any) -> EvaluationSetting:
    """Return a setting with the recipe changed, which keeps the data that it has read."""
    changed = replace(setting, recipe=replace(setting.recipe, **changes))
    if changed.recipe.validation == setting.recipe.validation:
        vars(changed)["dataset"] = setting.dataset
    return changed


def recipe_of(space: str, batch_size: int) -> TrainingRecipe:
    """Return the recipe that families begin with."""
    return replace(ADAMW if space in BY_ADAMW else SGD, batch_size=batch_size)


def cells(setting: EvaluationSetting, limits: Limits) -> tuple[Family, str] | None:
    """Return the cells of NAS-Bench-201 with the skeleton that suits data and limits, and why; None if none does."""
    placed = replace(setting, space_name=CELLS, own_space=None, skeleton_settings=())
    vars(placed)["dataset"] = setting.dataset
    try:
        placed.skeleton  # noqa: B018 - some sides of images do not fit
    except SettingError:
        return None
    advice = look_at_limits(placed.space, placed.skeleton, limits, counted=0)
    left = advice.here if advice.here.suits else advice.better
    if left is None or not left.suits:
        return None
    chosen = replace(placed, skeleton_settings=tuple(sorted(left.changed.items())))
    vars(chosen)["dataset"] = setting.dataset
    around = ", ".join(f"{name}={chosen.skeleton.settings()[name]}" for name in ("channels", "cells"))
    return Family(chosen), f"Cells of NAS-Bench-201 with {around}: the limits leave {left.share:.0%} of them."


def drawn(
    family: Family,
    limits: Limits,
    count: int,
    seed: int,
    latency: LatencySource | None = None,
    go_on: Callable[[], bool] = lambda: True,
    near_textbook: float = NEAR_TEXTBOOK,
) -> list[str]:
    """Draw different networks that use much of the limits, each as wide as they allow where widths can be chosen.

    Args:
        family: The family.
        limits: What a network may cost.
        count: How many to draw. There may be fewer.
        seed: Seed of the draws.
        latency: Where latencies come from, if they are limited.
        go_on: Returns whether there is time to draw another; a few are drawn in any case.
        near_textbook: The share of the draws that are changes of the textbook network.
    """
    setting = family.setting
    costs = Costs(setting, latency, limits.precision)
    rng = python_generator(seed, "fit", family.name)

    def excess(network: Any, bounds: Limits) -> float:
        return bounds.excess(functools.partial(costs.amount, network))

    upper = replace(limits, min_params=None, min_macs=None)
    found: dict[str, None] = {}
    misses = 0
    for network in _proposals(family, rng, near_textbook):
        if isinstance(setting.space, (PlainSpace, PlainMLP)):
            network = scaled_within(network, lambda entry: not excess(entry, upper))
        if network is not None and not excess(network, limits) and _uses(network, limits, costs.amount):
            text = str(setting.space.canonical(network))
            misses = misses + 1 if text in found else 0
            found.setdefault(text)
        else:
            misses += 1
        if len(found) >= count or misses > PATIENCE or (len(found) >= FEWEST_DRAWN and not go_on()):
            break
    return list(found)


def _uses(network: Any, limits: Limits, amount: Callable[[Any, str], float]) -> bool:
    """Return whether a network uses a fair share of one of the limits: smaller ones are rarely better."""
    shares = [amount(network, name) / most for name, (_, most) in limits.bounds.items() if most]
    return not shares or max(shares) >= LEAST


def _proposals(family: Family, rng: random.Random, near_textbook: float) -> Iterator[Any]:
    space = family.setting.space
    while True:
        if space.textbook and rng.random() < near_textbook:
            yield space.mutate_often(space.read(space.textbook), rng, rng.randint(FEWEST_CHANGES, MOST_CHANGES))
        else:
            yield space.sample(rng)
