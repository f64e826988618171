"""TFRecord files and protocol buffers, against writers that are slow and obvious."""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tables.importers.files import field, slow_crc32c, slow_mask, tfrecords, varint

from firstlight.core.errors import DataError
from firstlight.core.events import ignore
from firstlight.tables.importers import tfrecord
from firstlight.tables.importers.protobuf import read_fields, read_varint
from firstlight.tables.importers.tfrecord import crc32c, masked, read_records


def read(content: bytes) -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.tfrecord"
        path.write_bytes(content)
        return list(read_records(path, ignore))


def test_published_checksums() -> None:
    """RFC 3720, appendix B.4, and the usual check value."""
    messages = [b"123456789", bytes(32), b"\xff" * 32, bytes(range(32))]
    assert crc32c(messages).tolist() == [0xE3069283, 0x8A9136AA, 0x62A8AB43, 0x46DD794E]


@given(messages=st.lists(st.binary(max_size=40), min_size=1, max_size=6))
def test_checksums_of_many_at_once(messages: list[bytes]) -> None:
    assert crc32c(messages).tolist() == [slow_crc32c(message) for message in messages]
    assert masked(crc32c(messages)).tolist() == [slow_mask(slow_crc32c(message)) for message in messages]


@settings(deadline=None)
@given(contents=st.lists(st.binary(max_size=40), max_size=10))
def test_records_read_back(contents: list[bytes]) -> None:
    assert read(tfrecords(contents)) == contents


def test_more_records_than_are_read_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tfrecord, "_BATCH", 4)
    contents = [bytes([number]) * number for number in range(1, 11)]
    (tmp_path / "file").write_bytes(tfrecords(contents))
    seen: list[tuple[int, int]] = []
    assert list(read_records(tmp_path / "file", lambda event: seen.append((event.done, event.total)))) == contents
    assert len(seen) == 3
    assert seen[-1][0] == seen[-1][1] == (tmp_path / "file").stat().st_size


@settings(deadline=None)
@given(data=st.data(), contents=st.lists(st.binary(min_size=1, max_size=20), min_size=1, max_size=4))
def test_damage_is_found(data: st.DataObject, contents: list[bytes]) -> None:
    whole = tfrecords(contents)
    place = data.draw(st.integers(0, len(whole) - 1))
    bit = data.draw(st.integers(0, 7))
    with pytest.raises(DataError, match="damaged"):
        read(whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :])
    boundaries = {len(tfrecords(contents[:number])) for number in range(len(contents) + 1)}
    if place not in boundaries:
        with pytest.raises(DataError, match="truncated"):
            read(whole[:place])


@given(value=st.integers(0, 2**64 - 1), before=st.binary(max_size=3))
def test_varints_read_back(value: int, before: bytes) -> None:
    message = before + varint(value)
    assert read_varint(message, len(before)) == (value, len(message))
    with pytest.raises(ValueError, match="truncated"):
        read_varint(message[:-1], len(before))


FIELDS = st.lists(
    st.tuples(
        st.integers(1, 2**29 - 1),
        st.integers(0, 2**64 - 1) | st.floats(allow_nan=False) | st.binary(max_size=12),
    ),
    max_size=6,
)


@given(fields=FIELDS)
def test_messages_read_back(fields: list[tuple[int, int | float | bytes]]) -> None:
    assert list(read_fields(b"".join(field(number, value) for number, value in fields))) == fields


def test_floats_of_four_bytes() -> None:
    assert list(read_fields(varint(3 << 3 | 5) + struct.pack("<f", 0.5))) == [(3, 0.5)]


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"\x08", "truncated"),
        (b"\x09\x00", "truncated"),
        (b"\x0a\x05a", "truncated"),
        (b"\x0b", "type 3"),
        (b"\xff" * 11, "64"),
    ],
)
def test_damaged_messages(message: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        list(read_fields(message))
