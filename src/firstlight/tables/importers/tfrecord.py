"""TFRecord files, read without TensorFlow.

Each record is its length (8 bytes, little-endian), a checksum of the length, its content, and a checksum of that.
Checksums are CRC-32C, rotated and shifted ("masked"). They are computed for many records at once with NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np

from firstlight.core.errors import BenchmarkFileError
from firstlight.core.events import Callback, Event

Array = np.ndarray[Any, np.dtype[np.uint32]]
_BATCH = 4096
# Official records are below 2 kB; a much larger length is damaged, and is refused before its checksum is read
_LONGEST = 1 << 16
_LENGTH, _CHECKSUM = 8, 4


def read_records(path: Path, callback: Callback) -> Iterator[bytes]:
    """Yield the content of each record; all records of a batch are checked before the first is yielded."""
    size = path.stat().st_size
    with path.open("rb") as file:
        while file.tell() < size:
            batch: list[tuple[bytes, bytes, bytes, bytes]] = []
            while len(batch) < _BATCH and file.tell() < size:
                batch.append(_read_record(file, size))
            heads, head_checksums, contents, checksums = zip(*batch, strict=True)
            _check(path, heads, head_checksums)
            _check(path, contents, checksums)
            callback(Event("reading", file.tell(), size))
            yield from contents


def _read_record(file: BufferedReader, size: int) -> tuple[bytes, bytes, bytes, bytes]:
    """Return length, checksum, content and checksum, all unchecked."""
    position = file.tell()
    head = file.read(_LENGTH)
    length = int.from_bytes(head, "little")
    if length > _LONGEST or position + _LENGTH + length + 2 * _CHECKSUM > size:
        raise BenchmarkFileError(
            f"{file.name} is truncated, damaged, or not a TFRecord file: the record at byte {position} is incomplete."
        )
    return head, file.read(_CHECKSUM), file.read(length), file.read(_CHECKSUM)


def _check(path: Path, messages: Sequence[bytes], checksums: Sequence[bytes]) -> None:
    expected = np.frombuffer(b"".join(checksums), "<u4")
    if (masked(crc32c(messages)) != expected).any():
        raise BenchmarkFileError(
            f"{path} is damaged, or not a TFRecord file: a checksum does not match. Download it again."
        )


def masked(checksums: Array) -> Array:
    """Mask checksums as TFRecord files do."""
    rotated: Array = (checksums >> np.uint32(15)) | (checksums << np.uint32(17))
    return rotated + np.uint32(0xA282EAD8)


def crc32c(messages: Sequence[bytes]) -> Array:
    """Return the CRC-32C of each message."""
    lengths = np.array([len(message) for message in messages])
    width = int(lengths.max())
    padded = np.frombuffer(b"".join(message.ljust(width, b"\0") for message in messages), np.uint8)
    checksums = np.full(len(messages), 0xFFFFFFFF, np.uint32)
    for place, column in enumerate(np.ascontiguousarray(padded.reshape(len(messages), width).T)):
        following = _TABLE[(checksums ^ column) & 0xFF] ^ (checksums >> 8)
        checksums = np.where(place < lengths, following, checksums)
    return ~checksums


def _table() -> Array:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(0x82F63B78), table >> 1)
    return table


_TABLE = _table()
