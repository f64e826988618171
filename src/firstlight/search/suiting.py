"""What limits leave of a space, and which skeleton would suit them: known before any work, from costs alone."""

from __future__ import annotations

import dataclasses
import itertools
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from firstlight.core.errors import SettingError
from firstlight.core.seeds import python_generator
from firstlight.options import CHEAP, Limits
from firstlight.probe.cost import Cost
from firstlight.spaces.base import Architecture, Skeleton, Space

# Spaces of at most this size are counted as a whole, others by a sample
COUNTED = 20_000
SAMPLE = 300
# Networks with which each other skeleton is tried
TRIAL = 60
# Of skeletons that suit and are nearly as large as the largest, the one that is most like the first is taken
NEARLY = 0.6
# A skeleton suits limits if they leave this share of the networks, and every operation
ENOUGH = 0.5
# Below this share, a search is told that another skeleton leaves more
FEW = 0.1
# What is tried in place of the settings of these names
TRIED = {"channels": (4, 8, 12, 16, 24, 32, 48, 64, 96, 128), "cells": (1, 2, 3, 5, 8, 12, 20)}


@dataclass(frozen=True)
class Left:
    """What limits leave of a space with a certain skeleton.

    Attributes:
        changed: Settings of the skeleton that differ from those asked for.
        fitting: How many of the networks that were looked at fit.
        looked: How many were looked at.
        whole: Whether these are all networks of the space.
        excluded: Operations that no network within the limits has.
        size: The mean number of parameters of all that were looked at.
    """

    changed: Mapping[str, int]
    fitting: int
    looked: int
    whole: bool
    excluded: tuple[str, ...]
    size: float

    @property
    def share(self) -> float:
        """The share of the networks that fit."""
        return self.fitting / self.looked

    @property
    def suits(self) -> bool:
        """Whether enough networks fit, and no operation is excluded."""
        return self.share >= ENOUGH and not self.excluded

    @property
    def counts(self) -> str:
        """How many networks fit, in words: `11,204 of 15,625 networks`."""
        return f"{self.fitting:,} of {self.looked:,} {'networks' if self.whole else 'random networks'}"


@dataclass(frozen=True)
class Advice:
    """What limits leave of a space, and a skeleton that suits them better.

    Attributes:
        limits: The limits.
        skeleton: The skeleton that was asked for.
        here: What they leave with it.
        better: What they leave with the skeleton that suits them; None if there is none, or if the first does.
    """

    limits: Limits
    skeleton: Skeleton
    here: Left
    better: Left | None = None

    @property
    def text(self) -> str:
        """The advice in words."""
        limits, settings = str(self.limits), self.skeleton.settings()
        around = ", ".join(f"{name}={settings[name]}" for name in TRIED if name in settings)
        where = f" with {around}" if around else ""
        if self.here.excluded and self.here.fitting:
            said = f"The limits ({limits}) exclude {_listed(self.here.excluded)}{where}: {self.here.counts} fit."
        else:
            said = f"The limits ({limits}) leave {self.here.counts}{where}."
        if self.better is None:
            return said
        setting = ",".join(f"{name}={value}" for name, value in self.better.changed.items())
        lost = f" without {_listed(self.better.excluded)}" if self.better.excluded else ", with every operation"
        return f"{said} --skeleton {setting} leaves {self.better.counts}{lost}."


