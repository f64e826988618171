"""NASI's rule against its formulas, and whole searches by it."""

from __future__ import annotations

import html
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.search.test_one_shot_steps import asked, judge, take
from tests.spaces.supernets.test_one_shot import every_space
from tests.spaces.supernets.test_trace_step import batch, hard_weights, network_of, plain_trace

import firstlight
from firstlight.core.errors import LimitError, NothingScoredError, SettingError, StoreError
from firstlight.core.events import Callback, Event
from firstlight.execution.executor import make_executor
from firstlight.proxies.base import Score
from firstlight.proxies.ensembles import parse_criterion
from firstlight.scoring.service import Setting, source_for
from firstlight.search.algorithm import AlgorithmRequest
from firstlight.search.algorithms.nasi import Rule, ridge
from firstlight.search.one_shot_steps import StepJob, Steps
from firstlight.search.run_folder import RunStore
from firstlight.search.runner import run_search
from firstlight.search.setting import SearchSetting
from firstlight.spaces.supernets import Choice
from firstlight.spaces.supernets.trace_step import trace_step
from firstlight.views.pages.search import write_report

SMALL: dict[str, Any] = {"cells": 1, "channels": 2, "input_shape": (3, 8, 8)}
CHOICES = (Choice("one", ("a", "b", "c")), Choice("two", ("a", "b")))


def steps_of(traces: list[float], seed: int = 0) -> Steps:
    rng = np.random.default_rng(seed)
    soft = np.concatenate([rng.dirichlet(np.ones(3), len(traces)), rng.dirichlet(np.ones(2), len(traces))], axis=1)
    return Steps(CHOICES, np.array(traces), soft, np.zeros_like(soft), rng.normal(size=soft.shape))


# ---------------------------------------- the rule


@pytest.mark.parametrize(("mu", "nu"), [(0.0, 1.0), (1.0, 1e9), (2.0, 1e-9)])
def test_the_gradient_is_that_of_the_relaxed_objective(mu: float, nu: float) -> None:
    """Straight-through: the hard sample, moved as the soft one moves with the logits, by finite differences."""
    setting = asked(none=True)
    draw, network = setting.drawn(3), network_of("nasbench201")
    found = trace_step(network, draw.path, *batch())
    slopes = np.array([[found.slopes[choice.name][option] for choice in setting.choices for option in choice.options]])
    steps = Steps(setting.choices, np.array([found.trace]), draw.soft[None], np.zeros_like(slopes), slopes)
    gradient = Rule("fix", mu, nu).gradients(steps)[0]
    hard = torch.cat(list(hard_weights("nasbench201", draw.path).values()))
    noise = torch.tensor(draw.soft).log()  # up to a constant for each choice, which changes nothing

    def relaxed(logits: torch.Tensor) -> float:
        soft = (logits + noise).view(6, 5).softmax(1)
        weights = (hard.view(6, 5) + soft - torch.tensor(draw.soft).view(6, 5)).unbind()
        trace = float(plain_trace(network, dict(zip(hard_weights("nasbench201", draw.path), weights, strict=True))))
        return trace - mu * max(0.0, trace - nu)

    for place in (0, 7, 13, 29):
        step = torch.zeros(30, dtype=torch.float64)
        step[place] = 1e-5
        expected = (relaxed(step) - relaxed(-step)) / 2e-5
        assert gradient[place] == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_above_nu_two_turns_the_gradient_around_and_one_makes_it_nothing() -> None:
    steps = steps_of([3.0, 30.0])
    plain = Rule("fix", mu=0.0, nu=10.0).gradients(steps)
    turned = Rule("fix", mu=2.0, nu=10.0).gradients(steps)
    assert np.array_equal(turned[0], plain[0])
    assert np.array_equal(turned[1], -plain[1])
    assert not Rule("fix", mu=1.0, nu=10.0).gradients(steps)[1].any()
    assert Rule("fix", mu=2.0, nu=10.0).objective(steps.traces).tolist() == [3.0, 30.0 - 2 * 20.0]


@pytest.mark.parametrize("normalize", ["running", "unit"])
def test_the_whole_step_is_never_longer_than_one(normalize: Any) -> None:
    steps = steps_of(list(np.random.default_rng(1).lognormal(3, 3, 60)))
    growth = Rule("percentile", mu=2.0, normalize=normalize).growth(steps)
    assert 0 < np.linalg.norm(growth[-1]) <= 1 + 1e-12
    assert growth.shape == (60, 5)


