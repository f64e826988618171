"""What the headline of a search says, and the line below it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from firstlight.probe.cost import Cost
from firstlight.storage.records import Run, Trial
from firstlight.views.pages.headline import Progress, headline, limits, subtitle

BEST = Trial("cell", Cost(830_426, 5), 2.60519, 1.0)


def run(**settings: Any) -> Run:
    known = {"space": "nasbench201", "proxy": "dextr", "algorithm": "random", "max_params": 1_000_000}
    return Run(1, known | settings, "0.2.0", "now", "later", None)


def test_a_search_by_a_proxy() -> None:
    assert headline(run(), Progress(BEST, 1000), ()) == "Best of 1,000 networks: Dextr 2.605, 830k parameters"
    assert subtitle(run(), ()) == "nasbench201, at most 1.0M parameters, random search, no training"
    unfinished = replace(run(), finished=None)
    assert headline(unfinished, Progress(BEST, 1), ()) == "One network so far: Dextr 2.605, 830k parameters"
    assert headline(run(), Progress(None, 5), ()) == "No network has a score yet"
    assert headline(run(proxy="macs"), Progress(replace(BEST, utility=1.2e9), 9), ()).endswith(
        ": 1.2G MACs, 830k parameters"
    )


def test_a_search_with_objectives() -> None:
    said = headline(run(), Progress(BEST, 1000, front=12), ("macs",))
    assert said == "Front of 12 among 1,000 networks, highest score: Dextr 2.605, 830k parameters"
    assert subtitle(run(), ("params", "macs")).startswith(
        "nasbench201, trade-off of Dextr, parameters and MACs, at most"
    )


def test_a_search_by_the_truth() -> None:
    settings = {"target": "cifar10_val_200", "algorithm": "evolution:population=32"}
    best = replace(BEST, utility=73.125)
    assert headline(run(**settings), Progress(best, 50), ()).endswith("73.12% validation accuracy, 830k parameters")
    assert subtitle(run(**settings), ()).endswith("evolution search, accuracies from a table (cifar10_val_200)")
    assert subtitle(run(training="quick"), ()).endswith("random search, each network trained")


def test_a_search_by_steps() -> None:
    assert headline(run(), Progress(BEST, 1, steps=50), ()) == "Network after 50 steps: Dextr 2.605, 830k parameters"
    assert headline(replace(run(), finished=None), Progress(None, 0, steps=1), ()) == "Network after 1 step so far"


@pytest.mark.parametrize(
    ("settings", "written"),
    [
        ({}, ""),
        ({"min_params": 500_000, "max_params": 1_000_000}, "500k to 1.0M parameters"),
        ({"max_latency": 2.5, "min_macs": 1_000}, "at least 1.0k MACs, at most 2.5 ms of latency"),
    ],
)
def test_limits(settings: dict[str, Any], written: str) -> None:
    assert limits(settings) == written
