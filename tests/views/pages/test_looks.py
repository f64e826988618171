"""How pages look on screens, phones and paper, in light and dark: nothing is cut off, covered, empty or too pale."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from tests.views.pages.pages import a_study, pages, retrained, search_run

from firstlight.probe.cost import Cost
from firstlight.spaces import SPACES
from firstlight.storage.records import Trial
from firstlight.views.pages.correlation import correlation_page
from firstlight.views.pages.search import render

pytest.importorskip("selenium", reason="selenium is not installed: pip install 'firstlight[dev]'")
from selenium.webdriver import Chrome
from tests.views.pages.browsing import resize, see_as, show

LOOKS = (Path(__file__).parent / "looks.js").read_text(encoding="utf-8")
TIPS_OFF_SCREEN = """
const tip = document.querySelector(".tooltip"), away = [];
for (const chart of document.querySelectorAll("svg[tabindex]")) {
  chart.scrollIntoView({ block: "center" });
  for (const key of ["Home", "End"]) {
    chart.dispatchEvent(new KeyboardEvent("keydown", { key }));
    const { left, right, top, bottom } = tip.getBoundingClientRect();
    if (tip.hidden || left < 0 || top < 0 || right > innerWidth || bottom > innerHeight) away.push(chart.ariaLabel);
  }
  chart.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
}
scrollTo(0, 0);
return away;
"""
PAPER = 718  # pixels of A4 between usual margins
KINDS = list(pages("words"))
# One of each form: a graph, two graphs, one with long names, a chain of blocks, a stack of layers
DRAWN = ["nasbench201", "darts", "nasrec-small", "plainnet-resnet", "autoformer-tiny"]
MANY = "correlation of many proxies"


@pytest.fixture(scope="module")
def written() -> dict[str, str]:
    many = correlation_page(a_study("words", others=34), {"space": "nasbench201", "table": "a table"})
    return pages("words") | {name: drawn_page(name) for name in DRAWN} | {MANY: many}


def drawn_page(space: str) -> str:
    rng = random.Random(0)
    texts = dict.fromkeys(str(SPACES[space].sample(rng)) for _ in range(8))
    found = [Trial(text, Cost(10**6 + place, 10**9), 2.0 - place / 10, place / 10) for place, text in enumerate(texts)]
    page = render(replace(search_run(space=space, finished=False), result=None), found)
    assert 'class="scroll drawing"' in page or 'class="blocks' in page
    return page


@pytest.mark.parametrize("kind", [*KINDS, *DRAWN, MANY])
def test_a_page_looks_well(browser: Chrome, written: dict[str, str], kind: str, tmp_path: Path) -> None:
    try:
        show(browser, written[kind], tmp_path)
        faults = {"screen": browser.execute_script(LOOKS)}
        resize(browser, 390, mobile=True)
        see_as(browser, colours="dark")
        show(browser, written[kind], tmp_path)
        faults["dark phone"] = browser.execute_script(LOOKS)
        faults["tooltips of a phone"] = browser.execute_script(TIPS_OFF_SCREEN)
        resize(browser, PAPER)
        see_as(browser, "print", "dark")
        faults["paper"] = browser.execute_script(LOOKS)
    finally:
        resize(browser)
        see_as(browser)
    assert not any(faults.values()), faults


def test_a_drawing_wider_than_a_phone_shows_its_nodes_first(
    browser: Chrome, written: dict[str, str], tmp_path: Path
) -> None:
    resize(browser, 390, mobile=True)
    try:
        show(browser, written["nasrec-small"], tmp_path)
        node, width = browser.execute_script(
            "const box = document.querySelector('.drawing .node').getBoundingClientRect();"
            "return [(box.left + box.right) / 2, innerWidth];"
        )
        assert abs(node - width / 2) < width / 10
    finally:
        resize(browser)


@pytest.mark.parametrize(("width", "widest"), [(1200, 1200), (390, 1000)])
def test_networks_trained_from_scratch_can_be_copied(browser: Chrome, width: int, widest: int, tmp_path: Path) -> None:
    """Long texts make no table wider than a window, and no wider than a few strokes on a phone."""
    rng = random.Random(0)
    texts = [str(SPACES["nasrec-small"].sample(rng)) for _ in range(2)]
    run = search_run(space="nasrec-small")
    trained = retrained("words")
    trained["networks"] = [{**trained["networks"][0], "name": text} for text in texts]
    found = [Trial(text, Cost(10**6, 10**9), 2.0, 0.1) for text in texts]
    resize(browser, width, mobile=width < 1000)
    try:
        show(browser, render(replace(run, result={**(run.result or {}), "retrained": trained}), found), tmp_path)
        ends = browser.execute_script(
            "return [...document.querySelectorAll('td.architecture .copy')].map("
            "(it) => it.getBoundingClientRect().right + it.closest('.scroll').scrollLeft);"
        )
        assert len(ends) >= 4
        assert max(ends) <= widest
    finally:
        resize(browser)


def test_the_table_of_a_study_fits_a_page(browser: Chrome, written: dict[str, str], tmp_path: Path) -> None:
    study = replace(a_study("words", others=6), against="good")
    resize(browser, 1280)
    try:
        show(browser, correlation_page(study, {"space": "nasbench201", "table": "a table"}), tmp_path)
        over = browser.execute_script(
            "return [...document.querySelectorAll('.scroll:has(.intervals)')]"
            ".map((it) => [it.scrollWidth, it.clientWidth]);"
        )
        assert over
        assert all(needed <= there for needed, there in over), over
    finally:
        resize(browser)