def test_every_gradient_is_divided_by_the_longest_so_far() -> None:
    steps = steps_of([1.0, 2.0, 3.0, 4.0])
    gradients = Rule().gradients(steps)
    longest, total = 0.0, np.zeros(5)
    for gradient in gradients:
        longest = max(longest, float(np.linalg.norm(gradient)))
        total += gradient / longest / 4
    for rule in (Rule(), Rule("ada", nu=9.0, mu=0.0), Rule("percentile", mu=0.0)):  # as in the paper
        assert rule.growth(steps)[-1] == pytest.approx(total)
    unit = sum(gradient / np.linalg.norm(gradient) for gradient in gradients) / 4
    assert Rule(normalize="unit").growth(steps)[-1] == pytest.approx(unit)


def test_thresholds() -> None:
    traces = np.array([4.0, 8.0, 100.0, 0.0])
    assert Rule("percentile").thresholds(traces).tolist() == [31.0] * 4
    assert Rule("fix", nu=7.0).thresholds(traces).tolist() == [7.0] * 4
    assert Rule().thresholds(traces).tolist() == [math.inf] * 4
    assert Rule("ada", nu=6.0).thresholds(traces).tolist() == [6.0, 5.0, 6.0, 29.5]


def test_ridge_finds_what_makes_the_trace_large() -> None:
    rng = np.random.default_rng(0)
    taken = np.concatenate([np.eye(3)[rng.integers(3, size=200)], np.eye(2)[rng.integers(2, size=200)]], axis=1)
    effects = np.array([0.0, 2.0, -1.0, 0.5, 0.0])
    traces = np.exp(3 + taken @ effects)
    steps = Steps(CHOICES, traces, taken, taken, np.full_like(taken, np.nan))
    found = ridge(steps)
    assert found[:3] == pytest.approx(effects[:3] - effects[:3].mean(), abs=0.1)
    assert found[3] - found[4] == pytest.approx(0.5, abs=0.05)
    assert ridge(steps_of([1.0, 2.0])).shape == (5,)


@pytest.mark.parametrize("settings", ["percentile=101", "temperature=0", "nu=-1", "mu=-2", "mu=much", "mu=inf"])
def test_settings_that_make_no_sense_are_refused(settings: str) -> None:
    with pytest.raises(SettingError, match=settings.split("=")[0]):
        firstlight.search("nasbench201", algorithm=f"nasi:steps=1:batch=2:{settings}", skeleton=SMALL, workers=0)


def test_an_unknown_setting_is_answered_with_those_there_are_and_their_names() -> None:
    allowed = r"settings: steps, batch, variant \(fix, ada, percentile\), .*, normalize \(running, unit\), "
    with pytest.raises(SettingError, match=allowed):
        AlgorithmRequest.parse("nasi:step=3")


# ---------------------------------------- whole searches


def search(space: str = "nasbench201", algorithm: str = "nasi:steps=8:batch=4:nu_samples=2", **settings: Any) -> Any:
    skeleton = {"nasbench201": SMALL, "darts": SMALL | {"cells": 3}}.get(space, {"input_shape": (3, 8, 8)})
    return firstlight.search(space, algorithm=algorithm, **({"workers": 0, "skeleton": skeleton} | settings))


@every_space
@pytest.mark.parametrize("algorithm", ["nasi:steps=2:batch=2:nu_samples=1", "nasi-ridge:steps=3:batch=2"])
def test_every_space_with_a_one_shot_network_can_be_searched(name: str, algorithm: str) -> None:
    result = search(name, algorithm)
    own = firstlight.space(name)
    assert str(own.parse(result.best.architecture)) == result.best.architecture
    assert result.scored == 1
    assert result.states == int(algorithm.split("steps=")[1][0])
    assert str(result.setting.by) == "ntk_trace_batch"


def test_the_chosen_options_are_those_preferred_most() -> None:
    result = search()
    findings = result.findings["one_shot"]
    chosen = [findings["options"][name][int(np.argmax(values))] for name, values in findings["preferences"].items()]
    cell = firstlight.space("nasbench201").parse(result.best.architecture)
    own = firstlight.space("nasbench201")
    assert cell == own.canonical(type(cell)(tuple(chosen)))
    assert len(findings["traces"]) == 8
    assert findings["growth"][-1] == {"steps": 8, **findings["preferences"]}
    assert findings["chosen"] == {name: [option] for name, option in zip(findings["options"], chosen, strict=True)}
    json.dumps(result.to_dict())


