"""`--baseline` of the commands that train networks."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.command import CELL, firstlight

from firstlight.views.console.verdict import QUESTION

SMALL = "--data digits@8 --data-samples 60 --skeleton channels=2,cells=1"
RECIPE = "short:batch_size=16"

MODEL = """
from torch import nn

def linear(classes):
    return nn.Sequential(nn.Flatten(), nn.Linear(192, classes))
"""


def test_train_says_whether_the_network_is_better_than_a_plain_one(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MODEL)
    asked = ["train", "nasbench201", CELL, *SMALL.split(), "--epochs", "1", "--recipe", "quick:batch_size=16"]
    asked += ["--out", "run", "--baseline", "logistic,mine:linear", "--baseline-seeds", "2"]
    shown = firstlight(*asked, folder=tmp_path).stdout
    assert "logistic regression" in shown
    assert "mine:linear" in shown
    content = json.loads(firstlight(*asked, "--json", folder=tmp_path).stdout)
    assert content == json.loads((tmp_path / "run" / "result.json").read_text())
    assert content["compared"]["verdict"]["trainings"] == [2, 2]
    assert content["compared"]["verdict"]["text"] in shown
    assert content["compared"]["found"]["params"] >= content["compared"]["baselines"][0]["params"]


def test_search_compares_what_it_found(tmp_path: Path) -> None:
    asked = ["search", "nasbench201", "--algorithm", "random", *SMALL.split(), "--queries", "2", "--epochs", "1"]
    asked += ["--recipe", RECIPE, "--out", "run", "--workers", "0"]
    assert QUESTION in firstlight(*asked, folder=tmp_path).stdout
    asked += ["--baseline", "mlp", "--baseline-seeds", "1"]
    shown = firstlight(*asked, folder=tmp_path).stdout
    assert QUESTION not in shown
    assert "plain multilayer perceptron" in shown
    content = json.loads(firstlight(*asked, "--json", folder=tmp_path).stdout)["compared"]
    assert content["found"]["seeds"] == [0]
    firstlight("report", "run", folder=tmp_path)
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Against plain networks" in page
    assert content["baselines"][0]["architecture"] in page


def test_trust_and_compare_train_baselines_alike(tmp_path: Path) -> None:
    common = [*SMALL.split(), "--epochs", "1", "--recipe", RECIPE, "--workers", "0", "--baseline", "logistic"]
    asked = ["trust", "nasbench201", "--train", "10", "--proxy", "params,l2_norm", *common, "--out", "trusted"]
    assert "Baseline logistic regression (" in firstlight(*asked, folder=tmp_path).stdout
    (entry,) = json.loads(firstlight(*asked, "--json", folder=tmp_path).stdout)["baselines"]
    assert len(entry["validation_accuracies"]) == 3
    assert "better than" in (tmp_path / "trusted" / "report.html").read_text()
    asked = ["compare", "nasbench201", "--methods", "random", "--queries", "2", "--seeds", "1", *common, "--out", "c"]
    assert "logistic regression (" in firstlight(*asked, folder=tmp_path).stdout
    (entry,) = json.loads(firstlight(*asked, "--json", folder=tmp_path).stdout)["baselines"]
    assert entry["space"] == "plain-mlp"


def test_baselines_without_training_are_refused(tmp_path: Path) -> None:
    wrong = firstlight("search", "nasbench201", "--samples", "2", "--baseline", "mlp", folder=tmp_path, code=1)
    assert "networks are not trained here" in wrong.stderr
    wrong = firstlight("train", "nasbench201", CELL, *SMALL.split(), "--baseline", "resnett", "--out", "x", code=1)
    assert "Did you mean 'resnet'" in wrong.stderr
    table = tmp_path / "t.csv"
    table.write_text(f"architecture,a_val_1\n{CELL},90\n")
    wrong = firstlight("compare", "nasbench201", "--table", str(table), "--baseline", "mlp", code=1)
    assert "does not tell how to train it" in wrong.stderr
