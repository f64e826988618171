"""Experiments on NASI's estimate: they run on a few cells, compare what they say, and meet their slow twins."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from tests.papers.test_experiments import stored
from tests.papers.toy import run, write_cells_of_nb101
from torch import nn

from firstlight.core.statistics import spearman
from firstlight.execution.executor import InProcess
from firstlight.papers import EXPERIMENTS
from firstlight.papers.benchmarks import ONE_SHOT, DataFolder
from firstlight.papers.lab import Lab
from firstlight.papers.nasi import BATCHES, networks, width_remark
from firstlight.papers.nasi_bounds import Bounds, of_norm_one, remove_norms
from firstlight.papers.nasi_ranks import PATHS, RATE_NU, OnPath, best_threshold, bins, conditioned
from firstlight.scoring.service import Setting
from firstlight.spaces import SPACES
from firstlight.spaces.nasbench1shot1.supernet import OPERATIONS, OneShot1Shot1, Skeleton1Shot1
from firstlight.spaces.nasbench101.cell import Cell101
from firstlight.spaces.supernets import set_weights
from firstlight.storage.store import Store

TINY: dict[str, Any] = {"stacks": 1, "cells": 1, "channels": 5}
FEW: dict[str, Any] = {"samples": 10, "skeleton": TINY, "input": "digits@8", "workers": 0, "resamples": 10}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    write_cells_of_nb101(folder)
    return folder


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all, so that experiments share what they measure."""
    return tmp_path_factory.mktemp("out")


@pytest.fixture(scope="module")
def small(data: Path) -> Any:
    """Run an experiment on the first space only, which is enough to see what it does."""

    def of(name: str, **changes: Any) -> Any:
        return run(replace(EXPERIMENTS[name], needs=ONE_SHOT[:1]), data=data, **(FEW | changes))

    return of


@pytest.fixture(autouse=True)
def one_space_and_small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("nasi", "nasi_ranks", "nasi_bounds"):
        monkeypatch.setattr(f"firstlight.papers.{module}.ONE_SHOT", ONE_SHOT[:1])
    for module in ("nasi", "nasi_ranks"):
        monkeypatch.setattr(f"firstlight.papers.{module}.BATCH", 4)


@pytest.mark.parametrize("name", ["nasi-figure1", "nasi-figure3", "nasi-table3", "nasi-bounds"])
def test_it_runs_and_remembers(name: str, small: Any, out: Path) -> None:
    outcome = small(name, out=out)
    before = stored(out)
    assert small(name, out=out) == outcome
    assert stored(out) == before
    assert any(line.ours is not None for line in outcome.findings.lines)
    assert all(line.ours is None or math.isfinite(line.ours.value) for line in outcome.findings.lines)
    assert len({(line.what, line.on) for line in outcome.findings.lines}) == len(outcome.findings.lines)
    assert json.loads((out / f"{name}.json").read_text())["findings"]


