"""Tables in their documented form: reading, writing, and joining with a space."""

from __future__ import annotations

import random
import string
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.core.errors import DataError, FirstlightError, MissingFileError, TableError, UnknownNameError
from firstlight.spaces import SPACES
from firstlight.tables import table as tables
from firstlight.tables.table import Table, as_table, load_table, write_table

SPACE = SPACES["nasbench201"]
CELLS_101 = SPACES["nasbench101"]
TARGET = "cifar10_test_200"
# one function, three texts: an edge from a node that is zero adds nothing
SAME = [f"|none~0|+|nor_conv_3x3~0|none~1|+|none~0|{op}~1|skip_connect~2|" for op in ("none", "skip_connect")]


def cells(number: int, seed: int = 0) -> list[str]:
    rng = random.Random(seed)
    return list(dict.fromkeys(str(SPACE.sample(rng)) for _ in range(2 * number)))[:number]


def table(texts: list[str], values: Any, target: str = TARGET, **others: Any) -> Table:
    return as_table(pd.DataFrame({"architecture": texts, target: values, **others}), "mine.csv")


def accuracies(number: int) -> Any:
    return np.linspace(10, 90, number)


def test_rows_of_a_class_keep_their_values_and_share_a_canonical_text() -> None:
    texts = [*cells(12), *SAME]
    joined = table(texts, accuracies(len(texts))).join(SPACE, TARGET)
    assert list(joined.rows["architecture"]) == texts
    assert list(joined.rows["value"]) == list(accuracies(len(texts)))
    first, second = joined.rows["canonical"].iloc[-2:]
    assert first == second
    assert joined.rows["value"].iloc[-1] != joined.rows["value"].iloc[-2]
    scores = {text: float(place) for place, text in enumerate(joined.rows["canonical"].unique())}
    spread = joined.spread(scores)
    assert spread.iloc[-1] == spread.iloc[-2] == scores[first]
    assert joined.spread({first: 1.0}).notna().sum() >= 2


def test_gaps_are_left_out_and_counted() -> None:
    joined = table(cells(14), [*accuracies(12), np.nan, None]).join(SPACE, TARGET)
    assert (len(joined.rows), joined.without_value, joined.repeated) == (12, 2, 0)
    joined = table(cells(12), [*accuracies(11), np.inf], "latency").join(SPACE, "latency")
    assert (len(joined.rows), joined.without_value) == (11, 1)


def test_rows_that_repeat_each_other_count_once() -> None:
    texts = cells(12)
    repeated = table([*texts, f" {texts[0]} "], [*accuracies(12), accuracies(12)[0]]).join(SPACE, TARGET)
    assert (len(repeated.rows), repeated.repeated) == (12, 1)
    with pytest.raises(DataError, match=r"(?s)1 architectures of mine.csv occur more than once.*: 10 and 11"):
        table([*texts, texts[0]], [*accuracies(12), 11]).join(SPACE, TARGET)


@pytest.mark.parametrize("wrong", [-1.0, 100.5, np.inf])
@pytest.mark.parametrize("name", [TARGET, "cifar10_val_12", "valid_acc_4", "x_train_3"])
def test_accuracies_are_between_0_and_100(wrong: float, name: str) -> None:
    with pytest.raises(DataError, match=f"1 of its 12 values are not between 0 and 100: {wrong:g}"):
        table(cells(12), [*accuracies(11), wrong], name).join(SPACE, name)


def test_fractions_and_other_figures_are_welcome() -> None:
    table(cells(12), accuracies(12) / 100).join(SPACE, TARGET)
    table(cells(12), -accuracies(12), "room_layout_val_neg_loss_25").join(SPACE, "room_layout_val_neg_loss_25")


def test_architectures_of_elsewhere_are_counted_and_shown() -> None:
    strangers = ["64-41414-1_02_333", "8:8:8:8:8", "|none~0|", "x"]
    with pytest.raises(
        DataError, match=r"4 of 14 architectures of mine.csv do not belong to the space 'nasbench201'"
    ) as error:
        table([*cells(10), *strangers], accuracies(14)).join(SPACE, TARGET)
    assert all(text in str(error.value) for text in strangers[:3])
    assert "expected '|' at character 1" in str(error.value)
    assert "`firstlight spaces`" in str(error.value)


