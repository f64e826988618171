"""Pickles give plain data, or are refused before anything that they name is run."""

from __future__ import annotations

import bz2
import contextlib
import pickle
import pickletools
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tables.importers.files import Evil, marker

from firstlight.core.errors import DataError, UnsafePickleError
from firstlight.tables.importers.unpickling import read_pickle

Writer = Callable[[Any, Path], None]


def write_plain(content: Any, path: Path) -> None:
    path.write_bytes(pickle.dumps(content))


def write_packed(content: Any, path: Path) -> None:
    path.write_bytes(bz2.compress(pickle.dumps(content, protocol=4)))


def write_torch(content: Any, path: Path) -> None:
    torch.save(content, path)


def write_old_torch(content: Any, path: Path) -> None:
    torch.save(content, path, _use_new_zipfile_serialization=False)


every_writer = pytest.mark.parametrize("write", [write_plain, write_packed, write_torch, write_old_torch])

NUMBERS = st.integers() | st.floats(allow_nan=False) | st.booleans() | st.none()
PLAIN = st.recursive(
    NUMBERS | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3) | st.tuples(st.text(max_size=3), st.integers()), inner, max_size=3)
        | st.tuples(inner, inner)
        | st.sets(st.integers(), max_size=3)
    ),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(content=PLAIN, protocol=st.integers(0, pickle.HIGHEST_PROTOCOL))
def test_plain_data_reads_back(tmp_path_factory: pytest.TempPathFactory, content: Any, protocol: int) -> None:
    path = tmp_path_factory.mktemp("plain") / "content"
    path.write_bytes(pickle.dumps(content, protocol))
    assert read_pickle(path) == content


@every_writer
def test_containers_numbers_and_arrays(write: Writer, tmp_path: Path) -> None:
    content = OrderedDict(
        by_seed={("cifar10", 777): [1.5, np.float32(2.5), np.float64(-3), np.int64(4), np.bool_(True)]},
        lists=defaultdict(list, {"a": [1]}),
        matrix=np.arange(6, dtype=">i4").reshape(2, 3),
        columns=np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        names=np.array(["one", "three"]),
        size=torch.Size([2, 3]),
    )
    write(content, tmp_path / "file")
    read = read_pickle(tmp_path / "file")
    assert read["by_seed"] == content["by_seed"]
    assert read["lists"]["new"] == []
    for name in ("matrix", "columns", "names"):
        np.testing.assert_array_equal(read[name], content[name])
        assert read[name].dtype.kind == content[name].dtype.kind
    assert tuple(read["size"]) == (2, 3)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_arrays_of_every_protocol(protocol: int, tmp_path: Path) -> None:
    content = [np.arange(3.0), np.float32(1.5)]
    (tmp_path / "file").write_bytes(pickle.dumps(content, protocol))
    array, scalar = read_pickle(tmp_path / "file")
    assert array.tolist() == [0, 1, 2]
    assert scalar == 1.5


@every_writer
def test_weights_are_stepped_over(write: Writer, tmp_path: Path) -> None:
    weights = OrderedDict(conv=torch.randn(2, 3), half=torch.zeros(2, dtype=torch.half))
    write({"net_state_dict": weights, "accuracy": 93.5}, tmp_path / "file")
    read = read_pickle(tmp_path / "file")
    assert read["accuracy"] == 93.5
    assert set(read["net_state_dict"].values()) == {None}


class Nested:
    """Hides the call deep inside an honest-looking one."""

    def __reduce__(self) -> Any:
        return OrderedDict, ([("a", [{"b": Evil()}])],)


@every_writer
@pytest.mark.parametrize(
    "make", [Evil, Nested, lambda: {"data": (1, [Evil()])}, lambda: defaultdict(Evil().__reduce__()[0])]
)
def test_code_is_never_run(make: Callable[[], Any], write: Writer, tmp_path: Path) -> None:
    write(make(), tmp_path / "file")
    marker().unlink(missing_ok=True)
    with pytest.raises(UnsafePickleError, match=r"is refused: it imports .*\. Only numbers.*None of its code was run"):
        read_pickle(tmp_path / "file")
    assert not marker().exists()