def test_every_batch_size_and_both_forms_meet_the_exact_trace(small: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("firstlight.papers.nasi.BATCHES", (2, 4))
    monkeypatch.setattr("firstlight.papers.nasi.BATCH", 4)
    monkeypatch.setattr(
        "firstlight.papers.nasi.NASI",
        {
            "table7": replace(
                EXPERIMENTS["nasi-table7"].answers[0], rows=dict.fromkeys(("b = 2", "b = 4", "sum"), (None,) * 3)
            )
        },
    )
    lines = small("nasi-table7").findings.lines
    assert [line.what.removeprefix("Pearson: ") for line in lines] == [
        "mean of gradients (Eq. 12), b = 2",
        "mean of gradients (Eq. 12), b = 4",
        "sum over samples (Eq. 11), b = 2",
        "sum over samples (Eq. 11), b = 4",
        "mean of gradients of the squared error, b = 4",
        "mean of gradients, NTK parameterization, b = 4",
    ]
    assert all(line.ours and -1 <= line.ours.value < 1 for line in lines)
    assert all("Spearman" in line.note for line in lines)


def test_all_published_batch_sizes_are_measured() -> None:
    (table,) = EXPERIMENTS["nasi-table7"].answers
    assert set(table.rows) == {*(f"b = {batch}" for batch in BATCHES), "sum"}


def test_labels_and_data_are_compared_where_there_are_images(small: Any) -> None:
    outcome = small("nasi-figure1")
    assert [line.what for line in outcome.findings.lines] == [
        f"Pearson: true labels and random {what}" for what in ("labels", "data")
    ]
    assert [line.published and line.published.low for line in outcome.findings.lines] == [1.00, 0.94]
    noise = small("nasi-figure1", input="synthetic", skeleton=TINY | {"input_shape": (3, 8, 8)})
    assert all(line.ours and line.ours.value == pytest.approx(1) for line in noise.findings.lines)
    assert all(line.published is None for line in noise.findings.lines)
    assert any("shown noise" in remark for remark in noise.findings.remarks)


def test_networks_of_nasbench1shot1_are_narrow_unless_said_otherwise(data: Path) -> None:
    space = SPACES["nasbench1shot1-s1"]
    for given, channels in ({}, 16), ({"channels": 8}, 8):
        skeleton = tuple((given | {"cells": 1}).items())
        lab = Lab(DataFolder(data), InProcess(), Store(":memory:"), 1000, skeleton=skeleton, input="synthetic")
        study = networks(lab, ONE_SHOT[0], ["params"])
        built = space.skeleton(cells=1, channels=channels)
        costs = [space.cost(space.parse(text), built) for text in study.sample.rows["canonical"]]
        assert study.utilities[0]["params"].tolist() == [cost.params for cost in costs]
        assert len(costs) == 12  # all that there are
        assert [f"channels={channels}," in remark for remark in width_remark(lab)] == [True] * (not given)


# ---------------------------------------- against accuracy


def test_conditions_leave_out_networks_beyond_the_bound() -> None:
    trace = np.array([1.0, 30.0, 60.0, 400.0])
    found = conditioned(trace, trace)
    assert found["no condition"].tolist() == trace.tolist()
    mean = 122.75
    assert found["R with mu = 2, nu = mean T (Eq. 13)"].tolist() == [1, 30, 60, 2 * mean - 400]
    left = {name: int(np.isfinite(values).sum()) for name, values in found.items()}
    assert left["T < nu = mean T (Eq. 40)"] == 3
    assert left[f"T < nu = n / eta = {RATE_NU:g}"] == 2
    assert RATE_NU == 50


def test_the_best_threshold_is_the_best_of_all() -> None:
    rng = np.random.default_rng(0)
    trace = rng.lognormal(3, 2, 60)
    accuracy = np.minimum(trace, 40 - trace) + rng.normal(0, 3, 60)
    best = best_threshold(trace, accuracy)

    def below(nu: float) -> float:
        return spearman(trace[trace < nu], accuracy[trace < nu])

    assert sum(trace < best) >= 15
    for nu in (*np.sort(trace)[15:], math.inf):
        assert below(best) >= below(nu)
    assert below(best) > below(math.inf)


def test_rows_of_table_3_stand_beside_the_published_ones(small: Any, out: Path) -> None:
    (table,) = EXPERIMENTS["nasi-table3"].answers
    lines = {line.what: line for line in small("nasi-table3", out=out).findings.lines}
    for row, (published, *_) in table.rows.items():
        beside = [line for what, line in lines.items() if what.removeprefix(PATHS).startswith(row) and "T < nu" in what]
        beside += [lines[row]] if row in lines else []
        assert beside, row
        assert all(line.published == published for line in beside), row
    assert all(lines[f"{kind}: NASI, no condition"].published is None for kind in ("Spearman", "Kendall"))


def test_a_cell_on_its_path_is_scored_as_a_network_of_hard_weights() -> None:
    setting = Setting("nasbench1shot1-s2", skeleton_settings=(("input_shape", (3, 8, 8)),))
    setting = replace(setting, source=replace(setting.source, batch_size=3))
    cell = setting.space.example()
    assert isinstance(cell, Cell101)
    found = OnPath(("snip",))(setting, str(cell))
    network = setting.space.one_shot().build(Skeleton1Shot1(input_shape=(3, 8, 8)))
    for vertex, name in enumerate(cell.operations, start=1):
        set_weights(network, f"operation of {vertex}", {other: float(other == name) for other in OPERATIONS})
    for vertex, sources in zip(("2", "3", "4", "output"), cell.sources[1:], strict=True):
        states = range(5 if vertex == "output" else int(vertex))
        set_weights(network, f"inputs of {vertex}", [float(state in sources) for state in states])
    x, labels = setting.inputs.batches[0]
    weights = [layer.weight for layer in network.modules() if isinstance(layer, (nn.Conv2d, nn.Linear))]
    gradients = torch.autograd.grad(F.cross_entropy(network(x), labels), weights, allow_unused=True)
    pairs = [(weight, gradient) for weight, gradient in zip(weights, gradients, strict=True) if gradient is not None]
    assert found.value == pytest.approx(sum(float(gradient.square().sum()) for _, gradient in pairs), rel=1e-4)
    assert found.parts["snip"] == pytest.approx(sum(float((w.detach() * g).abs().sum()) for w, g in pairs), rel=1e-4)


@pytest.mark.parametrize("name", ["nasbench1shot1-s1", "nasbench1shot1-s2", "nasbench1shot1-s3"])
def test_the_path_of_an_architecture_leads_back_to_it(name: str) -> None:
    space = SPACES[name]
    one_shot = space.one_shot()
    assert isinstance(one_shot, OneShot1Shot1)
    architecture = space.example()
    path = one_shot.path(architecture)
    preferences = {c.name: [float(option in path[c.name]) for option in c.options] for c in one_shot.choices}
    assert one_shot.architecture(preferences) == architecture


def test_bins_hold_networks_in_order_of_their_trace() -> None:
    trace = np.array([*range(25), math.nan])
    found = bins(trace, 100 - trace)
    assert [len(part) for part in found] == [13, 12]
    assert found[0].min() == 88
    assert len(bins(np.arange(500.0), np.arange(500.0))) == 10
    assert len(bins(np.arange(5.0), np.arange(5.0))) == 1


# ---------------------------------------- bounds


def test_inputs_have_norm_one_and_norms_go() -> None:
    x = of_norm_one(torch.randn(3, 2, 4, 4))
    assert x.flatten(1).norm(dim=1).tolist() == pytest.approx([1, 1, 1])
    network = nn.Sequential(nn.Conv2d(1, 1, 1), nn.Sequential(nn.BatchNorm2d(1), nn.ReLU()))
    remove_norms(network)
    assert not any(isinstance(module, nn.BatchNorm2d) for module in network.modules())


def test_the_parts_of_the_bounds_belong_together() -> None:
    settings = (("cells", 1), ("channels", 5), ("input_shape", (3, 8, 8)), ("stacks", 1))
    setting = Setting("nasbench1shot1-s1", skeleton_settings=settings, initialization="ntk")
    setting = replace(setting, source=replace(setting.source, batch_size=3))
    found = Bounds(norms=False)(setting, str(setting.space.example()))
    parts = found.parts
    assert 0 < found.value <= parts["largest"]
    for time in ("0.25", "1", "10"):
        assert 0 <= parts[f"loss {time}"] <= parts[f"bound {time}"]
    assert parts["loss 10"] < parts["loss 1"] < parts["loss 0.25"]
    share = 1 - 0.9 * found.value / parts["largest"]
    assert parts["bound 1"] == pytest.approx(3 * 10**2 * share)
    assert parts["bound 10"] == parts["bound 1"]
    assert parts["bound 0.25"] == pytest.approx(3 * 10**2 * share**0.5)
