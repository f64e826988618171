"""Published tables, measured again: every experiment is found by looking into this folder."""

from __future__ import annotations

from types import ModuleType

from firstlight.evaluate.reproduce.base import Experiment
from firstlight.registry import Registry


def _experiments_of(module: ModuleType) -> dict[str, Experiment]:
    return {entry.name: entry for entry in vars(module).values() if isinstance(entry, Experiment)}


EXPERIMENTS: Registry[Experiment] = Registry("experiment", __name__, _experiments_of)

__all__ = ["EXPERIMENTS", "Experiment"]
