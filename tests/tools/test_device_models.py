"""Graphs that are drawn without running a network are those that are recorded."""

from __future__ import annotations

import random

import pytest
from tools.device_models import SPACE, Drawn

from firstlight.probe.deployment import count_ram
from firstlight.probe.graph import simplify
from firstlight.scoring.devices.features import features_of


@pytest.mark.parametrize("seed", range(4))
def test_drawn_graphs_are_those_that_are_recorded(seed: int) -> None:
    architecture = SPACE.sample(random.Random(seed))
    drawn = Drawn(architecture).graph
    as_run, simplified = SPACE.graph(architecture, simplified=False), SPACE.graph(architecture)
    assert features_of(drawn) == pytest.approx(features_of(as_run))
    assert features_of(simplify(drawn)) == pytest.approx(features_of(simplified))
    assert count_ram(simplify(drawn)) == count_ram(simplified)
