"""Option groups and the calls that take them."""

from __future__ import annotations

import inspect
from dataclasses import FrozenInstanceError, dataclass
from typing import Any

import numpy as np
import pytest
import torch

from firstlight.core.errors import SettingError
from firstlight.core.groups import Group, Options, field_docs, keyword_of, plain, read_options, takes


@dataclass(frozen=True)
class Size(Group):
    """How large."""

    title = "Size"

    width: int = 4
    """Columns, of which
    there are some."""
    depth: str | tuple[int, ...] = ""
    """Layers."""

    def __post_init__(self) -> None:
        self._set("depth", tuple(int(part) for part in self.depth or ()))
        self._check_at_least(1, "width")


@dataclass(frozen=True)
class Place(Group):
    """Where."""

    title = "Place"

    data: Any = None
    """Anything."""


@takes(Size, Place)
def draw(options: Options, name: str, *, loud: bool = False) -> tuple[Any, ...]:
    """Return what was given."""
    size = options[Size]
    return name, loud, size.width, size.depth, options[Place].data


def test_fields_and_groups_are_keywords_of_the_call() -> None:
    assert draw("a") == ("a", False, 4, (), None)
    assert draw("a", width=7, loud=True) == ("a", True, 7, (), None)
    assert draw("a", size=Size(width=7, depth="12"), data=3) == ("a", False, 7, (1, 2), 3)
    assert draw("a", size=Size(depth="12"), width=8) == ("a", False, 8, (1, 2), None)


def test_the_signature_names_the_groups() -> None:
    signature = inspect.signature(draw)
    assert list(signature.parameters) == ["name", "loud", "size", "place", "fields"]
    assert signature.parameters["size"].default == Size()
    assert signature.return_annotation == "tuple[Any, ...]"
    assert draw.__doc__ == "Return what was given."
    assert draw.groups == (Size, Place)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"widht": 3}, r"^draw\(\) has no option 'widht'. Did you mean 'width'\? It has: .*loud, name, place, size"),
        ({"zzz": 3}, r"^draw\(\) has no option 'zzz'. It has: data, depth, loud"),
        ({"size": Size(width=2), "width": 3}, "^width is given in size= and as a keyword. Leave one out.$"),
        ({"size": {"width": 2}}, r"^size is \{'width': 2\}; give a firstlight.Size.$"),
        ({"width": 0}, r"^width \(--width\): 0 is not a whole number of 1 or more.$"),
        ({"width": True}, "is not a whole number of 1 or more"),
        ({"width": 1.5}, "is not a whole number of 1 or more"),
        ({"width": "3"}, "is not a whole number of 1 or more"),
    ],
)
def test_what_makes_no_sense_is_an_error_before_any_work(given: dict[str, Any], message: str) -> None:
    worked = []

    @takes(Size, Place)
    def draw(options: Options, name: str, *, loud: bool = False) -> None:
        worked.append(name)

    with pytest.raises(SettingError, match=message):
        draw("a", **given)
    assert not worked


def test_a_dictionary_has_what_differs_from_the_defaults() -> None:
    assert Size().to_dict() == {}
    assert Size(width=4, depth="1").to_dict() == {"depth": (1,)}
    assert Size(**Size(width=3, depth="1").to_dict()) == Size(width=3, depth="1")
    options = read_options("draw", (Size, Place), (), {"width": 9})
    assert options.to_dict() == {"size": {"width": 9}}


@pytest.mark.parametrize("data", [torch.zeros(2, 3), np.zeros((2, 3)), [torch.zeros(2)], 0, "", False])
def test_any_value_may_be_given(data: Any) -> None:
    assert draw("a", data=data)[-1] is data
    assert Place(data=data).to_dict()["data"] is data


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (3, 3),
        (True, True),
        ("a", "a"),
        ((1, 2), "1,2"),
        (["a", "b"], "a,b"),
        ((("cells", 1), ("input_shape", (3, 8, 8))), "cells=1,input_shape=3x8x8"),
    ],
)
def test_options_are_written_as_settings_files_hold_them(value: Any, written: Any) -> None:
    assert plain(value) == written


def test_groups_do_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        Size().width = 3  # type: ignore[misc]


def test_docstrings_of_fields_are_one_line_each() -> None:
    assert field_docs(Size) == {"width": "Columns, of which there are some.", "depth": "Layers."}
    assert (keyword_of(Size), Size.names()) == ("size", ["width", "depth"])
