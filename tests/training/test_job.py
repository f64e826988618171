"""The job that executors run: what it depends on, and what it refuses."""

from __future__ import annotations

import pickle
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from firstlight.core.errors import DataError, ParseError, SettingError
from firstlight.data import load_dataset
from firstlight.spaces import SPACES
from firstlight.storage.outcome import TrainingResult
from firstlight.training.job import EvaluationJob, EvaluationSetting
from firstlight.training.recipe import TrainingRecipe

SMALL = EvaluationSetting(
    "nasbench201",
    "digits@8",
    TrainingRecipe(epochs=1, batch_size=16),
    skeleton_settings=(("cells", 1), ("channels", 2)),
    samples=60,
)
TEXT = str(SPACES["nasbench201"].sample(random.Random(0)))


def trained(setting: EvaluationSetting, text: str = TEXT) -> TrainingResult:
    return EvaluationJob(setting, setting.dataset.fingerprint)(text)


def test_recipes_that_ask_more_of_a_network() -> None:
    skeleton = (("cells", 3), ("channels", 2))
    recipe = TrainingRecipe(epochs=2, batch_size=8, drop_path=0.5, auxiliary_weight=0.4, validation=0.5)
    setting = EvaluationSetting("darts", "digits@32", recipe, skeleton_settings=skeleton, samples=16)
    assert len(setting.dataset.x_val) == 8
    text = str(SPACES["darts"].example())
    found = [
        trained(replace(setting, recipe=changed), text)
        for changed in (recipe, replace(recipe, drop_path=0), replace(recipe, auxiliary_weight=0))
    ]
    assert all(result.ok for result in found)
    assert len({result.epochs[-1].train_loss for result in found}) == 3


def test_what_an_accuracy_depends_on_is_in_its_key() -> None:
    settings = [
        SMALL,
        replace(SMALL, seed=1),
        replace(SMALL, samples=80),
        replace(SMALL, source_name="digits@12"),
        replace(SMALL, recipe=TrainingRecipe(epochs=1, batch_size=8)),
        replace(SMALL, skeleton_settings=(("cells", 1), ("channels", 3))),
    ]
    assert len({setting.key(TEXT) for setting in settings}) == len(settings)
    results = [trained(setting) for setting in settings]
    assert len({result.epochs[0].val_loss for result in results}) == len(settings)


def test_workers_load_the_data_themselves() -> None:
    assert SMALL.dataset.classes == 10
    travelled = pickle.loads(pickle.dumps(SMALL))
    assert travelled == SMALL
    assert "dataset" not in vars(travelled)
    assert len(pickle.dumps(SMALL)) < 2_000


def test_data_that_changes_under_way_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, x=np.random.default_rng(0).normal(size=(20, 8, 8)), y=np.arange(20) % 2)
    setting = replace(SMALL, source_name=f"npz:{path}", samples=None)
    job = EvaluationJob(replace(setting), setting.dataset.fingerprint)
    np.savez(path, x=np.random.default_rng(1).normal(size=(20, 8, 8)), y=np.arange(20) % 2)
    with pytest.raises(DataError, match="has changed since the run started"):
        job(TEXT)


def test_the_data_decides_the_shape() -> None:
    skeleton = SMALL.skeleton
    assert (skeleton.input_shape, skeleton.classes) == ((3, 8, 8), 10)
    assert SMALL.dataset.fingerprint == load_dataset("digits@8", samples=60).fingerprint


def test_settings_that_cannot_be() -> None:
    with pytest.raises(SettingError, match="64 bits"):
        replace(SMALL, seed=2**63)
    with pytest.raises(SettingError, match="device 'abacus'"):
        replace(SMALL, device="abacus")
    with pytest.raises(SettingError, match=r"\(3, 8, 8\); the skeleton asks for \(1, 8, 8\)"):
        _ = replace(SMALL, skeleton_settings=(("input_shape", (1, 8, 8)),)).skeleton
    with pytest.raises(ParseError):
        trained(SMALL, "|no_such_op~0|")
