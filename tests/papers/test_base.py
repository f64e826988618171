"""The rule by which published and measured figures are compared, by hand."""

from __future__ import annotations

import pytest

from firstlight.core.statistics import Estimate
from firstlight.papers.base import CORRELATION, FIGURE, Finding, Published, Scale, judge

SCALE = Scale("toy", tolerance=0.05, widest=0.3)


@pytest.mark.parametrize(
    ("published", "ours", "verdict"),
    [
        ((0.60, 0.60), (0.50, 0.70), "agrees"),
        ((0.74, 0.74), (0.50, 0.70), "agrees"),  # within the tolerance
        ((0.46, 0.46), (0.50, 0.70), "agrees"),
        ((0.76, 0.76), (0.50, 0.70), "differs"),
        ((0.44, 0.44), (0.50, 0.70), "differs"),
        ((0.60, 0.60), (0.40, 0.75), "too wide to tell"),
        ((0.10, 0.10), (0.40, 0.75), "differs"),  # which a wide interval can still say
        ((0.40, 0.48), (0.50, 0.70), "agrees"),  # the nearer end of a range counts
        ((0.10, 0.90), (0.50, 0.70), "agrees"),
        ((0.10, 0.44), (0.50, 0.70), "differs"),
    ],
)
def test_the_rule(published: tuple[float, float], ours: tuple[float, float], verdict: str) -> None:
    estimate = Estimate(sum(ours) / 2, *ours)
    assert judge(Published("Toy Table 1", *published), estimate, SCALE) == verdict


def test_nothing_to_compare() -> None:
    assert judge(None, Estimate(0.5, 0.4, 0.6), CORRELATION) == "no published value"
    assert judge(Published("Toy Table 1", 0.5, 0.5), None, CORRELATION) == "not measured"


def test_a_finding_says_what_it_was_compared_with() -> None:
    finding = Finding("dextr", "NB201", Estimate(0.9, 0.88, 0.92), Published("Toy Table 1", 0.9, 0.9), CORRELATION)
    content = finding.to_dict()
    assert (content["published"], content["source"], content["verdict"]) == ([0.9, 0.9], "Toy Table 1", "agrees")
    assert (content["ours"], content["ours_ci"], content["tolerance"]) == (0.9, [0.88, 0.92], 0.06)
    alone = Finding("dextr", "NB201", Estimate(0.9, 0.88, 0.92), scale=FIGURE).to_dict()
    assert (alone["published"], alone["source"], alone["tolerance"]) == (None, None, None)


def test_published_figures_as_text() -> None:
    assert str(Published("", 0.9, 0.9)) == "0.9"
    assert str(Published("", 0.01, 0.05)) == "0.01 to 0.05"
    assert str(Published("", 93.5, 93.5, 0.25)) == "93.5 ± 0.25"
