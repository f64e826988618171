"""The pages in a real browser: what can be clicked works, the network is left alone, no stranger's script runs."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from tests.views.pages.pages import CELL, PAYLOADS, pages, search_run, trials

from firstlight.storage.store import STORE_NAME, Store
from firstlight.views.pages.search import render
from firstlight.views.pages.watching import Watch

selenium = pytest.importorskip("selenium", reason="selenium is not installed: pip install 'firstlight[dev]'")
from selenium.webdriver import Chrome, Keys  # noqa: E402
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.remote.webelement import WebElement  # noqa: E402
from tests.views.pages.browsing import requests, resize, see_as, show, until, wait_for_script  # noqa: E402

UNNAMED = """
return [...document.querySelectorAll("svg, input, button, table:not(:has(caption))")]
  .filter((it) => it.tagName === "TABLE" || (!it.ariaLabel && !it.textContent && !it.ariaHidden))
  .map((it) => it.outerHTML);
"""


def all_networks(browser: Chrome) -> WebElement:
    return browser.find_element(By.CSS_SELECTOR, "table[data-networks]")


def column(table: WebElement, number: int) -> list[str]:
    return [cell.text for cell in table.find_elements(By.CSS_SELECTOR, f"tbody tr > :nth-child({number})")]


@pytest.fixture(scope="module")
def a_page(browser: Chrome, tmp_path_factory: pytest.TempPathFactory) -> Chrome:
    show(browser, render(search_run(), trials(40)), tmp_path_factory.mktemp("page"))
    return browser


def test_a_click_on_a_header_sorts_and_another_one_turns_it_around(a_page: Chrome) -> None:
    table = all_networks(a_page)
    assert column(table, 1)[:3] == ["1", "2", "3"]
    head = table.find_elements(By.TAG_NAME, "th")[2]
    button = head.find_element(By.TAG_NAME, "button")
    button.click()
    assert head.get_attribute("aria-sort") == "descending"
    falling = column(table, 3)
    assert falling[0] == "2,443"
    assert falling == sorted(falling, reverse=True)
    button.send_keys(Keys.ENTER)
    assert head.get_attribute("aria-sort") == "ascending"
    assert column(table, 3)[0] == "1,000"
    assert len(column(table, 3)) == 25
    table.find_element(By.XPATH, "../following-sibling::button").click()
    assert len(column(table, 3)) == 40


def test_a_filter_keeps_rows_with_words_and_within_bounds(a_page: Chrome) -> None:
    table = all_networks(a_page)
    bar = table.find_element(By.XPATH, "../preceding-sibling::div[@class='filter'][1]")
    entry = bar.find_element(By.TAG_NAME, "input")
    assert entry.get_attribute("aria-label").startswith("Filter: All 40 networks")
    entry.send_keys("NOR_CONV params<1.1k")
    assert sorted(column(table, 3)) == ["1,000", "1,037", "1,074"]
    assert bar.find_element(By.TAG_NAME, "span").text == "3 of 40"
    entry.send_keys(" nowhere")
    assert column(table, 3) == []
    entry.send_keys(Keys.CONTROL, "a", Keys.BACKSPACE)
    assert len(column(table, 3)) >= 25


def test_tooltips_show_on_hover_and_by_keys(a_page: Chrome) -> None:
    tooltip = a_page.find_element(By.CLASS_NAME, "tooltip")
    chosen = a_page.find_element(By.CSS_SELECTOR, "circle.chosen[data-row]")
    a_page.execute_script("arguments[0].scrollIntoView({block: 'center'})", chosen)
    ActionChains(a_page).move_to_element(chosen).perform()
    assert tooltip.text.splitlines() == [
        f"{CELL}39",
        "rank 1, score 1.9750, params 2,221, MACs 1,000,039, found after (s) 39.0",
    ]
    ActionChains(a_page).move_to_element(a_page.find_element(By.TAG_NAME, "h1")).perform()
    assert not tooltip.is_displayed()
    chart = chosen.find_element(By.XPATH, "..")
    assert chart.aria_role == "application"
    assert "arrow keys" in chart.get_attribute("aria-label")
    chart.send_keys(Keys.END)
    assert "params 2,443" in tooltip.text
    chart.send_keys(Keys.ARROW_LEFT)
    assert "params 2,406" in tooltip.text
    chart.send_keys(Keys.ESCAPE)
    assert not tooltip.is_displayed()


def test_what_is_worth_copying_can_be_copied(a_page: Chrome) -> None:
    a_page.execute_cdp_cmd(
        "Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    )
    read = "navigator.clipboard.readText().then(arguments[0], (error) => arguments[0](String(error)))"
    for selector, text in (
        (".copyable .copy", f"{CELL}39"),
        ("[data-what=command] .copy", f"firstlight show nasbench201 '{CELL}39'"),
    ):
        button = a_page.find_element(By.CSS_SELECTOR, selector)
        a_page.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
        button.click()
        until(a_page, lambda button=button: button.text == "Copied")
        assert a_page.execute_async_script(read) == text
    row = all_networks(a_page).find_element(By.CSS_SELECTOR, "tbody .copy")
    assert row.accessible_name == "Copy architecture"


def test_colors_follow_the_system_until_they_are_chosen(a_page: Chrome) -> None:
    paper = "return getComputedStyle(document.body).backgroundColor"
    button = a_page.find_element(By.CLASS_NAME, "theme")
    light = a_page.execute_script(paper)
    assert button.accessible_name == "Dark colors"
    button.click()
    dark = a_page.execute_script(paper)
    assert dark != light
    a_page.refresh()
    wait_for_script(a_page)
    until(a_page, lambda: a_page.execute_script(paper) == dark)
    button = a_page.find_element(By.CLASS_NAME, "theme")
    button.click()
    assert a_page.execute_script(paper) == light
    a_page.execute_script("delete document.documentElement.dataset.theme")
    see_as(a_page, colours="dark")
    assert a_page.execute_script(paper) == dark
    see_as(a_page)


def test_pages_ask_for_nothing_run_no_other_script_and_fit_a_phone(browser: Chrome, tmp_path: Path) -> None:
    resize(browser, 390, mobile=True)
    requests(browser)
    for kind, page in pages("".join(PAYLOADS)).items():
        show(browser, page, tmp_path)
        assert browser.execute_script("return typeof stolen") == "undefined", kind
        asked = {url for url in requests(browser) if not url.startswith("chrome")}
        assert asked == {(tmp_path / "page.html").as_uri()}, kind
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 390, kind
        assert browser.execute_script(UNNAMED) == [], kind
        assert not [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"], kind
    resize(browser)


def test_a_script_that_came_to_be_in_a_page_would_not_run(browser: Chrome, tmp_path: Path) -> None:
    """Should a text ever escape, the page's policy is there."""
    page = render(search_run(), trials(3)).replace("<h1>", "<script>stolen=1</script><img src=x onerror=stolen=1><h1>")
    show(browser, page, tmp_path)
    assert browser.execute_script("return typeof stolen") == "undefined"


