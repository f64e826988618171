"""What trainings cost: read, scaled, or estimated from some."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.evaluation.toy_truth import SPACE, a_table

from firstlight.core.errors import DataError, SettingError, UnknownNameError
from firstlight.evaluation.seconds import TrainingTimes, training_times
from firstlight.spaces import SPACES
from firstlight.tables.table import Table, as_table, load_table
from firstlight.tables.targets import Target

TARGET = Target.of_column("toy_val_4")
TEXTS = [str(architecture) for architecture in SPACE]


def times(table: Table, asked: str | None = None, target: Target = TARGET) -> TrainingTimes | None:
    return training_times(table, SPACE, target, TEXTS, asked)


def known_of(count: int, column: str = "toy_train_seconds_40") -> Table:
    """The table, with seconds of the first few that are drawn only."""
    frame = a_table().frame.copy()
    hidden = np.random.default_rng(0).permutation(len(frame))[count:]
    frame.loc[hidden, column] = np.nan
    return as_table(frame, "toy")


def truth(text: str) -> float:
    return 1 + SPACE.cost(SPACE.parse(text)).macs / 1e9


def test_a_column_is_found_by_its_name_and_scaled_by_the_epochs() -> None:
    found = times(a_table())
    assert found is not None
    assert found.r_squared is None
    assert found.origin == "toy_train_seconds_40, in proportion to the epochs"
    assert found.seconds(TEXTS[7], 4) == pytest.approx(4 * truth(TEXTS[7]))
    assert found.seconds(TEXTS[7], 40) == pytest.approx(10 * found.seconds(TEXTS[7], 4))


def test_one_of_as_many_epochs_is_taken_if_there_is_a_choice() -> None:
    table = as_table(a_table().frame.assign(toy_train_seconds_4=8.0 + np.arange(4096) % 2), "toy")
    found = times(table)
    assert found is not None
    assert found.seconds(TEXTS[0], 4) == 8.0


def test_a_share_of_a_column() -> None:
    found = times(a_table(), "toy_train_seconds_40 * 0.5")
    assert found is not None
    assert found.seconds(TEXTS[7], 4) == pytest.approx(2 * truth(TEXTS[7]))
    assert found.origin.startswith("0.5 times toy_train_seconds_40")


@pytest.mark.parametrize("count", [400, 60])  # enough for a term for each option, or for the cost alone
def test_gaps_are_filled_by_a_line(count: int) -> None:
    table = known_of(count)
    found = times(table)
    assert found is not None
    assert found.r_squared == pytest.approx(1)  # seconds are a line in MACs here
    assert f"covers {count} of the networks" in found.origin
    fastest = table.frame["toy_train_seconds_40"].min() / 40
    expected = [max(fastest, truth(text)) for text in TEXTS]
    assert [found.per_epoch[text] for text in TEXTS] == pytest.approx(expected, rel=1e-6)


def test_choices_tell_what_the_cost_does_not() -> None:
    """Skips take time here, though they have neither weights nor MACs; what is known is left as it is."""
    frame = a_table().frame.copy()
    skips = np.array([text.rpartition("-")[2].count("1") for text in frame["architecture"]])
    generator = np.random.default_rng(1)
    frame["toy_train_seconds_40"] = 40 * (1 + skips + generator.normal(0, 0.1, len(frame)))
    expected = 1 + skips
    frame.loc[generator.permutation(len(frame))[500:], "toy_train_seconds_40"] = np.nan
    found = times(as_table(frame, "toy"))
    assert found is not None
    assert found.r_squared is not None
    assert 0.95 < found.r_squared < 1
    estimated = np.array([found.per_epoch[text] for text in frame["architecture"]])
    gaps = frame["toy_train_seconds_40"].isna().to_numpy()
    assert np.abs(estimated - expected)[gaps].mean() < 0.1
    assert (estimated[~gaps] == frame["toy_train_seconds_40"][~gaps] / 40).all()


def test_nothing_is_made_up() -> None:
    assert times(a_table(), target=Target.of_column("other_val_4")) is None
    with pytest.raises(DataError, match="training times of only 14 networks; 15 are needed"):
        times(known_of(14))
    with pytest.raises(UnknownNameError, match="toy_train_seconds_40"):
        times(a_table(), "toy_seconds")
    for asked in ("toy_train_seconds_40*-1", "toy_train_seconds_40*0", "a b"):
        with pytest.raises(SettingError, match=r"COLUMN\*0.5"):
            times(a_table(), asked)
    named = as_table(pd.DataFrame(a_table().frame).rename(columns={"toy_train_seconds_40": "minutes"}), "toy")
    with pytest.raises(DataError, match="does not state the number of epochs"):
        times(named, "minutes")


def test_nasbench201(benchmark_data: Path) -> None:
    """Seconds are known of 1,000 networks, in proportion to the images: 50,000 of CIFAR-10, 151,700 of the third."""
    table = load_table(benchmark_data / "nb201.parquet")
    space = SPACES["nasbench201"]
    texts = table.frame["architecture"].tolist()
    found = training_times(table, space, Target.of_column("cifar10_val_12"), texts)
    assert found is not None
    assert found.r_squared is not None
    assert found.r_squared > 0.99
    assert set(found.per_epoch) == set(texts)
    assert min(found.per_epoch.values()) > 0
    known = table.frame.dropna(subset=["cifar10_train_seconds_200"])
    assert len(known) == 1_000
    ratio = known["imagenet16_train_seconds_200"] / known["cifar10_train_seconds_200"]
    assert ratio.to_numpy() == pytest.approx(151_700 / 50_000, rel=1e-4)
