"""Latency: measured on this machine, looked up in a table, or estimated for a device."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, floor, inf, sqrt
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import nn

from firstlight.core.errors import SettingError
from firstlight.proxies.base import Score
from firstlight.scoring.devices.model import DeviceModel, Estimate, find_device
from firstlight.scoring.onnx import onnx_program, onnx_session
from firstlight.spaces.base import Architecture
from firstlight.storage.records import ScoreKey
from firstlight.storage.store import Store

if TYPE_CHECKING:
    from firstlight.scoring.service import Setting

# Runs before timing starts, timed runs, and how many of the fastest and of the slowest are dropped.
WARM_UP = 5
RUNS = 40
TRIMMED = 4
# The fewest networks whose spread can be compared with the noise.
FEWEST_TO_COMPARE = 5


@dataclass(frozen=True)
class Latency:
    """Milliseconds for one input: the median with its 95% interval."""

    median: float
    low: float
    high: float


def time_runs(run: Callable[[], object], *, warm_up: int = WARM_UP, runs: int = RUNS) -> Latency:
    """Return the median time of many runs. The fastest and the slowest are dropped: other programs disturb them."""
    for _ in range(warm_up):
        run()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    trimmed = min(TRIMMED, (runs - 1) // 2)
    times.sort()
    # order statistics around the median, by the normal approximation of the binomial distribution
    reach = 0.98 * sqrt(runs)
    low, high = max(floor(runs / 2 - reach), 0), min(ceil(runs / 2 + reach), runs - 1)
    return Latency(statistics.median(times[trimmed : runs - trimmed]), times[low], times[high])


def measure_latency(model: nn.Module, inputs: torch.Tensor, *, engine: str = "torch", threads: int = 1) -> Latency:
    """Measure one forward pass in evaluation mode. The model returns to the mode it was in."""
    training, before = model.training, torch.get_num_threads()
    model.eval()
    torch.set_num_threads(threads)
    try:
        with torch.inference_mode():
            return time_runs(_onnx_session(model, inputs, threads) if engine == "onnx" else _pass(model, inputs))
    finally:
        torch.set_num_threads(before)
        model.train(training)


def _pass(model: nn.Module, inputs: torch.Tensor) -> Callable[[], object]:
    """Return a function that runs one forward pass to its end: accelerators compute asynchronously."""
    accelerator = torch.accelerator.current_accelerator()
    if accelerator is None or inputs.device.type != accelerator.type:
        return lambda: model(inputs)

    def run() -> None:
        model(inputs)
        torch.accelerator.synchronize(inputs.device)

    return run


def _onnx_session(model: nn.Module, inputs: torch.Tensor, threads: int) -> Callable[[], object]:
    content = onnx_program(model, inputs, "latency with ONNX Runtime").model_proto.SerializeToString()
    session = onnx_session(content, threads)
    given = {session.get_inputs()[0].name: inputs.cpu().numpy()}
    return lambda: session.run(None, given)


class MeasuredHere:
    """Latencies measured in this process, and stored, so that a resumed search sees the same values."""

    measures = True

    def __init__(self, setting: Setting, store: Store, engine: str = "torch", threads: int = 1) -> None:
        self._setting, self._store = setting, store
        self._engine, self._threads = engine, threads
        self._seen: dict[str, Latency] = {}

    def milliseconds(self, architecture: Architecture) -> float:
        text = str(architecture)
        if text not in self._seen:
            self._seen[text] = self._stored(text) or self._measured(text)
        return self._seen[text].median

    def remark(self) -> str:
        """Return a warning if the machine is too noisy to tell the networks apart; otherwise ""."""
        if len(self._seen) < FEWEST_TO_COMPARE:
            return ""
        width = statistics.median(latency.high - latency.low for latency in self._seen.values())
        apart = statistics.stdev(latency.median for latency in self._seen.values())
        if width <= apart:
            return ""
        return (
            f"This machine is too noisy to tell these networks apart by latency: a measurement is uncertain by "
            f"{width:.3g} ms, and the {len(self._seen)} networks differ by {apart:.3g} ms (one standard deviation). "
            "Stop other programs, or look up latencies with --latency table:FILE:COLUMN."
        )

    def _measured(self, text: str) -> Latency:
        model = self._setting.build(text)
        inputs = torch.zeros(1, *self._setting.skeleton.input_shape, device=self._setting.device)
        latency = measure_latency(model, inputs, engine=self._engine, threads=self._threads)
        self._store.add_score(self._key(text), Score(latency.median, {"low": latency.low, "high": latency.high}))
        return latency

    def _stored(self, text: str) -> Latency | None:
        score = self._store.find_score(self._key(text))
        if score is None or not score.parts.keys() >= {"low", "high"}:  # a damaged row
            return None
        return Latency(score.value, score.parts["low"], score.parts["high"])

    def _key(self, text: str) -> ScoreKey:
        setting = self._setting
        return ScoreKey(
            space=setting.space_key,
            skeleton=str(setting.skeleton),
            architecture=text,
            proxy=f"latency:engine={self._engine}:threads={self._threads}",
            revision=1,
            input=f"{platform.node()}, {platform.machine()}, {os.cpu_count()} cores, {setting.device}",
            seed=0,
        )


class LookedUp:
    """Latencies from a column of a table. A network that the table does not have is infinitely slow."""

    measures = False

    def __init__(self, setting: Setting, path: Path, column: str) -> None:
        from firstlight.tables.table import load_table  # pandas is slow to import

        rows = load_table(path).join(setting.space, column).rows
        known = rows[rows["value"] > 0]  # HW-NAS-Bench writes -1 for networks that a device cannot run
        means = known.groupby("canonical")["value"].mean()
        self._milliseconds = {str(text): float(value) for text, value in means.items()}
        self._space = setting.space
        self._own_skeleton = setting.skeleton != setting.space.skeleton()

    def milliseconds(self, architecture: Architecture) -> float:
        return self._milliseconds.get(str(self._space.canonical(architecture)), inf)

    def remark(self) -> str:
        """Return a warning if the table may be about networks with another skeleton; otherwise ""."""
        if not self._own_skeleton:
            return ""
        return (
            "Latencies are looked up by architecture, and these networks do not have the default skeleton. If the "
            "table was made with the default skeleton, its latencies are not those of these networks."
        )


class Estimated:
    """Latencies estimated by the model of a device."""

    measures = False

    def __init__(self, setting: Setting, device: DeviceModel) -> None:
        self._setting, self.device = setting, device
        self._seen: dict[str, Estimate] = {}

    def milliseconds(self, architecture: Architecture) -> float:
        return self.estimate(architecture).milliseconds

    def estimate(self, architecture: Architecture) -> Estimate:
        """Return the estimate with its interval."""
        text, setting = str(architecture), self._setting
        if text not in self._seen:
            graph = setting.space.graph(architecture, setting.skeleton, simplified=self.device.simplified)
            self._seen[text] = self.device.estimate(graph)
        return self._seen[text]

    def remark(self) -> str:
        """Return what the latencies are worth."""
        device = self.device
        words = (
            f"Latencies are estimates for {device.title}, not measurements: 95% of the networks that the model was "
            f"checked on took {device.low:.2f} to {device.high:.2f} times the estimate."
        )
        outside = sum(estimate.extrapolated for estimate in self._seen.values())
        if outside:
            words += (
                f" {outside} of {len(self._seen)} networks are larger than all of those or have other operations, so "
                "that the interval may not hold for them."
            )
        return words


ENGINES = {"measured": "torch", "onnx": "onnx"}


@dataclass(frozen=True)
class LatencyRequest:
    """The source of latencies, as text: `measured`, `onnx:threads=2`, `device:NAME`, or `table:FILE:COLUMN`."""

    text: str

    def __post_init__(self) -> None:
        name, _, rest = self.text.partition(":")
        if name == "table":
            path, _, column = rest.rpartition(":")
            if path and column:
                return
        elif name == "device" and rest:
            find_device(rest)
            return
        elif name in ENGINES and self._threads(rest) is not None:
            return
        raise SettingError(
            f"{self.text!r} does not say where latencies come from. Write measured, measured:threads=2, onnx (with "
            "ONNX Runtime), device:NAME (an estimate; `firstlight device list`), or table:FILE:COLUMN."
        )

    def source(self, setting: Setting, store: Store) -> MeasuredHere | LookedUp | Estimated:
        name, _, rest = self.text.partition(":")
        if name == "table":
            path, _, column = rest.rpartition(":")
            return LookedUp(setting, Path(path), column)
        if name == "device":
            return Estimated(setting, find_device(rest))
        threads = self._threads(rest)
        assert threads is not None
        return MeasuredHere(setting, store, ENGINES[name], threads)

    @staticmethod
    def _threads(text: str) -> int | None:
        if not text:
            return 1
        name, _, count = text.partition("=")
        return int(count) if name == "threads" and count.isascii() and count.isdigit() and int(count) else None

    def __str__(self) -> str:
        return self.text
