"""The guide can be built, without a warning, and asks nothing of other servers."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_site_is_built_without_warnings_and_fetches_nothing(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 100
    for page in pages:
        text = page.read_text(encoding="utf-8")
        fetched = re.findall(r'<(?:script|img|iframe|link)\b[^>]*(?:src|href)="(?:https?:)?//[^"]*"', text)
        assert fetched == [], page
    for style in site.rglob("*.css"):
        assert not re.search(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", style.read_text(encoding="utf-8")), style


# The contrast of a heading with the page, as WCAG defines it
CONTRAST = """
const light = (color) => {
  const [r, g, b, alpha = 1] = color.match(/[\\d.]+/g).map(Number);
  return { rgb: [r, g, b], alpha };
};
const luminance = (rgb) => rgb.map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
  .reduce((sum, v, place) => sum + v * [0.2126, 0.7152, 0.0722][place], 0);
const back = light(getComputedStyle(document.body).backgroundColor).rgb;
return [...document.querySelectorAll(".md-typeset :is(h1, h2, h3)")].map((it) => {
  const { rgb, alpha } = light(getComputedStyle(it).color);
  const shown = luminance(rgb.map((v, place) => v * alpha + back[place] * (1 - alpha)));
  const [high, low] = [shown, luminance(back)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
});
"""


def test_the_home_page_shows_pictures_and_the_search_works_from_a_folder(site: Path) -> None:
    pytest.importorskip("selenium", reason="selenium is not installed: pip install 'firstlight[dev]'")
    from selenium.webdriver.common.by import By
    from tests.views.pages.browsing import opened_browser, resize, until

    with opened_browser() as browser:
        browser.get((site / "index.html").as_uri())
        sizes = browser.execute_script(
            "return [...document.querySelectorAll('.pictures img')].map((it) => it.naturalWidth)"
        )
        assert len(sizes) == 2
        assert min(sizes) > 300
        browser.execute_script("document.body.setAttribute('data-md-color-scheme', 'slate')")
        assert min(browser.execute_script(CONTRAST)) >= 7
        field = browser.find_element(By.CSS_SELECTOR, "input.md-search__input")
        browser.execute_script("document.querySelector('#__search').click()")
        until(browser, field.is_displayed)
        field.send_keys("latency")
        until(browser, lambda: browser.find_elements(By.CSS_SELECTOR, ".md-search-result__item a"))
        resize(browser, 390, mobile=True)
        for page in ("index.html", "own-space.html", "export.html"):
            browser.get((site / page).as_uri())
            wide = browser.execute_script(
                "return [...document.querySelectorAll('.md-typeset pre > code')]"
                ".filter((it) => it.scrollWidth > it.clientWidth + 1).map((it) => it.textContent.slice(0, 60));"
            )
            assert wide == [], page
