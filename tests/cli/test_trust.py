"""`firstlight trust` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from firstlight.cli import app

ASKED = "trust nasbench201 --data digits --train 10 --epochs 1 --data-samples 60 --proxy params,l2_norm --workers 0"


def run(out: Path, *more: str) -> str:
    arguments = [*ASKED.split(), "--skeleton", "channels=4,cells=1", "--batch-size", "16", "--out", str(out), *more]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_advice_for_people_and_json_for_machines(tmp_path: Path) -> None:
    shown = run(tmp_path)
    assert "10 networks trained now, 0 known from before." in shown
    assert "validation accuracy after 1 epoch)" in shown
    assert "on held-out networks" in shown
    content = json.loads(run(tmp_path, "--json"))
    assert content["recommendation"]["expected_spearman_ci"]
    assert content["proxies"]["params"]["n"] == 10
    assert "0 networks trained now, 10 known from before." in run(tmp_path)
