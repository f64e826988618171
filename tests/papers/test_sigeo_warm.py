"""SiGeo after a warm-up: the lambdas of the paper, published figures where they belong, gains that are paired."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.papers.toy import SMALL, run, write_tables

from firstlight.core.errors import SettingError
from firstlight.papers import EXPERIMENTS
from firstlight.papers.benchmarks import NB201_C10
from firstlight.papers.experiment import Outcome
from firstlight.papers.rank_rows import Known
from firstlight.papers.sigeo import BY_CODE, BY_PAPER
from firstlight.papers.sigeo_warm import (
    ABLATION_ROWS,
    BY_RANKS,
    FOLLOWED,
    T1,
    TABLE3_ROWS,
    ZICO,
    ranked,
    title_of,
)
from firstlight.training.warm_up import FOLDER, WarmUp

BRIEF = "10%:batch_size=32"
TINY: dict[str, Any] = SMALL | {"samples": 10, "input": "digits", "warmup": f"0,{BRIEF}"}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tables(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("out")


@pytest.fixture(scope="module")
def ablation(data: Path, out: Path) -> Outcome:
    return run(EXPERIMENTS["sigeo-ablation"], data=data, out=out, **TINY)


def test_every_term_and_combination_at_every_level_with_its_gain(ablation: Outcome) -> None:
    found = {(line.what, line.on): line.ours for line in ablation.findings.lines}
    levels = [f"{NB201_C10.name}, {title}" for title in ("no warm-up", "10 %")]
    for level in levels:
        for name in ABLATION_ROWS:
            value = found[name, level]
            assert value is not None
            if name != T1:
                gain, base = found[f"{name}: gain over T1", level], found[T1, level]
                assert gain is not None
                assert base is not None
                assert gain.value == pytest.approx(value.value - base.value)
    for name in FOLLOWED:
        warm, cold, gain = (
            found[name, levels[1]],
            found[name, levels[0]],
            found[f"{name}: gain over no warm-up", levels[1]],
        )
        assert warm is not None
        assert cold is not None
        assert gain is not None
        assert gain.value == pytest.approx(warm.value - cold.value)
    assert len(found) == 2 * (2 * len(ABLATION_ROWS) - 1) + len(FOLLOWED)
    ((_, chart),) = ablation.findings.charts
    assert chart.count("<path") >= len(FOLLOWED) + 1


def test_images_are_reduced_to_what_small_networks_take(ablation: Outcome) -> None:
    assert "input_shape=3x8x8" in ablation.settings["skeleton"]  # digits have 32 x 32 pixels
    assert ablation.settings["warm-up"] == "none, 10%:batch_size=32:epochs=1:learning_rate=0.1:momentum=0.9"


def test_what_was_measured_is_not_measured_again(ablation: Outcome, data: Path, out: Path) -> None:
    kept = {file.name: file.stat().st_mtime_ns for file in (out / FOLDER).iterdir()}
    assert len(kept) <= 10
    assert run(EXPERIMENTS["sigeo-ablation"], data=data, out=out, **TINY) == ablation
    assert {file.name: file.stat().st_mtime_ns for file in (out / FOLDER).iterdir()} == kept


def test_a_table_with_published_figures(data: Path, out: Path) -> None:
    outcome = run(EXPERIMENTS["sigeo-table3"], data=data, out=out, **TINY)
    assert set(outcome.missing) == {"NB101", "NB301"}
    published = {(line.what, line.on): line.published for line in outcome.findings.lines if line.published}
    cold, warm = f"{NB201_C10.name}, no warm-up", f"{NB201_C10.name}, 10 %"
    for name in (BY_PAPER, BY_CODE):
        assert (published[name, cold].low, published[name, warm].low) == (0.78, 0.83)
    assert (published[ZICO, cold].low, published[ZICO, warm].low) == (0.74, 0.78)
    assert (published[f"{BY_PAPER}: Kendall", warm].low, published[f"{ZICO}: Kendall", warm].low) == (0.64, 0.58)
    assert not any(what.startswith(BY_RANKS) for what, _ in published)
    kendall = {f"{name}: Kendall" for name in TABLE3_ROWS}
    assert {line.what for line in outcome.findings.lines} == set(TABLE3_ROWS) | kendall


def test_lambdas_are_those_of_the_paper_for_either_kind_of_weights() -> None:
    assert ranked("any", "sigeo", warmed=False).asks == ("sigeo",)
    assert ranked("any", "sigeo", warmed=True).asks == ("sigeo:lambda2=50.0:lambda3=1.0",)
    for text in ABLATION_ROWS.values():
        if "lambda" in text:  # all three are written
            assert ranked("any", text, warmed=True).asks == ranked("any", text, warmed=False).asks


def test_ranks_of_terms_are_put_together_over_the_networks() -> None:
    row = ranked("any", "sigeo_loss_rank", warmed=True)
    utilities = {"zico:batches=4": np.array([1.0, 2.0, 3.0, np.nan]), "loss": np.array([-1.0, -3.0, -2.0, np.nan])}
    found = row.values(utilities, Known(np.zeros(4), np.arange(4), 0))
    assert found[:3] == pytest.approx([(2 + 4 / 2) / 4 / 1.5, (3 + 2 / 2) / 4 / 1.5, (4 + 3 / 2) / 4 / 1.5])
    assert found[3] == -np.inf


@pytest.mark.parametrize(
    ("warm_up", "title"),
    [
        (None, "no warm-up"),
        (WarmUp(0.1), "10 %"),
        (WarmUp.parse("40%:epochs=10"), "40 %, 10 epochs"),
        (WarmUp.parse("5%:recipe=official"), "5 %, 10 epochs, rate 1, momentum 0"),
    ],
)
def test_levels_have_names(warm_up: WarmUp | None, title: str) -> None:
    assert title_of(warm_up) == title


def test_experiments_without_a_warm_up_refuse_one(data: Path) -> None:
    with pytest.raises(SettingError, match="'10%', but dextr-table4 does not train networks"):
        run(EXPERIMENTS["dextr-table4"], data=data, **(SMALL | {"warmup": "10%"}))
