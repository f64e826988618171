"""`firstlight predict` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from tests.cli.command import firstlight

LABELED = 8
PLAINLY = ("--proxy", "params,macs", "--workers", "0")
ASKED = ("predict", "nats-sss", *PLAINLY, "--samples", "12", "--model", "gp")


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    """Networks whose accuracy grows with the width of the first stage, not with their size."""
    texts = [f"{8 * n}:{8 * (9 - n)}:64:64:64" for n in range(1, LABELED + 1)]
    values = [80.0 + n for n in range(LABELED)]
    frame = pd.DataFrame({"architecture": texts, "cifar10_val_12": values, "cifar10_val_90": values[::-1]})
    path = tmp_path / "labels.csv"
    frame.to_csv(path, index=False)
    return path


def test_for_people(labels: Path) -> None:
    shown = firstlight(*ASKED, "--labels", str(labels), "--target", "cifar10_val_12", "--top", "3").stdout
    assert "The best 3 of 20 networks." in shown
    assert "Fitted on 8 labels of cifar10_val_12, 80 to 87: short trainings, which count as much as the prior." in shown
    assert "Prior: params, macs. Model: gp, 43 features of the graph or the stages of each network." in shown
    assert "for predictions made without them" in shown
    assert "What matters" in shown


def test_for_machines(labels: Path, tmp_path: Path) -> None:
    arguments = (*ASKED, "--labels", str(labels), "--target", "cifar10_val_90", "--csv", str(tmp_path / "all.csv"))
    content = json.loads(firstlight(*arguments, "--top", "4", "--json").stdout)
    assert [network["rank"] for network in content["networks"]] == [1, 2, 3, 4]
    assert content["target"] == "cifar10_val_90"
    assert content["fitted_on"][0] == {
        "target": "cifar10_val_90",
        "labels": 8,
        "short": False,
        "lowest": 80.0,
        "highest": 87.0,
    }
    assert content["coverage"] == 0.8
    frame = pd.read_csv(tmp_path / "all.csv")
    assert len(frame) == LABELED + 12
    assert (frame["low"] <= frame["high"]).all()
    assert frame["cifar10_val_90"].notna().sum() == LABELED
    assert frame.loc[frame["cifar10_val_90"].notna(), "value"].tolist() == frame["cifar10_val_90"].dropna().tolist()


def test_labels_of_two_lengths(labels: Path) -> None:
    arguments = (*ASKED, "--labels", str(labels), "--target", "cifar10_val_90,cifar10_val_12", "--json")
    content = json.loads(firstlight(*arguments).stdout)
    assert [entry["target"] for entry in content["fitted_on"]] == ["cifar10_val_12", "cifar10_val_90"]
    observed = next(network["observed"] for network in content["networks"] if network["observed"])
    assert observed.keys() == {"cifar10_val_12", "cifar10_val_90"}


def test_learns_what_params_do_not_know(labels: Path) -> None:
    """The network with the widest first stage is expected to be better than one that is as large without it."""
    wide, narrow = "64:24:64:64:64", "24:64:64:64:64"
    arguments = ("predict", "nats-sss", wide, narrow, *PLAINLY, "--samples", "0", "--labels", str(labels))
    content = json.loads(firstlight(*arguments, "--target", "cifar10_val_12", "--full-epochs", "12", "--json").stdout)
    expected = {network["architecture"]: network["value"] for network in content["networks"]}
    assert expected[wide] > expected[narrow]


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (("--target", "cifar10_val_13"), "unknown-name", "cifar10_val_13"),
        ((), "setting", "has 2 columns of results"),
        (("--target", "cifar10_val_12", "--model", "svm"), "unknown-name", "model of a predictor 'svm'"),
        (("--target", "cifar10_val_12", "--full-epochs", "-1"), "setting", "full_epochs is -1"),
    ],
)
def test_bad_options(labels: Path, more: tuple[str, ...], code: str, message: str) -> None:
    done = firstlight("predict", "nats-sss", *PLAINLY, "--samples", "2", "--labels", str(labels), *more, code=1)
    assert message in done.stderr
    assert f"[{code}]" in done.stderr


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (4, "There are 4 labels of cifar10_val_12, and a predictor needs at least 5"),
        (0, "has no rows"),
    ],
)
def test_too_few_labels(labels: Path, rows: int, message: str) -> None:
    pd.read_csv(labels).head(rows).to_csv(labels, index=False)
    done = firstlight(*ASKED, "--labels", str(labels), "--target", "cifar10_val_12", code=1)
    assert message in done.stderr


def test_labels_all_alike_or_of_another_space(labels: Path) -> None:
    frame = pd.read_csv(labels)
    frame.assign(cifar10_val_12=70.0).to_csv(labels, index=False)
    done = firstlight(*ASKED, "--labels", str(labels), "--target", "cifar10_val_12", code=1)
    assert "All 8 labels of cifar10_val_12 are 70, so there is nothing to learn" in done.stderr
    frame.assign(architecture="64-1342-basic").to_csv(labels, index=False)
    done = firstlight(*ASKED, "--labels", str(labels), "--target", "cifar10_val_12", code=1)
    assert "do not belong to the space 'nats-sss'" in done.stderr


def test_missing_values_are_left_out(labels: Path) -> None:
    frame = pd.read_csv(labels)
    frame.loc[0, "cifar10_val_12"] = float("nan")
    frame.to_csv(labels, index=False)
    content = json.loads(firstlight(*ASKED, "--labels", str(labels), "--target", "cifar10_val_12", "--json").stdout)
    assert content["fitted_on"][0]["labels"] == LABELED - 1
    assert content["remarks"] == ["1 of 8 rows of labels.csv have no cifar10_val_12, and are left out."]