def look_at_limits(space: Space[Any], skeleton: Skeleton, limits: Limits, *, counted: int = COUNTED) -> Advice:
    """Find out what limits on parameters and multiply-accumulates leave, and which skeleton suits them.

    Args:
        space: The space.
        skeleton: The skeleton that is asked for.
        limits: The limits. Those on other costs, which take a network each to measure, are not looked at.
        counted: Spaces of up to this many networks are counted as a whole.

    Returns:
        What they leave. A better skeleton is looked for only if this one does not suit them.
    """
    cheap = _cheap(limits)
    networks, whole = _networks(space, counted)
    here = _left(space, networks, skeleton, cheap, {}, whole)
    if here.suits or not cheap.bounds:
        return Advice(limits, skeleton, here)
    few = networks[:: max(1, len(networks) // TRIAL)]
    found = [_left(space, few, changed, cheap, settings, False) for settings, changed in _others(space, skeleton)]
    suiting = [left for left in found if left.suits] or [left for left in found if left.share > here.share]
    if not suiting:
        return Advice(limits, skeleton, here)
    best = _best(suiting, skeleton.settings())
    changed = space.skeleton(**(skeleton.settings() | dict(best.changed)))
    return Advice(limits, skeleton, here, _left(space, networks, changed, cheap, best.changed, whole))


def worth_saying(advice: Advice) -> bool:
    """Return whether a search should be told: an operation is excluded, or few networks are left."""
    return bool(advice.here.excluded) or advice.here.share < FEW


def _best(found: list[Left], asked: Mapping[str, Any]) -> Left:
    """Return the skeleton that uses the limits well and is most like the one that was asked for."""
    if not found[0].suits:  # then none does: the one that excludes the least
        return max(found, key=lambda left: (-len(left.excluded), left.share))
    largest = max(left.size for left in found)
    large = [left for left in found if left.size >= NEARLY * largest]
    return min(large, key=lambda left: sum(abs(math.log(value / asked[name])) for name, value in left.changed.items()))


def _excluded(names: set[str]) -> tuple[str, ...]:
    """Sort names; of `width of 64 or more` and `width of 128 or more`, the first says all."""
    smallest: dict[str, str] = {}
    others = []
    for name in sorted(names, key=lambda name: [int(part) if part.isdigit() else 0 for part in name.split()]):
        if name.endswith(" or more"):
            smallest.setdefault(name.partition(" of ")[0], name)
        else:
            others.append(name)
    return (*sorted(others), *smallest.values())


def _cheap(limits: Limits) -> Limits:
    """Return the limits on costs that are known without building a network."""
    kept = {f"{end}_{name}": getattr(limits, f"{end}_{name}") for end in ("min", "max") for name in CHEAP}
    return Limits(**kept)


def _networks(space: Space[Any], counted: int) -> tuple[list[Architecture], bool]:
    """Return all networks of a space that is small enough, else a sample."""
    try:
        small = len(space) <= counted
    except (TypeError, OverflowError):
        small = False
    if small:
        return list(space), True
    rng = python_generator(0, "limits", space.name)
    return [space.sample(rng) for _ in range(SAMPLE)], False


def _left(
    space: Space[Any],
    networks: Iterable[Architecture],
    skeleton: Skeleton,
    limits: Limits,
    changed: Mapping[str, int],
    whole: bool,
) -> Left:
    fitting, sizes = 0, []
    every, allowed = set[str](), set[str]()
    for network in networks:
        cost = _cost(space, network, skeleton)
        operations = space.operations(network)
        every |= operations
        if cost is None:
            continue
        sizes.append(cost.params)
        if not limits.excess(lambda name, cost=cost: float(getattr(cost, name))):  # type: ignore[misc]
            fitting += 1
            allowed |= operations
    looked = max(1, len(sizes))
    return Left(changed, fitting, looked, whole, _excluded(every - allowed), statistics.fmean(sizes or [0]))


def _cost(space: Space[Any], network: Architecture, skeleton: Skeleton) -> Cost | None:
    """Return the cost; None for a network that cannot be built, as there are in users' own spaces."""
    try:
        return space.cost(network, skeleton)
    except SettingError:
        raise
    except Exception:
        return None


def _others(space: Space[Any], skeleton: Skeleton) -> Iterator[tuple[dict[str, int], Skeleton]]:
    """Yield other skeletons, with the settings that differ."""
    fields = {field.name for field in dataclasses.fields(space.skeleton_type)}
    names = [name for name in TRIED if name in fields]
    settings = skeleton.settings()
    for values in itertools.product(*(TRIED[name] for name in names)):
        changed = dict(zip(names, values, strict=True))
        if all(settings[name] == value for name, value in changed.items()):
            continue
        try:
            yield changed, replace(skeleton, **changed)  # type: ignore[arg-type]
        except SettingError:  # the space does not allow this combination
            continue


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"every {name}" for name in names)
