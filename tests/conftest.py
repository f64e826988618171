"""Fixtures shared by all tests."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import settings
from tests.nets import ParityNet
from torch import Tensor, nn

from firstlight.proxies import PROXIES
from firstlight.search.algorithms import ALGORITHMS
from firstlight.spaces import SPACES

# Without deadlines, so that a busy machine fails no test; `pytest --hypothesis-profile thorough` tries more
settings.register_profile("quick", deadline=None, max_examples=25)
settings.register_profile("thorough", deadline=None, max_examples=1_000)
settings.load_profile("quick")

GOLDEN = Path(__file__).parent / "golden"


@dataclass
class ParityCase:
    """One of the reference networks in one precision, and the values that the reference implementations print."""

    name: str
    net: nn.Module
    arrays: dict[str, Tensor]
    values: dict[str, Any]
    tolerance: float


def _parity_case(name: str, precision: str) -> ParityCase:
    entry = json.loads((GOLDEN / "parity.json").read_text())["nets"][name]
    arrays = {key: torch.from_numpy(array) for key, array in np.load(GOLDEN / f"{name}.npz").items()}
    net = ParityNet(entry["spec"])
    net.load_state_dict({key[2:]: array for key, array in arrays.items() if key.startswith("w.")})
    dtype, tolerance = {"f32": (torch.float32, 1e-4), "f64": (torch.float64, 1e-6)}[precision]
    arrays = {key: array.to(dtype) if array.is_floating_point() else array for key, array in arrays.items()}
    return ParityCase(name, net.to(dtype), arrays, entry["values"][precision], tolerance)


@pytest.fixture(params=[f"{name}-{precision}" for name in ("plain_bn", "plain_nobn") for precision in ("f32", "f64")])
def parity(request: pytest.FixtureRequest) -> ParityCase:
    return _parity_case(*request.param.split("-"))


@pytest.fixture
def golden_nasbench201() -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = json.loads((GOLDEN / "nasbench201.json").read_text())["records"]
    return records


@pytest.fixture
def benchmark_data() -> Path:
    """The folder with real benchmark tables and images; tests that need it are skipped where it is absent."""
    folder = os.environ.get("FIRSTLIGHT_DATA")
    if not folder:
        pytest.skip("FIRSTLIGHT_DATA is not set: it names the folder with the benchmark tables and images")
    return Path(folder)


@pytest.fixture
def own_registries(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test adds to them is forgotten afterwards."""
    for registry in (ALGORITHMS, PROXIES, SPACES):
        monkeypatch.setattr(registry, "_loaded", dict(registry._loaded))


@pytest.fixture
def interruptible() -> Iterator[None]:
    """As in a terminal: a shell that runs the tests in the background has them, and what they start, ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