def calling(module: str, name: str, arguments: bytes = b")") -> bytes:
    """A pickle that calls a function, written by hand."""
    texts = b"".join(b"\x8c" + bytes([len(text)]) + text.encode() for text in (module, name))
    return b"\x80\x04" + texts + b"\x93" + arguments + b"R."


@pytest.mark.parametrize(
    "content",
    [
        calling("builtins", "eval"),
        calling("builtins", "getattr"),
        calling("builtins", "__import__"),
        calling("collections", "OrderedDict.__init__.__globals__"),
        calling("collections", "Counter"),
        calling("functools", "partial"),
        calling("numpy", "load"),
        calling("numpy", "fromfile"),
        calling("torch", "load"),
        calling("torch.hub", "load"),
        calling("pickle", "loads"),
        calling("copyreg", "_reconstructor"),
        calling("firstlight.tables.importers.unpickling", "_ADMITTED.update"),
        b"cos\nsystem\n(S'true'\ntR.",
        b"(S'true'\nios\nsystem\n.",
        b"(cos\nsystem\nS'true'\no.",
        b"\x80\x02cos\nsystem\n.",  # asks only, calls nothing
    ],
)
def test_whatever_it_asks_for(content: bytes, tmp_path: Path) -> None:
    assert list(pickletools.genops(content))  # these are pickles
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(UnsafePickleError):
        read_pickle(tmp_path / "file")


@pytest.mark.parametrize(
    "content",
    [
        np.array([1, "a", None], dtype=object),
        np.zeros(2, dtype=[("a", "f8"), ("b", "O")]),
        np.array(["2020-01-01"], dtype="M8[D]"),
        Counter("abc"),
        Path("x"),
        range(3),
    ],
)
def test_what_is_not_plain_is_refused(content: Any, tmp_path: Path) -> None:
    write_plain(content, tmp_path / "file")
    with pytest.raises(UnsafePickleError):
        read_pickle(tmp_path / "file")


def test_bytes_are_never_taken_for_objects(tmp_path: Path) -> None:
    """numpy's own types can be told that objects are plain bytes; the stand-ins cannot."""

    class Forged:
        def __reduce__(self) -> Any:
            return np.dtype, ("O8", False, True), (3, "|", None, None, None, -1, -1, 0)

    reconstruct, arguments, (version, shape, _, by_columns, _) = np.zeros(1).__reduce__()  # type: ignore[misc]

    class Array:
        def __reduce__(self) -> Any:
            return reconstruct, arguments, (version, shape, Forged(), by_columns, b"\x01" * 8)

    write_plain(Array(), tmp_path / "file")
    with pytest.raises(UnsafePickleError, match="array of 'O8'"):
        read_pickle(tmp_path / "file")


def test_a_pickle_cannot_change_what_later_ones_get(tmp_path: Path) -> None:
    """BUILD sets attributes of whatever is on the stack, functions included."""
    (tmp_path / "first").write_bytes(b"\x80\x02cnumpy\ndtype\nN}X\x0c\x00\x00\x00__defaults__N\x86s\x86b.")
    with contextlib.suppress(DataError):
        read_pickle(tmp_path / "first")
    write_plain(np.arange(3), tmp_path / "second")
    assert read_pickle(tmp_path / "second").tolist() == [0, 1, 2]


@every_writer
def test_damage_is_said(write: Writer, tmp_path: Path) -> None:
    path = tmp_path / "file"
    write({"accuracy": [float(i) for i in range(100)]}, path)
    whole = path.read_bytes()
    for cut in (0, 1, 5, len(whole) // 2, len(whole) - 1 if write is not write_old_torch else 30):
        path.write_bytes(whole[:cut])
        with pytest.raises(DataError, match=r"is damaged, or not a pickle of plain data"):
            read_pickle(path)


@settings(max_examples=200, deadline=None)
@given(content=st.binary(max_size=60))
def test_rubbish_is_data_or_an_error_of_ours(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "rubbish"
    path.write_bytes(content)
    with contextlib.suppress(DataError):
        read_pickle(path)


def test_archives_without_an_object(tmp_path: Path) -> None:
    import zipfile

    path = tmp_path / "file.pth"
    for names in ([], ["readme.txt"], ["a/data.pkl", "b/data.pkl"]):
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                archive.writestr(name, pickle.dumps(1))
        if names:
            with pytest.raises(DataError, match="is damaged"):
                read_pickle(path)
