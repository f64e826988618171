"""Models of one's own: seeded, named when they fail, and without influence on each other."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from firstlight.errors import ModelError, SettingError
from firstlight.probe import Probe
from firstlight.proxies import Parts, ProxyRequest, parse_requests, proxy
from firstlight.run.models import score_model

IMAGE = torch.ones(1, 1, 8, 8)


def small() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())


def test_weights_depend_on_the_seed_alone() -> None:
    requests = parse_requests("dextr")

    def value(seed: int) -> float:
        torch.rand(3)
        return score_model("small", small, IMAGE, requests, seed=seed).scores["dextr"].value

    state = torch.get_rng_state()
    assert value(0) == value(0) != value(1)
    torch.set_rng_state(state)
    before = torch.rand(1)
    torch.set_rng_state(state)
    score_model("small", small, IMAGE, requests)
    assert torch.rand(1) == before


def test_a_model_as_it_is() -> None:
    network = score_model("mine", small(), IMAGE, parse_requests("params,macs"))
    assert network.architecture == "mine"
    assert network.cost.params == network.scores["params"].value == 40
    assert network.cost.macs == network.scores["macs"].value == 9 * 4 * 36


def test_a_proxy_that_fails_leaves_the_others_alone() -> None:
    @proxy(reference="")
    def broken(probe: Probe) -> Parts:
        raise ZeroDivisionError("no layers")

    scores = score_model("small", small, IMAGE, [ProxyRequest(broken), *parse_requests("params")]).scores
    assert (scores["broken"].status, scores["broken"].note) == ("failed", "ZeroDivisionError: no layers")
    assert scores["params"].ok


def test_a_model_that_cannot_be_made_or_run() -> None:
    requests = parse_requests("params")
    with pytest.raises(ModelError, match=r"forward pass failed on \(1, 1, 8, 8\)"):
        score_model("tall", lambda: nn.Linear(7, 2), IMAGE, requests)
    with pytest.raises(ModelError, match=r"none\(\) returned a NoneType"):
        score_model("none", lambda: None, IMAGE, requests)  # type: ignore[arg-type, return-value]
    with pytest.raises(ModelError, match=r"wide\(\) failed: TypeError"):
        score_model("wide", nn.Linear, IMAGE, requests)
    with pytest.raises(SettingError, match="device 'abacus'"):
        score_model("small", small, IMAGE, requests, device="abacus")
