from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from firstlight.core.errors import SettingError
from firstlight.spaces.base import Drawing
from firstlight.views.drawing.layout import lay_out
from firstlight.views.drawing.picture import SHARPNESS, write_picture

CELL = Drawing(("input", "conv3x3", "output"), ((0, 1, "first"), (1, 2, "second <&>"), (0, 2, "around")))


def test_an_svg_holds_its_words_and_is_the_same_every_time(tmp_path: Path) -> None:
    first, again = tmp_path / "a.svg", tmp_path / "b.svg"
    write_picture(CELL, first)
    write_picture(CELL, again)
    assert first.read_bytes() == again.read_bytes()
    text = first.read_text(encoding="utf-8")
    for word in ("conv3x3", "around", "second &lt;&amp;&gt;"):
        assert word in text


def test_a_png_is_as_large_as_its_layout(tmp_path: Path) -> None:
    path = tmp_path / "cell.PNG"
    write_picture(CELL, path)
    layout = lay_out(CELL)
    with Image.open(path) as image:
        assert image.size == pytest.approx((layout.width * SHARPNESS, layout.height * SHARPNESS), abs=2)
        assert len(image.convert("RGB").getcolors(1 << 20)) > 10


def test_a_pdf(tmp_path: Path) -> None:
    write_picture(CELL, tmp_path / "cell.pdf")
    assert (tmp_path / "cell.pdf").read_bytes().startswith(b"%PDF")


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "folder.svg").mkdir()
    for path in (tmp_path / "missing" / "cell.svg", tmp_path / "folder.svg"):
        with pytest.raises(SettingError, match="cannot be written to"):
            write_picture(CELL, path)


def test_other_endings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"cell\.gif.*\.svg, \.png, \.pdf"):
        write_picture(CELL, tmp_path / "cell.gif")