def test_the_rule_is_applied_to_the_steps() -> None:
    result = search(algorithm="nasi:steps=8:batch=4:variant=ada:nu=3:mu=2:normalize=unit", seed=5)
    setting = result.setting.setting
    steps = take(judge(setting=asked(setting=setting)), 8).steps()
    expected = Rule("ada", 2.0, 3.0, normalize="unit").growth(steps)[-1]
    findings = result.findings["one_shot"]
    assert np.concatenate(list(findings["preferences"].values())) == pytest.approx(expected)
    assert findings["thresholds"] == pytest.approx(Rule("ada", nu=3.0).thresholds(steps.traces))


def test_the_size_of_batches_is_that_of_the_steps_unless_they_have_their_own() -> None:
    asked_for = {
        "nasi:nu=1:steps=1": "nasi:batch=3:nu=1.0:steps=1",
        "nasi:batch=64:nu=1:steps=1": "nasi:nu=1.0:steps=1",
    }
    for algorithm, meant in asked_for.items():
        result = search(algorithm=algorithm, batch_size=3)
        assert str(result.setting.algorithm) == meant
        assert result.setting.setting.source.batch_size == 3
    batches_are_networks = AlgorithmRequest.parse("reinforce:decay=0.5", batch_size=3)
    assert str(batches_are_networks) == "reinforce:decay=0.5"


def test_a_regression_says_what_is_preferred_in_the_end_only() -> None:
    findings = search(algorithm="nasi-ridge:steps=5:batch=2").findings["one_shot"]
    assert findings["growth"] == [{"steps": 5, **findings["preferences"]}]
    assert "thresholds" not in findings


def test_every_step_is_told_with_its_objective_and_what_leads() -> None:
    told: list[Event] = []
    setting = Setting("nasbench201", source_for([], batch_size=64), 0, tuple(sorted(SMALL.items())))
    wanted = SearchSetting(
        setting,
        parse_criterion("ntk_trace_batch"),
        AlgorithmRequest.parse("nasi:steps=3:batch=4:variant=fix:nu=1e-9:mu=2"),
    )
    result = run_search(wanted, make_executor(0), callback=of_states(told.append))
    traces = result.findings["one_shot"]["traces"]
    assert [(event.done, event.total) for event in told] == [(1, 3), (2, 3), (3, 3)]
    assert [event.note for event in told] == [f"T {trace:.3g}, R {2e-9 - trace:.3g}" for trace in traces]
    own = firstlight.space("nasbench201")
    assert str(own.canonical(own.parse(told[-1].architecture))) == result.best.architecture


def test_one_and_two_workers_and_a_resumed_search_find_the_same(tmp_path: Path) -> None:
    results = [search(out=tmp_path / "a"), search(workers=2), search(out=tmp_path / "a")]
    assert len({result.best.architecture for result in results}) == 1
    assert len({json.dumps(result.findings) for result in results}) == 1


def test_nu_is_the_mean_of_random_paths_that_are_drawn_before() -> None:
    """Eq. 40, by hand: the paths -1, -2, ... of which only T is measured."""
    result = search(algorithm="nasi:steps=3:batch=4:nu_samples=5")
    before = asked(setting=result.setting.setting, slopes=False)
    traces = [StepJob(before)(number).value for number in (-1, -2, -3, -4, -5)]
    findings = result.findings["one_shot"]
    assert findings["thresholds"] == pytest.approx([np.mean(traces)] * 3)
    assert not set(traces) & set(findings["traces"])
    assert (result.states, result.scored) == (3, 1)
    adapted = search(algorithm="nasi:steps=3:batch=4:nu_samples=5:variant=ada").findings["one_shot"]["thresholds"]
    assert adapted[0] == pytest.approx(np.mean(traces))
    for without in ("nu=7", "mu=0", "variant=percentile"):
        assert not Rule(**{"nu": 0.0, **dict([parsed(without)])}).needs_nu


def parsed(setting: str) -> tuple[str, Any]:
    name, _, value = setting.partition("=")
    return name, value if name == "variant" else float(value)


def test_by_default_it_is_the_search_of_the_paper() -> None:
    settings = AlgorithmRequest.parse("nasi").all_settings
    assert {name: settings[name] for name in ("steps", "batch", "variant", "nu", "nu_samples", "normalize", "mu")} == {
        "steps": 100,
        "batch": 64,
        "variant": "fix",
        "nu": 0.0,
        "nu_samples": 50,
        "normalize": "running",
        "mu": "rule",
    }


def test_the_time_of_random_paths_counts() -> None:
    with pytest.raises(NothingScoredError, match="Allow more seconds"):
        search(algorithm="nasi:steps=3:batch=4:nu_samples=3:seconds=1e-9")
    result = search(algorithm="nasi:steps=3:batch=4:nu_samples=3:seconds=1e9")
    assert result.states == 3


