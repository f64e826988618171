"""Families that suit data, limits and time: plain networks first, and how fast and at what rate they learn."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import Any

from firstlight.core.errors import LimitError
from firstlight.data.images import split_side
from firstlight.evaluation.baselines import LatencyFor, ScaledBaseline, scaled_baselines
from firstlight.evaluation.fit.candidates import Family, cells, recipe_of, with_recipe
from firstlight.evaluation.fit.notebook import Notebook
from firstlight.evaluation.fit.plan import (
    FEWEST_CANDIDATES,
    FEWEST_STEPS,
    HALVED,
    SCREENED,
    Plan,
    batch_size_for,
    make_plan,
    seconds_per_sample,
)
from firstlight.evaluation.fit.screening import score_seconds
from firstlight.options import Limits
from firstlight.training.job import EvaluationSetting
from firstlight.training.range_test import range_test

# Families whose plain network trains so much slower than the median are left out
TOO_SLOW = 6.0
# So are those whose shortest training takes this share of the time; as many are kept in any case
MOST_OF_TIME, FEWEST_FAMILIES = 0.08, 3
SMALLEST_SIDE = 8
# By which the first speed is measured
FIRST = "resnet"
# A range test may change the usual rate of a recipe by these factors
LEAST_RATE, MOST_RATE = 0.25, 2.0


@dataclass(frozen=True)
class Proposals:
    """Proposes families.

    Attributes:
        limits: What a network may cost.
        own: Baselines of the user's own.
        notebook: The decisions of the fit.
        latency: Returns where latencies come from.
        workers: How many networks are trained at a time.
    """

    limits: Limits
    own: Sequence[Any]
    notebook: Notebook
    latency: LatencyFor
    workers: int

    def side(self, setting: EvaluationSetting) -> int | None:
        """Return the side that images must have so that the time suffices; None if they can stay as they are.

        Args:
            setting: The data as they are.
        """
        shape, count = setting.dataset.input_shape, len(setting.dataset.y_train)
        if len(shape) != 3 or shape[1] != shape[2] or split_side(setting.source_name)[1]:
            return None
        batch = batch_size_for(count)
        upper = Limits(max_params=self.limits.max_params, max_macs=self.limits.max_macs)

        def measured() -> float:
            plain = scaled_baselines([FIRST], setting, upper)
            return _speed(Family(_with_data(plain[0].setting, setting, recipe=recipe_of("", batch)), plain[0]))

        try:
            speed = self.notebook.measure("seconds per sample at first", measured)
        except LimitError:  # perceptrons, which may be small enough, are fast at any size
            return None
        side, needed = shape[1], 2 * FEWEST_CANDIDATES * FEWEST_STEPS * batch * speed / self.workers
        while needed > (HALVED - SCREENED) * self.notebook.seconds and side >= 2 * SMALLEST_SIDE:
            side, needed = side // 2, needed / 4
        if side == shape[1]:
            return None
        self.notebook.say(f"Images are reduced to {side}x{side} pixels, so that the time suffices to compare networks.")
        return side

    def families(self, setting: EvaluationSetting) -> tuple[list[Family], Plan]:
        """Return families that can be trained in the time, with their learning rates, and how the time is spent."""
        families = self._suiting(setting)
        speeds = self._speeds(families)
        usual = median(speeds.values())
        count = len(setting.dataset.y_train)
        shortest = batch_size_for(count) * FEWEST_STEPS
        slow = [
            name
            for name, speed in speeds.items()
            if speed > TOO_SLOW * usual or speed * shortest > MOST_OF_TIME * self.notebook.seconds
        ]
        if len(slow) > len(speeds) - FEWEST_FAMILIES:
            slow = sorted(speeds, key=lambda name: speeds[name])[FEWEST_FAMILIES:]
        if slow:
            times = ", ".join(f"{name} ({speeds[name] * shortest:.0f} s)" for name in slow)
            self.notebook.say(f"Left out, because even {FEWEST_STEPS} steps take long: {times}.")
        # the fastest first, in case the time is over before all are trained
        families = sorted(
            (family for family in families if family.title not in slow), key=lambda family: speeds[family.title]
        )
        families = self._with_rates(families)
        others = [family for family in families if family.title != "logistic"]
        mean = fmean(speeds[family.title] for family in others or families)
        per_score = self.notebook.measure("seconds per score", lambda: _score_seconds(families))
        seconds = self.notebook.begin_plan()
        made = self.notebook.schedule(
            "plan", lambda: make_plan(seconds, count, mean, per_score, self.workers).to_dict()
        )
        plan = Plan.from_dict(made)
        self.notebook.say(f"Plan for {seconds / 60:.1f} minutes: {plan}.")
        return families, plan

    def _suiting(self, setting: EvaluationSetting) -> list[Family]:
        """Return the plain families that fit the limits, with their plain networks, and cells."""
        texts = self.notebook.decide(f"plain networks for {_shape(setting)}", lambda: self._plain_texts(setting))
        batch = batch_size_for(len(setting.dataset.y_train))
        families = []
        for name, title, space, architecture in texts:
            placed = replace(setting, space_name=space, recipe=recipe_of(space, batch))
            families.append(_family(name, title, _with_data(placed, setting), architecture))
        for standard in scaled_baselines(self.own, setting, self.limits, self.latency):
            placed = _with_data(standard.setting, setting, recipe=recipe_of("", batch))
            families.append(_family(standard.name, standard.title, placed, standard.architecture))
        if not families:
            raise LimitError(f"No network of any plain family has {self.limits}. Raise the limits.")
        names = ", ".join(family.baseline.title for family in families if family.baseline)
        self.notebook.say(f"Plain networks within the limits ({self.limits}): {names}.")
        if len(setting.dataset.input_shape) == 3:
            families += self._cells(setting, batch)
        return families

    def _plain_texts(self, setting: EvaluationSetting) -> list[list[str]]:
        """Return name, title, space and architecture of the plain networks."""
        plain = scaled_baselines(["all"], setting, self.limits, self.latency)
        return [[entry.name, entry.title, entry.setting.space_name, entry.architecture] for entry in plain]

    def _cells(self, setting: EvaluationSetting, batch: int) -> list[Family]:
        found = cells(setting, self.limits)
        if found is None:
            self.notebook.say("Cells of NAS-Bench-201 are left out: no skeleton suits the images and the limits.")
            return []
        family, why = found
        self.notebook.say(why)
        return [Family(_with_data(family.setting, setting, recipe=recipe_of(family.name, batch)))]

    def _speeds(self, families: Sequence[Family]) -> dict[str, float]:
        """Return the seconds per sample of each family: measured with its plain network, if it has one."""

        def measured() -> dict[str, float]:
            return {family.title: _speed(family) for family in families if family.baseline is not None}

        name = f"seconds per sample of {_shape(families[0].setting)}"
        speeds: dict[str, float] = self.notebook.measure(name, measured)
        return speeds | {family.title: median(speeds.values()) for family in families if family.baseline is None}

    def _with_rates(self, families: Sequence[Family]) -> list[Family]:
        """Return the families with the learning rate that a range test finds for their plain network."""

        rates: dict[str, float] = {
            family.title: self.notebook.decide(
                f"learning rate of {family.title} for {_shape(family.setting)}",
                functools.partial(learning_rate, family),
            )
            for family in families
            if family.baseline is not None
        }
        usual = rates.get(FIRST, median(rates.values()))
        words = ", ".join(f"{name} {rate:g}" for name, rate in rates.items())
        self.notebook.say(f"Learning rates by a range test on the training samples: {words}.")
        changed = []
        for family in families:
            setting = with_recipe(family.setting, learning_rate=rates.get(family.title, usual))
            standard = None if family.baseline is None else replace(family.baseline, setting=setting)
            changed.append(Family(setting, standard))
        return changed


def _shape(setting: EvaluationSetting) -> str:
    """Return the shape of the images, such as 3x32x32: with more time, they may be larger than before."""
    return "x".join(map(str, setting.dataset.input_shape))


def _family(name: str, title: str, setting: EvaluationSetting, architecture: str) -> Family:
    return Family(setting, ScaledBaseline(name, title, setting, architecture))


def _with_data(setting: EvaluationSetting, of: EvaluationSetting, **changes: Any) -> EvaluationSetting:
    """Return a setting with changes, and with the data that another has read."""
    changed = replace(setting, **changes)
    vars(changed)["dataset"] = of.dataset
    return changed


def _score_seconds(families: Sequence[Family]) -> float:
    """Return the mean over the families that can be searched and have a plain network."""
    searched = [family for family in families if family.baseline is not None and family.setting.own_space is None]
    return fmean(map(score_seconds, searched)) if searched else 1.0  # without any, nothing is scored


def _speed(family: Family) -> float:
    assert family.baseline is not None
    setting = family.setting
    network = setting.space.build(family.baseline.architecture, setting.skeleton, device=setting.device)
    return seconds_per_sample(network, setting.dataset, setting.recipe)


def learning_rate(family: Family) -> float:
    """Return the rate that a range test finds for the plain network of a family, not far from what is usual."""
    assert family.baseline is not None
    setting = family.setting
    network = setting.space.build(
        family.baseline.architecture, setting.skeleton, seed=setting.seed, device=setting.device
    )
    found, usual = range_test(network, setting.dataset, setting.recipe, seed=setting.seed), setting.recipe.learning_rate
    return min(max(found, LEAST_RATE * usual), MOST_RATE * usual)