def test_a_census_counts_without_refusing() -> None:
    census = table([*SAME, f"{SAME[0]} ", "x", "x"], accuracies(5)).census(SPACE)
    assert (census.members, census.classes, census.strangers) == (2, 1, ["x"])


def test_a_column_that_is_not_there() -> None:
    mine = table(cells(12), accuracies(12), note=["x"] * 12, index=range(12))
    with pytest.raises(
        FirstlightError, match=r"mine.csv named 'cifar10_test_20'. Did you mean 'cifar10_test_200'"
    ) as error:
        mine.join(SPACE, "cifar10_test_20")
    assert f"Known: {TARGET}." in str(error.value)
    for column in ("note", "index", "architecture"):
        with pytest.raises(DataError, match=f"{column!r} of mine.csv is not a target.*Targets: {TARGET}"):
            mine.join(SPACE, column)


def test_nothing_to_correlate_with() -> None:
    with pytest.raises(DataError, match=r"is 10 for all 12 architectures.*not defined.*Choose another column: params"):
        table(cells(12), [10.0] * 12, params=range(12)).join(SPACE, TARGET)
    with pytest.raises(DataError, match=r"has 9 architectures of 'nasbench201'.*at least 10"):
        table(cells(12), [*accuracies(9), None, None, None]).join(SPACE, TARGET)
    with pytest.raises(DataError, match="has 0 architectures"):
        table(cells(12), [np.nan] * 12).join(SPACE, TARGET)


def test_cells_in_two_columns_become_texts() -> None:
    frame = pd.DataFrame(
        {
            "num_vertices": [3] * 6,
            "adjacency": ["010001000"] * 3 + ["011001000"] * 3,
            "ops": list("012" * 2),
            "val_acc_108": accuracies(6) / 100,
        }
    )
    mine = as_table(frame, "nb101.csv")
    assert mine.written_in == ("adjacency", "ops")
    assert [target.name for target in mine.targets()] == ["val_acc_108"]
    assert mine.frame["architecture"].iloc[0] == "conv3x3~0|output~1"
    assert mine.frame["architecture"].iloc[-1] == "maxpool3x3~0|output~0,1"
    more = pd.concat([mine.frame, mine.frame.assign(architecture=lambda old: "conv1x1~0|" + old["architecture"])])
    joined = as_table(more.assign(val_acc_108=accuracies(12) / 100), "nb101.csv").join(CELLS_101, "val_acc_108")
    assert len(joined.rows) == 12


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_texts_stay_texts_in_files(tmp_path: Path, suffix: str) -> None:
    frame = pd.DataFrame({"adjacency": ["001000000"] * 2, "ops": ["0", "1"], "val_acc_4": [0.1, 0.2]})
    path = tmp_path / f"cells{suffix}"
    frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(path)
    assert list(load_table(path).frame["architecture"]) == ["conv3x3~|output~0", "conv1x1~|output~0"]


def test_an_index_may_hold_the_texts(tmp_path: Path) -> None:
    path = tmp_path / "mine.parquet"
    table(cells(3), [1.0, 2.0, 3.0]).frame.set_index("architecture").to_parquet(path)
    assert list(load_table(path).frame["architecture"]) == cells(3)


TEXTS = st.text(string.ascii_letters + string.digits + "|~+,-:_\"' ", min_size=1, max_size=30)
NUMBERS = st.floats(0, 100) | st.just(float("nan"))


@settings(max_examples=40, deadline=None)
@given(rows=st.lists(st.tuples(TEXTS, NUMBERS, st.integers(-(2**40), 2**40)), min_size=1, max_size=8))
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_what_is_written_reads_back(suffix: str, rows: list[tuple[str, float, int]]) -> None:
    mine = as_table(pd.DataFrame(rows, columns=["architecture", TARGET, "params"]), "mine")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"mine{suffix}"
        write_table(mine, path)
        again = load_table(path)
        assert [file.name for file in path.parent.iterdir()] == [path.name]
    pd.testing.assert_frame_equal(again.frame, mine.frame, check_exact=True)
    assert again.targets() == mine.targets()


