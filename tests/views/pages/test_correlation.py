"""The page of a correlation."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.evaluation.test_correlate import a_study
from tests.views.pages.test_search import rows_of

from firstlight.core.errors import StoreError
from firstlight.evaluation.correlate import Sample, Study
from firstlight.views.pages.correlation import correlation_page, describe, write_correlation

SETTINGS = {"space": "nasbench201", "table": "<toy>.csv"}


class Balanced(HTMLParser):
    """Every element that is opened is closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_names_the_best_and_shows_all() -> None:
    found = a_study()
    page = correlation_page(found, SETTINGS, ensemble=True)
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    best = found.quality["toy_test_5"]["params"].estimates["spearman"]
    assert f"<h1>Best proxy: params, Spearman {best.value:.3f}</h1>" in page
    assert f"no training, 95% interval {best.low:.3f} to " in page
    assert page.count("<figure>") == 6  # bars for each target, the agreement, and a scatter for each proxy
    assert "firstlight search nasbench201 --proxy params" in page
    assert {row[-1] for row in rows_of(page)} == set(found.sample.rows["architecture"])
    assert "&lt;toy&gt;.csv" in page
    assert "http" not in page.replace("http-equiv", "")
    assert page.count('class="cell') == 9
    judged = found.ensembles["toy_test_5"]
    assert judged is not None
    assert describe(judged).split(":")[0] in page


def test_what_is_not_defined_comes_last_with_the_reason() -> None:
    found = a_study(proxies="linear_regions,params")
    assert [name for name, _ in found.ordered("toy_test_5")] == ["params", "linear_regions"]
    alone = a_study(proxies="dss")
    page = correlation_page(alone, SETTINGS)
    assert "<h1>No proxy has a defined correlation</h1>" in page
    assert "0 networks have both values" in page


def test_files_of_a_study(tmp_path: Path) -> None:
    found = a_study(seeds=(0, 1))
    page = write_correlation(found, SETTINGS, tmp_path, ensemble=False)
    assert "over 2 seeds" in page.read_text()
    content = json.loads((tmp_path / "result.json").read_text())
    assert content["settings"] == SETTINGS
    assert content["proxies"].keys() == {"params", "l2_norm", "naswot"}
    with pytest.raises(StoreError, match="--out"):
        write_correlation(found, SETTINGS, tmp_path / "missing", ensemble=False)


def test_networks_come_best_first_and_those_far_below_are_told_and_not_drawn() -> None:
    truth = np.linspace(50, 90, 20)
    rows = pd.DataFrame({"architecture": [f"n{place}" for place in range(20)], "toy_val_3": truth})
    rows["canonical"] = rows["architecture"]
    scores = truth.copy()
    scores[0] = -1e6
    found = Study(Sample(rows, ("toy_val_3",)), (0,), ({"steep": scores, "even": truth},), resamples=20)
    page = correlation_page(found, SETTINGS)
    assert [row[-1] for row in rows_of(page)] == [f"n{place}" for place in reversed(range(20))]
    assert page.count("without 1 network far below the others") == 1
    assert page.count('<circle class="dot"') == 39
    assert len({row[1] for row in rows_of(page)}) == 20  # one number far off leaves the others their digits
