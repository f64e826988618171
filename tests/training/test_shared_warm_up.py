"""Weights that all networks share: trained once, inherited by each, the same everywhere."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from firstlight.core.errors import DivergedError, SettingError, UnknownNameError
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
from firstlight.training.shared_warm_up import NoData, SharedWarmUp
from firstlight.training.shared_weights import recipe_for, train_steps
from firstlight.training.warm_up import FOLDER, WarmUp, read_warm_up

CELLS = SPACES["nasbench201"]
BRIEF = SharedWarmUp(0.1, "single-path", batch_size=16, learning_rate=0.1)
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
    found = read_warm_up("10%:weights=shared:batch_size=16", CELLS)
    assert found == replace(BRIEF, learning_rate=found.learning_rate)  # type: ignore[union-attr]
    assert SharedWarmUp.parse(str(BRIEF), CELLS) == BRIEF
    assert read_warm_up("0%:weights=shared", CELLS) == SharedWarmUp(0.0, "single-path", 128, 0.1)
    assert isinstance(read_warm_up("10%:weights=own", CELLS), WarmUp)
    clicks = read_warm_up("1%", SPACES["nasrec-small"])
    assert clicks == SharedWarmUp(0.01, "published", 512, 0.12, frozen=True)
    assert read_warm_up("0%", SPACES["nasrec-small"]) is None
    with pytest.raises(UnknownNameError, match="Did you mean 'single-path'"):
        read_warm_up("10%:weights=shared:policy=singel-path", CELLS)
    with pytest.raises(UnknownNameError, match="Did you mean 'shared'"):
        read_warm_up("10%:weights=shard", CELLS)
    with pytest.raises(SettingError, match="'darts' has no shared weights"):
        read_warm_up("10%:weights=shared", SPACES["darts"])
    with pytest.raises(SettingError, match="must be from 0 % to 100 %"):
        read_warm_up("110%:weights=shared", CELLS)


def test_networks_inherit_what_was_trained_once(tmp_path: Path) -> None:
    """As if the weight-sharing network had been trained by hand, in process, on workers and from the file."""
    shared, share = CELLS.shared(), BRIEF.load(SOURCE, 3)
    whole = shared.network(SMALL.skeleton, seed=3)
    batches = BRIEF._batches(share, SMALL)
    train_steps(whole, batches, BRIEF.steps(share), shared.policy(), replace(recipe_for(shared), batch_size=16), seed=3)
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
        patch.setattr(shared_warm_up, "train_steps", None)  # the file has it all
        other = Setting(**{**vars_of(SMALL), "source": replace(SOURCE, batch_size=8)})
        assert values(other, InProcess(), store).keys() == by_hand.keys()


def vars_of(setting: Setting) -> dict[str, object]:
    names = ("space_name", "seed", "skeleton_settings", "warm_up")
    return {name: getattr(setting, name) for name in names}


def test_shared_weights_are_other_weights_than_own_ones(tmp_path: Path) -> None:
    with Store(":memory:") as store:
        found = values(SMALL, InProcess(), store)
        untrained = values(replace(SMALL, warm_up=replace(BRIEF, share=0.0)), InProcess(), store)
        own = values(replace(SMALL, warm_up=WarmUp(0.1, batch_size=16)), InProcess(), store)
    keys = {key: (found[key], untrained[key], own[key]) for key in found}
    assert all(len(set(three)) == 3 for three in keys.values())


def test_without_a_share_there_is_nothing_to_learn_from() -> None:
    zero = replace(BRIEF, share=0.0)
    assert zero.load(InputSource(), 0) == NoData()
    setting = replace(SMALL, source=InputSource(batch_size=4, batches=4), warm_up=zero)
    with Store(":memory:") as store:
        assert len(values(setting, InProcess(), store)) == 2 * len(ASKED)


def test_progress_and_a_training_that_diverges() -> None:
    told: list[tuple[int, int]] = []
    with Store(":memory:") as store:
        service = ScoreService(SMALL, ASKED, InProcess(), store, lambda done, total: told.append((done, total)))
        list(service.scores(TEXTS))
        assert told == [(step, 9) for step in range(1, 10)]
        wild = replace(SMALL, warm_up=replace(BRIEF, learning_rate=1e30, epochs=3))
        with pytest.raises(DivergedError, match="training diverged"):
            values(wild, InProcess(), store)


@pytest.fixture(scope="module")
def clicks(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("clicks")
    synthesize_clicks(folder / "log.tsv", 400)
    prepare_clicks(LAYOUTS["criteo"], folder / "log.tsv", folder / "clicks.parquet", hash_rows=20)
    return f"criteo:{folder / 'clicks.parquet'}"


def test_clicks_are_read_as_they_are_needed(clicks: str) -> None:
    warm_up = SharedWarmUp(0.5, "published", batch_size=16, learning_rate=0.12)
    share = warm_up.load(InputSource(clicks), seed=2)
    assert isinstance(share, ClickShare)
    assert len(share) == round(open_clicks(clicks).rows["train"] / 2)
    batches = list(share.batches(16, seed=1))
    assert len(batches) == len(share) // 16 == warm_up.steps(share)
    rows = {tuple(row.tolist()) for x, _ in batches for row in x}
    again = {tuple(row.tolist()) for x, _ in share.batches(16, seed=5) for row in x}
    assert len(rows & again) > 0.8 * len(rows)  # the same rows in another order, but for what is left at the end
    assert not torch.equal(batches[0][0], next(iter(share.batches(16, seed=5)))[0])


def test_too_few_batches_are_refused_before_any_work(clicks: str) -> None:
    with pytest.raises(SettingError, match=r"1% of the \d+ samples .* in 0 batches of 512.*take more data.*smaller"):
        SharedWarmUp(0.01, "published", 512, 0.12).load(InputSource(clicks), 0)
    with pytest.raises(SettingError, match=r"needs 4: take \d+% or more"):
        SharedWarmUp(0.1, "single-path", 100, 0.1).load(SOURCE, 0)
