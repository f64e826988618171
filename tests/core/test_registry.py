"""Names that stand for built-in entries, for those of other packages, and for those of the running process."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from firstlight.core.errors import ModelError, PluginError, SettingError, UnknownNameError
from firstlight.core.registry import Kind, PluginWarning, Registry

GROUP = "shelf.numbers"


@dataclass(frozen=True)
class Number:
    name: str
    value: int


def read(entry: object) -> Number | None:
    return entry if isinstance(entry, Number) else None


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry[Number]:
    """Two entries in a module that also imports another one; and a package with plugins."""
    header = f"from {__name__} import Number\n"
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    (tmp_path / "shelf_small.py").write_text(header + "ONE = Number('one', 1)\nTWO = Number('two', 2)\n")
    (tmp_path / "shelf_large.py").write_text(header + "from shelf_small import ONE\nTEN = Number('ten', 10)\n")
    (tmp_path / "shelf_other.py").write_text(header + "SIX = Number('six', 6)\nTEXT = 'six'\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("shelf_small", "shelf_large", "shelf_other"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    modules = {"one": "shelf_small", "two": "shelf_small", "ten": "shelf_large"}
    return Registry(Kind("number", read, GROUP, "Write one down."), modules)


def plug(monkeypatch: pytest.MonkeyPatch, **entries: str) -> None:
    points = [EntryPoint(name, value, GROUP) for name, value in entries.items()]
    monkeypatch.setattr("firstlight.core.registry.entry_points", lambda group: points if group == GROUP else [])


def test_names_are_known_without_importing_anything(shelf: Registry[Number]) -> None:
    assert list(shelf) == ["one", "ten", "two"]
    assert len(shelf) == 3
    assert "one" in shelf
    assert "shelf_small" not in sys.modules
    assert shelf["ten"].value == 10
    assert {name: number.value for name, number in shelf.items()} == {"one": 1, "two": 2, "ten": 10}


def test_an_entry_stays_the_same_object_when_another_module_imports_it(shelf: Registry[Number]) -> None:
    one = shelf["one"]
    assert shelf["ten"].value == 10
    assert shelf["one"] is one


def test_an_unknown_name_brings_the_nearest_one(shelf: Registry[Number]) -> None:
    with pytest.raises(UnknownNameError, match=r"no number 'onee'. Did you mean 'one'"):
        shelf["onee"]


def test_added_entries_replace_each_other_but_no_built_in_one(shelf: Registry[Number]) -> None:
    for value in (3, 4):
        shelf.add("own", Number("own", value))
        assert shelf["own"].value == value
    assert not shelf.is_built_in("own")
    with pytest.raises(SettingError, match="already a built-in number 'one'"):
        shelf.add("one", Number("one", 5))


def test_objects_and_module_names_are_found(shelf: Registry[Number]) -> None:
    number = Number("mine", 7)
    assert shelf.find(number) is number
    assert shelf.find("one") is shelf["one"]
    assert shelf.find("shelf_other:SIX").value == 6
    with pytest.raises(SettingError, match=r"'shelf_other:TEXT' is not a number. Write one down."):
        shelf.find("shelf_other:TEXT")
    with pytest.raises(SettingError, match=r"3 is not a number. Write one down."):
        shelf.find(3)
    with pytest.raises(ModelError, match="'shelf_other:NINE' cannot be imported"):
        shelf.find("shelf_other:NINE")


@pytest.mark.parametrize(
    ("text", "name", "behind"),
    [
        (" one ", "one", ""),
        ("one:", "one", ":"),
        ("one:a=1:b=2", "one", ":a=1:b=2"),
        ("module:name", "module:name", ""),
        ("package.module:name:a=1", "package.module:name", ":a=1"),
        ("one:name", "one", ":name"),  # a built-in name is no module
    ],
)
def test_settings_behind_a_name(shelf: Registry[Number], text: str, name: str, behind: str) -> None:
    assert shelf.split(text) == (name, behind)


def test_an_object_goes_by_its_name_in_the_registry(shelf: Registry[Number]) -> None:
    assert shelf.name_of(shelf["one"]) == "one"
    assert shelf.name_of(Number("one", 1)) is None
    assert shelf.name_of(Number("mine", 1)) is None


def test_other_packages_offer_entries(shelf: Registry[Number], monkeypatch: pytest.MonkeyPatch) -> None:
    plug(monkeypatch, six="shelf_other:SIX")
    assert list(shelf) == ["one", "six", "ten", "two"]
    assert "shelf_other" not in sys.modules
    assert shelf["six"].value == 6
    assert shelf.name_of(shelf["six"]) == "six"
    assert not shelf.is_built_in("six")


def test_a_broken_package_does_not_hide_the_others(shelf: Registry[Number], monkeypatch: pytest.MonkeyPatch) -> None:
    plug(monkeypatch, missing="no_such_module:SIX", six="shelf_other:SIX", text="shelf_other:TEXT")
    with pytest.warns(PluginWarning) as caught:
        assert list(shelf.values()) == [shelf[name] for name in ("one", "six", "ten", "two")]
    assert [str(warning.message).partition(".")[0] for warning in caught] == [
        "The number 'missing' is skipped",
        "The number 'text' is skipped",
    ]
    with pytest.raises(PluginError, match=r"'no_such_module:SIX' \(group 'shelf.numbers'\) cannot be loaded"):
        shelf["missing"]
    with pytest.raises(PluginError, match=r"'shelf_other:TEXT' .* is not a usable number: '"):
        shelf["text"]


def test_an_entry_goes_by_one_name(shelf: Registry[Number], monkeypatch: pytest.MonkeyPatch) -> None:
    plug(monkeypatch, half_a_dozen="shelf_other:SIX")
    with pytest.raises(PluginError, match=r"goes by the name 'half_a_dozen', and the number itself by 'six'\. Use one"):
        shelf["half_a_dozen"]
    with pytest.warns(PluginWarning, match="'half_a_dozen' is skipped"):
        assert [number.name for number in shelf.values()] == ["one", "ten", "two"]


def test_names_that_are_taken_are_told(shelf: Registry[Number], monkeypatch: pytest.MonkeyPatch) -> None:
    points = [EntryPoint("one", "shelf_other:SIX", GROUP), EntryPoint("six", "shelf_other:SIX", GROUP)]
    points.append(EntryPoint("six", "shelf_small:ONE", GROUP))
    monkeypatch.setattr("firstlight.core.registry.entry_points", lambda group: points)
    with pytest.warns(PluginWarning) as caught:
        assert list(shelf) == ["one", "six", "ten", "two"]
    first, second = (str(warning.message) for warning in caught)
    assert "'shelf_other:SIX' (group 'shelf.numbers') is ignored: the name 'one' is taken by Firstlight" in first
    assert "'shelf_small:ONE' (group 'shelf.numbers') is ignored: the name 'six' is taken by shelf_other:SIX" in second
    assert (shelf["one"].value, shelf["six"].value) == (1, 6)
