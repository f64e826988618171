"""What is searched by and reported unless it is named: read off the names of the columns."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.evaluation.test_service import SMALL
from tests.evaluation.toy_truth import SETTING, a_table

from firstlight.core.errors import SettingError, UnknownNameError
from firstlight.evaluation.contest import table_truth, training_truth
from firstlight.evaluation.truth import TableSetting
from firstlight.execution.executor import InProcess
from firstlight.storage.store import Store
from firstlight.tables.table import as_table, load_table


def test_what_is_not_named_is_chosen() -> None:
    truth, report = table_truth(a_table(), SETTING)
    assert truth.target == "toy_val_4"  # the fewest epochs
    assert truth.columns == {4: "toy_val_4", 40: "toy_val_40"}
    assert report == ("toy_test_40",)
    assert truth.times is not None
    alone, judged_by = table_truth(as_table(a_table().frame[["architecture", "toy_val_40"]], "toy"), SETTING)
    assert (judged_by, alone.times, alone.fidelities) == (("toy_val_40",), None, (40,))


def test_columns_that_are_not_there_are_named_with_those_that_are() -> None:
    for wrong in ({"target": "toy_vall_4"}, {"report": ["toy_vall_4"]}, {"fidelities": ["toy_vall_4"]}):
        with pytest.raises(UnknownNameError, match=r"'toy_vall_4'. Did you mean 'toy_val_4'\? Known: .*toy_test_40"):
            table_truth(a_table(), SETTING, **wrong)  # type: ignore[arg-type]
    nothing = as_table(a_table().frame[["architecture", "toy_test_40"]], "toy")
    with pytest.raises(SettingError, match=r"No column of toy is a validation accuracy.*toy_test_40"):
        table_truth(nothing, SETTING)


def test_fidelities_of_a_training() -> None:
    truth = training_truth(SMALL, None, InProcess(), Store(":memory:"))
    assert truth.fidelities == (1,)
    for wrong in ((2, 1), (0, 1), (1, 1)):
        with pytest.raises(SettingError, match="ascending numbers of epochs"):
            training_truth(SMALL, wrong, InProcess(), Store(":memory:"))


def test_nasbench201(benchmark_data: Path) -> None:
    table = load_table(benchmark_data / "nb201.parquet")
    truth, report = table_truth(table, TableSetting("nasbench201"))
    assert truth.target == "cifar10_val_12"
    assert report == ("cifar10_test_200", "cifar100_test_200", "imagenet16_test_200")
    assert truth.fidelities == (12, 200)
