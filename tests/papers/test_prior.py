"""The prior judged on spaces that are left out: pools whose results are known functions of the proxies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.papers.toy import run, write_tables

from firstlight.core.errors import MissingFileError
from firstlight.core.statistics import spearman
from firstlight.execution.executor import InProcess
from firstlight.papers import EXPERIMENTS, prior
from firstlight.papers.benchmarks import DataFolder
from firstlight.papers.lab import Lab
from firstlight.papers.prior import PRIOR, SINGLE, compare, contenders_of
from firstlight.predict.prior import Pool
from firstlight.storage.store import Store

COUNT = 40
TITLES = ("first", "second", "third")


def pools(noise: float = 0.2) -> list[Pool]:
    """Results are half `dextr` and half `naswot`, which are halfway from each other; sizes say nothing."""
    found = []
    for seed, title in enumerate(TITLES):
        drawn = np.random.default_rng(seed)
        columns = {name: drawn.normal(size=COUNT) for name in ("dextr", "naswot", "params", "macs")}
        truth = 80 + columns["dextr"] + columns["naswot"] + noise * drawn.normal(size=COUNT)
        depth = pd.DataFrame({"depth": drawn.normal(size=COUNT)})
        found.append(Pool(title, title, pd.DataFrame(columns), depth, {"one": truth, "two": truth / 100}))
    return found


def a_lab() -> Lab:
    return Lab(DataFolder(None), InProcess(), Store(":memory:"), 40, resamples=20)


def test_ahead_of_every_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prior, "pools_of", lambda lab: pools())
    outcome = run(EXPERIMENTS["prior-spaces"], data=write_tables(tmp_path), workers=0, resamples=20)
    found = {(line.what, line.on): line.ours for line in outcome.findings.lines}
    for title, pool in zip(TITLES, pools(), strict=True):
        own = found[f"{PRIOR}: Spearman", title]
        single = found["dextr: Spearman", title]
        assert own is not None
        assert single is not None
        assert own.value > single.value
        assert single.value == pytest.approx(spearman(pool.scores["dextr"], pool.truths["one"]))
        assert found["params: Spearman at equal cost", title] is None
        lead = found[f"{PRIOR} minus params: Spearman", title]
        assert lead is not None
        assert lead.low > 0
    assert "ahead of every single proxy, parameters and MACs on all spaces" in " ".join(outcome.findings.remarks)


def test_says_where_it_is_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, *others = pools()
    behind = replace(first, truths={"one": first.utilities["macs"].to_numpy() + 50})
    monkeypatch.setattr(prior, "pools_of", lambda lab: [behind, *others])
    outcome = run(EXPERIMENTS["prior-spaces"], data=write_tables(tmp_path), workers=0, resamples=20)
    remark = next(remark for remark in outcome.findings.remarks if "So it is not the default" in remark)
    assert "first" not in remark


@pytest.mark.parametrize(("count", "found"), [(0, "has 0: none"), (1, "has 1: first")])
def test_too_few_spaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, found: str) -> None:
    monkeypatch.setattr(prior, "pools_of", lambda lab: pools()[:count])
    with pytest.raises(MissingFileError, match=rf"at least 2 spaces.*{found}"):
        run(EXPERIMENTS["prior-spaces"], data=write_tables(tmp_path), workers=0)


def test_what_is_left_out_has_no_say() -> None:
    first, *others = pools()
    before = contenders_of([first, *others])["first"]
    upside_down = replace(first, truths={name: -truth for name, truth in first.truths.items()})
    after = contenders_of([upside_down, *others])["first"]
    assert before == after
    assert before[PRIOR]["dextr"] + before[PRIOR]["naswot"] > 0.9
    assert next(iter(before[SINGLE])) in ("dextr", "naswot")


def test_difference_of_one_and_itself() -> None:
    found = compare(a_lab(), "Kendall", pools()[:2], [{"dextr": 1.0}, {"dextr": 2.0}])
    assert found is not None
    assert (found.value, found.low, found.high) == (0, 0, 0)


def test_gain_of_figures_that_are_not_accuracies() -> None:
    pool = pools()[0]
    losses = replace(pool, truths={"loss": -pool.truths["one"]})
    assert compare(a_lab(), "nDCG", [losses], [{"dextr": 1.0}]) is None
    fractions = replace(pool, truths={"two": pool.truths["two"]})
    percent = replace(pool, truths={"one": pool.truths["one"]})
    both = [compare(a_lab(), "nDCG", [one], [{"dextr": 1.0}]) for one in (fractions, percent)]
    assert both[0] is not None
    assert both[1] is not None
    assert both[0].value == pytest.approx(both[1].value)
