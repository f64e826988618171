"""Milliseconds: trimmed medians of what was measured, or what a table says."""

from __future__ import annotations

import dataclasses
import itertools
import math
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
import torch
from tests.search.test_problem import SETTING
from torch import nn

from firstlight.core.errors import DataError, FirstlightError, SettingError, UnknownNameError
from firstlight.scoring import latency
from firstlight.scoring.latency import (
    Estimated,
    Latency,
    LatencyRequest,
    LookedUp,
    MeasuredHere,
    measure_latency,
    time_runs,
)
from firstlight.scoring.service import Setting
from firstlight.storage.store import Store

CELLS = list(itertools.islice(SETTING.space, 40, 60))


def clock(monkeypatch: pytest.MonkeyPatch, seconds: Iterator[float]) -> None:
    """Each run takes the next of these."""
    ticks = itertools.accumulate(itertools.chain.from_iterable((0.0, taken) for taken in seconds))
    monkeypatch.setattr(latency.time, "perf_counter", lambda: next(ticks))


def test_a_few_slow_runs_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    clock(monkeypatch, itertools.chain([9.0, 9.0, 1e-9], itertools.repeat(0.002)))
    found = time_runs(lambda: calls.append(1), warm_up=3, runs=20)
    assert (found.median, found.low, found.high) == pytest.approx((2.0, 2.0, 2.0))
    assert len(calls) == 23


def test_the_interval_covers_the_true_median(monkeypatch: pytest.MonkeyPatch) -> None:
    """In about 95 of 100 series of random times."""
    generator = torch.Generator().manual_seed(0)
    covered = 0
    for _ in range(300):
        times = torch.rand(40, generator=generator).tolist()
        clock(monkeypatch, iter(times))
        found = time_runs(lambda: None, warm_up=0, runs=40)
        assert found.low <= found.median <= found.high
        covered += found.low <= 500 <= found.high
    assert 0.9 <= covered / 300 <= 1


@pytest.mark.parametrize("engine", ["torch", "onnx"])
def test_the_model_comes_back_as_it_was(engine: str) -> None:
    if engine == "onnx":
        pytest.importorskip("onnxruntime")
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(4 * 36, 2)).train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    threads = torch.get_num_threads()
    found = measure_latency(model, torch.randn(1, 3, 8, 8), engine=engine, threads=2)
    assert 0 < found.low <= found.median <= found.high
    assert model.training
    assert torch.get_num_threads() == threads
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert not any(module._forward_hooks for module in model.modules())


def test_what_was_measured_is_remembered(tmp_path: Path) -> None:
    with Store(tmp_path / "store.sqlite") as store:
        first = MeasuredHere(SETTING, store)
        known = first.milliseconds(CELLS[0])
        assert first.milliseconds(CELLS[0]) == known
        assert MeasuredHere(SETTING, store).milliseconds(CELLS[0]) == known
        assert MeasuredHere(SETTING, store, threads=2)._stored(str(CELLS[0])) is None


def test_a_machine_that_is_too_noisy_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    def remarks(width: float) -> list[str]:
        medians = itertools.count(10)
        monkeypatch.setattr(
            latency,
            "measure_latency",
            lambda *_, **__: Latency(m := float(next(medians)), m - width / 2, m + width / 2),
        )
        source = MeasuredHere(SETTING, Store(":memory:"))
        for cell in CELLS[:8]:
            source.milliseconds(cell)
        return source.remarks(str(CELLS[0]))

    assert remarks(width=1.0) == []
    (said,) = remarks(width=9.0)
    assert "uncertain by 9 ms, and the 8 networks differ by 2.45 ms" in said


def measured(monkeypatch: pytest.MonkeyPatch, *found: Latency, limit: float | None = None) -> MeasuredHere:
    """Networks of these latencies, in the order of `CELLS`."""
    series = iter(found)
    monkeypatch.setattr(latency, "measure_latency", lambda *_, **__: next(series))
    source = MeasuredHere(SETTING, Store(":memory:"), limit=limit)
    for cell in CELLS[: len(found)]:
        source.milliseconds(cell)
    return source


def test_networks_on_a_front_that_cannot_be_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    source = measured(monkeypatch, Latency(0.948, 0.93, 0.97), Latency(0.931, 0.92, 0.94), Latency(2.0, 1.9, 2.1))
    first, second, third = map(str, CELLS[:3])
    (said,) = source.remarks(first, [first, second, third])
    assert f"which is faster: {second} (0.931 ms, 0.92 to 0.94) or {first} (0.948 ms, 0.93 to 0.97)." in said
    assert source.remarks(first, [first, third]) == []
    assert source.interval(third) == (1.9, 2.1)


def test_a_chosen_network_that_may_be_above_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    source = measured(monkeypatch, Latency(0.95, 0.9, 1.05), Latency(0.5, 0.4, 0.6), limit=1.0)
    (said,) = source.remarks(str(CELLS[0]))
    assert "may be slower than the limit of 1 ms: its latency is 0.95 ms, 0.9 to 1.05" in said
    assert source.remarks(str(CELLS[1])) == []


