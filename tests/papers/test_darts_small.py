"""Cells of the DARTS space, trained from scratch: tiny networks, tiny searches, few images."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.papers.toy import run

from firstlight.core.errors import MissingFileError, SettingError
from firstlight.evaluation.methods import parse_method
from firstlight.papers import EXPERIMENTS
from firstlight.papers.darts_networks import METHODS, PUBLISHED, at_random, largest, published
from firstlight.papers.equal_size import Trainings
from firstlight.papers.from_scratch import ACCURACY, AfterTraining, Standings
from firstlight.proxies.base import Parts
from firstlight.scoring.service import Setting
from firstlight.spaces import SPACES
from firstlight.spaces.darts.space import DARTS
from firstlight.storage.store import STORE_NAME, Store
from firstlight.training.recipes import RecipeRequest

SKELETON = {"cells": 3, "channels": 2, "input_shape": (3, 8, 8)}
TINY: dict[str, Any] = {
    "samples": 3,
    "skeleton": SKELETON,
    "recipe": "quick:epochs=1:batch_size=32",
    "workers": 0,
}
BRIEF = {
    "Dextr": ("random@dextr", 2),
    "HNAS": ("hnas:pool=4:batch=2:form=paper", 2),
    "NASI, fixed nu": ("nasi:steps=2:batch=2:variant=fix:nu=0:mu=2:normalize=running@ntk_trace_batch", 1),
    "NASI, adaptive nu": ("nasi:steps=2:batch=2:variant=ada:nu=0:mu=2:normalize=running@ntk_trace_batch", 1),
}


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    assert BRIEF.keys() == METHODS.keys()
    for title, method in BRIEF.items():
        monkeypatch.setitem(METHODS, title, method)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with a few images of noise."""
    rng, folder = np.random.default_rng(0), tmp_path / "data"
    folder.mkdir()
    arrays: dict[str, Any] = {}
    for part, count in (("train", 80), ("test", 40)):
        arrays[f"x_{part}"] = rng.integers(0, 256, (count, 3, 16, 16), dtype=np.uint8)
        arrays[f"y_{part}"] = np.arange(count) % 10
    np.savez(folder / "cifar10.npz", **arrays)
    return folder


def trained(folder: Path) -> int:
    with Store(folder / STORE_NAME) as store:
        return len(store._execute("SELECT 1 FROM scores WHERE proxy LIKE 'accuracy after %'"))


@pytest.mark.usefixtures("brief")
def test_it_runs_and_trains_each_network_once_for_each_seed(data: Path, tmp_path: Path) -> None:
    outcome = run(EXPERIMENTS["darts-small"], data=data, out=tmp_path, **TINY)
    lines = outcome.findings.lines
    titles = [line.on for line in lines if line.what == ACCURACY]
    assert titles == [*METHODS, *PUBLISHED, "NASNet", "largest genotype", "random 1", "random 2", "random 3"]
    assert all(line.ours is not None and 0 <= line.ours.value <= 100 for line in lines if line.what == ACCURACY)
    assert [line.on for line in lines if line.what == "above random genotypes of equal size, points"] == titles[:-3]
    sizes = {line.on: line for line in lines if line.published is not None}
    assert sizes["DARTS, second order"].verdict == "agrees"
    assert sizes.keys() == {"DARTS, second order", "NASI, fixed nu", "NASI, adaptive nu", "HNAS"}
    texts = {str(network) for network in [*published().values(), largest(), *at_random(3).values()]}
    assert 2 * len(texts) < trained(tmp_path) <= 2 * len(titles)
    before = trained(tmp_path)
    assert run(EXPERIMENTS["darts-small"], data=data, out=tmp_path, **TINY) == outcome
    assert trained(tmp_path) == before
    assert outcome.settings["recipe"] == str(RecipeRequest.parse(TINY["recipe"]).recipe)
    assert outcome.settings["genotypes"] == "3, drawn at random"
    assert "input_shape=3x8x8" in outcome.settings["skeleton"]
    assert "--recipe quick:epochs=1:batch_size=32" in outcome.command
    assert json.loads((tmp_path / "darts-small.json").read_text())["command"] == outcome.command


@pytest.mark.usefixtures("brief")
def test_what_is_complete_is_shown_on_an_interrupt(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained = 0

    def measure(self: AfterTraining, setting: Setting, architecture: str) -> Parts:
        nonlocal trained
        if trained == 14:  # all of the first seed, which are 11 or 12, and a few of the second
            raise KeyboardInterrupt
        trained += 1
        return Parts(40 + trained)

    monkeypatch.setattr(AfterTraining, "__call__", measure)
    outcome = run(EXPERIMENTS["darts-small"], data=data, **TINY)
    lines = {line.on: line for line in outcome.findings.lines if line.what == ACCURACY}
    assert lines["random 3"].note.endswith(", none")
    assert not lines["Dextr"].note.endswith("none")
    assert any("trainings are complete" in remark for remark in outcome.findings.remarks)
    trained = 14
    with pytest.raises(KeyboardInterrupt):
        run(EXPERIMENTS["darts-small"], data=data, **TINY)


def test_the_largest_is_at_least_as_large_as_any() -> None:
    space, rng = DARTS(), random.Random(0)
    most = space.cost(largest()).params
    assert space.parse(str(largest())) == largest()
    assert all(space.cost(space.sample(rng)).params < most for _ in range(50))


def test_more_random_genotypes_include_those_of_fewer() -> None:
    few, many = at_random(3), at_random(6)
    assert list(many.items())[:3] == list(few.items())
    assert len(set(many.values())) == 6


def test_methods_can_be_read() -> None:
    for text, budget in METHODS.values():
        method = parse_method(text)
        assert budget >= 1
        assert method.algorithm.algorithm.check(SPACES["darts"]) is None  # type: ignore[attr-defined]


def standings(methods: list[float], seeds: int = 2) -> Standings:
    networks = dict(zip([*METHODS, *(f"random {i}" for i in range(4))], at_random(8).values(), strict=True))
    params = [1000] * 4 + [500, 1000, 2000, 4000]
    means = [*methods, 50.0, 51.1, 51.9, 53.0]
    return Standings(networks, params, Trainings(np.tile(np.array(means)[:, None], seeds)), 4)


def test_the_answer_says_who_is_above_and_below() -> None:
    told = standings([60.0, 51.0, 40.0, math.nan]).answer(len(METHODS), "cells of methods")
    assert "above: `Dextr`; below: `NASI, fixed nu`; neither above nor below: `HNAS`." in told
    assert "too few" in standings([math.nan] * 4).answer(len(METHODS), "cells of methods")


def test_noise_teaches_nothing_and_other_experiments_take_no_recipe(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="name other images with --input"):
        run(EXPERIMENTS["darts-small"], data=tmp_path, **(TINY | {"input": "synthetic"}))
    with pytest.raises(SettingError, match="hnas-table2 does not train networks from scratch"):
        run(EXPERIMENTS["hnas-table2"], data=tmp_path, recipe="quick")
    with pytest.raises(SettingError, match="samples is 2; darts-small needs 3 random genotypes"):
        run(EXPERIMENTS["darts-small"], data=tmp_path, **(TINY | {"samples": 2}))
