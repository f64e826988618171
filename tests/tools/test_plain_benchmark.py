"""The benchmarks of the plain spaces: which networks are trained, and what the tables say of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pandas as pd
import pytest
import tools.plain_benchmark as maker
from hypothesis import given
from hypothesis import strategies as st
from tools.plain_benchmark import (
    BANDS,
    BENCHMARKS,
    NAMES,
    TOLERANCE,
    Benchmark,
    Plan,
    Trained,
    in_store,
    in_table,
    networks_of,
    part_of,
    plans,
    table_of,
    train,
)

from firstlight.core.errors import TableError
from firstlight.data import Dataset, load_dataset
from firstlight.storage.store import Store, open_store
from firstlight.tables.table import Table, load_table, write_table
from firstlight.training import job
from firstlight.training.job import EvaluationSetting

SMALL = Benchmark("digits", "plain", "digits@8", "short:epochs=1", ("20k",), 2)


def settings_of(benchmark: Benchmark = SMALL, *names: str) -> dict[str, EvaluationSetting]:
    found = {name: replace(setting, samples=120) for name, setting in benchmark.settings.items()}
    return {name: found[name] for name in names or NAMES}


def saved(path: Path, settings: Mapping[str, EvaluationSetting], known: Mapping[Plan, Trained]) -> Path:
    write_table(Table(table_of("digits", settings, list(known), known), "digits"), path)
    return path


def accuracies(known: Mapping[Plan, Trained]) -> dict[Plan, float]:
    return {plan: trained.accuracy for plan, trained in known.items()}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("band", BANDS)
def test_networks_are_different_and_within_their_band(name: str, band: str) -> None:
    (setting,) = settings_of(replace(SMALL, source="digits@16"), name).values()
    space = setting.space
    textbook, *others = islice(networks_of(setting, band), 8)
    again = list(islice(networks_of(setting, band), 8))
    assert again == [textbook, *others]
    assert textbook == space.canonical(space.scaled(space.read("textbook"), BANDS[band], setting.skeleton))  # type: ignore[attr-defined]
    assert len({textbook, *others}) == 8
    for network in others:
        assert abs(math.log(space.cost(network, setting.skeleton).params / BANDS[band])) < math.log(1 + TOLERANCE)
        assert space.canonical(network) == network


def test_the_plan_is_balanced_and_repeats_textbook_networks() -> None:
    settings = settings_of(SMALL, *NAMES[:2])
    made = list(plans(settings, ["20k", "100k"], 8))
    assert len(made) == 8 * 4 + 2 * 4
    assert [(plan.space, plan.band) for plan in made[:4]] == [(name, b) for name in NAMES[:2] for b in ("20k", "100k")]
    repeated = [plan for plan in made if plan.seed > 0]
    assert {plan.architecture for plan in repeated} == {plan.architecture for plan in made[:4]}
    assert made.index(repeated[0]) == 24  # after six rounds
    assert made[: 4 * 6] == list(plans(settings, ["20k", "100k"], 6))[:24]


def test_there_are_as_many_networks_as_promised() -> None:
    counts = {name: len(NAMES) * len(found.bands) * found.networks for name, found in BENCHMARKS.items()}
    assert counts == {"cifar10": 405, "mnist": 100, "imagenet": 100}


@given(st.integers(1, 12), st.integers(0, 40))
def test_parts_share_the_plan(parts: int, trainings: int) -> None:
    planned = [Plan("plain-resnet", "20k", str(number), 0) for number in range(trainings)]
    shares = [part_of(planned, f"{number}/{parts}") for number in range(1, parts + 1)]
    assert sorted((plan for share in shares for plan in share), key=planned.index) == planned
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@pytest.mark.parametrize("text", ["0/2", "3/2", "2", "1/0", "-1/2", "a/b", ""])
def test_what_is_not_a_part_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="such as 2/3"):
        part_of([], text)


def test_trainings_are_resumed_and_the_table_holds_their_means(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = settings_of(SMALL, "plain-convnext")
    planned = list(plans(settings, ["20k"], 2))
    with Store(str(tmp_path / "store.sqlite")) as store:
        assert table_of("digits", settings, planned, in_store(store, settings, planned)).empty
        train(store, settings, planned)
        assert capsys.readouterr().out.count("known") == 0
        train(store, settings, planned)
        assert capsys.readouterr().out.count("known") == 4  # two networks, one of them with three seeds
        frame = table_of("digits", settings, planned, in_store(store, settings, planned))
        (setting,) = settings.values()
        textbook = frame["architecture"][0]
        results = [store.find_evaluation(replace(setting, seed=seed).key(textbook)) for seed in range(3)]
    reached = [100 * result.accuracy for result in results if result is not None and result.accuracy is not None]
    assert frame["digits_val_1"][0] == pytest.approx(fmean(reached))
    assert frame["digits_val_std_1"][0] == pytest.approx(stdev(reached))
    assert [frame[f"digits_val_seed{seed}_1"][0] for seed in range(3)] == reached
    assert list(frame["seeds"]) == [3, 1]
    assert math.isnan(frame["digits_val_std_1"][1])
    assert list(frame["params"]) == [
        setting.space.cost(setting.space.parse(text), setting.skeleton).params for text in frame["architecture"]
    ]
    assert frame.attrs["recipe"] == str(setting.recipe)
    assert "90 images to train on, 30 to validate on" in frame.attrs["data"]
    assert frame.attrs["networks"] == "2 of 2 planned, 4 of 4 trainings"


def test_data_are_read_once_for_each_space_and_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def count(*names: str, seed: int, **options: Any) -> Dataset:
        read.append(seed)
        return load_dataset(*names, seed=seed, **options)

    monkeypatch.setattr(job, "load_dataset", count)
    settings = settings_of(SMALL, "plain-resnet")
    planned = list(plans(settings, BANDS, 4))
    assert len(planned) == 18
    with Store(str(tmp_path / "store.sqlite")) as store:
        assert in_store(store, settings, planned) == {}
    assert sorted(read) == [0, 1, 2]


@given(st.data())
def test_a_table_is_read_back_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    settings = settings_of(SMALL, "plain-resnet", "plain-vit")
    planned = list(plans(settings, ["20k"], 2))
    number = st.floats(0, 100, allow_subnormal=False)
    known = data.draw(st.dictionaries(st.sampled_from(planned), st.builds(Trained, number, number), min_size=1))
    path = saved(tmp_path_factory.mktemp("table") / "table.parquet", settings, known)
    found = in_table(path, "digits", settings["plain-resnet"])
    assert accuracies(found) == accuracies(known)
    again = table_of("digits", settings, list(known), found)
    pd.testing.assert_frame_equal(again, load_table(path).frame[again.columns], check_exact=False, rtol=1e-12)


def test_what_the_table_holds_is_not_trained_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = settings_of(SMALL, "plain-resnet")
    monkeypatch.setattr(Benchmark, "settings", settings)
    monkeypatch.setitem(BENCHMARKS, "cifar10", SMALL)
    planned = list(plans(settings, SMALL.bands, SMALL.networks))
    known = {plan: Trained(50.0 + plan.seed, 1.0) for plan in planned[1:]}
    table = saved(tmp_path / "table.parquet", settings, known)
    where = ["--table", str(table), "--store", str(tmp_path / "store")]
    maker.main(["train", *where])
    assert capsys.readouterr().out.count("plain-resnet") == 1
    maker.main(["write", *where])
    merged = in_table(table, "digits", settings["plain-resnet"])
    with open_store(tmp_path / "store") as store:
        (new,) = in_store(store, settings, planned).items()
    assert accuracies(merged) == accuracies({**known, new[0]: new[1]})
    assert "2 of 2 planned, 4 of 4 trainings" in capsys.readouterr().out
    maker.main(["write", "--table", str(table), "--store", str(tmp_path / "another")])
    assert in_table(table, "digits", settings["plain-resnet"]) == merged
    assert load_table(table).frame.attrs["networks"] == "2 of 2 planned, 4 of 4 trainings"


def test_trainings_of_another_kind_are_not_merged(tmp_path: Path) -> None:
    (setting,) = settings_of(SMALL, "plain-resnet").values()
    (plan, *_) = plans({"plain-resnet": setting}, SMALL.bands, 1)
    path = saved(tmp_path / "table.parquet", {"plain-resnet": setting}, {plan: Trained(50.0, 1.0)})
    longer = replace(setting, recipe=replace(setting.recipe, epochs=2))
    with pytest.raises(TableError, match=r"the recipe '.*epochs=1.*', not '.*epochs=2"):
        in_table(path, "digits", longer)
    with pytest.raises(TableError, match="the data 'digits@8: 90 images"):
        in_table(path, "digits", replace(setting, samples=100))
    other = replace(setting, seed=1)  # as many images, but others
    with pytest.raises(TableError, match="the fingerprint"):
        in_table(path, "digits", other)


@pytest.mark.parametrize(
    ("options", "said"), [((), "holds a training; train some"), (("--part", "3/2"), "--part is '3/2'")]
)
def test_what_cannot_be_written_is_explained(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.setitem(BENCHMARKS, "cifar10", SMALL)
    with pytest.raises(SystemExit):
        maker.main(["write", "--store", str(tmp_path), "--table", str(tmp_path / "no.parquet"), *options])
    assert said in capsys.readouterr().err
