"""A minimal reader of protocol buffer messages, which are lists of numbered fields."""

from __future__ import annotations

import struct
from collections.abc import Iterator

_VARINT, _EIGHT_BYTES, _COUNTED_BYTES, _FOUR_BYTES = 0, 1, 2, 5


def read_fields(message: bytes) -> Iterator[tuple[int, int | float | bytes]]:
    """Yield number and value of each field: an integer, a float, or the bytes of a text or an inner message."""
    position = 0
    while position < len(message):
        key, position = read_varint(message, position)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, position = read_varint(message, position)
            yield number, value
            continue
        if kind == _COUNTED_BYTES:
            length, position = read_varint(message, position)
        elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
            length = 8 if kind == _EIGHT_BYTES else 4
        else:
            raise ValueError(f"field {number} has the unknown type {kind}")
        content = message[position : position + length]
        if len(content) < length:
            raise ValueError(f"field {number} is truncated")
        position += length
        if kind == _COUNTED_BYTES:
            yield number, content
        else:
            yield number, struct.unpack("<d" if kind == _EIGHT_BYTES else "<f", content)[0]


def read_varint(message: bytes, position: int) -> tuple[int, int]:
    """Return an integer and the position after it: groups of seven bits, lowest first, with a bit for "more follow"."""
    value = shift = 0
    while shift < 70:
        if position >= len(message):
            raise ValueError("a number is truncated")
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise ValueError("a number is longer than 64 bits")
