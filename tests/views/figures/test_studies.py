"""Figures of studies, from what was just measured and from its folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from firstlight.core.errors import SettingError, StoreError
from firstlight.evaluation.correlate import Sample, Study
from firstlight.views.figures.studies import StudyFigures
from firstlight.views.pages.correlation import write_correlation

NAMES = ("dextr", "accuracy")


@pytest.fixture
def study() -> Study:
    """A proxy is called as a target, which `table` must tell apart."""
    generator = np.random.default_rng(0)
    truth = generator.normal(size=30)
    texts = [f"network {number}" for number in range(30)]
    rows = pd.DataFrame({"architecture": texts, "canonical": texts, "accuracy": truth, "other": -truth})
    utilities = {"dextr": truth + generator.normal(size=30) * 0.3, "accuracy": generator.normal(size=30)}
    utilities["accuracy"][:4] = np.nan
    return Study(Sample(rows, ("accuracy", "other")), (0,), (utilities,), resamples=50)


def test_a_study_and_its_folder_give_the_same_figures(study: Study, tmp_path: Path) -> None:
    write_correlation(study, {"space": "nasbench201"}, tmp_path, ensemble=False)
    folder = StudyFigures.of_folder(tmp_path)
    for proxy in NAMES:
        one, other = study.plot_scatter(proxy).axes[0], folder.scatter(proxy).axes[0]
        first, second = (np.asarray(axes.collections[0].get_offsets()) for axes in (one, other))
        np.testing.assert_allclose(np.sort(first, axis=0), np.sort(second, axis=0))
        assert one.get_title(loc="left") == other.get_title(loc="left")
    widths = [[patch.get_width() for patch in f.axes[0].patches] for f in (study.plot_bars(), folder.bars())]  # type: ignore[attr-defined]
    assert widths[0] == widths[1]
    texts = [[text.get_text() for text in f.axes[0].texts] for f in (study.plot_agreement(), folder.agreement())]
    assert texts[0] == texts[1]


def test_the_best_proxy_and_the_first_target_unless_named(study: Study) -> None:
    axes = study.plot_scatter().axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("dextr (higher is better)", "accuracy")
    assert f"{study.quality['accuracy']['dextr'].estimates['spearman'].value:.3f}" in axes.get_title(loc="left")
    assert len(np.asarray(study.plot_scatter("accuracy").axes[0].collections[0].get_offsets())) == 26
    ticks = [label.get_text() for label in study.plot_bars("other").axes[0].get_yticklabels()]
    assert ticks == sorted(NAMES, key=lambda name: -study.quality["other"][name].estimates["spearman"].value)


def test_agreement_is_that_of_the_study(study: Study) -> None:
    values = [float(text.get_text()) for text in study.plot_agreement().axes[0].texts]
    assert values == pytest.approx(study.agreement().to_numpy().ravel(), abs=0.006)


def test_names_that_are_not_there(study: Study) -> None:
    with pytest.raises(SettingError, match="'zen' is not among the proxies of this study: dextr, accuracy"):
        study.plot_scatter("zen")
    with pytest.raises(SettingError, match="'x' is not among the targets of this study: accuracy, other"):
        study.plot_bars("x")


@pytest.mark.parametrize("content", [None, "{", "[]", '{"targets": 3}', '{"target": {}}'])
def test_folders_that_hold_no_study(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "result.json").write_text(content, encoding="utf-8")
        (tmp_path / "scores.csv").write_text("architecture\n", encoding="utf-8")
    with pytest.raises(StoreError, match="holds no study of proxies"):
        StudyFigures.of_folder(tmp_path)
