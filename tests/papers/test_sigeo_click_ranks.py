"""How proxies rank click networks: every way to score them, and what they are compared with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.papers.toy import run

from firstlight.core.errors import DataError, SettingError
from firstlight.core.events import Event
from firstlight.data.clicks.layouts import LAYOUTS
from firstlight.data.clicks.prepare import prepare_clicks
from firstlight.data.clicks.synthetic import synthesize_clicks
from firstlight.evaluation.retraining import at_random
from firstlight.execution.executor import InProcess
from firstlight.options import Limits
from firstlight.papers import EXPERIMENTS, sigeo_click_ranks
from firstlight.papers.benchmarks import DataFolder
from firstlight.papers.lab import Lab
from firstlight.papers.sigeo_click_ranks import PROXIES, trained, ways
from firstlight.spaces import SPACES
from firstlight.storage.store import Store
from firstlight.training.warm_up import read_warm_up

EXPERIMENT = EXPERIMENTS["sigeo-click-ranks"]
SPACE = SPACES["nasrec-small"]


def test_other_data_are_refused() -> None:
    with pytest.raises(DataError, match="sigeo-click-ranks needs click data"):
        run(EXPERIMENT, samples=10, input="synthetic", workers=0)


def test_every_way_to_score() -> None:
    found = ways([read_warm_up(text, SPACE) for text in EXPERIMENT.warm_ups])
    assert len({way.title for way in found}) == len(found) == 8
    assert {way.title for way in found} >= {"cold, all layers, batches of 512", "warm, final layer, batches of 64"}
    with pytest.raises(SettingError, match="is not one of shared weights"):
        ways([None])


@pytest.fixture(scope="module")
def clicks(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("clicks")
    synthesize_clicks(folder / "log.tsv", 300)
    prepare_clicks(LAYOUTS["criteo"], folder / "log.tsv", folder / "clicks.parquet", hash_rows=20)
    return f"criteo:{folder / 'clicks.parquet'}"


def test_each_proxy_is_compared_with_what_networks_reach(
    clicks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = {name: PROXIES[name] for name in ("SiGeo, lambda3 = 1", "#params")}
    reached = {"log loss": np.arange(10.0), "AUC": np.arange(10.0)[::-1]}
    monkeypatch.setattr(sigeo_click_ranks, "PROXIES", few)
    monkeypatch.setattr(sigeo_click_ranks, "SCORING_BATCHES", (8,))
    monkeypatch.setattr(sigeo_click_ranks, "trained", lambda lab, texts: reached)
    warm_ups = "0:weights=shared,100%:weights=shared:batch_size=48:policy=single-path"
    options = {"input": clicks, "skeleton": {"rows": 20}, "warmup": warm_ups, "workers": 0, "resamples": 10}
    found = run(EXPERIMENT, samples=10, out=tmp_path / "out", **options).findings
    assert len(found.lines) == 4 * len(few) * 2
    values = {(line.what, line.on): line.ours.value for line in found.lines if line.ours is not None}
    sizes = {value for (what, _), value in values.items() if what == "#params: correlation with AUC"}
    assert len(sizes) == 1  # which does not depend on the weights
    for (what, on), value in values.items():
        if what.endswith("log loss"):
            assert values[what.replace("log loss", "AUC"), on] == pytest.approx(-value)
    cold, warm = (
        [values[key] for key in values if key[0].startswith("SiGeo") and key[1].startswith(level)]
        for level in ("cold", "warm")
    )
    assert cold != warm
    assert "take more rows or epochs" in " ".join(found.remarks)


def test_networks_are_trained_from_scratch_and_remembered(
    clicks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sigeo_click_ranks, "BATCHES", 4)
    store = Store(tmp_path / "store.sqlite")
    lab = Lab(DataFolder(None), InProcess(), store, 2, input=clicks, skeleton=(("rows", 20),))
    texts = list(at_random(lab.setting("nasrec-small"), Limits(max_params=200_000), 0, 2))
    found = trained(lab, texts)
    assert found.keys() == {"log loss", "AUC"}
    assert (found["log loss"] < 0).all()
    assert ((found["AUC"] > 0) & (found["AUC"] < 1)).all()
    seen: list[Event] = []
    again = trained(replace(lab, callback=seen.append), texts)
    assert {target: values.tolist() for target, values in again.items()} == {
        target: values.tolist() for target, values in found.items()
    }
    assert [event.done for event in seen] == [1, 2, 3, 4]  # two networks with two seeds each
