"""What is at hand, and what is said of what is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.papers.toy import OUTSIDE, write_cells_of_nb101, write_tables

from firstlight.core.errors import DataError
from firstlight.execution.executor import InProcess
from firstlight.papers.benchmarks import NB101, NB201_C10, NB201_TEST, ONE_SHOT, Benchmark, DataFolder
from firstlight.papers.lab import Lab
from firstlight.papers.runner import open_data_folder
from firstlight.spaces import SPACES
from firstlight.storage.store import Store

ABSENT = Benchmark("Toy", "nasbench2010", ("toy.parquet",), ("toy_val_5",), "import toy -o {path}")


def test_a_table_that_is_there(tmp_path: Path) -> None:
    folder = DataFolder(write_tables(tmp_path))
    assert folder.missing(NB201_C10) == ""
    assert len(folder.table(NB201_C10)) == 30
    assert folder.column(NB201_C10) == "cifar10_test_200"
    assert folder.available((*NB201_TEST, ABSENT)) == list(NB201_TEST)


def test_what_is_missing_is_named_with_the_next_step(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    assert "firstlight table import nats" in folder.missing(NB201_C10)
    assert str(tmp_path / "nb201.parquet") in folder.missing(NB201_C10)
    assert "FIRSTLIGHT_DATA" in DataFolder(None).missing(NB201_C10)
    both = folder.missing(ABSENT)
    assert "'nasbench2010', which this version does not have" in both
    assert f"import toy -o {tmp_path / 'toy.parquet'}" in both
    with pytest.raises(DataError, match=r"NB201 CIFAR-10 needs nb201\.parquet"):
        folder.table(NB201_C10)


def test_a_table_without_the_column_says_so(tmp_path: Path) -> None:
    folder = DataFolder(write_tables(tmp_path))
    other = Benchmark("Toy", "nasbench201", ("nb201.parquet",), ("toy_a", "toy_b"), "import it")
    assert folder.missing(other) == "a column toy_a or toy_b in nb201.parquet: import it"
    with pytest.raises(DataError, match="toy_a or toy_b"):
        folder.column(other)


def test_a_table_that_was_written_anew_is_read_anew(tmp_path: Path) -> None:
    folder = DataFolder(write_tables(tmp_path))
    assert len(folder.table(NB201_C10)) == 30
    path = tmp_path / "nb201.parquet"
    folder.table(NB201_C10).frame.iloc[:20].to_parquet(path)
    assert len(folder.table(NB201_C10)) == 20


def test_the_folder_is_that_of_the_environment_unless_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRSTLIGHT_DATA", str(tmp_path))
    assert open_data_folder(None) == DataFolder(tmp_path)
    (tmp_path / "other").mkdir()
    assert open_data_folder(tmp_path / "other") == DataFolder(tmp_path / "other")
    with pytest.raises(DataError, match="no folder"):
        open_data_folder(tmp_path / "nowhere")
    monkeypatch.delenv("FIRSTLIGHT_DATA")
    assert open_data_folder(None) == DataFolder(None)


def test_images_are_those_of_the_folder(tmp_path: Path) -> None:
    def shown(name: str | None) -> str:
        return Lab(DataFolder(tmp_path), InProcess(), Store(":memory:"), 12, input=name).images

    assert shown(None) == "synthetic"
    path = tmp_path / "cifar10_few.npz"
    np.savez(path, x=np.zeros((4, 3, 8, 8), np.uint8), y=np.arange(4))
    assert shown(None) == shown("cifar10") == f"npz:{path}"
    assert shown("synthetic") == "synthetic"
    assert shown("npz:elsewhere.npz") == "npz:elsewhere.npz"


def test_cells_of_a_smaller_space_are_looked_up_in_the_table_of_the_larger(tmp_path: Path) -> None:
    cells = write_cells_of_nb101(tmp_path)
    folder, space = DataFolder(tmp_path), SPACES["nasbench1shot1-s1"]
    assert folder.missing(ONE_SHOT[0]) == ""
    assert len(folder.table(NB101)) == 3 * len(cells) + 1
    rows = folder.table(ONE_SHOT[0]).frame
    assert [space.parse(text).canonical() for text in rows["architecture"]] == cells
    assert rows["val_acc_108"].max() == 0.9 + 0.005 * (len(cells) - 1)
    assert str(OUTSIDE) not in set(rows["architecture"])
    assert folder.column(ONE_SHOT[0]) == "val_acc_108"


@pytest.mark.slow
def test_how_many_cells_of_the_sample_are_in_each_space(benchmark_data: Path) -> None:
    folder = DataFolder(benchmark_data)
    assert [len(folder.table(benchmark)) for benchmark in ONE_SHOT] == [195, 572, 4023]