def test_files_that_are_no_tables(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="There is no file"):
        load_table(tmp_path / "none.csv")
    with pytest.raises(DataError, match=r"must end in .parquet or .csv.*table import"):
        load_table(tmp_path / "table.pth")
    with pytest.raises(DataError, match="cannot be written"):
        write_table(table(cells(1), [1.0]), tmp_path / "no folder" / "table.csv")
    for name, content, message in [
        ("broken.parquet", b"PAR1 and no more", "cannot be read as a table"),
        ("empty.csv", b"", "cannot be read as a table"),
        ("binary.csv", bytes(range(256)), "cannot be read as a table"),
        ("header.csv", b"architecture,x_test_1\n", "has no rows"),
        ("nameless.csv", b"arch,x_test_1\na,1\n", "expected 'architecture', 'arch_str', .* Columns: arch, x_test_1"),
        ("gap.csv", b"architecture,x_test_1\na,1\n,2\n", "1 of 2 rows of gap.csv have no architecture"),
    ]:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=message):
            load_table(tmp_path / name)


def test_the_real_nasbench201(benchmark_data: Path) -> None:
    mine = load_table(benchmark_data / "nb201.parquet")
    assert mine.written_in == ("arch_str",)
    assert TARGET in [target.name for target in mine.targets()]
    joined = mine.join(SPACE, TARGET)
    assert len(joined.rows) == len(SPACE)
    classes = mine.frame["isomorph"].groupby(joined.rows["canonical"])
    assert classes.ngroups == 6466
    assert (classes.nunique() == 1).all()
    best = joined.rows.loc[joined.rows["value"].idxmax()]
    assert best["value"] == pytest.approx(94.3733, abs=1e-4)
    assert mine.join(SPACE, "cifar100_val_200").without_value == 15_625 - 725


def test_the_real_nasbench101(benchmark_data: Path) -> None:
    mine = load_table(benchmark_data / "nb101_sample.parquet")
    assert mine.frame["architecture"].nunique() == len(mine) == 30_001
    rows = mine.join(CELLS_101, "val_acc_108").rows
    assert len(rows) == rows["canonical"].nunique() == 30_001


def plain_rows() -> pd.DataFrame:
    rows = []
    for name in ("plain-resnet", "plain-mobile"):
        rng = random.Random(0)
        for number in range(24):
            text = str(SPACES[name].sample(rng))
            band = "20k" if number % 2 else "100k"
            rows.append({"space": name, "band": band, "architecture": text, "cifar10_val_8": 40.0 + number, "seeds": 1})
    frame = pd.DataFrame(rows)
    frame.attrs = {"recipe": "epochs=8"}
    return frame


def test_a_table_of_several_spaces_is_joined_by_the_rows_of_each() -> None:
    table = as_table(plain_rows(), "mine")
    assert [target.name for target in table.targets()] == ["cifar10_val_8"]
    for name in ("plain-resnet", "plain-mobile"):
        space = SPACES[name]
        joined = table.join(space, "cifar10_val_8").rows
        assert list(joined["value"]) == [40.0 + number for number in range(24)]
        assert all(str(space.parse(text)) == text for text in joined["architecture"])
        assert table.census(space).members == 24
        assert not table.census(space).strangers
    with pytest.raises(TableError, match="0 architectures of 'plain-vit'"):
        table.join(SPACES["plain-vit"], "cifar10_val_8")


def test_tables_of_the_package_are_loaded_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_BUNDLE", tmp_path)
    with pytest.raises(MissingFileError, match="plain_benchmark"):
        load_table("plain")
    plain_rows().to_parquet(tables.bundled_path("plain"), index=False)
    whole, part = load_table("plain"), load_table(Path("plain:20k"))
    assert (len(whole), len(part)) == (48, 24)
    assert (whole.origin, part.origin) == ("plain", "plain-20k")
    assert whole.frame.attrs == part.frame.attrs == {"recipe": "epochs=8"}
    assert set(part.frame["band"]) == {"20k"}
    with pytest.raises(UnknownNameError, match=r"20k"):
        load_table("plain:20")
