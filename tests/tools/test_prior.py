"""The tool that fits the ensemble `predicted`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.papers.test_prior import pools

from firstlight.proxies.ensembles import Ensemble, parse_criterion, read_predicted
from tools import prior


def test_writes_what_reads_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prior, "pools_of", lambda lab: pools())
    path = tmp_path / "predicted.json"
    prior.main(["--store", str(tmp_path / "store"), "--data", str(tmp_path), "--prior", str(path)])
    content = json.loads(path.read_text())
    found = Ensemble.parse(content["ensemble"])
    weights = dict(zip(map(str, found.requests), found.weights, strict=True))
    assert weights["dextr"] + weights["naswot"] > 0.9
    assert [entry["networks"] for entry in content["fitted_on"]] == [40, 40, 40]
    assert content["chosen_among"] == ["dextr", "naswot", "params", "macs"]


def test_one_space_is_too_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(prior, "pools_of", lambda lab: pools()[:1])
    with pytest.raises(SystemExit):
        prior.main(["--store", str(tmp_path), "--data", str(tmp_path), "--prior", str(tmp_path / "new.json")])
    assert "two or more spaces" in capsys.readouterr().err
    assert not (tmp_path / "new.json").exists()


def test_the_file_of_the_package() -> None:
    content = read_predicted()
    ensemble = parse_criterion("predicted")
    assert isinstance(ensemble, Ensemble)
    assert sum(ensemble.weights) == pytest.approx(1, abs=0.01)
    assert len({entry["left_out_with"] for entry in content["fitted_on"]}) >= 4
    assert {"command", "date", "versions", "chosen_among", "judged_by"} <= content.keys()
    assert {str(request) for request in ensemble.requests} <= set(content["chosen_among"])