def test_a_network_is_timed_for_longer_until_it_can_be_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    clock(monkeypatch, itertools.cycle([0.001, 0.003]))
    found = time_runs(lambda: calls.append(1), warm_up=0, runs=10, is_clear=lambda found: found.low > 2.5)
    assert found.median == pytest.approx(2.0)
    assert len(calls) == 10 + 130  # a quarter of a second more, then it is given up
    calls.clear()
    time_runs(lambda: calls.append(1), warm_up=0, runs=10, is_clear=lambda _: len(calls) > 25)
    assert len(calls) == 30


def test_what_is_clear_depends_on_the_others_and_on_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    source = measured(monkeypatch, Latency(1.0, 0.9, 1.1), limit=3.0)
    clear = {Latency(1.5, 1.2, 1.8): True, Latency(1.2, 1.05, 1.3): False, Latency(2.9, 2.5, 3.1): False}
    assert {found: source._is_clear(found) for found in clear} == clear


def table(tmp_path: Path, **columns: list[float]) -> Path:
    path = tmp_path / "devices.csv"
    pd.DataFrame({"architecture": list(map(str, CELLS)), **columns}).to_csv(path, index=False)
    return path


def test_a_table_answers_for_whole_classes(tmp_path: Path) -> None:
    path = table(tmp_path, phone=[float(n + 1) for n in range(19)] + [-1.0])
    source = LatencyRequest(f"table:{path}:phone").source(SETTING, Store(":memory:"))
    assert isinstance(source, LookedUp)
    rows = pd.read_csv(path)
    rows["canonical"] = [str(SETTING.space.canonical(cell)) for cell in CELLS]
    for text, group in rows[rows["phone"] > 0].groupby("canonical"):
        assert source.milliseconds(SETTING.space.parse(str(text))) == pytest.approx(group["phone"].mean())
    everything_else = SETTING.space.parse(
        "|nor_conv_3x3~0|+|nor_conv_3x3~0|none~1|+|skip_connect~0|nor_conv_1x1~1|nor_conv_1x1~2|"
    )
    assert source.milliseconds(everything_else) == math.inf
    assert "default skeleton" in source.remarks(str(CELLS[0]))[0]
    assert LookedUp(Setting("nasbench201"), path, "phone").remarks(str(CELLS[0])) == []
    assert source.interval(str(CELLS[0])) is None


def test_the_model_of_a_device_estimates() -> None:
    source = LatencyRequest("device:raspi4").source(SETTING, Store(":memory:"))
    assert isinstance(source, Estimated)
    assert not source.measures
    expected = source.device.estimate(
        SETTING.space.graph(CELLS[0], SETTING.skeleton, simplified=source.device.simplified)
    )
    assert source.estimate(str(CELLS[0])) == expected
    assert source.milliseconds(CELLS[0]) == expected.milliseconds
    assert 0 < expected.low < expected.milliseconds < expected.high
    assert "estimates for Raspberry Pi 4, not measurements" in source.remarks("")[0]
    assert "are larger than all" not in source.remarks("")[0]
    larger = dataclasses.replace(SETTING, skeleton_settings=(("channels", 64), ("cells", 1)))
    outside = Estimated(larger, source.device)
    outside.milliseconds(
        SETTING.space.parse("|" + "|+|".join("|".join(f"nor_conv_3x3~{n}" for n in range(m)) for m in (1, 2, 3)) + "|")
    )
    assert "1 of 1 networks are larger" in outside.remarks("")[0]
    with pytest.raises(UnknownNameError, match="no device 'rasp'"):
        LatencyRequest("device:rasp")


def test_a_table_without_the_device(tmp_path: Path) -> None:
    path = table(tmp_path, phone=[float(n + 1) for n in range(20)])
    with pytest.raises(UnknownNameError, match=r"devices.csv named 'tablet'.*phone"):
        LatencyRequest(f"table:{path}:tablet").source(SETTING, Store(":memory:"))
    with pytest.raises(DataError, match="There is no file"):
        LatencyRequest("table:nowhere.csv:phone").source(SETTING, Store(":memory:"))


@pytest.mark.parametrize(
    "text",
    ["", "fast", "table", "table:x.csv", "measured:threads=0", "measured:threads=²", "onnx:x=1", "device", "device:"],
)
def test_sources_that_make_no_sense(text: str) -> None:
    with pytest.raises(SettingError, match=r"does not say where latencies come from.*table:FILE:COLUMN"):
        LatencyRequest(text)


def test_without_onnx_runtime_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(FirstlightError, match=r"pip install 'firstlight\[onnx\]'"):
        measure_latency(nn.Linear(2, 2), torch.zeros(1, 2), engine="onnx")
