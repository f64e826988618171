"""Searches that are struck by some faults once; `make chaos` takes all, and many times."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.chaos.disturbed import Fault, disturbed, left_alone
from tests.chaos.faults import FAULTS, why_not


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return left_alone(tmp_path_factory.mktemp("chaos") / "left alone")


@pytest.mark.parametrize("fault", [f for f in FAULTS if f.quick], ids=lambda fault: fault.name)
def test_no_fault_costs_a_result(fault: Fault, expected: Path, tmp_path: Path) -> None:
    if reason := why_not(fault):
        pytest.skip(reason)
    found = disturbed(fault, tmp_path / "run", random.Random(fault.name), expected)
    assert found.lost == 0
    assert found.equal
