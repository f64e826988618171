"""Official files become tables: small files of each kind, in the layout of the real ones."""

from __future__ import annotations

import json
import math
import pickle
import shutil
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.tables.importers.files import (
    Evil,
    architecture_of_nats,
    marker,
    record_of_nasbench101,
    results,
    tfrecords,
    transnas_database,
    trial,
    write_bz2,
)

from firstlight.core.errors import DataError, UnknownNameError, UnsafePickleError
from firstlight.spaces import SPACES
from firstlight.tables.importers import KINDS, import_table
from firstlight.tables.table import Table, load_table, write_table

CELLS = [f"|{op}~0|+|none~0|none~1|+|nor_conv_3x3~0|none~1|none~2|" for op in ("none", "skip_connect", "nor_conv_1x1")]


def rows(table: Table) -> list[dict[str, Any]]:
    """Without gaps."""
    return [
        {name: value for name, value in row.items() if isinstance(value, str) or not math.isnan(value)}
        for row in table.frame.to_dict("records")
    ]


# --- NATS-Bench


def nats_folder(folder: Path) -> Path:
    folder.mkdir()
    write_bz2({"meta_archs": CELLS, "total_archs": 3}, folder / "meta.pickle.pbz2")
    for index, text in enumerate(CELLS):
        write_bz2(architecture_of_nats(text, 10.0 * index), folder / f"{index:06d}.pickle.pbz2")
    return folder


def check_nats(table: Table) -> None:
    assert list(table.frame["architecture"]) == CELLS
    first = rows(table)[0]
    assert first["cifar10_test_12"] == 6.5  # the mean of two seeds
    assert {name: value for name, value in first.items() if name.endswith("_20")} == {
        "cifar10_train_20": 10,
        "cifar10_val_20": 14,
        "cifar10_test_20": 16.5,
        "cifar10valid_train_20": 10,
        "cifar10valid_test_20": 15,
        "cifar100_train_20": 10,
        "cifar100_val_20": 11,
        "cifar100_test_20": 12,
        "imagenet16_train_20": 10,
        "imagenet16_val_20": 11,
        "imagenet16_test_20": 12,
    }
    assert rows(table)[2]["cifar100_val_12"] == 21
    assert all(target.is_accuracy for target in table.targets())


def test_nats_in_a_folder(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    table = import_table("nats", nats_folder(tmp_path / "simple"), lambda event: seen.append((event.done, event.total)))
    check_nats(table)
    assert seen == [(1, 3), (2, 3), (3, 3)]
    write_table(table, tmp_path / "nats.parquet")
    check_nats(load_table(tmp_path / "nats.parquet"))


@pytest.mark.parametrize("new", [True, False])
def test_nasbench201_in_one_file(new: bool, tmp_path: Path) -> None:
    by_index = {}
    for index in (2, 0, 1):
        parts = architecture_of_nats(CELLS[index], 10.0 * index)
        parts["200"]["all_results"]["cifar10", 777]["net_state_dict"] = OrderedDict(weight=torch.zeros(3))
        by_index[index] = {"less": parts["12"], "full": parts["200"]}
    benchmark = {"meta_archs": CELLS, "arch2infos": by_index, "evaluated_indexes": {0, 1, 2}}
    torch.save(benchmark, tmp_path / "NAS-Bench-201.pth", _use_new_zipfile_serialization=new)
    check_nats(import_table("nats", tmp_path / "NAS-Bench-201.pth"))
    write_bz2(benchmark, tmp_path / "NATS-tss.pickle.pbz2")
    check_nats(import_table("nats", tmp_path / "NATS-tss.pickle.pbz2"))


def test_nasbench201_in_a_folder(tmp_path: Path) -> None:
    for index, text in enumerate(CELLS):
        parts = architecture_of_nats(text, 10.0 * index)
        torch.save({"less": parts["12"], "full": parts["200"]}, tmp_path / f"{index:06d}-FULL.pth")
    check_nats(import_table("nats", tmp_path))


def test_the_size_space_and_sets_that_were_not_measured(tmp_path: Path) -> None:
    only = trial(90, 50.0, {"x-valid": 40.0})
    content = {"90": results("8:16:24:32:40", {("cifar100", 777): only, ("another", 777): only})}
    write_bz2(content, tmp_path / "000007.pickle.pbz2")
    assert rows(import_table("nats", tmp_path)) == [
        {"architecture": "8:16:24:32:40", "cifar100_train_90": 50, "cifar100_val_90": 40}
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "not have the layout of NATS-Bench"),
        ({"12": {}}, r"not have the layout of NATS-Bench .*KeyError: 'arch_str'"),
        ({"12": {"arch_str": "a", "all_results": {("cifar10", 1): {"epochs": 3}}}}, "KeyError: 'train_acc1es'"),
        ({"12": {"arch_str": "a", "all_results": {}}}, "has no accuracy on any of cifar10-valid, cifar10, cifar100"),
        ({}, "not have the layout"),
    ],
)
def test_other_content_is_no_nats(content: Any, message: str, tmp_path: Path) -> None:
    write_bz2(content, tmp_path / "000000.pickle.pbz2")
    with pytest.raises(DataError, match=message):
        import_table("nats", tmp_path)


