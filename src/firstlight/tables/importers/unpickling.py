"""Safe reading of untrusted pickles: only numbers, text, arrays and plain containers; no code in them is run.

A pickle is a program that may call any function it names. Here the few names that benchmark files need are replaced by
stand-ins, and any other name is refused. Each stand-in is created anew, so that a pickle cannot change one for those
after it. Even NumPy's own types are not exposed: a pickle may tell `numpy.dtype` to treat raw bytes as pointers to
objects. Tensors of PyTorch are weights, which no table needs; they are skipped and become None.
"""

from __future__ import annotations

import bz2
import pickle
import re
import zipfile
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from firstlight.core.errors import BenchmarkFileError, UnsafePickleError

# The first number in a file of torch.save before PyTorch 1.6; newer files are zip archives
_TORCH_MAGIC = 0x1950A86A20F9469CFC6C
_BUILT_IN = (bool, int, float, str, list, dict, set, frozenset)
_STORAGES = "Float Double Half BFloat16 Long Int Short Char Byte Bool".split()


def read_pickle(path: Path) -> Any:
    """Read a pickle, a pickle compressed by bz2, or a file of torch.save.

    Raises:
        UnsafePickleError: If it contains anything but plain data.
        BenchmarkFileError: If it is damaged.
    """
    with _damage_explained(path), path.open("rb") as file:
        start = file.read(4)
        file.seek(0)
        if start.startswith(b"BZh"):
            with bz2.open(file) as unpacked:
                return _load_whole(unpacked)
        if start == b"PK\x03\x04":
            with zipfile.ZipFile(file) as archive, archive.open(_object_of(archive)) as member:
                return _load_whole(member)
        first = _load(file)
        if type(first) is not int or first != _TORCH_MAGIC:
            return first
        _load(file)  # version of the format
        _load(file)  # byte order and sizes of the machine that wrote it
        return _load(file)


def _load(file: IO[bytes]) -> Any:
    return _PlainUnpickler(file).load()


def _load_whole(file: IO[bytes]) -> Any:
    content = _load(file)
    file.read(1)  # reaching the end verifies the checksum of the compressed content
    return content


def _object_of(archive: zipfile.ZipFile) -> str:
    (name,) = (name for name in archive.namelist() if name.split("/")[-1] == "data.pkl")
    return name


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        full_name = f"{module}.{name}".replace("__builtin__.", "builtins.").replace("numpy._core.", "numpy.core.")
        if full_name not in _ADMITTED:
            raise UnsafePickleError(f"it imports {module}.{name}, and a pickle can run whatever it imports")
        return _ADMITTED[full_name]()

    def persistent_load(self, identifier: Any) -> None:
        """Skip a reference to the data of a tensor, which is stored elsewhere in the file."""


@contextmanager
def _damage_explained(path: Path) -> Iterator[None]:
    try:
        yield
    except UnsafePickleError as error:
        raise UnsafePickleError(
            f"{path} is refused: {error}. Only numbers, text, arrays and plain containers are allowed. None of its "
            "code was run."
        ) from None
    except MemoryError as error:
        raise BenchmarkFileError(f"{path} does not fit into memory.") from error
    except Exception as error:  # a damaged pickle may raise anything
        kind = type(error).__name__
        raise BenchmarkFileError(f"{path} is damaged, or not a pickle of plain data ({kind}: {error}).") from error


class _PlainType:
    """A `numpy.dtype` of numbers or text; those of objects and of several fields are refused."""

    def __init__(self, code: str, *_: Any) -> None:
        if not re.fullmatch(r"[biufc][1-9]\d?|[SU]\d+", code):
            raise UnsafePickleError(f"it holds an array of {code!r}")
        self._code, self._order = code, "="

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, order, subtype, names, fields = state[:5]
        if order not in "<>=|" or not subtype is names is fields is None:
            raise UnsafePickleError("it holds an array of records")
        self._order = order

    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self._code if self._order == "|" else self._order + self._code)


class _PlainArray(np.ndarray[Any, np.dtype[Any]]):
    """An array that takes its content from a pickle only as the bytes of numbers or text."""

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        version, shape, plain_type, by_columns, content = state
        if not isinstance(plain_type, _PlainType) or not isinstance(content, bytes):
            raise UnsafePickleError("it holds an array of objects")
        super().__setstate__((version, shape, plain_type.dtype(), by_columns, content))


def _scalar(plain_type: _PlainType, content: bytes) -> Any:
    return np.frombuffer(content, plain_type.dtype(), count=1)[0]


def _from_buffer(content: bytes, plain_type: _PlainType, shape: tuple[int, ...], order: Any) -> Any:
    return np.frombuffer(content, plain_type.dtype()).reshape(shape, order=order)


def _itself(kind: type) -> Callable[[], Any]:
    return lambda: kind


def _weights() -> Callable[..., None]:
    return lambda *_: None


# Functions that create the stand-in of each admitted name. Built-in containers stand for themselves: they are immutable
_ADMITTED: dict[str, Callable[[], Any]] = {
    **{f"builtins.{kind.__name__}": _itself(kind) for kind in _BUILT_IN},
    "collections.OrderedDict": _itself(OrderedDict),
    "collections.defaultdict": _itself(defaultdict),
    # how old pickles write bytes
    "builtins.bytes": lambda: lambda: b"",
    "_codecs.encode": lambda: lambda text, *_: text.encode("latin1"),
    "numpy.ndarray": object,  # only an argument of the next
    "numpy.core.multiarray._reconstruct": lambda: lambda *_: _PlainArray((0,), np.uint8),
    "numpy.core.multiarray.scalar": lambda: lambda *arguments: _scalar(*arguments),
    "numpy.core.numeric._frombuffer": lambda: lambda *arguments: _from_buffer(*arguments),
    "numpy.dtype": lambda: lambda *arguments: _PlainType(*arguments),
    "torch.Size": _itself(tuple),
    "torch._utils._rebuild_tensor": _weights,
    "torch._utils._rebuild_tensor_v2": _weights,
    "torch._utils._rebuild_parameter": _weights,
    "torch.storage._load_from_bytes": _weights,
    **{f"torch.{kind}Storage": _weights for kind in _STORAGES},
}
