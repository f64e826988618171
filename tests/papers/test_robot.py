"""Searches by scores of classes joined with those of NAS-Bench-Suite-Zero."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.papers.test_hnas import a_lab
from tests.papers.toy import run, write_all_cells
from tests.papers.toy_scores import toy_scores, use

from firstlight.papers import EXPERIMENTS, hnas_search, robot
from firstlight.papers.class_scores import ordered
from firstlight.papers.class_study import USUAL, FromClasses
from firstlight.papers.robot import JoinedScores
from firstlight.proxies.ensembles import parse_criterion
from firstlight.spaces import SPACES
from firstlight.spaces.nasbench201.cell import DIGITS

CELLS = 300


def digits_of(text: str) -> str:
    """Write a cell as NASLib does: 0-1, 0-2, 0-3, 1-2, 1-3, 2-3."""
    operations = SPACES["nasbench201"].parse(text).operations
    return "".join(str(DIGITS.index(operations[place])) for place in (0, 1, 3, 2, 4, 5))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_all_cells(tmp_path_factory.mktemp("robot"))
    texts = ordered()[:CELLS]
    scores = {"jacov": np.arange(CELLS, dtype=float), "nwot": -np.arange(CELLS, dtype=float)}
    frame = pd.DataFrame({"dataset": "cifar10", "ops": [digits_of(text) for text in texts], **scores})
    frame.to_parquet(folder / "nb201_zc_proxies.parquet")
    return folder


@pytest.fixture(autouse=True)
def scores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hnas_search, "QUERIES", 6)
    use(monkeypatch, toy_scores({"twin": CELLS, "batch16": CELLS}))


def test_scores_of_both_kinds(data: Path) -> None:
    lab = a_lab(data)
    measuring = JoinedScores(FromClasses.of(lab, USUAL, "twin"), USUAL, "twin")
    texts = list(ordered()[:3])
    assert measuring.utilities(parse_criterion("jacov"), texts).tolist() == [0, 1, 2]
    assert measuring.utilities(parse_criterion("naswot"), texts).tolist() == [0, -1, -2]
    assert np.isfinite(measuring.utilities(parse_criterion("synflow"), texts)).any()
    both = measuring.utilities(parse_criterion("rank_mean(jacov*2,naswot)"), texts)
    assert both.argmax() == 2
    assert measuring.measured == set(texts)


def test_searches(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robot, "METHODS", {name: robot.METHODS[name] for name in ("RoBoT", "best by the prior")})
    outcome = run(EXPERIMENTS["robot-searches"], data=data, workers=0, resamples=12, seed=(0, 1))
    found = {(finding.what, finding.on): finding for finding in outcome.findings.lines}
    published = found["RoBoT: accuracy, %", "NB201 CIFAR-10"].published
    assert published is not None
    assert published.low == 94.36
    assert found["best by the prior: accuracy, %", "NB201 CIFAR-10"].published is None
    assert len(found) == 3 * 3 * 2
