"""Settings behind a name: their types, marks and documentation."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest

from firstlight.core.errors import SettingError
from firstlight.core.settings import (
    AtLeast,
    check_settings,
    choices,
    description,
    marked,
    read_settings,
    setting_help,
    settings_of,
    smallest_values,
    summary,
    write_settings,
)
from firstlight.proxies import PROXIES
from firstlight.search.algorithms import ALGORITHMS


def example(
    first: object,
    *,
    count: Annotated[int, AtLeast(2)] = 3,
    kind: Literal["a", "b"] = "a",
    form: Annotated[Literal["x", "y"], "what for"] = "x",
    rate: float = 0.5,
) -> None:
    """First line.

        M = a: formula

    More about it.

    Args:
        first: What it is called with.
        count: How many, in words that take
            more than one line: at least two.
        kind: Which one.

    Returns:
        rate: nothing of that sort.
    """


def test_settings_are_the_keyword_arguments() -> None:
    assert list(settings_of(example)) == ["count", "kind", "form", "rate"]
    assert [choices(setting) for setting in settings_of(example).values()] == [(), ("a", "b"), ("x", "y"), ()]
    assert write_settings("example", (("count", 4), ("kind", "b"))) == "example:count=4:kind=b"


def test_the_documentation_of_settings_is_told_apart_from_the_description() -> None:
    assert setting_help(example) == {
        "count": "How many, in words that take more than one line: at least two.",
        "kind": "Which one.",
        "form": "",
        "rate": "",
    }
    assert description(example) == "First line.\n\n    M = a: formula\n\nMore about it."
    assert summary(example) == "First line."
    assert setting_help(lambda *, size=3: None) == {"size": ""}


def test_marks_declare_the_smallest_value() -> None:
    known = settings_of(example)
    assert marked(known["count"], AtLeast) == AtLeast(2)
    assert marked(known["form"], AtLeast) is None
    assert smallest_values(known) == {"count": 2}
    with pytest.raises(SettingError, match="example:count is 1; it must be 2 or more"):
        check_settings("example", read_settings("example", "example", known, ["count=1"]), smallest_values(known))


@pytest.mark.parametrize("registry", [PROXIES, ALGORITHMS], ids=["proxies", "algorithms"])
def test_every_setting_is_documented(registry: dict[str, object]) -> None:
    missing = {
        (name, setting)
        for name, entry in registry.items()
        for setting, text in setting_help(entry.function).items()  # type: ignore[attr-defined]
        if not text.endswith(".")
    }
    assert not missing
