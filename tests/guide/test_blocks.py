"""Every command and every piece of code in README.md and the guide is run, or says why not."""

from __future__ import annotations

import itertools
import random
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from tests.guide.blocks import Block, Reader, blocks, command_lines, read, small
from tests.guide.stage.mypackage.models import Network
from tests.nets import Residual
from torch import nn

from firstlight.spaces import SPACES
from firstlight.tables.table import Table, as_table, write_table

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SHOWN = {path.relative_to(ROOT).as_posix(): blocks(path.read_text(encoding="utf-8")) for path in PAGES}
STAGE = Path(__file__).parent / "stage"


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the pages take for granted: a module with models, images, a table."""
    folder = tmp_path_factory.mktemp("guide") / "stage"
    shutil.copytree(STAGE, folder)
    rng = np.random.default_rng(0)
    for kind, number in itertools.product(("cats", "dogs"), range(40)):
        path = folder / "photos" / kind / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 255, (32, 32, 3), dtype=np.uint8)).save(path)
    write_table(a_table(), folder / "nb201.parquet")
    return folder


@pytest.fixture
def reader(stage: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reader:
    """Who has these, and models and batches in Python."""
    shutil.copytree(stage, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    batches = [(torch.randn(8, 3, 32, 32), torch.randint(5, (8,))) for _ in range(4)]
    models = {"model": Network(), "small_model": Residual(), "wide_model": Residual()}
    return Reader(tmp_path, {"nn": nn, "loader": batches, **models})


def a_table() -> Table:
    """Some networks of NAS-Bench-201, with figures that nobody measured."""
    rng = random.Random(0)
    texts = sorted({str(SPACES["nasbench201"].sample(rng)) for _ in range(40)})
    columns = ("cifar10_test_200", "cifar10_val_12", "cifar10_train_seconds_200")
    figures = {name: np.linspace(10, 90, len(texts)) for name in columns}
    return as_table(pd.DataFrame({"architecture": texts, **figures}), "made up")


@pytest.mark.usefixtures("own_registries")
@pytest.mark.parametrize("page", [page for page, found in SHOWN.items() if found])
def test_what_a_page_shows_works(page: str, reader: Reader) -> None:
    for block in SHOWN[page]:
        reader.follow(block)


def test_a_block_that_is_not_run_says_why() -> None:
    page = "<!-- not run: hours -->\n```bash\nmake\n```\n\n```python\nx = 1\n```\n<!-- file: a.py -->\n```python\n```\n"
    assert [(block.kind, block.text) for block in blocks(page)] == [("not run", "hours"), ("run", ""), ("file", "a.py")]


def test_what_is_neither_run_nor_marked_fails(tmp_path: Path) -> None:
    reader = Reader(tmp_path, {})
    with pytest.raises(AssertionError, match="say above the block why"):
        reader.follow(Block("bash", "make demo\n"))
    with pytest.raises(Exception, match="Unknown option"):
        reader.follow(Block("bash", "firstlight search nasbench201 --sample-size 3\n", "checked, not run", "hours"))
    with pytest.raises(Exception, match="Unknown command"):
        reader.follow(Block("bash", "firstlight find nasbench201\n", "checked, not run", "hours"))
    with pytest.raises(SyntaxError):
        reader.follow(Block("python", "print(\n", "not run", "hours"))


def test_commands_are_read_as_a_shell_does_and_made_small() -> None:
    assert command_lines("firstlight a \\\n  'b c'  # d\n\n# e\n") == [["firstlight", "a", "b c"]]
    assert small(["rank", "nasbench201", "--samples", "500"])[3:] == [
        "4",
        "--workers",
        "0",
        "--skeleton",
        "channels=4,cells=1",
    ]
    read(["table", "show", "nb201.parquet"])
