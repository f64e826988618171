"""`firstlight search` with steps through a one-shot network, and with limits on each network."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.cli.command import firstlight
from typer.testing import CliRunner

from firstlight.cli import app

TINY = ("--skeleton", "channels=4,cells=1", "--workers", "0")


def test_json_is_all_that_is_printed_and_has_the_notes(tmp_path: Path) -> None:
    asked = ("--algorithm", "nasi-ridge:steps=2:seconds=1e-9", "--batch-size", "3")
    done = CliRunner().invoke(app, ["search", "nasbench201", *asked, *TINY, "--json", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    assert result["notes"] == ["1 of 2 steps were taken: then 1e-09 s of computing were spent."]
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
