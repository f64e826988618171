"""Warm-up: a little training before scoring, the same everywhere, done once, and honest about what went wrong."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from firstlight.core.errors import DataError, DivergedError, FirstlightError, SettingError
from firstlight.core.seeds import torch_generator
from firstlight.data import InputSource
from firstlight.data.shares import Share, load_share
from firstlight.execution.executor import InProcess, make_executor
from firstlight.probe import Probe
from firstlight.proxies.base import NetworkScore
from firstlight.proxies.requests import ProxyRequest
from firstlight.scoring.service import ScoreService, Setting
from firstlight.spaces import SPACES
from firstlight.storage.store import Store, open_store
from firstlight.storage.tensor_files import read_about
from firstlight.training import warm_up
from firstlight.training.fitting import channels_last
from firstlight.training.recipe import TrainingRecipe
from firstlight.training.recipes import WARM_UPS
from firstlight.training.warm_up import FOLDER, Kept, WarmUp, read_warm_up


def warmed(share: float, **settings: Any) -> WarmUp:
    return WarmUp(share, replace(WARM_UPS["plain"], **settings))


BRIEF = warmed(0.1, batch_size=32, epochs=2)
SOURCE = InputSource("digits@8", batch_size=16, batches=4)
SMALL = Setting("nasbench201", SOURCE, seed=3, skeleton_settings=(("cells", 1), ("channels", 4)), warm_up=BRIEF)
CELLS = [str(SPACES["nasbench201"].sample(random.Random(seed))) for seed in (1, 2)]
ASKED = ("sigeo", "zico", "loss", "params")


def scores(
    setting: Setting = SMALL, store: Store | None = None, asked: tuple[str, ...] = ASKED, workers: int = 0
) -> dict[str, dict[str, tuple[float, str]]]:
    service = ScoreService(setting, map(ProxyRequest.parse, asked), make_executor(workers), store or Store(":memory:"))
    found: Iterator[NetworkScore] = service.scores(CELLS)
    return {
        network.architecture: {name: (score.value, score.status) for name, score in network.scores.items()}
        for network in found
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10%", WarmUp(0.1)),
        (" 0.1 ", WarmUp(0.1)),
        ("100%:epochs=3", warmed(1.0, epochs=3)),
        ("40%:recipe=official", warmed(0.4, epochs=10, learning_rate=1.0, momentum=0)),
        ("40%:epochs=1:recipe=official:batch_size=64", warmed(0.4, batch_size=64, learning_rate=1.0, momentum=0)),
        ("1%:learning_rate=1e-2:momentum=0", warmed(0.01, learning_rate=0.01, momentum=0)),
        (str(warmed(0.07, momentum=0.5)), warmed(0.07, momentum=0.5)),
    ],
)
def test_text_form(text: str, expected: WarmUp) -> None:
    assert WarmUp.parse(text) == read_warm_up(text, SPACES["nasbench201"]) == expected


def test_all_that_decides_is_in_the_text() -> None:
    assert str(WarmUp(0.1)) == "10%:batch_size=128:epochs=1:learning_rate=0.1:momentum=0.9"
    assert read_warm_up(0.25, SPACES["nasbench201"]) == WarmUp(0.25)
    assert read_warm_up(BRIEF, SPACES["nasbench201"]) is BRIEF
    assert [read_warm_up(given, SPACES["nasbench201"]) for given in (None, 0, 0.0, "0", "0%", "0.0%")] == [None] * 6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a share of the training data. Write 10% or 0.1"),
        ("ten", "'ten' is not a share"),
        ("-5%", "'-5%' is not a share"),
        ("150%", "share of a warm-up is 1.5; it must be above 0% and at most 100%"),
        ("10", "share of a warm-up is 10.0"),
        ("10%:steps=3", "'steps=3' is not a setting of the warm-up '10%'.*epochs"),
        ("10%:recipe=fast", "recipe of a warm-up 'fast'(.|\n)*official"),
        ("10%:epochs=0", "epochs is 0; it must be a whole number, 1 or more"),
        ("10%:batch_size=1", "batch_size is 1; it must be a whole number, 2 or more"),
        ("10%:learning_rate=0", "learning_rate is 0; nothing would be learned"),
        ("10%:momentum=1", "momentum is 1.0; it must be less than 1"),
        ("10%:learning_rate=nan", "learning_rate is nan; it must be a number"),
    ],
)
def test_what_makes_no_sense(text: str, message: str) -> None:
    with pytest.raises(FirstlightError, match=message):
        WarmUp.parse(text)


def test_too_few_batches_are_refused_before_any_work() -> None:
    setting = replace(SMALL, warm_up=WarmUp(0.1))
    told = (
        r"10% of the 1,438 training samples of 'digits@8' are 144 samples, in 2 batches.*use 27% or more.*batch_size=18"
    )
    with pytest.raises(SettingError, match=told):
        setting.check()
    replace(setting, warm_up=WarmUp(0.27)).check()
    replace(setting, warm_up=WarmUp.parse("10%:batch_size=18")).check()
    with pytest.raises(SettingError, match=r"in 1 batch of 2000.*use more data"):
        replace(setting, warm_up=warmed(1.0, batch_size=2000)).check()
    with pytest.raises(DataError, match="nothing can be learned from 'synthetic'"):
        replace(setting, source=InputSource()).check()


def by_hand(text: str) -> nn.Module:
    """The same written out."""
    space = SPACES["nasbench201"]
    network = space.build(text, SMALL.skeleton, seed=3)
    share = load_share(SOURCE, 0.1, seed=3)
    momenta = [torch.zeros_like(parameter) for parameter in network.parameters()]
    network.train()
    with channels_last(network, space):
        for epoch in ("0", "1"):
            order = torch.randperm(144, generator=torch_generator(3, "warm-up", epoch))
            for batch in order.tensor_split(5):
                loss = F.cross_entropy(network(share.x[batch]), share.y[batch])
                gradients = torch.autograd.grad(loss, list(network.parameters()), allow_unused=True)
                with torch.no_grad():
                    for parameter, momentum, gradient in zip(network.parameters(), momenta, gradients, strict=True):
                        if gradient is not None:
                            momentum.mul_(0.9).add_(gradient)
                            parameter.add_(momentum, alpha=-0.1)
    return network


def test_scores_are_those_of_a_network_trained_by_hand() -> None:
    found = scores()
    for text in CELLS:
        cost = SMALL.space.cost(SMALL.space.parse(text), SMALL.skeleton)
        probe = Probe(by_hand(text), SMALL.inputs.batches, seed=3, cost=cost)
        for name in ASKED:
            value = ProxyRequest.parse(name).measure(probe).value
            assert found[text][name] == (pytest.approx(value, rel=1e-6), "ok")
    assert found != scores(replace(SMALL, warm_up=None))


def test_weights_that_were_kept_answer_other_proxies_without_a_second_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = scores()
    with open_store(tmp_path) as store:
        assert scores(store=store, asked=("sigeo",)) == {text: {"sigeo": expected[text]["sigeo"]} for text in CELLS}
        assert len(list((tmp_path / FOLDER).iterdir())) == len(CELLS)
        monkeypatch.setattr(warm_up, "learn", lambda *_, **__: pytest.fail("trained again"))
        assert scores(store=store) == expected


def test_a_worker_process_comes_to_the_same(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        assert scores(store=store, workers=1) == scores()


def test_a_damaged_file_is_as_good_as_none(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        expected = scores(store=store, asked=("zico",))
        for file in (tmp_path / FOLDER).iterdir():
            file.write_bytes(b"half of it")
        assert scores(store=store, asked=("loss",)) == {text: {"loss": scores()[text]["loss"]} for text in CELLS}
        assert scores(store=store, asked=("zico",)) == expected
    assert all(read_about(file)["about"] for file in (tmp_path / FOLDER).iterdir())  # written anew


def test_weights_of_another_network_are_not_loaded(tmp_path: Path) -> None:
    kept, network = Kept(tmp_path, "this"), nn.Linear(2, 3)
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    kept.save(nn.Linear(2, 4))
    assert not kept.load_into(network)
    assert all(torch.equal(tensor, before[name]) for name, tensor in network.state_dict().items())
    assert not Kept(tmp_path, "that").load_into(network)


def test_a_full_folder_takes_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_up, "LARGEST", 10)
    for about in ("first", "second"):
        Kept(tmp_path / "new", about).save(nn.Linear(2, 3))
    assert Kept(tmp_path / "new", "first").load_into(nn.Linear(2, 3))
    assert not Kept(tmp_path / "new", "second").load_into(nn.Linear(2, 3))


def test_scores_with_and_without_never_mix() -> None:
    request = ProxyRequest.parse("zico")
    changes: list[dict[str, Any]] = [
        {},
        {"warm_up": None},
        {"warm_up": replace(BRIEF, share=0.2)},
        {"warm_up": warmed(0.1, batch_size=32, epochs=3)},
        {"warm_up": warmed(0.1, batch_size=32, epochs=2, learning_rate=0.2)},
        {"warm_up": warmed(0.1, batch_size=32, epochs=2, momentum=0.0)},
        {"warm_up": warmed(0.1, batch_size=16, epochs=2)},
    ]
    keys = {replace(SMALL, **change).key(CELLS[0], request) for change in changes}
    assert len(keys) == len(changes)
    assert len({key.input for key in keys}) == 1  # proxies are shown the same


def test_a_warm_up_that_diverges_is_told_and_not_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setting = replace(SMALL, warm_up=warmed(0.1, batch_size=32, epochs=2, learning_rate=1e30))
    with open_store(tmp_path) as store:
        service = ScoreService(setting, map(ProxyRequest.parse, ASKED), InProcess(), store)
        for network in service.scores(CELLS):
            for score in network.scores.values():
                assert score.status == "non_finite"
                assert "the warm-up diverged" in score.note
                assert score.value != score.value
        assert not (tmp_path / FOLDER).exists()
        monkeypatch.setattr(warm_up, "learn", lambda *_, **__: pytest.fail("trained again"))
        assert all(network.reused for network in service.scores(CELLS))


def test_weights_that_are_no_numbers_at_the_end_are_noticed() -> None:
    network = nn.Linear(2, 2)
    share = Share(torch.full((4, 2), 10.0), torch.tensor([0, 1, 0, 0]), 4, "made up")
    with pytest.raises(DivergedError, match="the warm-up diverged: some weights are infinite or NaN"):
        warmed(1.0, learning_rate=3e38).train(network, share, seed=0)


def test_only_some_settings_of_the_recipe_can_be_changed() -> None:
    for recipe in (TrainingRecipe(), replace(WARM_UPS["plain"], weight_decay=0.1)):
        with pytest.raises(SettingError, match="Only epochs, batch_size, learning_rate, momentum can be changed"):
            WarmUp(0.1, recipe)


def test_nobody_elses_random_numbers_change_and_the_mode_stays() -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    network = SMALL.network(CELLS[0])
    assert torch.equal(torch.rand(3), expected)
    assert network.training
    assert all(parameter.grad is None for parameter in network.parameters())
    sleeping = nn.Linear(2, 2).eval()
    BRIEF.train(sleeping, Share(torch.ones(4, 2), torch.tensor([0, 1, 0, 0]), 4, "made up"), seed=0)
    assert not sleeping.training


def test_each_repeat_is_warmed_up_for_itself() -> None:
    twice = replace(SMALL, repeats=2)
    found = scores(twice, asked=("zico",))
    each = [scores(draw, asked=("zico",)) for draw in twice.draws]
    for text in CELLS:
        mean = sum(one[text]["zico"][0] for one in each) / 2
        assert found[text]["zico"][0] == pytest.approx(mean)


@pytest.mark.parametrize("text", ["0.999", "99.9%", "10%", "100%", "0.00001%", "12.3456789012345%"])
def test_a_share_is_written_to_the_last_digit(text: str) -> None:
    warm_up = WarmUp.parse(text)
    assert WarmUp.parse(str(warm_up)) == warm_up
    assert str(warm_up).split(":")[0] == {"0.999": "99.9%"}.get(text, text)