def test_width_loss_and_parameterization_are_those_of_the_steps() -> None:
    usual = search("nasbench1shot1-s1", "nasi:steps=2:batch=2:nu=9").findings["one_shot"]["traces"]
    for setting in ("channels=2", "loss=mse", "parameterization=ntk"):
        result = search("nasbench1shot1-s1", f"nasi:steps=2:batch=2:nu=9:{setting}")
        assert result.findings["one_shot"]["traces"] != usual, setting
    with pytest.raises(SettingError, match="channels"):
        search("nasbench1shot1-s1", "nasi:steps=2:batch=2:channels=-1")


def test_labels_make_a_difference_to_the_numbers_and_are_part_of_the_setting(tmp_path: Path) -> None:
    settings = {"input": "digits", "skeleton": {"cells": 1, "channels": 2}}
    true, random = (search(labels=labels, out=tmp_path / labels, **settings) for labels in ("true", "random"))
    with pytest.raises(StoreError, match="random labels"):
        search(labels="random", out=tmp_path / "true", **settings)
    assert true.findings["one_shot"]["traces"] != random.findings["one_shot"]["traces"]
    with pytest.raises(firstlight.FirstlightError, match=r"kind of labels 'none'.*Known: random, true"):
        search(labels="none")


def test_mu_of_one_with_everything_above_nu_is_said() -> None:
    result = search(algorithm="nasi:steps=4:batch=4:variant=fix:nu=1e-9:mu=1")
    assert any("gradient 0" in note and "mu=2" in note for note in result.notes)
    assert not any("gradient 0" in note for note in search().notes)


def test_a_search_that_time_has_cut_short_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StepJob, "__call__", lambda self, number: replace(Score(1.0 + number), seconds=2.0))
    result = search(algorithm="nasi-ridge:steps=9:batch=4:seconds=5")
    assert result.notes == ("3 of 9 steps were taken within 5 s.",)
    assert search(algorithm="nasi-ridge:steps=3:batch=4:seconds=5").notes == ()


def test_what_is_found_must_keep_within_limits() -> None:
    with pytest.raises(LimitError, match=r"beyond the limits \(at most 10 parameters\).*No other network.*evolution"):
        search(max_params=10)


def test_a_skeleton_that_lacks_a_kind_of_cell_is_refused_before_any_step(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"needs at least 3 cells.*cells=2"):
        search("darts", skeleton=SMALL | {"cells": 2}, out=tmp_path / "run")
    assert not list(tmp_path.iterdir())


def test_what_a_skeleton_does_not_change_of_the_steps_is_said() -> None:
    of_cells = {"channels": 8, "cells": 1, "input_shape": (3, 8, 8)}
    result = search("nasbench1shot1-s1", "nasi-ridge:steps=1:batch=2", skeleton=of_cells, batch_size=2)
    (note,) = result.notes
    assert note.startswith("Steps go through the one-shot network of cells=9,channels=16,classes=10,")
    assert ": cells, channels of the skeleton apply to the chosen network only" in note
    assert search("darts", "nasi-ridge:steps=1:batch=2", batch_size=2).notes == ()


def test_spaces_without_a_one_shot_network_are_refused() -> None:
    with pytest.raises(SettingError, match=r"nats-sss.* has no one-shot network.*nasbench201"):
        firstlight.search("nats-sss", algorithm="nasi", workers=0)


def test_the_larger_space_has_the_larger_mu() -> None:
    """By the paper's rule: 1 in NAS-Bench-201 and NAS-Bench-1Shot1, 2 in DARTS."""
    for space, mu in {"nasbench201": "1", "darts": "2"}.items():
        ruled, told = (search(space, f"nasi:steps=3:batch=2:nu=20:mu={text}") for text in ("rule", mu))
        assert ruled.findings == told.findings


