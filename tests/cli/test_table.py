"""`firstlight table` as a person and as a machine use it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.command import CELL, SILENT, firstlight
from tests.tables.importers.files import Evil, architecture_of_nats, marker, write_bz2

from firstlight.tables.importers import KINDS


def test_help_explains_with_examples() -> None:
    help_of_import = firstlight("table", "import", "--help").stdout
    assert "For example:\nfirstlight table import nats" in help_of_import
    assert all(kind in help_of_import for kind in KINDS)
    assert "For example:\nfirstlight table show" in firstlight("table", "show", "--help").stdout
    assert "table" in firstlight("--help").stdout


def test_from_official_files_to_a_table(tmp_path: Path) -> None:
    (tmp_path / "simple").mkdir()
    for index, text in enumerate((CELL, SILENT, "8:8:8:8:8")):
        write_bz2(architecture_of_nats(text, 10.0 * index), tmp_path / "simple" / f"{index:06d}.pickle.pbz2")
    done = firstlight("table", "import", "nats", "simple", "-o", "mine.parquet", folder=tmp_path)
    assert "mine.parquet: 3 architectures, 22 columns." in done.stdout
    assert "firstlight table show mine.parquet" in done.stdout
    again = json.loads(firstlight("table", "import", "nats", "simple", "-o", "b.csv", "--json", folder=tmp_path).stdout)
    assert (again["table"], again["rows"]) == ("b.csv", 3)

    asked = ("table", "show", "mine.parquet", "--space", "nasbench201")
    shown = firstlight(*asked, folder=tmp_path).stdout
    assert "mine.parquet: 3 rows, architectures in architecture." in shown
    assert "2 architectures of nasbench201, in 2 classes." in shown
    assert "1 does not belong to it, such as:\n  8:8:8:8:8\n" in shown
    (line,) = (line for line in shown.splitlines() if "cifar10_test_12" in line)
    assert line.strip().split(maxsplit=4) == [
        "cifar10_test_12",
        "3",
        "6.5",
        "26.5",
        "cifar10: test accuracy after 12 epochs",
    ]

    content = json.loads(firstlight(*asked, "--json", folder=tmp_path).stdout)
    assert (content["rows"], content["architectures"]) == (3, ["architecture"])
    assert content["space"] == {
        "name": "nasbench201",
        "members": 2,
        "classes": 2,
        "strangers": 1,
        "examples": ["8:8:8:8:8"],
    }
    assert content["targets"] == again["targets"]
    (target,) = (target for target in content["targets"] if target["column"] == "cifar10_test_12")
    assert (target["dataset"], target["split"], target["figure"], target["epochs"]) == (
        "cifar10",
        "test",
        "accuracy",
        12,
    )
    assert (target["rows"], target["lowest"], target["highest"]) == (3, 6.5, 26.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("import", "natss", ".", "-o", "a.csv"), "Did you mean 'nats'"),
        (("import", "nats", "none", "-o", "a.csv"), "none does not exist. The kind 'nats' reads"),
        (("import", "nats", ".", "-o", "a.txt"), "the name must end in .parquet or .csv"),
        (("import", "nats", ".", "-o", "none/a.csv"), "the folder none does not exist"),
        (("import", "transnas_micro", "evil.pth", "-o", "a.csv"), "evil.pth is refused"),
        (("show", "a.csv"), "There is no file a.csv"),
        (("show", "a.csv", "--space", "nasbench202"), "Did you mean 'nasbench201'"),
    ],
)
def test_bad_input_gets_a_clear_error(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    write_bz2(Evil(), tmp_path / "evil.pth")
    done = firstlight("table", *arguments, folder=tmp_path, code=1)
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == ["evil.pth"]
    assert not marker().exists()
