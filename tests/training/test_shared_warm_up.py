"""Weights that all networks share: trained once, inherited by each, the same everywhere."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from firstlight.core.errors import DivergedError, SettingError, UnknownNameError
from firstlight.core.events import Event
from firstlight.data import InputSource
from firstlight.data.clicks import open_clicks
from firstlight.data.clicks.layouts import LAYOUTS
from firstlight.data.clicks.prepare import prepare_clicks
from firstlight.data.clicks.shares import ClickShare
from firstlight.data.clicks.synthetic import synthesize_clicks
from firstlight.execution.executor import InProcess
from firstlight.execution.workers import WorkerProcesses
from firstlight.probe import Probe
from firstlight.proxies.requests import ProxyRequest, measure_all
from firstlight.scoring.service import ScoreService, Setting
from firstlight.spaces import SPACES
from firstlight.storage.store import Store, open_store
from firstlight.training import shared_warm_up
from firstlight.training.recipe import TrainingRecipe
from firstlight.training.shared_warm_up import NoData, SharedWarmUp
from firstlight.training.shared_weights import recipe_for, train_shared
from firstlight.training.warm_up import FOLDER, WarmUp, read_warm_up

CELLS = SPACES["nasbench201"]
BRIEF = SharedWarmUp.parse("10%:weights=shared:batch_size=16", CELLS)
SOURCE = InputSource("digits@8", batch_size=16, batches=4)
SMALL = Setting("nasbench201", SOURCE, seed=3, skeleton_settings=(("cells", 1), ("channels", 4)), warm_up=BRIEF)
TEXTS = [str(CELLS.sample(random.Random(seed))) for seed in (1, 2)]
ASKED = [ProxyRequest.parse(text) for text in ("sigeo", "zico", "loss")]


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    shared_warm_up._last.clear()
    yield
    shared_warm_up._last.clear()


def values(setting: Setting, executor: InProcess | WorkerProcesses, store: Store) -> dict[tuple[str, str], float]:
    networks = ScoreService(setting, ASKED, executor, store).scores(TEXTS)
    return {(n.architecture, name): score.value for n in networks for name, score in n.scores.items()}


def test_text_form() -> None:
    assert read_warm_up("10%:weights=shared:batch_size=16", CELLS) == BRIEF
    assert SharedWarmUp(0.1, "single-path", replace(recipe_for(CELLS.shared()), batch_size=16)) == BRIEF
    text = "10%:batch_size=16:epochs=1:frozen=False:learning_rate=0.1:policy=single-path:weights=shared"
    assert str(BRIEF) == text
    assert SharedWarmUp.parse(text, CELLS) == BRIEF
    assert read_warm_up("0%:weights=shared", CELLS) == SharedWarmUp(0.0, "single-path", recipe_for(CELLS.shared()))
    assert isinstance(read_warm_up("10%:weights=own", CELLS), WarmUp)
    clicks = read_warm_up("1%", SPACES["nasrec-small"])
    assert str(clicks) == ("1%:batch_size=512:epochs=1:frozen=False:learning_rate=0.12:policy=published:weights=shared")
    assert read_warm_up("0%", SPACES["nasrec-small"]) is None
    with pytest.raises(UnknownNameError, match="Did you mean 'single-path'"):
        read_warm_up("10%:weights=shared:policy=singel-path", CELLS)
    with pytest.raises(UnknownNameError, match="Did you mean 'shared'"):
        read_warm_up("10%:weights=shard", CELLS)
    with pytest.raises(SettingError, match="'darts' has no shared weights"):
        read_warm_up("10%:weights=shared", SPACES["darts"])
    with pytest.raises(SettingError, match="must be from 0% to 100%"):
        read_warm_up("110%:weights=shared", CELLS)


def test_networks_inherit_what_was_trained_once(tmp_path: Path) -> None:
    """As if the weight-sharing network had been trained by hand, in process, on workers and from the file."""
    shared, share = CELLS.shared(), BRIEF.load(SOURCE, 3)
    whole = shared.network(SMALL.skeleton, seed=3)
    batches = BRIEF.batches(share, 3)
    train_shared(whole, batches, BRIEF.num_batches(share), shared.policy(), BRIEF.recipe, seed=3)
    by_hand = {}
    for text in TEXTS:
        probe = Probe(shared.subnet(whole, CELLS.parse(text)), SMALL.inputs.batches, seed=3)
        by_hand |= {(text, name): score.value for name, score in measure_all(ASKED, probe).items()}
    with open_store(tmp_path / "a") as store:
        assert values(SMALL, InProcess(), store) == by_hand
        assert len(list((tmp_path / "a" / FOLDER).iterdir())) == 1
    with Store(":memory:") as store:
        assert values(SMALL, WorkerProcesses(1), store) == by_hand
    shared_warm_up._last.clear()
    with pytest.MonkeyPatch.context() as patch, open_store(tmp_path / "a") as store:
        patch.setattr(shared_warm_up, "train_shared", None)  # the file has it all
        other = Setting(**{**vars_of(SMALL), "source": replace(SOURCE, batch_size=8)})
        assert values(other, InProcess(), store).keys() == by_hand.keys()


def vars_of(setting: Setting) -> dict[str, object]:
    names = ("space_name", "seed", "skeleton_settings", "warm_up")
    return {name: getattr(setting, name) for name in names}


def test_what_proxies_see_does_not_train_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[bool] = []
    train = SharedWarmUp._train
    monkeypatch.setattr(SharedWarmUp, "_train", lambda self, *given: (trained.append(self.frozen), train(self, *given)))
    for frozen in (False, True):
        setting = replace(SMALL, warm_up=replace(BRIEF, frozen=frozen))
        setting.network(TEXTS[0], tmp_path)
        shared_warm_up._last.clear()  # the other one is found in its file
    assert trained == [False]
    assert len(list(tmp_path.iterdir())) == 1


def test_shared_weights_are_other_weights_than_own_ones(tmp_path: Path) -> None:
    with Store(":memory:") as store:
        found = values(SMALL, InProcess(), store)
        untrained = values(replace(SMALL, warm_up=replace(BRIEF, share=0.0)), InProcess(), store)
        own = values(replace(SMALL, warm_up=WarmUp.parse("10%:batch_size=16")), InProcess(), store)
    keys = {key: (found[key], untrained[key], own[key]) for key in found}
    assert all(len(set(three)) == 3 for three in keys.values())


def test_without_a_share_there_is_nothing_to_learn_from() -> None:
    zero = replace(BRIEF, share=0.0)
    assert zero.load(InputSource(), 0) == NoData()
    setting = replace(SMALL, source=InputSource(batch_size=4, batches=4), warm_up=zero)
    with Store(":memory:") as store:
        assert len(values(setting, InProcess(), store)) == 2 * len(ASKED)


def test_progress_and_a_training_that_diverges() -> None:
    told: list[Event] = []
    with Store(":memory:") as store:
        service = ScoreService(SMALL, ASKED, InProcess(), store, told.append)
        list(service.scores(TEXTS))
        assert told == [Event("warm-up", step, 9) for step in range(1, 10)]
        wild = replace(SMALL, warm_up=replace(BRIEF, recipe=replace(BRIEF.recipe, learning_rate=1e30, epochs=3)))
        with pytest.raises(DivergedError, match=r"was \w+ at step \d+, in epoch 1"):
            values(wild, InProcess(), store)


@pytest.fixture(scope="module")
def clicks(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("clicks")
    synthesize_clicks(folder / "log.tsv", 400)
    prepare_clicks(LAYOUTS["criteo"], folder / "log.tsv", folder / "clicks.parquet", hash_rows=20)
    return f"criteo:{folder / 'clicks.parquet'}"


def test_clicks_are_read_as_they_are_needed(clicks: str) -> None:
    warm_up = SharedWarmUp.parse("50%:batch_size=16", SPACES["nasrec-small"])
    share = warm_up.load(InputSource(clicks), seed=2)
    assert isinstance(share, ClickShare)
    assert len(share) == round(open_clicks(clicks).rows["train"] / 2)
    batches = list(share.batches(16, seed=1))
    assert len(batches) == len(share) // 16 == warm_up.num_batches(share)
    rows = {tuple(row.tolist()) for x, _ in batches for row in x}
    again = {tuple(row.tolist()) for x, _ in share.batches(16, seed=5) for row in x}
    assert len(rows & again) > 0.8 * len(rows)  # the same rows in another order, but for what is left at the end
    assert not torch.equal(batches[0][0], next(iter(share.batches(16, seed=5)))[0])


def test_too_few_batches_are_refused_before_any_work(clicks: str) -> None:
    with pytest.raises(SettingError, match=r"1% of the \d+ .* in 0 batches of 512.*use more data.*smaller"):
        SharedWarmUp.parse("1%", SPACES["nasrec-small"]).load(InputSource(clicks), 0)
    with pytest.raises(SettingError, match=r"needs at least 4 batches: use \d+% or more"):
        SharedWarmUp.parse("10%:batch_size=100", CELLS).load(SOURCE, 0)


def test_only_some_settings_of_the_recipe_can_be_changed() -> None:
    setting = replace(SMALL, warm_up=SharedWarmUp(0.1, "single-path", TrainingRecipe(batch_size=16)))
    with pytest.raises(SettingError, match="Only batch_size, learning_rate, epochs can be changed"):
        setting.network(TEXTS[0])
