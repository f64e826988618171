"""From architecture to score: the same numbers everywhere, each computed once, failures kept to themselves."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from torch import nn

from firstlight.core.errors import SettingError
from firstlight.data import InputSource
from firstlight.execution.executor import Executor, InProcess, Lost, make_executor
from firstlight.probe import Probe
from firstlight.proxies import PROXIES
from firstlight.proxies.base import NetworkScore, Parts, Score, proxy
from firstlight.proxies.requests import ProxyRequest, parse_requests
from firstlight.scoring.service import ScoreJob, ScoreService, Setting, source_for
from firstlight.spaces import SPACES
from firstlight.spaces.custom import ChoiceSpace
from firstlight.storage.store import Store

SMALL = Setting("nasbench201", skeleton_settings=(("cells", 1), ("channels", 4)))


def architectures(count: int) -> list[str]:
    rng = random.Random(0)
    return list(dict.fromkeys(str(SPACES["nasbench201"].sample(rng)) for _ in range(2 * count)))[:count]


def scores(
    executor: Executor, texts: list[str], *names: str, store: Store | None = None, setting: Setting = SMALL
) -> dict[str, NetworkScore]:
    requests = [ProxyRequest.parse(name) for name in names or ("dextr",)]
    service = ScoreService(setting, requests, executor, store or Store(":memory:"))
    return {network.architecture: network for network in service.scores(texts)}


class Counting:
    """An executor that notes what it was asked to compute."""

    def __init__(self) -> None:
        self.tasks: list[Any] = []

    def map(self, job: Any, items: Any) -> Iterator[Any]:
        for item in items:
            self.tasks.append(item)
            yield item, job(item)


def test_the_same_numbers_in_process_and_on_workers() -> None:
    texts = architectures(12)
    values = [
        [
            (text, network.scores["dextr"].value, network.scores["dextr"].parts)
            for text, network in sorted(found.items())
        ]
        for found in (scores(make_executor(workers), texts) for workers in (0, 2))
    ]
    assert len(values[0]) == 12
    assert values[0] == values[1]


def test_known_scores_are_not_computed_again() -> None:
    store, executor, texts = Store(":memory:"), Counting(), architectures(4)
    first = scores(executor, texts[:3], "dextr", store=store)
    assert len(executor.tasks) == 3
    again = scores(executor, texts[:3], "dextr", store=store)
    assert len(executor.tasks) == 3
    assert all(network.reused for network in again.values())
    assert {t: n.scores for t, n in again.items()} == {t: n.scores for t, n in first.items()}
    scores(executor, texts, "params", "dextr", store=store)
    assert executor.tasks[3:] == [(text, ("params",)) for text in texts[:3]] + [(texts[3], ("params", "dextr"))]


def test_values_of_an_earlier_revision_may_still_be_right() -> None:
    store, executor, (with_value, without) = Store(":memory:"), Counting(), architectures(2)
    usual, service = PROXIES["dextr"], ScoreService(SMALL, [ProxyRequest.parse("dextr")], executor, store)
    for text, score in ((with_value, Score(2.0)), (without, Score.without_value("unsupported", "why"))):
        key = service.setting.key(text, service.requests["dextr"])
        store.add_score(replace(key, revision=usual.revision - 1), score)
    found = {network.architecture: network for network in service.scores([with_value, without])}
    assert found[with_value].scores["dextr"].value == 2.0
    assert executor.tasks == [(without, ("dextr",))]
    newer = replace(usual, values_since=None)
    again = ScoreService(SMALL, [ProxyRequest(newer)], executor, store)
    list(again.scores([with_value]))
    assert executor.tasks[1:] == [(with_value, ("dextr",))]


@pytest.mark.parametrize("source", ["synthetic", "digits"])
def test_a_score_does_not_depend_on_what_others_are_shown(source: str) -> None:
    """Each of them needs more samples or batches than the one before, and what they share stays known."""
    store, executor, texts = Store(":memory:"), Counting(), architectures(1)
    asked = ["dextr", "meco:images=2", "naswot", "zico", "sigeo"]
    alone = {}
    for count in range(1, len(asked) + 1):
        requests = parse_requests(asked[:count])
        setting = replace(SMALL, source=source_for(requests, source))
        scores(executor, texts, *asked[:count], store=store, setting=setting)
        alone |= scores(
            executor, texts, asked[count - 1], setting=replace(setting, source=source_for(requests[-1:], source))
        )[texts[0]].scores
    assert executor.tasks[::2] == [(texts[0], (name,)) for name in asked]
    together = scores(executor, texts, *asked, setting=setting)[texts[0]].scores
    assert {n: s.value for n, s in together.items()} == {n: s.value for n, s in alone.items()}


def test_a_stored_score_keeps_its_direction(monkeypatch: pytest.MonkeyPatch) -> None:
    @proxy(reference="", higher_is_better=False)
    def lower(probe: Probe) -> Parts:
        return Parts(3.0)

    monkeypatch.setattr(PROXIES, "_loaded", {"lower": lower})
    store, (text,) = Store(":memory:"), architectures(1)
    fresh, stored = (scores(InProcess(), [text], "lower", store=store)[text] for _ in range(2))
    assert (fresh.reused, stored.reused) == (False, True)
    assert fresh.scores["lower"].utility == stored.scores["lower"].utility == -3.0


def test_what_a_score_depends_on_is_in_its_key() -> None:
    request = ProxyRequest.parse("grad_norm")
    small = replace(SMALL, source=InputSource(batch_size=2))
    settings = [
        small,
        replace(small, seed=1),
        replace(small, source=InputSource("digits", 2)),
        replace(small, source=InputSource(batch_size=3)),
        replace(small, skeleton_settings=(("cells", 2), ("channels", 4))),
        replace(small, initialization="he"),
    ]
    (text,) = architectures(1)
    assert len({setting.key(text, request) for setting in settings}) == len(settings)
    answers = [scores(InProcess(), [text], str(request), setting=setting)[text] for setting in settings]
    assert len({answer.scores[str(request)].value for answer in answers}) == len(settings)


def test_the_data_decides_the_shape_unless_the_user_does() -> None:
    assert Setting("nasbench201", InputSource("digits")).skeleton.classes == 10
    asked = Setting("nasbench201", skeleton_settings=(("classes", 7), ("input_shape", (1, 16, 16))))
    assert (asked.skeleton.classes, asked.inputs.input_shape) == (7, (1, 16, 16))


def test_a_network_that_fails_has_a_status(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("no such layer")

    monkeypatch.setattr(type(SMALL.space), "build", fail)
    score = ScoreJob(SMALL, tuple(parse_requests("dextr")))((architectures(1)[0], ("dextr",))).scores["dextr"]
    assert (score.status, score.note) == ("failed", "RuntimeError: no such layer")


def test_a_proxy_that_fails_leaves_the_others_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("firstlight.probe.Probe.output_jet", fail)
    job = ScoreJob(SMALL, tuple(parse_requests("curvature,params")))
    scores = job((architectures(1)[0], ("curvature", "params"))).scores
    assert (scores["curvature"].status, scores["params"].status) == ("failed", "ok")


@pytest.mark.parametrize("workers", [0, 2])
def test_repeated_architectures_have_one_answer(workers: int) -> None:
    service = ScoreService(SMALL, [ProxyRequest.parse("params")], make_executor(workers), Store(":memory:"))
    (text,) = architectures(1)
    assert len(list(service.scores([text, text]))) == 1


def test_known_scores_do_not_wait_for_others() -> None:
    store, texts = Store(":memory:"), architectures(6)
    scores(InProcess(), texts[:5], store=store)
    executor = Counting()
    answers = ScoreService(SMALL, [ProxyRequest.parse("dextr")], executor, store).scores(texts)
    assert [next(answers).reused for _ in range(5)] == [True] * 5
    assert executor.tasks == []
    assert not next(answers).reused


def test_settings_that_cannot_be() -> None:
    with pytest.raises(SettingError, match="64 bits"):
        Setting("nasbench201", seed=2**63)
    with pytest.raises(SettingError, match="device 'abacus'"):
        Setting("nasbench201", device="abacus")
    with pytest.raises(SettingError, match=r"\(3, 32, 32\); the skeleton asks for \(1, 8, 8\)"):
        _ = Setting("nasbench201", InputSource("digits"), skeleton_settings=(("input_shape", (1, 8, 8)),)).skeleton


def test_a_lost_worker_is_a_failed_score_that_is_tried_again() -> None:
    class Losing:
        def map(self, job: Any, items: Any) -> Iterator[Any]:
            for item in items:
                yield item, Lost("gone")

    store, texts = Store(":memory:"), architectures(2)
    for network in scores(Losing(), texts, store=store).values():
        assert (network.scores["dextr"].status, network.scores["dextr"].note) == ("failed", "gone")
        assert network.cost.params > 0
    assert all(network.scores["dextr"].ok for network in scores(InProcess(), texts, store=store).values())


def test_what_a_lost_network_of_ones_own_costs_is_not_looked_at_here() -> None:
    class Losing:
        def map(self, job: Any, items: Any) -> Iterator[Any]:
            for item in items:
                yield item, Lost("took longer than 5 s")

    def build(width: int) -> nn.Module:
        raise AssertionError("hangs in this process, too")

    setting = Setting("own", own_space=ChoiceSpace("own", build, width=(1, 2)))
    (network,) = scores(Losing(), ["width=1"], setting=setting).values()
    assert (network.cost, network.scores["dextr"].note) == (None, "took longer than 5 s")
