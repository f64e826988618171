"""Experiments on the plain benchmark: on a small table whose accuracies are known functions of the networks."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from tests.papers.toy import run

from firstlight.core.statistics import Estimate
from firstlight.papers import EXPERIMENTS
from firstlight.papers import plain_proxies as experiments
from firstlight.papers.experiment import Outcome
from firstlight.papers.plain_networks import FAMILIES, PlainNetworks
from firstlight.spaces import SPACES
from firstlight.tables import table as tables

SMALL: dict[str, Any] = {
    "samples": 64,
    "skeleton": {"input_shape": (3, 8, 8)},
    "input": "synthetic",
    "workers": 0,
    "resamples": 20,
}
BANDS = {"20k": 20_000, "100k": 40_000}
FEW = ("params", "macs", "independence", "naswot", "synflow")
Accuracy = Callable[[float, int], float]


def table_of(accuracy: Accuracy, families: tuple[str, ...] = FAMILIES, networks: int = 4) -> pd.DataFrame:
    """Networks of each family and size; the accuracy is given the cost and a running number."""
    rows: list[dict[str, Any]] = []
    rng = random.Random(0)
    for number in range(networks):
        for name in families:
            space = SPACES[name]
            for band, params in BANDS.items():
                found = space.scaled(space.sample(rng), params, space.skeleton(input_shape=(3, 8, 8)))  # type: ignore[attr-defined]
                cost = space.cost(found, space.skeleton(input_shape=(3, 8, 8)))
                reached = accuracy(cost.macs, len(rows))
                costs = {"params": cost.params, "macs": cost.macs}
                seeds = {"cifar10_val_seed0_8": reached, "cifar10_val_seed1_8": reached + 2 if number == 0 else np.nan}
                rows.append({"space": name, "band": band, "architecture": str(found), "cifar10_val_8": reached})
                rows[-1] |= costs | seeds
    return pd.DataFrame(rows)


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[pd.DataFrame], None]:
    monkeypatch.setattr(tables, "_BUNDLE", tmp_path)
    return lambda frame: frame.to_parquet(tables.bundled_path("plain"), index=False)


def by_title(outcome: Outcome) -> dict[tuple[str, str], Any]:
    return {(line.what, line.on): line for line in outcome.findings.lines}


def test_accuracy_that_is_the_cost(
    bundle: Callable[[pd.DataFrame], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    frame = table_of(lambda macs, _: 20 + 10 * np.log10(macs))
    bundle(frame)
    monkeypatch.setattr(experiments, "PROXIES", FEW)
    outcome = run(EXPERIMENTS["plain-proxies"], out=tmp_path / "out", **SMALL)
    found = by_title(outcome)
    for view in experiments.VIEWS:
        line = found["macs", view.title]
        if view.band in ("", *BANDS) and not view.at_equal_cost:
            assert line.ours == Estimate(1.0, 1.0, 1.0) or line.ours.value == pytest.approx(1.0)
        else:
            assert line.ours is None  # nothing is left at equal cost, and there is no network of 300k
    known = found["params", "all networks"].ours.value
    assert known == pytest.approx(spearmanr(frame["params"], frame["cifar10_val_8"]).statistic)
    assert "plain-vit" in found["naswot", "all networks"].note
    assert "plain-resnet" not in found["naswot", "all networks"].note
    best = found["best accuracy, %", "plain-vit, 100k"]
    members = frame[(frame["space"] == "plain-vit") & (frame["band"] == "100k")]["cifar10_val_8"]
    assert best.ours.value == members.max()
    assert f"the textbook network has {members.iloc[0]:.2f}" in best.note
    assert found["deviation between seeds, %", "all networks"].ours.value == pytest.approx(2**0.5)
    assert "40 networks so far: 20 of 20k, 20 of 100k" in " ".join(outcome.findings.remarks)
    assert outcome.experiment.published_in == "The plain benchmark"
    assert outcome.to_dict()["paper"] == ""


def test_within_families_others_do_not_matter() -> None:
    """Families of different levels are in order within, and in disorder together."""
    frame = table_of(lambda macs, number: 0.0)
    level = {name: 10.0 * number for number, name in enumerate(FAMILIES)}
    frame["cifar10_val_8"] = frame["space"].map(level) + frame["params"] / 1e5
    utilities = frame["params"].to_numpy(dtype=float) - 1e6 * frame["space"].map(level).to_numpy()
    networks = PlainNetworks(frame, {"mine": utilities})

    class Plain:
        @staticmethod
        def estimate(statistic: Callable[..., float], *columns: Any) -> float:
            return statistic(*columns)

    lab: Any = Plain()
    assert experiments.WITHIN_FAMILIES.estimate(lab, networks, "mine") == pytest.approx(1.0)
    (together,) = (view for view in experiments.VIEWS if view.title == "all networks")
    value: Any = together.estimate(lab, networks, "mine")
    assert value < -0.5


def test_halves_depend_on_texts_alone() -> None:
    frame = table_of(lambda macs, number: float(number), networks=8)
    first, second = experiments.halves(PlainNetworks(frame, {}), 0)
    assert not (first & second).any()
    assert (first | second).all()
    assert 20 < first.sum() < 60
    turned = PlainNetworks(frame.iloc[::-1].reset_index(drop=True), {})
    assert list(experiments.halves(turned, 0)[0]) == list(first[::-1])
    assert list(experiments.halves(turned, 1)[0]) != list(first[::-1])


def test_remedies_are_judged_on_other_networks(
    bundle: Callable[[pd.DataFrame], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(experiments, "SUMS", ("synflow",))
    monkeypatch.setattr(experiments, "OTHERS", ("naswot",))
    monkeypatch.setattr(experiments, "FIXED", 12)
    frame = table_of(lambda macs, number: 0.0, families=("plain-resnet",), networks=20)
    frame["cifar10_val_8"] = 50 - 5 * np.log10(frame["params"])  # the fewer parameters, the better
    bundle(frame)
    outcome = run(EXPERIMENTS["plain-remedies"], out=tmp_path / "out", **SMALL)
    lines = [line for line in outcome.findings.lines if line.on == experiments.WITHIN_FAMILIES.title]
    published, chosen, gain = (line for line in lines if line.what.startswith("synflow"))
    assert (published.what, published.note) == ("synflow", "as published")
    assert chosen.what != "synflow"
    assert gain.what == f"{chosen.what}: gain"
    assert gain.ours.value == pytest.approx(chosen.ours.value - published.ours.value)
    assert "chosen on" in " ".join(outcome.findings.remarks)
    assert all("as published" in line.note for line in lines if line.what == "naswot")
    at_equal_cost = by_title(outcome)["synflow", experiments.AT_EQUAL_COST.title]
    assert at_equal_cost.ours is None  # parameters explain the accuracy
    assert at_equal_cost.note.startswith("not defined")


def test_forms_begin_with_the_published_one() -> None:
    for name in (*experiments.SUMS, *experiments.OTHERS):
        forms = experiments.remedies_of(name)
        assert forms[0] == (name, None)
        assert (name, experiments.FIXED) in forms
        assert len(forms) == (8 if name in experiments.SUMS else 2)
