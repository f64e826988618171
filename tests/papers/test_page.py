"""The page of a reproduced table."""

from __future__ import annotations

from dataclasses import replace

from tests.views.pages.pages import an_outcome

from firstlight.core.statistics import Estimate
from firstlight.papers.base import Findings, Published
from firstlight.papers.page import reproduction_page


def test_the_headline_is_a_sentence_about_all_figures() -> None:
    outcome = an_outcome()
    line = outcome.findings.lines[0]
    published = Published("0.5", 0.5, 0.5)
    agreeing = replace(line, ours=Estimate(0.5, 0.45, 0.55), published=published)
    differing = replace(agreeing, ours=Estimate(-0.9, -0.91, -0.89))
    page = reproduction_page(replace(outcome, findings=Findings((agreeing, differing, line, line), ())))
    assert ": of 4 figures, 1 agrees, 1 differs, 2 have nothing published to compare with</h1>" in page
