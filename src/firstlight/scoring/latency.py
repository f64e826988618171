"""Latency: measured on this machine, looked up in a table, or estimated for a device."""

from __future__ import annotations

import itertools
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
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
# Seconds of further runs for each network, while its latency cannot be told from those of others or from a limit
FURTHER_SECONDS = 0.25
# The fewest networks whose spread can be compared with the noise.
FEWEST_TO_COMPARE = 5


@dataclass(frozen=True)
class Latency:
    """Milliseconds for one input: the median with its 95% interval."""

    median: float
    low: float
    high: float

    def overlaps(self, other: Latency) -> bool:
        """Return whether the intervals of the two overlap, so that neither is known to be faster."""
        return self.low <= other.high and other.low <= self.high

    def __str__(self) -> str:
        return f"{self.median:.3g} ms, {self.low:.3g} to {self.high:.3g}"


def time_runs(
    run: Callable[[], object],
    *,
    warm_up: int = WARM_UP,
    runs: int = RUNS,
    is_clear: Callable[[Latency], bool] = lambda _: True,
) -> Latency:
    """Return the median time of many runs. The fastest and the slowest are dropped: other programs disturb them.

    Args:
        run: What is timed.
        warm_up: The number of runs before timing starts.
        runs: The number of timed runs.
        is_clear: Whether a latency is known well enough. If not, more runs follow, for at most `FURTHER_SECONDS`.
    """
    for _ in range(warm_up):
        run()
    times = [_milliseconds(run) for _ in range(runs)]
    found, spent = _median(times), 0.0
    while not is_clear(found) and spent < FURTHER_SECONDS * 1e3:
        further = [_milliseconds(run) for _ in range(runs)]
        times, spent = [*times, *further], spent + sum(further)
        found = _median(times)
    return found


def _milliseconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1e3


