"""Models of one's own: seeded, named when they fail, and without influence on each other."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import firstlight
from firstlight.core.errors import DataError, ModelError, SettingError, UnknownNameError
from firstlight.probe import Probe
from firstlight.proxies.base import Parts, proxy
from firstlight.proxies.requests import ProxyRequest, parse_requests
from firstlight.scoring.models import DrawnBatches, ModelSetting, score_model, score_models
from firstlight.scoring.service import source_for

IMAGE = torch.ones(1, 1, 8, 8)
SETTING = ModelSetting(IMAGE)


def small() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())


def test_weights_depend_on_the_seed_alone() -> None:
    requests = parse_requests("dextr")

    def value(seed: int) -> float:
        torch.rand(3)
        return score_model("small", small, requests, ModelSetting(IMAGE, seed=seed)).scores["dextr"].value

    state = torch.get_rng_state()
    assert value(0) == value(0) != value(1)
    torch.set_rng_state(state)
    before = torch.rand(1)
    torch.set_rng_state(state)
    score_model("small", small, requests, SETTING)
    assert torch.rand(1) == before


def test_a_model_as_it_is() -> None:
    network = score_model("mine", small(), parse_requests("params,macs"), SETTING)
    assert network.architecture == "mine"
    assert network.cost is not None
    assert network.cost.params == network.scores["params"].value == 40
    assert network.cost.macs == network.scores["macs"].value == 9 * 4 * 36


def test_a_proxy_that_fails_leaves_the_others_alone() -> None:
    @proxy(reference="")
    def broken(probe: Probe) -> Parts:
        raise ZeroDivisionError("no layers")

    scores = score_model("small", small, [ProxyRequest(broken), *parse_requests("params")], SETTING).scores
    assert (scores["broken"].status, scores["broken"].note) == ("failed", "ZeroDivisionError: no layers")
    assert scores["params"].ok


def test_a_model_that_cannot_be_made_or_run() -> None:
    requests = parse_requests("params")
    with pytest.raises(ModelError, match=r"forward pass failed on \(1, 1, 8, 8\)"):
        score_model("tall", lambda: nn.Linear(7, 2), requests, SETTING)
    with pytest.raises(
        ModelError, match="none is neither a model nor a function that builds one: it returned a NoneType"
    ):
        score_model("none", lambda: None, requests, SETTING)  # type: ignore[arg-type, return-value]
    with pytest.raises(ModelError, match=r"wide\(\) failed: TypeError"):
        score_model("wide", nn.Linear, requests, SETTING)
    with pytest.raises(SettingError, match="device 'abacus'"):
        score_model("small", small, requests, ModelSetting(IMAGE, device="abacus"))


class Two(nn.Module):
    """Made for batches of two, so that the one forward pass in which the cost is counted fails."""

    def __init__(self) -> None:
        super().__init__()
        self.map = nn.Linear(32, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.map(x.reshape(2, 32))  # type: ignore[no-any-return]


def test_a_model_whose_cost_cannot_be_counted_has_scores() -> None:
    batch = torch.randn(2, 1, 4, 8), torch.tensor([0, 2])
    network = score_model("two", Two(), parse_requests("snip,params"), ModelSetting(batch))
    assert (network.scores["snip"].status, network.scores["params"].status) == ("ok", "failed")
    assert network.cost is None
    assert network.to_dict()["cost"] is None
    restless = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.BatchNorm2d(1, track_running_stats=False), nn.Flatten())
    network = score_model("restless", restless, parse_requests("params"), ModelSetting(batch))
    assert (network.scores["params"].status, network.cost) == ("unsupported", None)


def test_one_broken_model_does_not_take_the_others_with_it() -> None:
    def full() -> nn.Module:
        raise MemoryError("too wide")

    models = {"tall": nn.Linear(7, 2), "wide": nn.Linear, "full": full, "lazy": nn.LazyLinear(2), "small": small}
    found = {network.architecture: network for network in score_models(models, parse_requests("dextr,params"), SETTING)}
    assert list(found) == list(models)
    assert all(score.ok for score in found["small"].scores.values())
    for name, reason in (
        ("tall", "forward pass failed"),
        ("wide", "TypeError"),
        ("full", "too wide"),
        ("lazy", "lazy"),
    ):
        assert found[name].cost is None
        for score in found[name].scores.values():
            assert score.status == "failed"
            assert reason in score.note


def test_what_is_wrong_for_all_models_is_an_error() -> None:
    requests = parse_requests("params")
    with pytest.raises(DataError, match="NaN"):
        list(score_models({"small": small}, requests, ModelSetting(IMAGE * torch.nan)))
    with pytest.raises(SettingError, match="need newly initialized weights"):
        list(score_models({"small": small()}, requests, ModelSetting(IMAGE, repeats=2)))


@pytest.mark.parametrize("classes", [2, 10, 30])
def test_labels_of_noise_are_of_classes_that_the_model_can_tell(classes: int) -> None:
    def model() -> nn.Module:
        return nn.Sequential(nn.Flatten(), nn.Linear(12, classes))

    requests = parse_requests("snip,ntk_trace")
    shown = DrawnBatches(source_for(requests), (3, 2, 2))
    network = score_model("mine", model, requests, ModelSetting(shown))
    assert all(score.ok for score in network.scores.values()), network.scores
    labels = ModelSetting(shown).probe(model(), 0).batches[0].targets
    assert labels is not None
    assert int(labels.max()) < classes
    assert int(labels.max()) >= min(classes, 10) - 3


class TwoOutputs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = small()

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x, self.body(x)


def test_batches_follow_the_models_as_in_score() -> None:
    models = {"one": small(), "other": small()}
    after = firstlight.rank(models, IMAGE + torch.arange(8.0), proxies="naswot")
    assert {row.network.architecture: row.value for row in after.rows} == {
        name: firstlight.score(model, IMAGE + torch.arange(8.0), "naswot")["naswot"].value
        for name, model in models.items()
    }
    with pytest.raises(SettingError, match="The batches are given twice"):
        firstlight.rank(models, IMAGE, input=IMAGE)
    with pytest.raises(SettingError, match="take no architectures"):
        firstlight.rank(models, ["|none~0|"])


def test_each_model_may_have_its_own_place_of_the_logits() -> None:
    models = {"one": small(), "two": TwoOutputs()}
    image = torch.arange(64.0).reshape(1, 1, 8, 8).sin()
    ranking = firstlight.rank(models, image, proxies="dextr", logits={"two": 1})
    assert all(row.rank is not None for row in ranking.rows)
    with pytest.raises(UnknownNameError, match=r"There is no model 'tow'\. Did you mean 'two'"):
        firstlight.rank(models, IMAGE, logits={"tow": 1})
