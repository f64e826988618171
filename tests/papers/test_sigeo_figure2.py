"""Two-layer perceptrons: what is measured of them, and how it stands beside the paper."""

from __future__ import annotations

import random
from dataclasses import replace
from math import log
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from tests.papers.toy import run

from firstlight.core.errors import DataError, ParseError
from firstlight.data import InputSource
from firstlight.data.shares import load_share
from firstlight.papers import EXPERIMENTS, sigeo_figure2
from firstlight.papers.sigeo_figure2 import FINAL, PERCEPTRONS, PUBLISHED_AS, TITLES, InTheEnd, Now, following
from firstlight.scoring.service import Setting
from firstlight.spaces.in_space import in_space
from firstlight.training.warm_up import WarmUp

BRIEF = WarmUp.parse("40%:batch_size=64:learning_rate=0.02:momentum=0")
SETTING = Setting(**in_space(PERCEPTRONS), source=InputSource("digits@8", 32, 4), warm_up=BRIEF)


def test_the_space_of_widths() -> None:
    rng = random.Random(0)
    for _ in range(20):
        width = PERCEPTRONS.sample(rng)
        assert PERCEPTRONS.parse(str(width)) == PERCEPTRONS.canonical(width) == width
        assert abs(PERCEPTRONS.mutate(width, rng).units - width.units) == 1
    for text in ("1", "49", "wide"):
        with pytest.raises(ParseError, match="from 2 to 48"):
            PERCEPTRONS.parse(text)
    network = PERCEPTRONS.build("6", SETTING.skeleton)
    assert [tuple(p.shape) for p in network.parameters()] == [(6, 64), (6,), (10, 6), (10,)]


def test_statistics_by_autograd() -> None:
    found = Now()(SETTING, "6").parts
    network = SETTING.network("6")
    parameters = list(network.parameters())
    losses, along, rows = [], [], []
    for x, y in following(SETTING):
        loss = F.cross_entropy(network(x), y)
        gradients = torch.autograd.grad(loss, parameters)
        losses.append(float(loss.detach()))
        along.append(sum(float((p.detach() * g).sum()) for p, g in zip(parameters, gradients, strict=True)))
        rows.append(torch.cat([g.flatten() for g in gradients if g.ndim == 2]))
    size, deviation, weights = sum(r.abs().sum() for r in rows) / 4, torch.stack(rows).std(0).sum(), len(rows[0])
    expected = {
        "loss": sum(losses) / 4,
        "fisher_rao": log(sum(product**2 for product in along) / 4 + 1e-5),
        "gradient": float(size),
        "per_weight": float(size) / weights,
        "deviation": float(deviation),
        "deviation_per_weight": float(deviation) / weights,
    }
    assert found == pytest.approx(expected, rel=1e-4)


def test_statistics_are_of_images_that_come_next() -> None:
    everything = load_share(SETTING.source, 1.0, seed=SETTING.seed)
    (first, *_) = following(SETTING)
    begin = len(SETTING.learned_from)
    assert torch.equal(first[0], everything.x[begin : begin + 32])
    (first, *_) = following(replace(SETTING, warm_up=None))
    assert torch.equal(first[0], everything.x[:32])
    (first, *_) = following(replace(SETTING, warm_up=replace(BRIEF, share=1.0)))
    assert torch.equal(first[0], everything.x[:32])


def test_the_end_is_judged_on_all_training_images_and_on_those_for_tests() -> None:
    setting = replace(SETTING, warm_up=replace(BRIEF, share=1.0, recipe=replace(BRIEF.recipe, epochs=3)))
    found = InTheEnd()(setting, "20").parts
    assert found.keys() == {"train", "test"}
    assert found["train"] < log(10)
    before = InTheEnd()(
        replace(setting, warm_up=replace(BRIEF, share=1.0, recipe=replace(BRIEF.recipe, learning_rate=1e-9))), "20"
    ).parts
    assert found["test"] < before["test"]


def test_it_runs_and_remembers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sigeo_figure2, "FINAL", replace(FINAL, recipe=replace(FINAL.recipe, epochs=1)))
    experiment = replace(EXPERIMENTS["sigeo-figure2"], seeds=1)
    small = {"samples": 10, "seed": (3,), "input": "digits@8", "warmup": "0,40%:batch_size=64", "workers": 0}
    outcome = run(experiment, data=tmp_path, out=tmp_path / "out", resamples=20, **small)
    lines = outcome.findings.lines
    assert [line.on for line in lines] == ["any"] * 2 + ["no warm-up"] * 12 + ["40 %"] * 12
    assert all(line.ours is not None and -1 <= line.ours.value <= 1 for line in lines)
    published = {(line.what, line.on): line.published.low for line in lines if line.published}
    assert published["current loss and final training loss", "40 %"] == 0.80
    assert published["ln of the Fisher-Rao norm and final training loss", "no warm-up"] == -0.31
    assert len(published) == 2 * len(PUBLISHED_AS)
    ((_, chart),) = outcome.findings.charts
    assert chart.count("<circle") == 1 + 2 * len(TITLES) * 10
    assert outcome.settings["widths"] == "10, evenly spaced"
    again = run(experiment, data=tmp_path, out=tmp_path / "out", resamples=20, **small)
    assert again == outcome


def test_noise_teaches_nothing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"put mnist\.npz"):
        run(EXPERIMENTS["sigeo-figure2"], data=tmp_path, workers=0)