def _median(times: Iterable[float]) -> Latency:
    times = sorted(times)
    runs = len(times)
    trimmed = min(max(TRIMMED, runs * TRIMMED // RUNS), (runs - 1) // 2)
    # order statistics around the median, by the normal approximation of the binomial distribution
    reach = 0.98 * sqrt(runs)
    low, high = max(floor(runs / 2 - reach), 0), min(ceil(runs / 2 + reach), runs - 1)
    return Latency(statistics.median(times[trimmed : runs - trimmed]), times[low], times[high])


def measure_latency(
    model: nn.Module,
    inputs: torch.Tensor,
    *,
    engine: str = "torch",
    threads: int = 1,
    is_clear: Callable[[Latency], bool] = lambda _: True,
) -> Latency:
    """Measure one forward pass in evaluation mode. The model returns to the mode it was in."""
    training, before = model.training, torch.get_num_threads()
    model.eval()
    torch.set_num_threads(threads)
    try:
        with torch.inference_mode():
            run = _onnx_session(model, inputs, threads) if engine == "onnx" else _pass(model, inputs)
            return time_runs(run, is_clear=is_clear)
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
    """Latencies measured in this process, and stored, so that a resumed search sees the same values.

    A network is timed for longer while its interval overlaps that of another one, or contains the limit.
    """

    measures = True

    def __init__(
        self, setting: Setting, store: Store, engine: str = "torch", threads: int = 1, limit: float | None = None
    ) -> None:
        self._setting, self._store = setting, store
        self._engine, self._threads = engine, threads
        self._limit = limit
        self._seen: dict[str, Latency] = {}

    def milliseconds(self, architecture: Architecture) -> float:
        return self._latency(str(architecture)).median

    def interval(self, architecture: str) -> tuple[float, float] | None:
        """Return the 95% interval of a network's latency."""
        found = self._latency(architecture)
        return found.low, found.high

    def _latency(self, text: str) -> Latency:
        if text not in self._seen:
            self._seen[text] = self._stored(text) or self._measured(text)
        return self._seen[text]

    def _is_clear(self, found: Latency) -> bool:
        within = self._limit is not None and found.low <= self._limit <= found.high
        return not within and not any(found.overlaps(other) for other in self._seen.values())

    def remarks(self, chosen: str, front: Sequence[str] = ()) -> list[str]:
        """Return warnings about what the measurements cannot tell.

        Args:
            chosen: The network that was chosen.
            front: The networks of a front, if latency is an objective.
        """
        return list(filter(None, (self._noise(), self._doubt_of_limit(chosen), self._doubt_of_front(front))))

    def _doubt_of_limit(self, chosen: str) -> str:
        found = self._latency(chosen)
        if self._limit is None or not found.low <= self._limit <= found.high:
            return ""
        return (
            f"The chosen network may be slower than the limit of {self._limit:g} ms: its latency is {found} (95% "
            "interval). Lower the limit to be sure."
        )

    def _doubt_of_front(self, front: Sequence[str]) -> str:
        ordered = sorted(((self._latency(text), text) for text in front), key=lambda item: item[0].median)
        alike = [(a, b) for a, b in itertools.pairwise(ordered) if a[0].overlaps(b[0])]
        if not alike:
            return ""
        (first, one), (second, other) = alike[0]
        others = f", and {len(alike) - 1} more pairs of neighbors on the front" if len(alike) > 1 else ""
        return (
            f"These measurements cannot tell which is faster: {one} ({first}) or {other} ({second}){others}. Stop "
            "other programs and search again in another folder, or look up latencies with --latency table:FILE:COLUMN."
        )

    def _noise(self) -> str:
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
        latency = measure_latency(model, inputs, engine=self._engine, threads=self._threads, is_clear=self._is_clear)
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

    def interval(self, architecture: str) -> tuple[float, float] | None:
        """Return None: tables hold no intervals."""
        return None

    def remarks(self, chosen: str, front: Sequence[str] = ()) -> list[str]:
        """Return a warning if the table may be about networks with another skeleton."""
        if not self._own_skeleton:
            return []
        return [
            "Latencies are looked up by architecture, and these networks do not have the default skeleton. If the "
            "table was made with the default skeleton, its latencies are not those of these networks."
        ]


class Estimated:
    """Latencies estimated by the model of a device."""

    measures = False

    def __init__(self, setting: Setting, device: DeviceModel) -> None:
        self._setting, self.device = setting, device
        self._seen: dict[str, Estimate] = {}

    def milliseconds(self, architecture: Architecture) -> float:
        return self.estimate(str(architecture)).milliseconds

    def interval(self, architecture: str) -> tuple[float, float] | None:
        """Return the 95% interval of the estimate."""
        found = self.estimate(architecture)
        return found.low, found.high

    def estimate(self, architecture: str) -> Estimate:
        """Return the estimate with its interval."""
        setting = self._setting
        if architecture not in self._seen:
            parsed = setting.space.parse(architecture)
            graph = setting.space.graph(parsed, setting.skeleton, simplified=self.device.simplified)
            self._seen[architecture] = self.device.estimate(graph)
        return self._seen[architecture]

    def remarks(self, chosen: str, front: Sequence[str] = ()) -> list[str]:
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
        return [words]


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

    def source(self, setting: Setting, store: Store, limit: float | None = None) -> MeasuredHere | LookedUp | Estimated:
        """Return the source; `limit` is the most that a network may take, if there is a limit."""
        name, _, rest = self.text.partition(":")
        if name == "table":
            path, _, column = rest.rpartition(":")
            return LookedUp(setting, Path(path), column)
        if name == "device":
            return Estimated(setting, find_device(rest))
        threads = self._threads(rest)
        assert threads is not None
        return MeasuredHere(setting, store, ENGINES[name], threads, limit)

    @staticmethod
    def _threads(text: str) -> int | None:
        if not text:
            return 1
        name, _, count = text.partition("=")
        return int(count) if name == "threads" and count.isascii() and count.isdigit() and int(count) else None

    def __str__(self) -> str:
        return self.text
