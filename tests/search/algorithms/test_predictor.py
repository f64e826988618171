"""Search with a predictor that is fitted again after each query."""

from __future__ import annotations

import numpy as np
import pytest
from tests.evaluation.toy_truth import a_truth
from tests.search.guided import guided

from firstlight.core.errors import SettingError, UnknownNameError
from firstlight.search.measuring import Measuring

ASKED = "predictor:by=params+synflow:pool=40"


@pytest.mark.parametrize("more", [":acquisition=thompson", ":acquisition=mean:together=3:model=forest"])
def test_queries_as_many_different_networks_as_asked(more: str) -> None:
    problem, asked = guided(ASKED + more, 8)
    assert len(asked) == len(set(asked)) == 8 == problem.scored
    assert guided(ASKED + more, 8)[1] == asked


def test_starts_with_the_prior() -> None:
    _, few = guided(ASKED, 5)
    _, verified = guided("verify:by=rank_mean(params,synflow):pool=40", 5)
    assert few == verified


def test_leaves_a_prior_that_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy that says the opposite of the truth: later queries go to better networks than it would choose."""
    truth = a_truth()
    values = truth.figures[truth.target]
    monkeypatch.setattr(
        Measuring,
        "utilities",
        lambda self, by, networks, batch_size=None, twin=None: np.array([-values[text] for text in networks]),
    )
    # the results count as those of full trainings
    _, asked = guided("predictor:by=params:pool=200:full_epochs=1", 14)
    first, rest = asked[:5], asked[5:]
    assert np.mean([values[text] for text in rest]) > np.mean([values[text] for text in first])


def test_mutants_join_the_pool() -> None:
    _, asked = guided("predictor:by=params:pool=12:mutants=6:acquisition=mean", 12)
    _, plain = guided("predictor:by=params:pool=12:acquisition=mean", 12)
    assert len(set(asked)) == 12
    assert set(asked) != set(plain)


def test_bad_settings() -> None:
    with pytest.raises(SettingError, match="first is 3; a predictor needs at least 5 labels"):
        guided("predictor:first=3")
    with pytest.raises((SettingError, UnknownNameError), match="svm"):
        guided("predictor:model=svm")
