"""How figures look and are written."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import pytest
from PIL import Image

from firstlight.core.errors import SettingError
from firstlight.views.charts.style import DOTS_PER_INCH, blank, inches, save_figure, series_style, style


@pytest.mark.parametrize(("width", "expected"), [("column", 3.35), ("page", 6.9), ("5", 5.0), (4.5, 4.5)])
def test_widths(width: str | float, expected: float) -> None:
    assert inches(width) == expected


@pytest.mark.parametrize("width", ["wide", "", "0", "1.9", "21", "nan", "-3", "inf"])
def test_widths_that_make_no_sense(width: str) -> None:
    with pytest.raises(SettingError, match="write column, page, or inches between 2 and 20"):
        inches(width)


def test_the_users_own_settings_stay() -> None:
    with matplotlib.rc_context({"font.size": 31, "text.usetex": True}):
        with style():
            assert matplotlib.rcParams["font.size"] == 8
            assert not matplotlib.rcParams["text.usetex"]
        assert matplotlib.rcParams["font.size"] == 31


def test_the_same_figure_gives_the_same_file_of_its_size(tmp_path: Path) -> None:
    for ending in ("svg", "pdf", "png"):
        contents = []
        for name in "ab":
            with style():
                figure = blank("column", 0.5)
                figure.add_subplot().set_xlabel("costs $ & <more>")
            save_figure(figure, tmp_path / f"{name}.{ending}")
            contents.append((tmp_path / f"{name}.{ending}").read_bytes())
        assert contents[0] == contents[1], ending
    assert "costs $ &amp; &lt;more&gt;" in (tmp_path / "a.svg").read_text(encoding="utf-8")
    with Image.open(tmp_path / "a.png") as image:
        assert image.size == pytest.approx((3.35 * DOTS_PER_INCH, 3.35 * 0.5 * DOTS_PER_INCH), abs=1)


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    with style():
        figure = blank("column", 0.5)
    with pytest.raises(SettingError, match=r"must end in \.svg, \.png, \.pdf"):
        save_figure(figure, tmp_path / "figure.jpg")
    with pytest.raises(SettingError, match="cannot be written"):
        save_figure(figure, tmp_path / "no" / "figure.png")


def test_sixteen_series_differ_in_color_or_dashes() -> None:
    assert len({(color, str(dashes)) for color, dashes, _ in map(series_style, range(1, 17))}) == 16
