"""Pages of tables measured again say what their findings say."""

from __future__ import annotations

import json

from tests.views.pages.pages import an_outcome
from tools.pages import measured

from firstlight.papers import EXPERIMENTS


def test_a_page_has_every_line_with_its_command_and_date() -> None:
    content = json.loads(json.dumps(an_outcome("a | b").to_dict()))
    page = measured.page(content | {"command": "firstlight reproduce dextr-table4", "date": "2030-01-02"})
    assert "| what a \\| b | on a \\| b |  | 0.500 [0.400, 0.600] | no published value | a \\| b |" in page
    assert "Measured on 2030-01-02 by" in page
    assert "```bash\nfirstlight reproduce dextr-table4\n```" in page
    assert content["versions"]["torch"] in page


# What programs in benchmarks/ write
BENCHMARKS = {"fit-against-baselines": ["python", "-m", "benchmarks.fit"]}


def test_findings_that_are_kept_are_of_experiments_that_there_are() -> None:
    found = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in measured.FINDINGS.glob("*.json")}
    assert found
    for name, content in found.items():
        experiment = content["experiment"]
        assert experiment in EXPERIMENTS or experiment in BENCHMARKS
        assert name == experiment or name.startswith(f"{experiment}-")  # on other data
        command = BENCHMARKS.get(experiment, ["firstlight", "reproduce", experiment])
        assert content["command"].split()[:3] == command
        assert content["date"]
        assert content["findings"]
    index = measured.index(found)
    assert all(f"]({name}.md)" in index for name in found)
