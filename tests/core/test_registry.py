"""Entries are found by looking into the folder."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from firstlight.core.errors import FirstlightError, UnknownNameError
from firstlight.core.registry import Registry


def test_a_new_file_is_a_new_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "shelf"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "one.py").write_text("ENTRY = 1\n")
    (package / "two.py").write_text("ENTRY = 2\n")
    monkeypatch.syspath_prepend(tmp_path)
    registry: Registry[int] = Registry("number", "shelf", lambda module: {module.__name__[6:]: module.ENTRY})
    assert "shelf.one" not in sys.modules
    assert dict(registry) == {"one": 1, "two": 2}
    assert len(registry) == 2
    assert "one" in registry
    (package / "three.py").write_text("ENTRY = 3\n")
    clashing: Registry[int] = Registry("number", "shelf", lambda module: {"same": module.ENTRY})
    with pytest.raises(FirstlightError, match="Two modules of shelf offer the number 'same'"):
        len(clashing)
    with pytest.raises(UnknownNameError, match=r"no number 'onee'. Did you mean 'one'"):
        registry["onee"]
