"""`firstlight search` with steps through a one-shot network, and with limits on each network."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from tests.cli.command import firstlight

TINY = ("--skeleton", "channels=4,cells=1", "--workers", "0")


def test_json_is_all_that_is_printed_and_has_the_notes(tmp_path: Path) -> None:
    asked = ("--algorithm", "nasi-ridge:steps=2:seconds=1e-9", "--batch-size", "3")
    done = firstlight("search", "nasbench201", *asked, *TINY, "--json", "--out", str(tmp_path))
    result = json.loads(done.stdout)
    assert result["notes"] == ["1 of 2 steps were taken within 1e-09 s."]
    assert (result["states"], result["states_reused"]) == (1, 0)
    kept = json.loads((tmp_path / "result.json").read_text())
    assert kept["notes"] == result["notes"]
    assert kept["settings"]["algorithm"] == "nasi-ridge:batch=3:seconds=1e-09:steps=2"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--timeout", "5", *TINY), "timeout is 5.0, .* workers is 0"),
        (("--max-worker-memory", "4G", *TINY), "max_worker_memory is '4G', .* workers is 0"),
        (("--timeout", "0"), "seconds above 0"),
    ],
)
def test_limits_on_each_network_need_workers(options: tuple[str, ...], message: str, tmp_path: Path) -> None:
    for command in ("search", "rank"):
        done = firstlight(command, "nasbench201", "--samples", "2", *options, folder=tmp_path, code=1)
        assert re.search(message, done.stderr)
    assert not list(tmp_path.iterdir())


@pytest.fixture
def thirty(tmp_path: Path) -> str:
    np.savez(tmp_path / "few.npz", x=np.random.default_rng(0).random((30, 3, 8, 8)), y=np.arange(30) % 2)
    return f"npz:{tmp_path / 'few.npz'}"


@pytest.mark.parametrize("asked", [(), ("--batch-size", "16")])
def test_few_images_are_enough_for_hnas(asked: tuple[str, ...], thirty: str, tmp_path: Path) -> None:
    guided = ("--algorithm", "hnas:pool=3", "--data", thirty, "--queries", "2", "--epochs", "1", *asked)
    done = firstlight("search", "nasbench201", *guided, *TINY, "--json", "--out", str(tmp_path / "run"))
    notes = [note for note in json.loads(done.stdout)["notes"] if "too few samples" in note]
    assert notes == [f"{thirty!r} has too few samples for batches of 64, so proxies used batches of 30."]


@pytest.mark.parametrize("algorithm", ["hnas", "hnas:batch=50", "nasi:batch=50", "random"])
def test_batches_that_were_asked_for_are_checked_before_any_work(algorithm: str, thirty: str, tmp_path: Path) -> None:
    shown = ("--data", thirty) if "hnas" in algorithm else ("--input", thirty)
    size = () if "batch" in algorithm else ("--batch-size", "50")
    out = ("--out", str(tmp_path / "run"))
    done = firstlight(
        "search", "nasbench201", "--algorithm", algorithm, *shown, *size, *TINY, *out, folder=tmp_path, code=1
    )
    assert "has 30 samples; 1 batch of 50 was requested. Use --batch-size 30" in done.stderr
    assert not (tmp_path / "run").exists()


def test_few_images_are_enough_to_score(thirty: str, tmp_path: Path) -> None:
    cell = "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|none~0|none~1|nor_conv_1x1~2|"
    done = firstlight("score", "nasbench201", cell, "--proxy", "snip", "--input", thirty, *TINY, folder=tmp_path)
    assert "too few samples for batches of 64, so proxies used batches of 30" in " ".join(done.stderr.split())
