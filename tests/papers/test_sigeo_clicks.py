"""Searches for click networks side by side, as in Table 5 of SiGeo."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.papers.toy import run

from firstlight.core.errors import DataError
from firstlight.data.clicks.layouts import LAYOUTS
from firstlight.data.clicks.prepare import prepare_clicks
from firstlight.data.clicks.synthetic import synthesize_clicks
from firstlight.papers import EXPERIMENTS, sigeo_clicks
from firstlight.spaces.nasrec.baselines import BASELINES

EXPERIMENT = EXPERIMENTS["sigeo-table5"]


def test_other_data_are_refused() -> None:
    with pytest.raises(DataError, match="--input criteo:FILE"):
        run(EXPERIMENT, samples=10, input="synthetic", workers=0)


def test_each_method_has_figures_beside_random_and_hand_made_networks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sigeo_clicks, "BEST", 1)
    monkeypatch.setattr(sigeo_clicks, "AT_RANDOM", 2)
    monkeypatch.setattr(sigeo_clicks, "BATCHES", 10)
    monkeypatch.setattr(sigeo_clicks, "PROXIES", {"SiGeo": "sigeo", "ZiCo": "zico"})
    synthesize_clicks(tmp_path / "log.tsv", 400)
    prepare_clicks(LAYOUTS["criteo"], tmp_path / "log.tsv", tmp_path / "clicks.parquet", hash_rows=20)
    found = run(
        EXPERIMENT,
        samples=10,
        input=f"criteo:{tmp_path / 'clicks.parquet'}",
        skeleton={"rows": 20},
        warmup="0,100%:batch_size=64:policy=single-path",
        workers=0,
        out=tmp_path / "out",
    ).findings
    figures = {line.what: line.ours for line in found.lines}
    titles = ["SiGeo, no training", "ZiCo, no training", "SiGeo, 100 %", "ZiCo, 100 %", "loss (one-shot), 100 %"]
    others = ["networks at random", *(f"{name}, by hand" for name in BASELINES)]
    assert set(figures) == {f"{title}: {what}" for title in (*titles, *others) for what in ("log loss", "AUC")}
    for what, ours in figures.items():
        assert ours is not None, what
        assert ours.value > 0
        assert ours.value < 1 or what.endswith("loss")
    published = {
        line.what: line.note.removeprefix("published for all of Criteo: ") for line in found.lines if line.note
    }
    assert published == {
        "SiGeo, no training: log loss": "0.4404",
        "SiGeo, no training: AUC": "0.8109",
        "ZiCo, no training: log loss": "0.4408",
        "ZiCo, no training: AUC": "0.8105",
        "SiGeo, 100 %: log loss": "0.4399",
        "SiGeo, 100 %: AUC": "0.8115",
        "dlrm, by hand: log loss": "0.4436",
        "dlrm, by hand: AUC": "0.8085",
        "deepfm, by hand: log loss": "0.4432",
        "deepfm, by hand: AUC": "0.8086",
    }
