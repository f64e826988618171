"""A real browser for pages, and what tests do with it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.wait import WebDriverWait

PATIENCE = 60  # seconds; a busy machine fails no test


@contextmanager
def opened_browser() -> Iterator[Chrome]:
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("there is no browser: apt-get install chromium chromium-driver")
    options = ChromeOptions()
    options.binary_location = chromium
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--window-size=1280,900",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    opened = Chrome(options=options, service=Service(driver))
    see_as(opened)
    yield opened
    opened.quit()


def see_as(browser: Chrome, medium: str = "screen", colours: str = "light") -> None:
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"media": medium, "features": [{"name": "prefers-color-scheme", "value": colours}]},
    )


def resize(browser: Chrome, width: int | None = None, *, mobile: bool = False) -> None:
    """As wide as the window without a width."""
    if width is None:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        return
    size = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": mobile}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def until(browser: Chrome, condition: Callable[[], Any]) -> Any:
    return WebDriverWait(browser, PATIENCE, poll_frequency=0.1).until(lambda _: condition())


def show(browser: Chrome, page: str, folder: Path) -> None:
    path = folder / "page.html"
    path.write_text(page, encoding="utf-8")
    browser.get(path.as_uri())
    wait_for_script(browser)


def wait_for_script(browser: Chrome) -> None:
    until(browser, lambda: browser.execute_script("return document.documentElement.dataset.ready"))


def requests(browser: Chrome) -> list[str]:
    """What was asked for since the last time."""
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
