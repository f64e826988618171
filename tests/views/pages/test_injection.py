"""No text of a stranger's becomes markup, on any page; and no page names anything outside itself."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from tests.views.pages.pages import PAYLOADS, pages

OWN_SCRIPTS = 2  # the page's, and the data of its networks
ASKING = {"img", "iframe", "object", "embed", "link", "base", "form", "image", "audio", "video", "a"}


class Inventory(HTMLParser):
    """The elements of a page, and the names of all attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}


def test_what_strangers_write_is_text() -> None:
    for kind, page in pages("".join(PAYLOADS)).items():
        found = Inventory(page)
        assert found.tags.count("script") <= OWN_SCRIPTS, kind
        assert not ASKING & set(found.tags), kind
        assert not [name for name in found.attributes if name.startswith("on") or name == "autofocus"], kind
        assert not [payload for payload in PAYLOADS if payload in page], kind


def test_pages_name_nothing_outside() -> None:
    for kind, page in pages("harmless").items():
        assert re.findall(r"(?:src|href)=|https?://|@import|url\((?!#)", page) == [], kind
        assert "default-src 'none'" in page.replace("&#39;", "'"), kind
        assert "connect-src" not in page, kind
