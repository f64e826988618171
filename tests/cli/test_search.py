"""`firstlight search` with steps through a one-shot network."""

from __future__ import annotations

import json
from pathlib import Path

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
