"""The truth in the place of a proxy: looked up, or trained for."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.evaluation.test_service import SMALL, Counting, architectures
from tests.evaluation.toy_truth import BEST, SETTING, SPACE, a_table, a_truth

from firstlight.core.errors import DataError, SettingError
from firstlight.evaluation.truth import TRUTH, TableSetting, TrainingTruth, read_truth, usual_fidelities
from firstlight.probe import Probe
from firstlight.search.algorithm import AlgorithmRequest
from firstlight.search.objective import Objective
from firstlight.search.queries import Queries
from firstlight.storage.store import Store
from firstlight.tables.table import as_table, load_table
from firstlight.tables.targets import Target


def test_networks_are_known_by_the_one_that_stands_for_their_class() -> None:
    truth = a_truth()
    classes = {str(SPACE.canonical(architecture)) for architecture in SPACE}
    assert set(truth.networks) == classes
    assert len(truth) == len(classes) < len(SPACE)
    own = a_table().frame.set_index("architecture")["toy_test_40"]
    assert truth.reached([BEST], ["toy_test_40"]) == {BEST: {"toy_test_40": own[BEST]}}
    assert truth.figures["toy_val_40"] == {text: own[text] + 1 for text in truth.networks}
    assert not truth.knows("64-41414-0_00_333")  # its last edges are fed by nothing


def test_a_class_whose_first_member_is_missing_is_known_by_another() -> None:
    frame = a_table().frame
    canonical = "64-41414-0_00_300"
    member = "64-41414-2_00_300"
    assert str(SPACE.canonical(SPACE.parse(member))) == canonical
    table = as_table(frame[frame["architecture"] != canonical], "toy")
    truth = read_truth(table, SETTING, "toy_val_40", (), ())
    others = frame[[str(SPACE.canonical(SPACE.parse(text))) == canonical for text in frame["architecture"]]]
    first = others[others["architecture"] != canonical].iloc[0]
    assert truth.figures["toy_val_40"][canonical] == first["toy_val_40"]


def test_fidelities_are_found_by_name() -> None:
    assert usual_fidelities(a_table(), Target.of_column("toy_val_40")) == ["toy_val_4", "toy_val_40"]
    assert a_truth().at(4).target == "toy_val_4"
    nameless = as_table(a_table().frame.assign(nameless=a_table().frame["toy_val_4"]), "toy")
    with pytest.raises(SettingError, match="does not state the number of epochs"):
        read_truth(nameless, SETTING, "toy_val_40", ("nameless",), ())


def test_columns_with_gaps_are_refused_with_the_option_that_names_others() -> None:
    frame = a_table().frame.copy()
    frame.loc[:9, "toy_val_4"] = None
    table = as_table(frame, "toy")
    with pytest.raises(DataError, match=r"toy_val_4 has no value for \d+ .*--fidelities"):
        read_truth(table, SETTING, "toy_val_40", ("toy_val_4", "toy_val_40"), ())
    with pytest.raises(DataError, match=r"toy_val_4 has no value for \d+ .*--report"):
        read_truth(table, SETTING, "toy_val_40", (), ("toy_val_4",))


def test_no_untrained_network_is_asked() -> None:
    score = TRUTH.measure(Probe(torch.nn.Linear(2, 2), torch.zeros(1, 2)))
    assert (score.status, score.note) == (
        "unsupported",
        "The true performance of a network is not known before it is trained.",
    )


def a_training(executor: Counting, store: Store) -> TrainingTruth:
    return TrainingTruth(SMALL, (1, 2), executor, store)  # type: ignore[arg-type]


def test_training_answers_in_percent_and_each_network_is_trained_once() -> None:
    executor, store = Counting(), Store(":memory:")
    truth = a_training(executor, store)
    found = []
    for _ in range(2):
        problem = Queries(truth, Objective(TRUTH), random.Random(0), 3, callback=lambda event: found.append(event.item))
        AlgorithmRequest.parse("random").run(problem)
    assert len(executor.tasks) == 3
    assert [entry.network.architecture for entry in found[:3]] == [entry.network.architecture for entry in found[3:]]
    assert [entry.network.reused for entry in found] == [False] * 3 + [True] * 3
    scores = [entry.network.scores["truth"] for entry in found]
    assert all(0 <= score.value <= 100 and score.seconds > 0 and score.parts == {"epochs": 1.0} for score in scores)
    assert [score.seconds for score in scores[:3]] == [score.seconds for score in scores[3:]]
    text = found[0].network.architecture
    assert truth.reached([text], [truth.target]) == {text: {"digits@8_val_1": scores[0].value}}
    assert len(executor.tasks) == 3


def test_another_number_of_epochs_is_another_training() -> None:
    executor, store = Counting(), Store(":memory:")
    (text,) = architectures(1)
    truth = a_training(executor, store)
    short, long = (next(iter(truth.at(epochs).scores([text]))).scores["truth"] for epochs in (1, 2))
    assert (short.parts["epochs"], long.parts["epochs"]) == (1, 2)
    assert executor.tasks == [text, text]


def test_a_training_that_fails_has_no_value() -> None:
    (text,) = architectures(1)
    diverging = replace(SMALL, recipe=replace(SMALL.recipe, learning_rate=1e30))
    truth = replace(a_training(Counting(), Store(":memory:")), setting=diverging)
    (network,) = truth.scores([text])
    assert not network.scores["truth"].ok
    assert network.scores["truth"].note.startswith("diverged: ")


def test_nasbench201(benchmark_data: Path) -> None:
    """Every class of the space is in the table, and its figures are those of its own row."""
    table = load_table(benchmark_data / "nb201.parquet")
    columns = usual_fidelities(table, Target.of_column("cifar10_val_12"))
    assert columns == ["cifar10_val_12", "cifar10_val_200"]
    truth = read_truth(table, TableSetting("nasbench201"), "cifar10_val_12", columns, ("cifar10_test_200",))
    assert len(truth) == 6_466
    rows = table.frame.set_index("architecture")
    for text in random.Random(0).sample(truth.networks, 50):
        (network,) = truth.at(200).scores([text])
        assert network.scores["truth"].value == rows["cifar10_val_200"][text]
    with pytest.raises(DataError, match=r"cifar100_val_200 has no value for"):
        read_truth(table, TableSetting("nasbench201"), "cifar100_val_12", ("cifar100_val_200",), ())
