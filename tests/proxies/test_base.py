"""Scores, statuses, and proxies asked for by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests import nets
from tests.registries import holds_only
from torch import nn

import firstlight
from firstlight.core.errors import DataError, FirstlightError, SettingError, UnknownNameError, UnsupportedError
from firstlight.probe import Probe
from firstlight.probe.spectra import InverseCondition
from firstlight.proxies import PROXIES
from firstlight.proxies.base import Parts, Score, proxy
from firstlight.proxies.requests import ProxyRequest, measure_all, parse_requests, read_requests
from firstlight.scoring.service import source_for


@proxy(reference="Nobody1900")
def example(
    probe: Probe, *, kind: Literal["a", "b"] = "a", size: int = 3, rate: float = 0.5, strict: bool = False
) -> Parts:
    """First line.

    More.
    """
    return Parts(size, note=kind, rate=rate)


def request_for(value: float | Exception) -> ProxyRequest:
    @proxy
    def fixed(probe: Probe) -> Parts:
        if isinstance(value, Exception):
            raise value
        return Parts(value, part=1.0)

    return ProxyRequest(fixed)


PROBE = Probe(nn.Identity(), torch.zeros(1, 1))


def test_a_proxy_knows_the_facts_about_itself() -> None:
    assert example.name == "example"
    assert example.summary == "First line."
    assert list(example.settings) == ["kind", "size", "rate", "strict"]
    assert example(PROBE, size=7).value == 7.0


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    holds_only(PROXIES, {"example": example}, monkeypatch)


@pytest.mark.usefixtures("registered")
def test_settings_are_read_by_their_type() -> None:
    request = ProxyRequest.parse("example:size=5:kind=b:rate=2:strict=true")
    assert dict(request.settings) == {"kind": "b", "rate": 2.0, "size": 5, "strict": True}
    score = request.measure(PROBE)
    assert (score.value, score.note, score.parts) == (5.0, "b", {"rate": 2.0})


@pytest.mark.parametrize("text", ["zico:batches=1", "sigeo:batches=1", "gradsign:samples=0", "meco:images=-1"])
def test_counts_that_make_no_sense_are_refused(text: str) -> None:
    least = 2 if "batches" in text else 1
    with pytest.raises(SettingError, match=f"must be {least} or more"):
        ProxyRequest.parse(text)


@pytest.mark.parametrize("text", ["sigeo:lambda1=nan", "swap_reg:mu=inf"])
def test_numbers_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(SettingError, match="finite"):
        ProxyRequest.parse(text)


def test_more_samples_than_there_are_is_said_and_not_ignored() -> None:
    net, x = nets.build("plain"), nets.images(4)
    score = firstlight.score(net, x, "swap:samples=8")["swap:samples=8"]
    assert score.status == "unsupported"
    assert "8 samples" in score.note
    assert "the batch has 4" in score.note
    assert firstlight.score(net, x, "swap,zen:samples=8")["zen:samples=8"].ok  # which draws inputs of its own
    assert source_for(parse_requests("swap:samples=100,meco")).batch_size == 100


@pytest.mark.usefixtures("registered")
@given(st.integers(1), st.sampled_from(["a", "b"]), st.floats(allow_nan=False, allow_infinity=False), st.booleans())
def test_the_text_of_a_request_reads_back(size: int, kind: str, rate: float, strict: bool) -> None:
    asked = {"kind": kind, "rate": rate, "size": size, "strict": strict}
    different = tuple(item for item in asked.items() if item[1] != example.settings[item[0]].default)
    text = str(ProxyRequest(example, tuple(asked.items())))
    assert ProxyRequest.parse(text) == ProxyRequest(example, different)  # one text, and so one key, for one question
    assert str(ProxyRequest.parse(str(ProxyRequest.parse(text)))) == str(ProxyRequest.parse(text))


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("text", ["example:size", "example:size=many", "example:kind=c", "example:other=1", "example:"])
def test_settings_that_make_no_sense(text: str) -> None:
    with pytest.raises(SettingError, match="example"):
        ProxyRequest.parse(text)


@pytest.mark.usefixtures("registered")
def test_several_proxies_in_every_way_of_writing() -> None:
    for proxies in ("example", example, ["example"], [example], "all", " example , "):
        assert [str(request) for request in parse_requests(proxies)] == ["example"]
    assert [str(request) for request in parse_requests("example:size=5,example")] == ["example:size=5", "example"]
    for nothing in ("", ",", []):
        with pytest.raises(SettingError, match=r"No proxy was named. Known: example"):
            parse_requests(nothing)


def test_an_unknown_name_brings_the_nearest_one() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'dextr'"):
        ProxyRequest.parse("dexter")


def test_statuses() -> None:
    assert request_for(2.5).measure(PROBE).status == "ok"
    not_finite = request_for(math.inf).measure(PROBE)
    assert (not_finite.status, math.isnan(not_finite.value), not_finite.parts) == ("non_finite", True, {"part": 1.0})
    unsupported = request_for(UnsupportedError("no ReLU")).measure(PROBE)
    assert (unsupported.status, unsupported.note) == ("unsupported", "no ReLU")
    full = request_for(MemoryError("full")).measure(PROBE)
    assert (full.status, full.note) == ("out_of_memory", "MemoryError: full")
    allocator = RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")
    assert request_for(allocator).measure(PROBE).status == "out_of_memory"
    broken = request_for(RuntimeError("shape mismatch")).measure(PROBE)
    assert (broken.status, broken.note) == ("failed", "RuntimeError: shape mismatch")
    mended_by_users = request_for(DataError("Labels range from 1 to 9.")).measure(PROBE)
    assert (mended_by_users.status, mended_by_users.note) == ("failed", "Labels range from 1 to 9.")


def test_a_proxy_that_fails_leaves_the_others_alone() -> None:
    scores = measure_all([request_for(ZeroDivisionError("no layers")), *parse_requests("params")], PROBE)
    assert [score.status for score in scores.values()] == ["failed", "ok"]


def test_a_proxy_that_changes_the_network_leaves_the_others_alone() -> None:
    @proxy
    def halves(probe: Probe) -> float:
        with torch.no_grad():
            for tensor in (*probe.model.parameters(), *probe.model.buffers()):
                tensor.div_(2)
        return float(sum(norm.sum() for norm in probe.feature_statistic(InverseCondition()).values))

    others = parse_requests("l2_norm,independence,snip")
    model, batch = nets.build("residual"), (torch.randn(4, 3, 8, 8), torch.tensor([0, 1, 2, 3]))
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    alone = measure_all(others, Probe(model, batch))
    scores = measure_all([ProxyRequest(halves), *others], Probe(model, batch))
    assert all(score.value == scores[name].value for name, score in alone.items())
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def no_probe() -> float:
    return 1.0


def positional(probe: Probe, scale: float = 1.0) -> float:
    return scale


def no_default(probe: Probe, *, scale: float) -> float:
    return scale


@pytest.mark.parametrize(
    ("declared", "function", "message"),
    [
        ({"needs": "label"}, positional, "no kind of needs 'label'. Did you mean 'labels'?"),
        ({"higher_is_better": "no"}, positional, "higher_is_better is 'no'; give True or False"),
        ({"batch_size": 0}, positional, "batch_size is 0; it must be a whole number of 1 or more"),
        ({"revision": "2"}, positional, "revision is '2'"),
        ({}, no_probe, "'no_probe' must take a probe .*: it does not take a probe"),
        ({}, positional, "'positional' must take a probe .*: 'scale' is not such a setting"),
        ({}, no_default, "'no_default' must take a probe .*: 'scale' is not such a setting"),
    ],
)
def test_a_declaration_that_makes_no_sense_is_refused(
    declared: dict[str, Any], function: Callable[..., float], message: str
) -> None:
    with pytest.raises(FirstlightError, match=message.replace("?", r"\?")):
        proxy(**declared)(function)


def test_utility_is_the_value_turned_so_that_higher_is_better() -> None:
    @proxy(higher_is_better=False)
    def error_like(probe: Probe) -> Parts:
        return Parts(2.5)

    assert request_for(2.5).measure(PROBE).utility == 2.5
    assert ProxyRequest(error_like).measure(PROBE).utility == -2.5
    assert math.isnan(request_for(math.inf).measure(PROBE).utility)
    assert math.isnan(Score(1.0, status="failed").utility)


def test_json_holds_no_numbers_that_json_cannot() -> None:
    assert Score.without_value("failed", "why").to_dict()["value"] is None
    assert Score(1.0, {"part": math.inf}).to_dict()["parts"] == {"part": None}


@pytest.mark.parametrize(
    ("asked", "shown", "resolved"),
    [
        ("sigeo", "images", "sigeo:lambda2=50.0:lambda3=1.0"),
        ("sigeo:batches=3", "images", "sigeo:batches=3:lambda2=50.0:lambda3=1.0"),
        ("sigeo:variant=official-cv", "images", "sigeo:lambda2=50.0:lambda3=1.0:variant=official-cv"),
        ("sigeo:variant=official-rec", "clicks", "sigeo:lambda3=1.0:variant=official-rec"),
        ("sigeo", "clicks", "sigeo:lambda3=1.0"),
        ("sigeo:lambda3=1", "images", "sigeo:lambda2=50.0:lambda3=1.0"),
        ("sigeo:lambda1=0", "images", "sigeo:lambda1=0.0:lambda2=50.0:lambda3=1.0"),
        ("sigeo:lambda2=3", "clicks", "sigeo:lambda2=3.0:lambda3=1.0"),
        ("sigeo:lambda2=1", "images", "sigeo:lambda3=1.0"),  # written, and the default without a warm-up
        ("sigeo:lambda1=1:lambda2=1:lambda3=0", "images", "sigeo"),
        ("zico", "images", "zico"),
    ],
)
def test_settings_for_warmed_up_weights(asked: str, shown: Literal["images", "clicks"], resolved: str) -> None:
    request = ProxyRequest.parse(asked).after_warm_up(shown)
    assert str(request) == resolved
    assert request.after_warm_up(shown) == request
    assert ProxyRequest.parse(resolved) == request
    assert read_requests(asked, shown)[0] == request
    assert read_requests(asked)[0] == ProxyRequest.parse(asked)


def test_what_is_told_beside_a_proxy_is_asked_once() -> None:
    assert [str(request) for request in read_requests("sigeo")] == ["sigeo", "zico", "loss", "params"]
    assert [str(request) for request in read_requests("loss,sigeo,sigeo:lambda2=0")] == [
        *("loss", "sigeo", "sigeo:lambda2=0.0", "zico", "params")
    ]
    assert [str(request) for request in read_requests("dextr")] == ["dextr"]


@pytest.mark.parametrize("name", ["synflow", "dextr", "grad_norm"])
def test_weights_that_are_not_finite_are_named(name: str) -> None:
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2))
    with torch.no_grad():
        model[0].weight[0] = torch.nan
    found = firstlight.score(model, (torch.ones(4, 1, 8, 8), torch.tensor([0, 1, 0, 1])), name)[name]
    assert (found.status, found.note) == ("non_finite", "the model has weights that are NaN or infinite: 0.weight")


def test_all_can_stand_beside_other_names() -> None:
    everyone = parse_requests("all")
    assert list(map(str, parse_requests("all, tests.proxies.test_base:example"))) == [
        *map(str, everyone),
        "tests.proxies.test_base:example",
    ]
    assert parse_requests(["all", "dextr:variant=official"])[-1].settings


def test_companions_know_who_brought_them() -> None:
    brought = {str(request): request.brought_by for request in read_requests("sigeo,params")}
    assert brought == {"sigeo": "", "params": "", "zico": "sigeo", "loss": "sigeo"}
