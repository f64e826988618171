from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from firstlight.core.errors import DataError, MissingFileError, SettingError, TableError, UnknownNameError
from firstlight.predict.labels import read_labels
from firstlight.spaces import SPACES
from firstlight.storage.outcome import Epoch, TrainingResult
from firstlight.storage.records import EvaluationKey
from firstlight.storage.store import Store
from firstlight.tables.table import Table, as_table

SPACE = SPACES["nats-sss"]
NAN = float("nan")


def table(**columns: list[float]) -> Table:
    texts = [f"{8 * (n + 1)}:8:8:8:8" for n in range(len(next(iter(columns.values()))))]
    return as_table(pd.DataFrame({"architecture": texts, **columns}), "mine")


def test_reads_the_only_column() -> None:
    found = read_labels(table(cifar10_val_12=[80, 81, 82, 83, 84]), SPACE)
    assert found.targets == ["cifar10_val_12"]
    assert found.is_short("cifar10_val_12")
    observed = found.observed(["56:8:8:8:8", "8:8:8:8:8", "40:8:8:8:8"])
    assert [entry.rows.tolist() for entry in observed] == [[1, 2]]
    assert observed[0].values.tolist() == [80, 84]
    assert observed[0].short


def test_several_numbers_of_epochs() -> None:
    given = table(cifar10_val_200=[90, NAN, 92], cifar10_val_12=[80, 81, 82], cifar10_val_best=[91, 92, NAN])
    found = read_labels(given, SPACE, ["cifar10_val_200", "cifar10_val_12", "cifar10_val_best"], full_epochs=200)
    assert found.targets == ["cifar10_val_12", "cifar10_val_200", "cifar10_val_best"]
    assert [found.is_short(name) for name in found.targets] == [True, False, False]
    assert found.remarks[0] == "1 of 3 rows of mine have no cifar10_val_200, and are left out."
    assert [len(entry.rows) for entry in found.observed(found.texts)] == [3, 2, 2]


def test_networks_of_one_class_are_one() -> None:
    # a conv on 0-1 that nothing reads
    cells = ["|none~0|+|none~0|none~1|+|nor_conv_3x3~0|none~1|none~2|"]
    cells.append(cells[0].replace("|none~0|+|none~0", "|nor_conv_1x1~0|+|none~0", 1))
    given = as_table(pd.DataFrame({"architecture": cells, "cifar10_val_12": [70.0, 72.0]}), "mine")
    found = read_labels(given, SPACES["nasbench201"])
    assert found.values["cifar10_val_12"].tolist() == [71]


def evaluation(store: Store, text: str, epochs: int, accuracy: float, space: str = "nats-sss") -> None:
    key = EvaluationKey(space, "", text, "digits: 8x8:abc", f"short:epochs={epochs}", 0, 1)
    fields = dict.fromkeys(Epoch.__dataclass_fields__, 0.0) | {"val_accuracy": accuracy}
    store.add_evaluation(key, TrainingResult((Epoch(**fields),) * epochs))


def test_run_folder(tmp_path: Path) -> None:
    with Store(tmp_path / "store.sqlite") as store:
        for number, text in enumerate(["8:8:8:8:8", "16:8:8:8:8"]):
            evaluation(store, text, 3, 0.5 + number / 10)
        evaluation(store, "8:8:8:8:8", 60, 0.9)
        evaluation(store, "|none~0|", 3, 0.9, "nasbench201")
        key = EvaluationKey("nats-sss", "", "24:8:8:8:8", "digits: 8x8:abc", "short:epochs=3", 0, 1)
        store.add_evaluation(key, TrainingResult((), "failed", "no memory"))
    found = read_labels(tmp_path, SPACE, ["digits_val_3", "digits_val_60"])
    assert found.values["digits_val_3"].to_dict() == pytest.approx({"16:8:8:8:8": 60, "8:8:8:8:8": 50})
    assert found.values["digits_val_60"].dropna().to_dict() == pytest.approx({"8:8:8:8:8": 90})
    with pytest.raises(DataError, match="has no trained networks of 'darts'"):
        read_labels(tmp_path, SPACES["darts"])


def test_bad_input(tmp_path: Path) -> None:
    two = table(cifar10_val_12=[80, 81], cifar10_val_200=[90, 91])
    with pytest.raises(SettingError, match=r"mine has 2 columns of results.*--target COLUMN\): cifar10_val_12"):
        read_labels(two, SPACE)
    with pytest.raises(UnknownNameError, match="cifar10_val_13"):
        read_labels(two, SPACE, ["cifar10_val_13"])
    with pytest.raises(TableError, match="2 of 2 architectures of mine do not belong to the space 'darts'"):
        read_labels(two, SPACES["darts"], ["cifar10_val_12"])
    with pytest.raises(DataError, match="mine has no values of cifar10_val_12 for networks of 'nats-sss'"):
        read_labels(table(cifar10_val_12=[NAN, NAN]), SPACE)
    with pytest.raises(TableError, match="not between 0 and 100"):
        read_labels(table(cifar10_val_12=[80, 8100]), SPACE)
    with pytest.raises(MissingFileError):
        read_labels(tmp_path / "absent.csv", SPACE)
