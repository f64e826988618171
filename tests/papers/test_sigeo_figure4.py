"""The best click networks by each proxy, as in Figure 4 of SiGeo."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.papers.toy import run

from firstlight.core.errors import SettingError
from firstlight.data.clicks.layouts import LAYOUTS
from firstlight.data.clicks.prepare import prepare_clicks
from firstlight.data.clicks.synthetic import synthesize_clicks
from firstlight.papers import EXPERIMENTS, sigeo_clicks, sigeo_figure4


def test_the_best_of_each_proxy_as_a_box_plot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sigeo_figure4, "TOP", 3)
    monkeypatch.setattr(sigeo_clicks, "BATCHES", 10)
    monkeypatch.setattr(sigeo_clicks, "SPACES", {"nasrec-small": "NASRec-Small"})
    monkeypatch.setattr(sigeo_figure4, "PROXIES", {"ZiCo": "zico", "loss (one-shot)": "loss"})
    synthesize_clicks(tmp_path / "log.tsv", 400, layout="kdd")
    prepare_clicks(LAYOUTS["kdd"], tmp_path / "log.tsv", tmp_path / "clicks.parquet", hash_rows=20)
    found = run(
        EXPERIMENTS["sigeo-figure4"],
        samples=10,
        input=f"kdd:{tmp_path / 'clicks.parquet'}",
        skeleton={"rows": 20},
        workers=0,
        out=tmp_path / "out",
    ).findings
    titles = ["ZiCo", "loss (one-shot)", "networks at random"]
    assert [line.what for line in found.lines] == [f"{t}: median {w}" for w in ("log loss", "AUC") for t in titles]
    assert all(line.note.startswith("3 networks") for line in found.lines)
    assert [chart.count('class="box"') for _, chart in found.charts] == [3, 3]
    assert any("in batches of 32" in remark for remark in found.remarks)


@pytest.mark.parametrize("several", [{"warmup": "0,1%"}, {"seed": (0, 1)}])
def test_there_is_one_box_for_each_proxy(several: dict[str, object]) -> None:
    with pytest.raises(SettingError, match="give a single warm-up"):
        run(EXPERIMENTS["sigeo-figure4"], samples=10, input="synthetic", workers=0, **several)
