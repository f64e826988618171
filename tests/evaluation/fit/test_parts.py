"""The parts of a fit: decisions that are made once, plans, stages of learning, and what goes on to the next rung."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from firstlight import Limits
from firstlight.core.amounts import parse_duration
from firstlight.core.errors import SettingError, StoreError, TooFewError
from firstlight.data import Dataset, load_dataset
from firstlight.evaluation.fit.candidates import LEAST, Candidate, Family, cells, drawn, recipe_of
from firstlight.evaluation.fit.halving import (
    Ranked,
    Trainings,
    leaders_first,
    promoted,
    rung,
    seconds_for_leaders,
    stage_of,
)
from firstlight.evaluation.fit.look import look_at
from firstlight.evaluation.fit.notebook import NOTEBOOK, Notebook
from firstlight.evaluation.fit.plan import ENOUGH_STEPS, MOST_CANDIDATES, Plan, batch_size_for, make_plan
from firstlight.evaluation.fit.refining import changes_for, refine
from firstlight.evaluation.fit.screening import scoring_of
from firstlight.execution.executor import make_executor, one_thread
from firstlight.search.suiting import look_at_limits
from firstlight.storage.outcome import Epoch, TrainingResult
from firstlight.storage.store import Store
from firstlight.training.job import EvaluationSetting


def result(accuracies: list[float], losses: list[float]) -> TrainingResult:
    pairs = zip(accuracies, losses, strict=True)
    return TrainingResult(tuple(Epoch(loss, accuracy, loss, accuracy, 0.0) for accuracy, loss in pairs))


def setting(space: str = "plain-resnet", **changes: Any) -> EvaluationSetting:
    recipe = replace(recipe_of(space, 16), **changes)
    return EvaluationSetting(space, source_name="digits@8", samples=120, recipe=recipe, tests_later=True)


def candidate(text: str = "a1", space: str = "plain-mlp", baseline: str = "") -> Candidate:
    return Candidate(setting(space), text, baseline)


@pytest.mark.parametrize("kind", ["decide", "measure", "schedule"])
def test_a_decision_is_made_once(kind: str, tmp_path: Path) -> None:
    first = Notebook(tmp_path, {"data": "digits"}, 60)
    assert getattr(first, kind)("rate", lambda: 0.1) == 0.1
    again = Notebook(tmp_path, {"data": "digits"}, 60)
    assert getattr(again, kind)("rate", lambda: pytest.fail("decided twice")) == 0.1
    with pytest.raises(StoreError, match="data was 'digits', now 'cifar10'"):
        Notebook(tmp_path, {"data": "cifar10"}, 60)
    (tmp_path / NOTEBOOK).write_text("{")
    with pytest.raises(StoreError, match="is damaged"):
        Notebook(tmp_path, {"data": "digits"}, 60)


def test_with_more_time_only_the_schedule_is_made_again(tmp_path: Path) -> None:
    first = Notebook(tmp_path, {}, 60)
    for kind in (first.decide, first.measure, first.schedule):
        kind("it", lambda: "before")
    again = Notebook(tmp_path, {}, 120)
    assert again.lines == [
        "The time was raised from 60 to 120 seconds: what was measured and trained is kept, and the rest of the time "
        "planned anew."
    ]
    assert again.decide("it", lambda: "anew") == again.measure("it", lambda: "anew") == "before"
    assert not again.scheduled("it")
    assert again.schedule("it", lambda: "anew") == "anew"
    assert again.earlier("it", None) == "before"
    resumed = Notebook(tmp_path, {}, 120)
    assert resumed.lines == again.lines
    assert resumed.schedule("it", lambda: "a third time") == "anew"
    with pytest.raises(StoreError, match="was given 120 seconds, and now 60"):
        Notebook(tmp_path, {}, 60)


def test_time_without_running_does_not_count(tmp_path: Path) -> None:
    Notebook(tmp_path, {}, 100).save()
    content = json.loads((tmp_path / NOTEBOOK).read_text())
    (tmp_path / NOTEBOOK).write_text(json.dumps(content | {"elapsed": 40.0}))
    resumed = Notebook(tmp_path, {}, 100)
    assert 40 <= resumed.elapsed < 50
    assert resumed.begin_plan() == pytest.approx(100 - resumed.elapsed, abs=1)
    assert resumed.left(0.5) == pytest.approx(30, abs=5)


@given(st.floats(1, 1e5), st.integers(50, 100_000), st.floats(1e-6, 1), st.floats(1e-4, 1), st.integers(1, 64))
def test_any_plan_trains_something(seconds: float, samples: int, per_sample: float, score: float, workers: int) -> None:
    plan = make_plan(seconds, samples, per_sample, score, workers)
    assert list(plan.rungs) == sorted(plan.rungs)
    assert 1 <= plan.rungs[0] <= plan.rungs[-1]
    assert plan.candidates <= MOST_CANDIDATES < plan.screened or plan.screened >= plan.candidates
    assert 3 <= plan.seeds <= 5
    assert Plan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan


def test_more_time_is_spent() -> None:
    short, long = (make_plan(seconds, 8000, 1e-4, 0.05) for seconds in (300, 3600))
    assert long.candidates * long.rungs[-1] > short.candidates * short.rungs[-1]
    assert long.seeds >= short.seeds
    assert long.screened > short.screened


def test_epochs_that_tell_networks_apart_come_before_many_networks() -> None:
    plan = make_plan(170, 1078, 2.5e-4, 0.005, 2)
    assert plan.rungs[0] * math.ceil(1078 / plan.batch_size) >= ENOUGH_STEPS
    assert plan.candidates < MOST_CANDIDATES
    assert make_plan(60, 1078, 5e-4, 0.005).rungs[0] < plan.rungs[0]


@pytest.mark.parametrize(("samples", "size"), [(3, 2), (18, 4), (1000, 32), (6000, 128)])
def test_a_batch_is_a_part_of_the_data(samples: int, size: int) -> None:
    assert batch_size_for(samples) == size


def test_chance_is_told_from_not_started() -> None:
    chance = [0.1, 0.11]
    assert stage_of(result([0.3, 0.5], [2.3, 1.5]), 10, 200) == "learned"
    assert stage_of(result(chance, [2.3, 2.2]), 10, 200) == "starting"
    assert stage_of(result(chance, [2.3, 2.3]), 10, 200) == "flat"
    assert stage_of(result([0.1], [2.2]), 10, 200) == "starting"
    assert stage_of(result([0.1], [math.log(10)]), 10, 200) == "flat"
    assert stage_of(result([0.16], [2.3]), 10, 20) != "learned"  # few samples: that may be luck
    assert stage_of(result([0.16], [2.3]), 10, 2000) == "learned"
    assert stage_of(TrainingResult((), "diverged", "loss"), 10, 200) == "flat"


def test_a_loss_that_falls_comes_before_one_that_does_not() -> None:
    entries = [
        Ranked(candidate("a1"), result([0.1], [2.4]), "flat"),
        Ranked(candidate("a2"), result([0.1, 0.1], [2.4, 2.0]), "starting"),
        Ranked(candidate("a4"), result([0.3], [2.1]), "learned"),
        Ranked(candidate("a8"), result([0.4], [2.1]), "learned"),
    ]
    assert [entry.candidate.architecture for entry in sorted(entries, key=lambda e: e.order)] == [
        "a8",
        "a4",
        "a2",
        "a1",
    ]


def test_the_best_baseline_and_the_best_other_always_go_on() -> None:
    found = [Ranked(candidate(f"a1/{4 * n}"), result([1 - n / 100], [1.0]), "learned") for n in range(1, 10)]
    plain = Ranked(candidate("a1", baseline="logistic"), result([0.2], [1.0]), "learned")
    assert [entry.architecture for entry in promoted([*found, plain])] == ["a1/4", "a1/8", "a1/12", "a1/16", "a1"]
    plains = [Ranked(candidate(f"a{n}", baseline=str(n)), result([0.9], [1.0]), "learned") for n in (1, 2, 4, 8)]
    assert promoted([*plains, found[0]])[-1] == found[0].candidate


def test_at_most_half_of_those_that_go_on_are_of_one_space() -> None:
    quick = [Ranked(candidate(f"a1/{4 * n}"), result([1 - n / 100], [1.0]), "learned") for n in range(1, 13)]
    slow = [
        Ranked(
            candidate(f"8k3s1/{n}x8k3s1", "plain-resnet", "own" * (n == 6)), result([0.5 - n / 100], [1.0]), "learned"
        )
        for n in range(1, 7)
    ]
    kept = [entry.architecture for entry in promoted([*quick, *slow])]
    assert kept == ["a1/4", "a1/8", "a1/12", "8k3s1/1x8k3s1", "8k3s1/2x8k3s1", "8k3s1/3x8k3s1", "8k3s1/6x8k3s1"]


def test_a_rung_at_chance_is_trained_for_longer(tmp_path: Path) -> None:
    """With a tiny learning rate nothing is learned in one epoch, so that the networks cannot be told apart."""
    lines: list[str] = []
    slow = Candidate(setting("plain-mlp", learning_rate=1e-6), "a1")
    with Store(":memory:") as store, one_thread():
        notebook = Notebook(None, {}, 1000, lambda event: lines.append(event.note))
        notebook.begin_plan()
        trainings = Trainings(make_executor(0), store, notebook)
        ranked, epochs = rung(trainings, "rung", [slow], 1, 0.9)
        assert epochs == 4
        assert store.count_evaluations() == 3
        quick = Candidate(setting("plain-mlp"), "a1")
        assert rung(trainings, "other", [quick], 8, 0.9)[1] == 8
    assert "1 of 1 networks are at chance after 1 epochs" in lines[0]
    assert ranked[0].stage != "learned"


def test_what_the_time_left_out_stays_out(tmp_path: Path) -> None:
    two = [candidate("a1"), candidate("a2")]
    with Store(":memory:") as store, one_thread():
        notebook = Notebook(tmp_path, {}, 1000)
        trainings = Trainings(make_executor(0), store, notebook)
        first = list(trainings.results("rung", two, lambda took: False))
        assert [entry.architecture for entry, _ in first] == ["a1"]  # the first is always trained
        again = list(trainings.results("rung", two, lambda took: True))
        assert [entry.architecture for entry, _ in again] == ["a1"]
        assert store.count_evaluations() == 1
        later = list(trainings.results("later", two, lambda took: True))
        assert [entry.architecture for entry, _ in later] == ["a1", "a2"]
        resumed = list(trainings.results("rung", two, lambda took: True))
        assert [entry.architecture for entry, _ in resumed] == ["a1"]


def test_leaders_are_trained_even_if_the_time_is_over(tmp_path: Path) -> None:
    """The best network that is no baseline, and the best baseline: without one of them there would be no finals."""
    own, plain = [candidate(f"a{n}") for n in (1, 2)], [candidate(f"a{n}", baseline=str(n)) for n in (4, 8)]
    ordered = leaders_first([own[0], own[1], plain[0], plain[1]])
    assert ordered == [own[0], plain[0], own[1], plain[1]]
    assert leaders_first(plain) == plain
    with Store(":memory:") as store, one_thread():
        trainings = Trainings(make_executor(0), store, Notebook(None, {}, 1000))
        trained = [entry for entry, _ in trainings.results("rung", ordered, lambda took: False, always=2)]
    assert trained == ordered[:2]


def test_the_time_that_leaders_take_follows_from_their_last_trainings() -> None:
    def timed(text: str, seconds: float, baseline: str = "") -> Ranked:
        pair = result([0.5, 0.6], [1.0, 0.9])
        return Ranked(candidate(text, baseline=baseline), replace(pair, seconds=seconds), "learned")

    ranked = [timed("a1", 4.0), timed("a2", 100.0), timed("a4", 6.0, "logistic"), timed("a8", 100.0, "mlp")]
    assert seconds_for_leaders(ranked, 10, 2) == pytest.approx((2.0 + 3.0) * 10 / 2)
    assert seconds_for_leaders([], 10, 1) == 0


def test_recipes_are_compared_on_both_networks() -> None:
    lines: list[str] = []
    with Store(":memory:") as store, one_thread():
        notebook = Notebook(None, {}, 1000, lambda event: lines.append(event.note))
        notebook.begin_plan()
        trainings = Trainings(make_executor(0), store, notebook)
        pair = [candidate("a1"), candidate("a2")]
        harmful = {"no learning": {"learning_rate": 1e-9}}
        assert refine(trainings, pair, [harmful], 0.9) == {}
        hopeless = [entry.with_recipe(learning_rate=1e-9) for entry in pair]
        helpful = {"a rate": {"learning_rate": 0.1}}
        assert refine(trainings, hopeless, [helpful], 0.9) == {"learning_rate": 0.1}
        late = Notebook(None, {}, 1000, lambda event: lines.append(event.note))
        late.begin_plan()
        assert refine(replace(trainings, notebook=late), pair, [helpful], -1.0) == {}
    assert "nothing is better than" in lines[0]
    assert "a rate raises the validation accuracy from" in lines[1]
    assert lines[2] == "No time was left to compare recipes."


def test_only_images_are_augmented() -> None:
    assert [sorted(options) for options in changes_for((3, 32, 32), 100)] == [
        ["shifts", "shifts and flips"],
        ["averaged weights", "label smoothing"],
    ]
    assert len(changes_for((13,), 100)) == 1


@pytest.mark.parametrize("space", ["plain-resnet", "plain-mobile", "plain-vit", "plain-mlp", "nasbench201"])
def test_drawn_networks_use_the_limits(space: str) -> None:
    changes = {} if space != "nasbench201" else {"skeleton_settings": (("cells", 1), ("channels", 8))}
    family = Family(replace(setting(space), **changes))
    found = drawn(family, Limits(max_params="20k"), 12, seed=0)
    assert len(set(found)) == 12
    assert found == drawn(family, Limits(max_params="20k"), 12, seed=0)
    for text in found:
        params = family.setting.space.cost(family.setting.space.parse(text), family.setting.skeleton).params
        assert LEAST * 20_000 <= params <= 20_000


def test_drawing_ends_where_there_are_few_networks() -> None:
    family = Family(setting("plain-mlp"))
    found = drawn(family, Limits(max_params=400), 10_000, seed=0)
    assert 0 < len(found) < 500


def test_cells_need_sides_that_can_be_halved_and_limits_that_leave_enough() -> None:
    limits = Limits(max_params="20k")
    found = cells(setting("plain-mlp"), limits)
    assert found is not None
    family, why = found
    assert why.startswith("Cells of NAS-Bench-201 with channels=")
    assert look_at_limits(family.setting.space, family.setting.skeleton, limits).here.suits
    assert cells(setting("plain-mlp"), Limits(max_params="1k")) is None
    odd = replace(setting("plain-mlp"), source_name="digits@14")
    assert cells(odd, limits) is None


def test_proxies_see_training_samples_only() -> None:
    family = Family(setting())
    scoring, _ = scoring_of(family)
    shown = torch.cat([x for x, _ in scoring.inputs.batches])
    data = family.setting.dataset
    assert data.x_test is not None
    for image in shown:
        assert any(torch.equal(image, other) for other in data.x_train)
        assert not any(torch.equal(image, other) for other in data.x_test)


def test_what_data_are_like_is_said() -> None:
    data = load_dataset("digits@8", samples=100, test=True)
    look = look_at(data)
    assert str(look).startswith("100 samples of 3x8x8 in 10 classes, and 359 for the test at the end")
    assert look.balance > 0.5
    few = torch.tensor([0] * 30 + [1] * 5)
    uneven = Dataset(
        data.x_train[:35],
        few,
        data.x_val[:4],
        torch.tensor([0, 0, 1, 1]),
        2,
        "x",
        0,
        data.x_test,
        torch.zeros(9).long(),
    )
    assert "the smallest class has 22% of the samples of the largest" in str(look_at(uneven))
    assert "the test has no sample of 1" in str(look_at(uneven))
    alone = replace(
        uneven, y_train=torch.tensor([0] * 35), y_val=torch.tensor([0, 0, 0, 1]), class_names=("cat", "dog")
    )
    with pytest.raises(TooFewError, match="The class 'dog' has fewer than two samples outside the test set"):
        look_at(alone)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("30m", 1800), ("1.5h", 5400), (12.5, 12.5), (" 2 m ", 120)]
)
def test_durations(text: str | float, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "0m", "-1", "3d", "m", "1e3", "nan", float("nan"), -3])
def test_other_durations_are_refused(text: str | float) -> None:
    with pytest.raises(SettingError, match="is not a duration"):
        parse_duration(text, name="time")
