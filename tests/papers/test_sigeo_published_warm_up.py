"""The terms of SiGeo after the published warm-up: gains that are paired over networks and means over seeds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.papers.toy import SMALL, run, write_tables

from firstlight.core.statistics import spearman
from firstlight.papers import EXPERIMENTS, sigeo_published_warm_up
from firstlight.papers.benchmarks import NB201_C10
from firstlight.papers.sigeo_published_warm_up import BY_WEIGHTS, ROWS, WARM_UPS
from firstlight.papers.sigeo_warm import PARAMS, T1, ZICO
from firstlight.training.warm_up import WarmUp

FEW = {ZICO: "zico", T1: "zico:batches=4", BY_WEIGHTS: "sigeo:parameters=weights", PARAMS: "params"}


def test_gains_are_means_over_seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sigeo_published_warm_up, "ROWS", FEW)
    levels = []
    studied = sigeo_published_warm_up.studied
    monkeypatch.setattr(sigeo_published_warm_up, "studied", lambda *given: levels.extend(studied(*given)) or levels)
    options = SMALL | {"samples": 10, "input": "digits", "warmup": "0,10%:recipe=official:epochs=1:batch_size=32"}
    data = write_tables(tmp_path / "data")
    found = run(EXPERIMENTS["sigeo-published-warm-up"], data=data, out=tmp_path, seed=(0, 1), **options).findings
    lines = {(line.what, line.on): line for line in found.lines}
    assert len(levels) == 2
    for level in levels:
        on = f"{NB201_C10.name}, {level.title}"
        truth, rows = level.found.truth("cifar10_test_200"), {row.name: row for row in level.rows}
        for base in (T1, ZICO):
            leads = []
            for utilities in level.found.utilities:
                (ours,), (theirs,) = rows[BY_WEIGHTS].asks, rows[base].asks
                leads.append(spearman(utilities[ours], truth) - spearman(utilities[theirs], truth))
            line = lines[f"{BY_WEIGHTS}: gain over {base}", on]
            assert line.ours is not None
            assert line.ours.value == pytest.approx(np.mean(leads))
            assert line.note == "mean over 2 seeds"
    assert "lambda2=50.0" in {row.name: row for row in levels[1].rows}[BY_WEIGHTS].asks[0]


def test_the_warm_up_is_the_published_one() -> None:
    steps = []
    for text in WARM_UPS[1:]:
        warm_up = WarmUp.parse(text)
        assert (warm_up.recipe.learning_rate, warm_up.recipe.momentum, warm_up.recipe.epochs) == (1.0, 0.0, 10)
        steps.append(10 * warm_up.recipe.num_batches(int(10_000 * warm_up.share)))
    assert steps == [320, 790]
    assert EXPERIMENTS["sigeo-published-warm-up"].seeds == 3
    assert "fr_norm:parameters=weights" in ROWS.values()