def test_a_live_page_follows_the_run_and_keeps_what_was_typed(browser: Chrome, tmp_path: Path) -> None:
    title = "return document.querySelector('h1').textContent"
    with Watch(tmp_path / "run") as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            browser.get(server.url)
            assert browser.execute_script(title).startswith("Waiting for a run in")
            (tmp_path / "run").mkdir()
            with Store(tmp_path / "run" / STORE_NAME) as store:
                run = store.begin_run({"space": "nasbench201", "proxy": "dextr", "algorithm": "random"}, "0.1.0", 0)
                for trial in trials(12):
                    store.add_trial(run, trial)
                until(browser, lambda: "Best of 12 networks so far: Dextr" in browser.execute_script(title))
                until(browser, lambda: browser.find_elements(By.CSS_SELECTOR, "main .filter input"))
                browser.find_element(By.CSS_SELECTOR, "main .filter input").send_keys("params>1.2k")
                shown = column(all_networks(browser), 3)
                assert 0 < len(shown) < 12
                for trial in trials(13, "later"):
                    store.add_trial(run, trial)
                store.finish_run(run, {"best": {"architecture": f"{CELL}later12"}})
            until(browser, lambda: "Best of 25 networks: Dextr" in browser.execute_script(title))
            until(browser, lambda: browser.find_elements(By.CSS_SELECTOR, "main .filter input"))
            entry = browser.find_element(By.CSS_SELECTOR, "main .filter input")
            assert entry.get_attribute("value") == "params>1.2k"
            assert len(shown) < len(column(all_networks(browser), 3)) < 25
            assert {url for url in requests(browser) if url.startswith("http")} == {server.url}
        finally:
            server.shutdown()
    until(browser, lambda: "has stopped" in browser.find_element(By.CLASS_NAME, "live").text)


def test_two_networks_stand_side_by_side(browser: Chrome, tmp_path: Path) -> None:
    show(browser, render(search_run(), trials(40)), tmp_path)
    holder = browser.find_element(By.CLASS_NAME, "side-by-side")
    first, second = holder.find_elements(By.CSS_SELECTOR, "input[type=number]")
    assert (first.get_attribute("value"), second.get_attribute("value")) == ("1", "2")
    second.send_keys(Keys.CONTROL, "a", Keys.BACKSPACE)
    second.send_keys("40")
    rows = {
        row.find_element(By.TAG_NAME, "th").text: [cell.text for cell in row.find_elements(By.TAG_NAME, "td")]
        for row in holder.find_elements(By.CSS_SELECTOR, "tbody tr")
    }
    assert rows["rank"] == ["1", "40", ""]
    one, other, apart = (float(cell.replace(",", "")) for cell in rows["params"])
    assert other - one == apart


def test_a_stage_unfolds_to_its_layers(browser: Chrome, tmp_path: Path) -> None:
    show(browser, render(search_run(), trials(40)), tmp_path)
    stage = browser.find_element(By.CSS_SELECTOR, ".stages details")
    table = stage.find_element(By.TAG_NAME, "table")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", stage)
    assert not table.is_displayed()
    stage.find_element(By.TAG_NAME, "summary").click()
    assert table.is_displayed()
    stage.find_element(By.TAG_NAME, "summary").click()
    assert not table.is_displayed()
