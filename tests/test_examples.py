"""The examples run as they are, are short, and the notebook is the script."""

from __future__ import annotations

import json
import os
import runpy
from pathlib import Path

import pytest
from tools.notebook import SCRIPT, notebook

EXAMPLES = SCRIPT.parent
# What each prints, among other things
SAID = {
    "score_my_model": "width 32: ",
    "rank_three_vits": "even: independence ",
    "search_with_a_latency_limit": "networks were too slow.",
    "write_a_proxy": "weakest_layer and params: Spearman ",
    "a_custom_space": "The best of 16 with at most 10,000 parameters: ",
    "search_for_clicks": "by hand, logistic: log loss ",
}


def test_there_is_a_line_for_each() -> None:
    scripts = {path.stem for path in EXAMPLES.glob("*.py")}
    assert scripts == SAID.keys()
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert all(f"[{name}.py]({name}.py)" in listed for name in scripts)


@pytest.mark.usefixtures("own_registries")
@pytest.mark.parametrize("name", SAID)
def test_an_example_runs(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = EXAMPLES / f"{name}.py"
    assert len(path.read_text(encoding="utf-8").splitlines()) < 60
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    assert SAID[name] in capsys.readouterr().out
    assert os.listdir(tmp_path) == []  # it leaves nothing behind


def test_the_notebook_is_the_script_and_its_cells_run(capsys: pytest.CaptureFixture[str]) -> None:
    text = SCRIPT.with_suffix(".ipynb").read_text(encoding="utf-8")
    assert text == notebook(SCRIPT.read_text(encoding="utf-8")), "run `make docs` and commit the notebook"
    names: dict[str, object] = {}
    for cell in json.loads(text)["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    assert SAID["score_my_model"] in capsys.readouterr().out
