"""Costs are found out when they are asked for, each once."""

from __future__ import annotations

import pytest
from tests.search.test_problem import SETTING

from firstlight.core.errors import UnknownNameError
from firstlight.options import UNITS
from firstlight.probe.deployment import count_flash, count_ram
from firstlight.scoring.costs import Costs, read_costs, written

CELL = SETTING.space.parse("|nor_conv_3x3~0|+|none~0|none~1|+|skip_connect~0|none~1|nor_conv_1x1~2|")


class Slow:
    measures = True
    asked = 0

    def milliseconds(self, architecture: object) -> float:
        self.asked += 1
        return 2.5


def test_every_cost_has_an_amount() -> None:
    costs = Costs(SETTING, Slow())
    graph = SETTING.space.graph(CELL, SETTING.skeleton)
    counted = SETTING.space.cost(CELL, SETTING.skeleton)
    footprint = SETTING.space.footprint(CELL, SETTING.skeleton)
    assert costs.amounts(CELL, UNITS) == {
        "params": counted.params,
        "macs": counted.macs,
        "activations": footprint.activations,
        "memory": footprint.memory,
        "flash": count_flash(graph),
        "ram": count_ram(graph),
        "latency": 2.5,
    }
    with pytest.raises(UnknownNameError, match=r"no cost 'energy'.*latency"):
        costs.amount(CELL, "energy")
    small = Costs(SETTING, precision="int8")
    assert small.amount(CELL, "flash") == count_flash(graph, int8=True) < count_flash(graph)
    assert small.amount(CELL, "ram") == count_ram(graph, int8=True) < count_ram(graph)


def test_latency_is_not_asked_for_in_vain() -> None:
    source = Slow()
    Costs(SETTING, source).amounts(CELL, ("params", "memory"))
    assert source.asked == 0


def test_names() -> None:
    assert read_costs(["macs", " latency ", "macs"]) == ("macs", "latency")
    with pytest.raises(UnknownNameError, match="no cost 'flops'"):
        read_costs(["flops"])
    assert [written("latency", 2.345), written("params", 12345)] == ["2.35 ms of latency", "12,345 parameters"]
