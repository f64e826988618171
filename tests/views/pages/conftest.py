from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """One for all tests of pages: it takes seconds to start."""
    pytest.importorskip("selenium", reason="selenium is not installed: pip install 'firstlight[dev]'")
    from tests.views.pages.browsing import opened_browser

    with opened_browser() as opened:
        yield opened
