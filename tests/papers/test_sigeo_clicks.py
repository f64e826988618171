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
from firstlight.papers.sigeo_clicks import _best_of, adapted
from firstlight.spaces import SPACES
from firstlight.spaces.nasrec.baselines import BASELINES
from firstlight.training.clicks import ClickMetrics, ClickResult
from firstlight.training.retrained import Standing
from firstlight.training.shared_warm_up import SharedWarmUp

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
    monkeypatch.setattr(sigeo_clicks, "PROXIES", {"SiGeo": "sigeo", "ZiCo": "zico", "loss (one-shot)": "loss"})
    monkeypatch.setattr(sigeo_clicks, "SPACES", {"nasrec-small": "NASRec-Small"})
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
    assert {line.on for line in found.lines} == {"clicks.parquet, nasrec-small"}
    titles = ["SiGeo, no training", "ZiCo, no training", "SiGeo, 100 %", "ZiCo, 100 %", "loss (one-shot), 100 %"]
    others = ["networks at random", "best of the first networks at random", *(f"{name}, by hand" for name in BASELINES)]
    expected = {f"{title}: {what}" for title in (*titles, *others) for what in ("log loss", "AUC")}
    assert set(figures) == expected | {f"{title}: seconds of the search" for title in titles}
    for what, ours in figures.items():
        assert ours is not None, what
        assert ours.value > 0
        assert ours.value < 1 or not what.endswith("AUC")
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


def test_the_best_network_is_chosen_on_the_validation_part() -> None:
    def trained(validation: float, test: float) -> Standing:
        return Standing(
            "text", "found", (ClickResult(1, ClickMetrics(validation, 0.5, 9), ClickMetrics(test, 0.5, 9)),)
        )

    good, lucky = trained(0.4, 0.6), trained(0.5, 0.3)
    failed = Standing("text", "found", (ClickResult(1, status="failed"),))
    assert _best_of([lucky, failed, good]) == [good]
    assert _best_of([failed]) == []


def test_a_small_file_gets_smaller_batches_and_then_a_larger_share() -> None:
    asked = SharedWarmUp.parse("1%:weights=shared:batch_size=512", SPACES["nasrec-small"])
    assert adapted(None, 100) is None
    assert adapted(asked, 10_000_000) == asked
    less = adapted(asked, 100_000)
    assert (less.share, less.recipe.batch_size) == (0.01, 62)
    least = adapted(asked, 6400)
    assert least.recipe.batch_size == 32
    assert least.share * 6400 // 32 >= 4
