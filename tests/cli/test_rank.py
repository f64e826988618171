"""`firstlight rank` as a person and as a machine use it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from tests.cli.command import CELL, SILENT, SMALL, firstlight


def test_architectures_from_everywhere(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text(f"{SILENT}\n")
    done = firstlight(
        *("rank", "nasbench201", CELL, "--from", "list.txt", "--samples", "4", "--proxy", "params,independence"),
        *("--by", "rank_mean(independence*2,params)", "--top", "2", "--out", "all.csv", *SMALL),
        folder=tmp_path,
    )
    header, first, second, summary, *rest = done.stdout.splitlines()
    assert header.split() == ["rank", "rank_mean(independence*2,params)", "params", "independence", "macs", "network"]
    assert [first.split()[0], second.split()[0]] == ["1", "2"]
    assert summary == "The best 2 of 6 networks, by rank_mean(independence*2,params)."
    assert sum("Agreement between proxies" in line for line in rest) == 2
    with (tmp_path / "all.csv").open(newline="") as file:
        networks = [row["network"] for row in csv.DictReader(file)]
    assert len(set(networks)) == 6
    assert {CELL, SILENT} <= set(networks)
    assert first.rstrip().endswith(networks[0])


def test_json_for_machines() -> None:
    done = firstlight("rank", "nasbench201", "--from", "-", "--top", "1", "--json", *SMALL, stdin=f"{SILENT}\n{CELL}\n")
    content = json.loads(done.stdout)
    assert content.keys() == {"by", "networks", "agreement"}
    (best,) = content["networks"]
    assert (best["rank"], best["architecture"], content["by"]) == (1, CELL, "dextr")
    assert best["value"] == best["scores"]["dextr"]["value"]


def test_models_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from torch import nn\n"
        "def net(width):\n"
        "    return nn.Sequential(nn.Conv2d(1, width, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())\n"
        "def narrow():\n    return net(4)\n"
        "wide = net(8)\n"
        "still = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.BatchNorm2d(1))\n"
    )
    shape = ("--input-shape", "1,8,8")
    asked = ("mine:still", "mine:narrow", "mine:wide", "--proxy", "dextr,params", *shape)
    done = firstlight("rank", *asked, folder=tmp_path)
    rows = [line.split() for line in done.stdout.splitlines()[1:4]]
    assert {row[-1] for row in rows[:2]} == {"mine:narrow", "mine:wide"}
    assert rows[2][0] == "-"
    assert rows[2][1] in ("failed", "unsupported", "non_finite")
    assert rows[2][-1] == "mine:still"
    assert "dextr has no value for 1 of 3 networks" in done.stdout
    assert "No agreement where fewer than 3 networks have a score by both: dextr and params." in done.stdout
    assert "1 of 3 networks (mine:still): " in done.stdout
    ranked = json.loads(firstlight("rank", *asked, "--json", folder=tmp_path).stdout)["networks"]
    for name in ("mine:narrow", "mine:wide"):  # the others have no influence on a model's weights
        alone = json.loads(firstlight("score", name, *shape, "--json", folder=tmp_path).stdout)
        (value,) = (row["value"] for row in ranked if row["architecture"] == name)
        assert alone["scores"]["dextr"]["value"] == value


def test_broken_models_come_last_and_only_they_are_a_failure(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from torch import nn\n"
        "class Pair(nn.Flatten):\n    def forward(self, x):\n        return x, super().forward(x)\n"
        "def good():\n    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), Pair())\n"
        "def raises():\n    return nn.Linear(4)\n"
        "tall = nn.Linear(7, 2)\n"
    )
    shape = ("--input-shape", "1,8,8")
    asked = ("mine:raises", "mine:tall", "mine:good", "--proxy", "dextr,params", "--logits", "1", *shape)
    lines = firstlight("rank", *asked, folder=tmp_path).stdout.splitlines()
    assert [line.split()[-1] for line in lines[1:4]] == ["mine:good", "mine:raises", "mine:tall"]
    assert lines[2].split()[:5] == ["-", "failed", "failed", "-", "mine:raises"]
    assert "dextr, params have no value for 1 of 3 networks (mine:raises): failed (mine:raises() failed" in lines[4]
    broken = firstlight("rank", "mine:raises", "mine:tall", "--json", *shape, folder=tmp_path, code=1)
    assert [network["cost"] for network in json.loads(broken.stdout)["networks"]] == [None, None]
    scored = json.loads(firstlight("score", "mine:good", "--logits", "1", "--json", *shape, folder=tmp_path).stdout)
    assert scored["scores"]["dextr"]["status"] == "ok"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rank", "nasbench201"), "There is nothing to rank"),
        (("rank", "nasbench201", CELL, "--by", "az_nass"), "Did you mean 'az_nas'"),
        (("rank", "nasbench201", CELL, "--by", "rank_mean(dextr,)"), "the name of a proxy at character 17"),
        (("rank", "torch.nn:Identity", "--from", "list.txt"), "List further models after it"),
        (("rank", "a:b"), "cannot be imported"),
        (("rank", "nasbench201", CELL, "--logits", "out"), "Only your own models take logits"),
        (("rank", "nasbench201", "mine:net"), "at character"),
    ],
)
def test_bad_input_gets_a_clear_error(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = firstlight(*arguments, folder=tmp_path, code=1)
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
