"""Hostile values: what people, programs and accidents put where a text, a number or a file belongs."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

NUMBERS = (
    *(
        "0",
        "1",
        "-1",
        "3",
        "0.5",
        "1e3",
        "nan",
        "inf",
        "-inf",
        "1e999",
        "1e-999",
        "0x10",
        "1_000",
        "+3",
        "007",
        "٣",
        "²",
    ),
    *("9" * 30, "9" * 5000, "-" + "9" * 5000, "1" + "0" * 400, "1e99", "0." + "0" * 400 + "1", "True", "None", "1/3"),
)
INTRUDERS = (
    *("", " ", "\t", "\n", "\r\n", "\x00", "\x1b[31m", "\u202e", "\ufeff", "é", "漢", "😀", "\ud800", "%s", "{0}"),
    *("'", '"', "`", "\\", "/", "..", "~", "$HOME", "*", "(", ")", "[", "]", "{", "}", "<script>", "&", ";", "|", "#"),
    *("=", ":", ",", "@", "+", "%", "--", "-", "a" * 300, "x" * 5000, "(" * 1500, "[" * 3000),
)


def damaged(*examples: str) -> SearchStrategy[str]:
    """One of these texts with pieces cut out, doubled, or replaced by intruders; or a text that was never one."""

    @st.composite
    def texts(draw: Any) -> str:
        text = draw(st.sampled_from(examples))
        for _ in range(draw(st.integers(0, 3))):
            start = draw(st.integers(0, len(text)))
            end = min(len(text), start + draw(st.sampled_from((0, 1, 1, 2, 5, 30))))
            piece = text[start:end]
            text = text[:start] + draw(st.sampled_from((*INTRUDERS, *NUMBERS, piece * 2))) + text[end:]
        return text

    hostile = st.sampled_from((*INTRUDERS, *NUMBERS))
    return st.one_of(texts(), texts(), texts(), st.text(max_size=30), hostile)


def damaged_bytes(*examples: bytes) -> SearchStrategy[bytes]:
    """One of these files, cut off or with bytes changed, put in or taken out; or bytes that were never one."""

    @st.composite
    def contents(draw: Any) -> bytes:
        content = draw(st.sampled_from(examples))
        for _ in range(draw(st.integers(0, 4))):
            start = draw(st.integers(0, len(content)))
            end = min(len(content), start + draw(st.sampled_from((0, 1, 1, 4, 100))))
            content = content[:start] + draw(st.binary(max_size=8)) + content[end:]
        return content[: draw(st.integers(0, len(content)))] if draw(st.booleans()) else content

    return st.one_of(contents(), contents(), contents(), st.binary(max_size=50))


JSON: SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def damaged_json(*examples: Any) -> SearchStrategy[str]:
    """One of these contents with some values exchanged for others of any kind, some left out; or any JSON."""

    @st.composite
    def contents(draw: Any) -> str:
        content = json.loads(json.dumps(draw(st.sampled_from(examples))))
        for _ in range(draw(st.integers(1, 3))):
            place = content
            while isinstance(place, (dict, list)) and place:
                key = draw(st.sampled_from(sorted(place))) if isinstance(place, dict) else len(place) - 1
                inner = place[key]
                if not isinstance(inner, (dict, list)) or not inner or draw(st.integers(0, 2)) == 0:
                    if draw(st.booleans()):
                        place[key] = draw(JSON)
                    else:
                        del place[key]
                    break
                place = inner
        return json.dumps(content)

    return st.one_of(contents(), contents(), JSON.map(json.dumps), damaged(*map(json.dumps, examples)))


def npz(arrays: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def zipped(files: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return file.getvalue()
