from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from firstlight.predict.design import design, normal_scores, prior_of

NAN = float("nan")


def test_normal_scores() -> None:
    assert normal_scores([1.0, 2.0, 2.0, 30.0]).round(3).tolist() == [-1.15, 0, 0, 1.15]
    assert normal_scores([5.0, NAN, 6.0]).argmin() == 1
    assert normal_scores([7.0]).tolist() == [0]


def test_prior_is_the_mean_rank() -> None:
    utilities = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": [10.0, NAN, 40.0, 30.0]})
    # ranks 1, 2, 3, 4 and 2, 1, 4, 3
    assert spearmanr(prior_of(utilities), [3, 3, 7, 7]).statistic == pytest.approx(1)
    assert spearmanr(prior_of(utilities, [3, 1]), [5, 7, 13, 15]).statistic == pytest.approx(1)
    assert prior_of(utilities[[]]).tolist() == [0, 0, 0, 0]


def test_design() -> None:
    features = pd.DataFrame({"constant": [4.0] * 5, "depth": [1, 2, 3, 4, 5.0], "width": [0, 0, 0, 0, 10.0]})
    utilities = pd.DataFrame({"params": [5.0, 3, 1, 2, 4]})
    found = design(features, utilities)
    assert list(found.columns) == ["depth", "width", "params"]
    assert found["depth"].std(ddof=0) == found["width"].std(ddof=0) == pytest.approx(1 / np.sqrt(2))
    assert found["params"].tolist() == pytest.approx(normal_scores([5, 3, 1, 2, 4]).tolist())
    assert found["depth"].mean() == pytest.approx(0)
