"""Steps through one-shot networks: drawn by their number, kept, counted, and never taken twice."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from firstlight.core.errors import FirstlightError
from firstlight.data import InputSource
from firstlight.execution.executor import DIED, InProcess, Lost, make_executor
from firstlight.proxies.base import Score
from firstlight.scoring.service import Setting
from firstlight.search import one_shot_steps
from firstlight.search.one_shot_steps import StepJob, StepJudge, StepSetting
from firstlight.storage.store import Store

SETTING = Setting("nasbench201", skeleton_settings=(("cells", 1), ("channels", 2), ("input_shape", (3, 8, 8))))


def asked(**changes: Any) -> StepSetting:
    return replace(StepSetting(SETTING, batch_size=4), **changes)


def judge(store: Store | None = None, setting: StepSetting | None = None, executor: Any = None) -> StepJudge:
    return StepJudge(setting or asked(), executor or InProcess(), store or Store(":memory:"))


def take(one: StepJudge, count: int, seconds: float = math.inf) -> StepJudge:
    one.take(count, seconds)
    return one


# ---------------------------------------- what a step is


def test_paths_are_drawn_evenly_and_hard_samples_are_the_best_of_the_soft() -> None:
    setting = asked(none=True)
    counts: Counter[str] = Counter()
    for number in range(400):
        draw = setting.drawn(number)
        soft = np.split(draw.soft, len(setting.choices))
        for choice, part in zip(setting.choices, soft, strict=True):
            assert part.sum() == pytest.approx(1)
            assert draw.path[choice.name] == (choice.options[int(part.argmax())],)
            counts[draw.path[choice.name][0]] += 1
    expected = 400 * 6 / 5
    assert sum((count - expected) ** 2 / expected for count in counts.values()) < 18.5  # chi-squared, p = 0.001


def test_none_is_drawn_only_if_asked_for() -> None:
    drawn = {asked().drawn(number).path["0-1"] for number in range(50)}
    assert drawn == {("skip_connect",), ("nor_conv_1x1",), ("nor_conv_3x3",), ("avg_pool_3x3",)}


def test_as_many_inputs_are_drawn_as_the_space_takes() -> None:
    setting = asked(setting=replace(SETTING, space_name="nasbench1shot1-s2", skeleton_settings=()))
    path = setting.drawn(0).path
    assert {name: len(options) for name, options in path.items() if "inputs" in name} == {
        choice.name: choice.sampled for choice in setting.choices if "inputs" in choice.name
    }


def test_every_step_sees_a_batch_of_its_own_and_labels_may_be_random() -> None:
    batches = [asked().batch(number) for number in range(3)]
    assert not torch.equal(batches[0][0], batches[1][0])
    digits = replace(SETTING, source=InputSource("digits"), skeleton_settings=())
    true = asked(setting=digits, batch_size=64).batch(0)
    random = asked(setting=replace(digits, source=InputSource("digits", labels="random")), batch_size=64).batch(0)
    assert torch.equal(true[0], random[0])
    assert not torch.equal(true[1], random[1])


def test_trace_and_slopes_see_the_same_path_and_batch() -> None:
    whole, trace = StepJob(asked())(5), StepJob(asked(slopes=False))(5)
    assert whole.value == pytest.approx(trace.value, rel=1e-5)
    assert len(whole.parts) == 30
    assert not trace.parts


# ---------------------------------------- taking them


def test_steps_are_the_same_on_any_number_of_workers_and_from_the_store() -> None:
    store = Store(":memory:")
    first = take(judge(store), 6).steps()
    workers = take(judge(executor=make_executor(2)), 6).steps()
    again = judge(store)
    for steps in (workers, take(again, 6).steps()):
        for ours, theirs in zip(vars(first).values(), vars(steps).values(), strict=True):
            assert np.array_equal(ours, theirs)
    assert again.scored == 6


class Counting(InProcess):
    def __init__(self) -> None:
        self.asked: list[int] = []

    def map(self, job: Any, items: Any) -> Any:
        return super().map(job, (self.asked.append(item) or item for item in items))  # type: ignore[func-returns-value]


def test_known_steps_are_not_taken_again() -> None:
    store = Store(":memory:")
    take(judge(store), 4)
    executor = Counting()
    take(judge(store, executor=executor), 7)
    assert executor.asked == [4, 5, 6]
    other = Counting()
    take(judge(store, asked(batch_size=5), other), 2)  # another setting
    assert other.asked == [0, 1]


def test_seconds_bound_the_computing_whatever_was_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StepJob, "__call__", lambda self, number: replace(Score(1.0 + number), seconds=2.0))
    setting, store = asked(slopes=False), Store(":memory:")
    assert len(take(judge(store, setting), 100, seconds=5).steps()) == 3
    take(judge(store, setting), 10)
    again = take(judge(store, setting), 100, seconds=5).steps()
    assert again.traces.tolist() == [1, 2, 3]


# ---------------------------------------- steps that come to nothing


def test_a_step_without_finite_gradients_is_left_out_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def trace(*arguments: Any) -> float:
        trace.calls += 1  # type: ignore[attr-defined]
        return math.nan if trace.calls == 2 else 5.0  # type: ignore[attr-defined]

    trace.calls = 0  # type: ignore[attr-defined]
    monkeypatch.setattr(one_shot_steps, "trace_along", trace)
    one = take(judge(setting=asked(slopes=False)), 6)
    assert [score.status for score in one.failed] == ["non_finite"]
    assert one.scored == 6
    assert len(one.steps()) == 5


def test_too_many_of_them_end_the_search_with_an_explanation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_shot_steps, "trace_along", lambda *arguments: math.inf)
    with pytest.raises(FirstlightError, match=r"11 of 11 steps .* non_finite: .*smaller skeleton or batch"):
        take(judge(setting=asked(slopes=False)), 40)


class Shuffled(InProcess):
    """Results in another order, as workers may give them."""

    def map(self, job: Any, items: Any) -> Any:
        return reversed(list(super().map(job, items)))


@pytest.mark.parametrize("failing", [range(3), range(10), range(11), (0, 5, 39)])
def test_whether_it_ends_does_not_depend_on_the_order(failing: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def score(self: StepJob, number: int) -> Score:
        return Score.without_value("non_finite", "") if number in failing else Score(1.0 + number)

    monkeypatch.setattr(StepJob, "__call__", score)
    for executor in (InProcess(), Shuffled()):
        one = judge(setting=asked(slopes=False), executor=executor)
        if len(failing) > 10:
            with pytest.raises(FirstlightError, match="given up"):
                take(one, 40)
        else:
            assert len(take(one, 40).steps()) == 40 - len(failing)


def test_steps_with_slopes_serve_where_none_are_asked_for() -> None:
    store = Store(":memory:")
    take(judge(store), 4)
    executor = Counting()
    found = take(judge(store, asked(slopes=False), executor), 5).steps()
    assert executor.asked == [4]
    assert found.traces[:4].tolist() == take(judge(store), 4).steps().traces.tolist()


def test_none_can_be_let_in_later() -> None:
    store = Store(":memory:")
    take(judge(store), 4)
    assert np.isfinite(take(judge(store, asked(none=True)), 4).steps().slopes).all()
    for score in (StepJob(asked())(0), StepJob(asked(none=True))(0)):
        assert score.parts["0-1:none"] == 0


class Dying(InProcess):
    """The worker of step 1 dies, unless what it needs is on disk."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, bool]] = []

    def map(self, job: Any, items: Any) -> Any:
        for item, result in super().map(job, items):
            self.asked.append((item, job.on_disk))
            yield item, Lost(f"{DIED} (signal 9)") if item == 1 and not job.on_disk else result


def test_a_step_that_is_too_large_for_memory_is_taken_on_disk() -> None:
    executor = Dying()
    usual, saved = take(judge(), 3), take(judge(executor=executor), 3)
    assert executor.asked == [(0, False), (1, False), (1, True), (2, True)]  # and all that follow
    assert not saved.failed
    assert np.array_equal(usual.steps().slopes, saved.steps().slopes)
