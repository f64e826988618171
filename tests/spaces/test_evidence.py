"""The evidence for the default proxy of each space is what the tables that were measured say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from firstlight.proxies import PROXIES
from firstlight.spaces import SPACES

DOCS = Path(__file__).parent.parent.parent / "docs"
FIGURE = re.compile(r"-?\d\.\d{3} \[-?\d\.\d{3}, -?\d\.\d{3}\]")


@pytest.mark.parametrize("name", SPACES)
def test_figures_are_those_that_were_measured(name: str) -> None:
    space = SPACES[name]
    assert space.proxy in PROXIES
    assert space.evidence
    figures = FIGURE.findall(space.evidence)
    *parts, rest = re.split(r"\(([a-z]+-[a-z0-9-]+)\)", space.evidence)  # figures, and where they were measured
    assert not FIGURE.search(rest)
    assert bool(parts) == bool(figures)
    for text, source in zip(parts[::2], parts[1::2], strict=True):
        measured = DOCS / "measured" / f"{source}.md"
        path = measured if measured.exists() else DOCS / f"{source}.md"
        page = path.read_text(encoding="utf-8").replace("**", "")
        page = re.sub(r"(?<!\d)\.(?=\d)", "0.", page)  # the guide writes .5 for 0.5
        found = FIGURE.findall(text)
        assert found
        for figure in found:
            assert figure in page
    if FIGURE.match(space.evidence):
        assert "params 0." in space.evidence