def test_another_rule_takes_no_steps_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = search(out=tmp_path)
    monkeypatch.setattr(StepJob, "__call__", lambda self, number: pytest.fail("a step was taken again"))
    other = search(algorithm="nasi:steps=8:batch=4:nu_samples=2:mu=2:variant=ada", out=tmp_path)
    assert first.notes == ()
    assert (first.states_reused, other.states_reused) == (0, 8)
    assert first.reused_seconds == 0 < other.reused_seconds <= other.score_seconds
    assert other.findings["one_shot"]["traces"] == first.findings["one_shot"]["traces"]
    assert other.findings["one_shot"]["preferences"] != first.findings["one_shot"]["preferences"]
    again = search(out=tmp_path)
    assert again.findings == first.findings
    assert again.reused_seconds == pytest.approx(again.score_seconds) == pytest.approx(first.score_seconds)
    with pytest.raises(
        StoreError, match=r"holds another run: input was [^;]*; seed was 0, now 1\. "
    ):  # the rule is no hindrance
        search(algorithm="nasi-ridge", seed=1, out=tmp_path)
    with pytest.raises(StoreError, match=r"holds another run: algorithm was .*, now 'random'\. "):
        search(algorithm="random", proxy="ntk_trace_batch", out=tmp_path)
    ridge_found = search(algorithm="nasi-ridge:steps=8:batch=4", out=tmp_path)
    assert ridge_found.findings["one_shot"]["traces"] == first.findings["one_shot"]["traces"]
    assert any(
        "belonged to nasi:batch=4:nu_samples=2:steps=8, and now belong to nasi-ridge:" in n for n in ridge_found.notes
    )
    assert "nasi-ridge search" in write_report(tmp_path).read_text()
    search(out=tmp_path)  # the report is of what was run last, not of what was begun last
    assert "nasi search" in write_report(tmp_path).read_text()


def of_states(callback: Callback) -> Callback:
    """Called with events of steps only."""
    return lambda event: callback(event) if event.stage == "states" else None


def interrupted_at(step: int) -> Callback:
    def interrupt(event: Event) -> None:
        if event.done == step:
            raise KeyboardInterrupt

    return of_states(interrupt)


def test_a_search_that_was_killed_has_a_report_of_what_it_came_to(tmp_path: Path) -> None:
    class Killed(BaseException):
        """Nothing in the program gets to know of it."""

    setting = Setting("nasbench201", source_for([], batch_size=64), 1, tuple(sorted(SMALL.items())))
    wanted = SearchSetting(
        setting, parse_criterion("ntk_trace_batch"), AlgorithmRequest.parse("nasi-ridge:steps=15:batch=2")
    )
    leading = []

    def kill(event: Event) -> None:
        leading.append(event.architecture)
        if event.done == 12:
            raise Killed

    with pytest.raises(Killed):
        run_search(wanted, make_executor(0), RunStore(tmp_path), callback=of_states(kill))
    page = write_report(tmp_path).read_text()
    assert "<h1>Network after 10 steps so far" in page
    own = firstlight.space("nasbench201")
    assert f"<pre><code>{html.escape(str(own.canonical(own.parse(leading[9]))))}</code></pre>" in page
    assert "Preferences after 10 steps" in page
    with pytest.raises(firstlight.SearchInterrupted):  # that network is scored now
        run_search(wanted, make_executor(0), RunStore(tmp_path), callback=interrupted_at(10))
    with pytest.raises(Killed):
        run_search(wanted, make_executor(0), RunStore(tmp_path), callback=of_states(kill))
    assert "<h1>Network after 10 steps so far: ntk_trace_batch" in write_report(tmp_path).read_text()
    result = run_search(wanted, make_executor(0), RunStore(tmp_path))
    finished = write_report(tmp_path).read_text()
    assert "<h1>Network after 15 steps: ntk_trace_batch" in finished
    with pytest.raises(Killed):
        run_search(wanted, make_executor(0), RunStore(tmp_path), callback=of_states(kill))
    assert write_report(tmp_path).read_text() == finished  # there is more known than the first steps
    assert result.states == 15


def test_an_interrupted_search_goes_on_and_its_report_shows_what_it_came_to(tmp_path: Path) -> None:
    asked_for = "nasi:steps=12:batch=4:nu=20:mu=2"
    setting = Setting("nasbench201", source_for([], batch_size=64), 1, tuple(sorted(SMALL.items())))
    wanted = SearchSetting(setting, parse_criterion("ntk_trace_batch"), AlgorithmRequest.parse(asked_for))
    with pytest.raises(firstlight.SearchInterrupted) as caught:
        run_search(wanted, make_executor(0), RunStore(tmp_path), callback=interrupted_at(2))
    assert caught.value.result.states == 2
    page = write_report(tmp_path).read_text()
    assert "<h1>Network after 2 steps so far" in page
    assert "not finished" in page
    result = run_search(wanted, make_executor(0), RunStore(tmp_path))
    assert result.states == 12
    assert result.best.architecture != caught.value.result.best.architecture  # or the rest says nothing
    page = write_report(tmp_path).read_text()
    assert "<h1>Network after 12 steps: " in page
    assert html.escape(result.best.architecture) in page
    assert html.escape(caught.value.result.best.architecture) not in page
