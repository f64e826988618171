"""`--warmup` of the commands that score networks, and `warmup=` of the calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.cli.command import CELL
from tests.cli.command import firstlight as command
from tests.evaluation.test_correlate import a_table
from torch import nn

import firstlight
from firstlight.core.errors import SettingError
from firstlight.tables.table import write_table
from firstlight.training.warm_up import FOLDER

WARMED = "sigeo:lambda2=50.0:lambda3=1.0"
BRIEF = "10%:batch_size=32"
SMALL: dict[str, Any] = {"skeleton": {"channels": 4, "cells": 1}, "workers": 0, "input": "digits@8"}
COLD = ("--skeleton", "channels=4,cells=1", "--workers", "0", "--input", "digits@8")
OPTIONS = (*COLD, "--warmup", BRIEF)


def run(*arguments: str) -> Any:
    return json.loads(command(*arguments, "--json").stdout)


def refused(*arguments: str) -> str:
    return command(*arguments, code=1).stderr


def test_the_same_score_by_every_road(tmp_path: Path) -> None:
    content = run("score", "nasbench201", CELL, "--proxy", "sigeo", *OPTIONS)
    scores = content["scores"]
    assert list(scores) == [WARMED, "zico", "loss", "params"]
    parts = scores[WARMED]["parts"]
    weighted = parts["steadiness"] + 50 * parts["fisher_rao"] - parts["loss"]
    assert scores[WARMED]["value"] == pytest.approx(weighted)
    assert scores["loss"]["value"] == parts["loss"]
    ranked = run("rank", "nasbench201", CELL, "--by", "sigeo", *OPTIONS)
    assert ranked["by"] == WARMED
    by_call = firstlight.rank("nasbench201", [CELL], by="sigeo", warmup=BRIEF, **SMALL)
    for network in (ranked["networks"][0], by_call.to_dict()["networks"][0]):
        assert {name: score["value"] for name, score in network["scores"].items()} == {
            name: score["value"] for name, score in scores.items()
        }
    cold = run("score", "nasbench201", CELL, "--proxy", "sigeo", *COLD, "--warmup", "0")
    assert list(cold["scores"]) == ["sigeo", "zico", "loss", "params"]
    assert cold["scores"]["zico"]["value"] != scores["zico"]["value"]


def test_a_search_keeps_weights_and_builds_the_network_as_it_was_scored(tmp_path: Path) -> None:
    cold = ("search", "nasbench201", "--samples", "3", "--proxy", "sigeo", *COLD, "--out", str(tmp_path))
    asked = (*cold, "--warmup", BRIEF)
    found = run(*asked)
    assert list(found["best"]["scores"]) == [WARMED, "zico", "loss", "params"]
    kept = json.loads((tmp_path / "result.json").read_text())["settings"]
    assert kept["proxy"] == WARMED
    assert kept["warmup"].startswith("10%:batch_size=32:epochs=1:learning_rate=0.1:momentum=0.9 on digits@8:144:")
    assert len(list((tmp_path / FOLDER).iterdir())) == 3
    assert run(*asked)["reused"] == 3
    again = firstlight.search("nasbench201", samples=3, proxy="sigeo", warmup=BRIEF, out=tmp_path, **SMALL)
    assert again.best.architecture == found["best"]["architecture"]
    network, fresh = again.build(), again.setting.setting.network(again.best.architecture)
    assert all(map(torch.equal, network.state_dict().values(), fresh.state_dict().values()))
    assert "holds another run: warmup was" in refused(*cold, "--warmup", "20%:batch_size=32")


def test_correlations_with_a_table(tmp_path: Path) -> None:
    table = tmp_path / "toy.parquet"
    write_table(a_table(), table)
    asked = ("--table", str(table), "--target", "toy_test_5", "--proxy", "sigeo", "--first", "10")
    content = run("correlate", "nasbench201", *asked, *OPTIONS, "--out", str(tmp_path / "out"))
    assert set(content["proxies"]) == {WARMED, "zico", "loss", "params"}
    assert f"{BRIEF}:epochs=1" in (tmp_path / "out" / "report.html").read_text()


def test_where_there_is_nothing_to_warm_up(tmp_path: Path) -> None:
    assert "nothing can be learned from 'synthetic'" in refused("score", "nasbench201", CELL, "--warmup", "10%")
    assert "use 27% or more" in refused("rank", "nasbench201", CELL, "--input", "digits@8", "--warmup", "5%")
    with pytest.raises(SettingError, match="nasi searches a network with shared weights"):
        firstlight.search("nasbench201", algorithm="nasi", warmup=BRIEF, **SMALL)
    with pytest.raises(SettingError, match="random uses no proxy here"):
        firstlight.search("nasbench201", table=a_table(), target="toy_test_5", warmup=BRIEF, **SMALL)
    with pytest.raises(SettingError, match="train it yourself before you score it"):
        firstlight.rank({"mine": nn.Flatten()}, warmup=BRIEF)
