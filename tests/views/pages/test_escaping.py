"""Whatever text comes into a page stays text: no page has an element, an attribute or a link that someone wrote in."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import pytest
from tests.evaluation.test_compare import compared
from tests.evaluation.test_correlate import a_study
from tests.views.pages.test_one_shot import findings
from tests.views.pages.test_search import run

from firstlight.core.statistics import Estimate
from firstlight.papers.base import Finding, Findings, Published
from firstlight.papers.experiment import Experiment, Outcome
from firstlight.papers.page import reproduction_page
from firstlight.papers.published import PublishedTable
from firstlight.probe.cost import Cost
from firstlight.spaces.base import Drawing
from firstlight.storage.records import Trial
from firstlight.views.charts.description import (
    Bar,
    Bars,
    HeatMap,
    Line,
    Lines,
    Loop,
    Panels,
    Point,
    Scatter,
    Surface,
)
from firstlight.views.charts.svg import draw_svg, legend
from firstlight.views.drawing.vector import draw
from firstlight.views.pages.comparison import comparison_page
from firstlight.views.pages.correlation import correlation_page
from firstlight.views.pages.hnas import hnas_charts
from firstlight.views.pages.one_shot import one_shot_charts
from firstlight.views.pages.search import render

PAYLOADS = [
    "<script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "</title></pre></code><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)" x="',
    "' onfocus='alert(1)' autofocus='",
    "</text></svg><iframe src=javascript:alert(1)></iframe>",
    '<a href="javascript:alert(1)">x</a>',
    "{{ 7 * 191 }}{% raw %}<svg/onload=alert(1)>",
    "<!-- --!><b>x</b><![CDATA[ <i>y</i> ]]>",
]


class Written(HTMLParser):
    """The elements and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found |= {tag, *(f"{tag}@{name}" for name, _ in attrs)}

    def handle_comment(self, data: str) -> None:
        self.found.add("comment")

    def unknown_decl(self, data: str) -> None:
        self.found.add("declaration")


def elements(page: str) -> set[str]:
    parser = Written()
    parser.feed(page)
    parser.close()
    return parser.found


def search_page(text: str) -> str:
    result = {
        "best": {"architecture": text, "scores": {text: {"parts": {text: 1.0}}}},
        "findings": {
            "one_shot": findings(
                options={f"operation of {text}": [text, "b"]},
                preferences={f"operation of {text}": [0.1, 0.2]},
                chosen={f"operation of {text}": [text]},
                growth=[{"steps": 1, f"operation of {text}": [0.1, 0.2]}],
            )
        },
        "retrained": {
            "recipe": text,
            "seeds": [0],
            "best": None,
            "median_random_test_log_loss": None,
            "networks": [],
        },
    }
    described = run(space=text, proxy=text, algorithm=text, table=text, **{text: text})
    finished = replace(described, version=text, started=text, finished=text, result=result)
    return render(finished, [Trial(text, Cost(7, 8), 0.75, 2.0)])


def plain_search_page(text: str) -> str:
    return render(run(space=text, proxy=text, note=text), [Trial(text, Cost(7, 8), 0.75, 2.0)])


def reproduced_page(text: str) -> str:
    table = PublishedTable(text, "Asthana2025dextr", text)
    experiment = Experiment(text, (table,), text, (), 1, lambda lab: Findings(()))
    lines = (Finding(text, text, Estimate(0.5, 0.4, 0.6), Published(text, 0.5, 0.5), note=text),)
    return reproduction_page(Outcome(experiment, {text: text}, Findings(lines, (text,)), {text: text}, text, text))


def charts(text: str) -> str:
    points = [Point(1.0, 2.0, text), Point(2.0, 3.0, text, chosen=True), Point(2.0, 2.0, text, series=2)]
    line, loop = Line(text, ((0.0, 1.0), (1.0, 2.0)), (1.0, 1.0)), Loop(text, text, [(0, 0), (1, 1)], text)
    described = (
        Bars(text, [Bar(text, 0.5, 0.1, 0.9)]),
        Lines(text, text, [line, Line(f"{text}!", [(1.0, 1.0)])], title=text),
        Scatter(text, text, points, text, line, chosen_name=text, with_record=True, noun=text),
        HeatMap(text, text, [text, text], [text, text], [[1.0, 0.5], [0.5, 1.0]], chosen={(0, 0)}),
        Surface(text, text, text, [0.0, 1.0], [0.0, 1.0], [[1.0, 2.0], [3.0, 4.0]], points),
        loop,
        Panels([[Scatter(text, text, points, text, series=(text, text)), loop]]),
    )
    answers = [{"u": 0.0, "exponent": -2.0, "architecture": text, "reached": 90.0}]
    return "".join(
        (
            draw(Drawing((text, text), ((0, 1, text),))),
            *map(draw_svg, described),
            draw_svg(Lines(text, text, [line]), small=True),
            legend([text]),
            hnas_charts({"answers": answers}).reached,
            *(f"{block.title}" for block in one_shot_charts(findings()).blocks),
        )
    )


@pytest.mark.parametrize("write", [search_page, plain_search_page, reproduced_page, charts])
@pytest.mark.parametrize("payload", PAYLOADS)
def test_hostile_text_adds_nothing_to_a_page(write: object, payload: str) -> None:
    assert callable(write)
    page = write(payload)
    assert elements(page) == elements(write("harmless"))
    assert "1337" not in page  # no template inside a template


def test_hostile_text_in_pages_of_studies() -> None:
    studied, found = a_study(), compared(("random",), seeds=1)
    for payload in PAYLOADS:
        hostile, harmless = ({"space": text, "table": text, text: text} for text in (payload, "harmless"))
        assert elements(correlation_page(studied, hostile)) == elements(correlation_page(studied, harmless))
        assert elements(comparison_page(found, hostile)) == elements(comparison_page(found, harmless))