def test_what_nats_cannot_be_read_from(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no files such as 000000.pickle.pbz2"):
        import_table("nats", tmp_path)
    (tmp_path / "NATS.tar").touch()
    with pytest.raises(DataError, match="Unpack it with `tar xf`"):
        import_table("nats", tmp_path / "NATS.tar")
    write_bz2({"meta_archs": []}, tmp_path / "one.pickle.pbz2")
    with pytest.raises(DataError, match=r"not have the layout .*arch2infos"):
        import_table("nats", tmp_path / "one.pickle.pbz2")


# --- NAS-Bench-101


def test_nasbench101(tmp_path: Path) -> None:
    chain, fork = ("0100001000010000", ["conv3x3-bn-relu", "maxpool3x3"]), ("011001000", ["conv1x1-bn-relu"])
    records = [
        record_of_nasbench101(*cell, epochs, (seconds, 0.99, valid, valid - 0.25), params)
        for cell, params, values in ((chain, 8_555_530, (0.5, 0.625, 0.75)), (fork, 200, (0.25, 0.25, 0.25)))
        for epochs in (4, 108)
        for seconds, valid in zip((1.0, 2.0, 6.0), values, strict=True)
    ]
    (tmp_path / "nasbench.tfrecord").write_bytes(tfrecords(records))
    first, second = rows(import_table("nasbench101", tmp_path / "nasbench.tfrecord"))
    assert first["architecture"] == "conv3x3~0|maxpool3x3~1|output~2"
    assert second["architecture"] == "conv1x1~0|output~0,1"
    assert {name: value for name, value in first.items() if name.endswith("_108")} == {
        "cifar10_train_108": pytest.approx(99),
        "cifar10_val_108": 62.5,
        "cifar10_test_108": 37.5,
        "cifar10_train_seconds_108": 3,
    }
    assert (second["cifar10_test_4"], first["params"], second["params"]) == (0, 8_555_530, 200)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (b"{}", "Record 1 of .* does not have the layout of NAS-Bench-101"),
        (b"\xff", "does not have the layout of NAS-Bench-101"),
        (b'["h", 4, "0100", "input,output", "?"]', "not have the layout"),
        (b'["h", 4, "0100", "input,output", ""]', "not have the layout"),
        (b'["h", 4, "0100", "output,input", ""]', "do not lead from input to output"),
        (b'["h", 4, "010", "input,output", ""]', "is not the matrix of a cell"),
        (record_of_nasbench101("0" * 9, ["conv5x5-bn-relu"], 4, (1.0, 0.1, 0.1, 0.1), 1), "no operation 'conv5x5'"),
    ],
)
def test_other_records_are_no_nasbench101(record: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(tfrecords([record]))
    with pytest.raises(DataError, match=message):
        import_table("nasbench101", tmp_path / "file")


def test_a_file_without_records(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="has no records"):
        import_table("nasbench101", tmp_path / "file")


# --- TransNAS-Bench-101

TRANSNAS = {"macro": ["64-2311-basic"], "micro": ["64-41414-1_02_333", "64-41414-0_00_000"]}


@pytest.mark.parametrize("new", [True, False])
def test_transnas(new: bool, tmp_path: Path) -> None:
    path = tmp_path / "transnas.pth"
    torch.save(transnas_database(TRANSNAS), path, _use_new_zipfile_serialization=new)
    assert list(import_table("transnas_macro", path).frame["architecture"]) == TRANSNAS["macro"]
    table = import_table("transnas_micro", path)
    assert list(table.frame["architecture"]) == TRANSNAS["micro"]
    first = rows(table)[0]
    assert first["class_scene_test_25"] == first["class_scene_val_25"] == pytest.approx(9.6)
    assert first["class_scene_val_best"] == pytest.approx(19.2)
    assert first["segmentsemantic_val_mIoU_best"] == pytest.approx(5 * (1 + 28 / 30))
    assert first["room_layout_val_neg_loss_25"] == pytest.approx(-0.96)
    assert first["room_layout_val_neg_loss_best"] == pytest.approx(-0.96)
    assert {"segmentsemantic_val_30", "autoencoder_test_ssim_30", "class_scene_train_loss_25"} <= first.keys()
    assert not {"class_scene_val_loss_best", "class_scene_test_best", "class_scene_time_elapsed_25"} & first.keys()


@pytest.mark.parametrize(
    "content",
    [
        [],
        {"data": {"macro": {}}},
        {"data": {"micro": {"a": {"jigsaw": {"metrics": {}}}}}},
        {"data": {"micro": {"a": {"jigsaw": {"total_epochs": 3, "metrics": {"valid_top1": [1.0, 2.0]}}}}}},
        {"data": {"micro": {"a": {"jigsaw": {"total_epochs": 1, "metrics": {"valid_top1": [torch.zeros(1)]}}}}}},
    ],
)
def test_other_content_is_no_transnas(content: Any, tmp_path: Path) -> None:
    torch.save(content, tmp_path / "file.pth")
    with pytest.raises(DataError, match="not have the layout of TransNAS-Bench-101"):
        import_table("transnas_micro", tmp_path / "file.pth")


def test_a_space_without_architectures(tmp_path: Path) -> None:
    torch.save({"data": {"micro": {}}}, tmp_path / "file.pth")
    with pytest.raises(DataError, match="has no rows"):
        import_table("transnas_micro", tmp_path / "file.pth")


# --- NAS-Bench-Suite-Zero


def suite_zero(path: Path, content: Any) -> list[dict[str, Any]]:
    path.write_text(json.dumps(content))
    return rows(import_table("suite_zero", path))


def test_suite_zero_with_scores_and_times(tmp_path: Path) -> None:
    entry = {"idx": "5", "arch": "(4, 3, 3, 0, 0, 0)", "synflow": {"score": 3.5, "time": 1.0}, "val_accuracy": 81.9}
    other = {"jacov": {"score": -100000000.0, "time": 1.0}, "val_accuracy": 25.5}
    (row,) = suite_zero(
        tmp_path / "zc_nasbench201.json",
        {"cifar10": {"(4, 3, 3, 0, 0, 0)": entry}, "ImageNet16-120": {"(4, 3, 3, 0, 0, 0)": other}},
    )
    assert row == {  # the first architecture of the benchmark
        "architecture": "|avg_pool_3x3~0|+|nor_conv_1x1~0|skip_connect~1|"
        "+|nor_conv_1x1~0|skip_connect~1|skip_connect~2|",
        "cifar10_synflow": 3.5,
        "cifar10_val_200": 81.9,
        "imagenet16_val_200": 25.5,
    }


def test_suite_zero_under_the_name_of_the_space(tmp_path: Path) -> None:
    matrix = "0111101000001100000010000110000001100000000000000"
    code = str((*map(int, matrix), 0, 2, 2, 4, 4, 4, 1))
    (row,) = suite_zero(
        tmp_path / "scores.json", {"nasbench101": {"cifar10": {code: {"flops": 624.5, "val_accuracy": 92.5}}}}
    )
    assert row == {
        "architecture": "maxpool3x3~0|maxpool3x3~0|conv3x3~0|conv3x3~0,3|conv3x3~1,3,4|output~0,1,2,4",
        "cifar10_flops": 624.5,
        "cifar10_val_108": 92.5,
    }


def test_suite_zero_of_transnas(tmp_path: Path) -> None:
    content = {
        "class_scene": {"(1, 0, 0, 2, 1, 0)": {"val_accuracy": 34.9}},
        "room_layout": {"(1, 0, 0, 2, 1, 0)": {"val_accuracy": -0.6}},
        "autoencoder": {"(1, 0, 0, 2, 1, 0)": {"val_accuracy": 0.5}},
    }
    figures = {"class_scene_val_best": 34.9, "room_layout_val_neg_loss_best": -0.6, "autoencoder_val_ssim_best": 0.5}
    (row,) = suite_zero(tmp_path / "zc_transbench101_micro.json", content)
    assert row == {"architecture": "64-41414-1_00_210"} | figures
    (row,) = suite_zero(
        tmp_path / "zc_transbench101_macro.json", {"jigsaw": {"(1, 2, 4, 2, 0, 0)": {"val_accuracy": 9.0}}}
    )
    assert row == {"architecture": "64-1242-basic", "jigsaw_val_best": 9}


# The first entry of the published file, with its size in millions of parameters
CODE_301 = (
    "[[(0, 4), (1, 3), (0, 2), (2, 3), (2, 3), (0, 3), (2, 6), (3, 5)], "
    "[(0, 3), (1, 3), (1, 1), (0, 5), (2, 3), (0, 2), (4, 4), (3, 1)]]"
)
ENTRY_301 = {"params": 1.204906, "val_accuracy": 93.90106806339374}


def test_suite_zero_of_nasbench301(tmp_path: Path) -> None:
    content = {"nasbench301": {"cifar10": {CODE_301: ENTRY_301}}}
    (row,) = suite_zero(tmp_path / "zc_nasbench301.json", content)
    space = SPACES["darts"]
    genotype = space.parse(row["architecture"])
    assert row["cifar10_val_100"] == ENTRY_301["val_accuracy"]
    # with BatchNorm counted in another way
    params = space.cost(genotype, space.skeleton(channels=32, cells=8)).params
    assert params == pytest.approx(1e6 * ENTRY_301["params"], rel=0.02)


def test_suite_zero_of_nasbench301_against_the_real_table(benchmark_data: Path, tmp_path: Path) -> None:
    (row,) = suite_zero(tmp_path / "zc_nasbench301.json", {"cifar10": {CODE_301: ENTRY_301}})
    real = load_table(benchmark_data / "nb301_sample.parquet").frame.set_index("architecture")
    assert real.loc[row["architecture"], "cifar10_val_100"] == pytest.approx(row["cifar10_val_100"], abs=0.05)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("zc_nasbench302.json", {}, "supported spaces: nasbench101, nasbench201"),
        ("zc_nasbench301.json", {"cifar10": {"[[(0, 4)], [(1, 3)]]": {}}}, "not have the layout"),
        ("zc_nasbench301.json", {"cifar10": {CODE_301.replace("(0, 4)", "(0, 7)"): {}}}, "not have the layout"),
        ("zc_nasbench301.json", {"cifar10": {CODE_301.replace("(0, 4)", "(2, 4)"): {}}}, "not have the layout"),
        ("zc_nasbench201.json", {"cifar10": {"(1, 2)": {}}}, "not have the layout"),
        ("zc_nasbench201.json", {"cifar10": {"(9, 9, 9, 9, 9, 9)": {}}}, "not have the layout"),
        ("zc_nasbench101.json", {"cifar10": {"(1, 2)": {}}}, "not have the layout"),
        ("zc_nasbench201.json", {"cifar10": {"(1, 1, 1, 1, 1, 1)": {"snip": None}}}, "not have the layout"),
        ("zc_nasbench201.json", [], "not have the layout"),
        ("zc_nasbench201.json", {}, "has no rows"),
    ],
)
def test_other_content_is_no_suite_zero(name: str, content: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        suite_zero(tmp_path / name, content)


def test_codes_of_suite_zero_against_the_real_table(benchmark_data: Path, tmp_path: Path) -> None:
    """The table has both: the official text and NASLib's digits."""
    real = load_table(benchmark_data / "nb201.parquet").frame
    entries = {str(tuple(map(int, digits))): {"val_accuracy": 1.0} for digits in real["ops"]}
    texts = [row["architecture"] for row in suite_zero(tmp_path / "zc_nasbench201.json", {"cifar10": entries})]
    assert texts == list(real["architecture"])
    assert str(SPACES["nasbench201"].parse(texts[0])) == texts[0]


# --- all of them


def test_kinds() -> None:
    assert list(KINDS) == ["nasbench101", "nats", "suite_zero", "transnas_macro", "transnas_micro"]
    with pytest.raises(UnknownNameError, match=r"no kind of benchmark files 'natss'. Did you mean 'nats'"):
        import_table("natss", "anything")


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_there(kind: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"does not exist. The kind '{kind}' reads "):
        import_table(kind, tmp_path / "none")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["plain", "packed", "torch", "old torch", "folder"])
def test_a_pickle_that_runs_code_is_refused(kind: str, form: str, tmp_path: Path) -> None:
    """In the place of the file, and inside of what would otherwise be honest."""
    marker().unlink(missing_ok=True)
    for content in (Evil(), {"arch2infos": {0: Evil()}, "data": {"micro": Evil(), "macro": [Evil()]}}):
        source = tmp_path / "zc_nasbench201.json"
        if form == "plain":
            source.write_bytes(pickle.dumps(content))
        elif form == "packed":
            write_bz2(content, source)
        elif form == "folder":
            source.mkdir()
            write_bz2(content, source / "000000.pickle.pbz2")
        else:
            torch.save(content, source, _use_new_zipfile_serialization=form == "torch")
        reads_pickles = kind == "nats" or (kind.startswith("transnas") and form != "folder")
        with pytest.raises(UnsafePickleError if reads_pickles else DataError):
            import_table(kind, source)
        assert not marker().exists()
        shutil.rmtree(source) if source.is_dir() else source.unlink()


def test_the_marker_would_be_seen() -> None:
    marker().unlink(missing_ok=True)
    pickle.loads(pickle.dumps(Evil()))
    assert marker().exists()
    marker().unlink()
