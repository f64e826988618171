"""Which proxy to trust: made-up proxies whose worth is known."""

from __future__ import annotations

import numpy as np
import pytest

from firstlight.core.statistics import spearman
from firstlight.evaluation.recommend import recommend
from firstlight.proxies.ensembles import parse_criterion


def proxies(weights: dict[str, float], networks: int, seed: int = 0) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Each sees the truth so much, through noise of its own."""
    generator = np.random.default_rng(seed)
    truth = generator.standard_normal(networks)
    return {name: weight * truth + generator.standard_normal(networks) for name, weight in weights.items()}, truth


def test_one_that_sees_much_more_than_the_others_is_chosen() -> None:
    utilities, truth = proxies({"dextr": 8.0, "zen": 0.1, "params": 0.2}, 60)
    found = recommend(utilities, truth)
    assert found is not None
    assert found.choice == "dextr"
    assert found.warnings == ()
    assert found.chosen["dextr"] == 1.0
    assert found.expected.low < spearman(utilities["dextr"], truth) < found.expected.high


def test_several_that_err_independently_are_recommended_together() -> None:
    utilities, truth = proxies({"dextr": 1.0, "zico": 1.0, "params": 1.0, "zen": 0.0}, 80)
    found = recommend(utilities, truth)
    assert found is not None
    assert found.choice.startswith("rank_mean(")
    assert {"dextr", "zico", "params"} == {str(member) for member in parse_criterion(found.choice).requests}  # type: ignore[union-attr]
    assert found.to_dict()["expected_spearman"] == found.expected.value


def test_the_best_of_many_that_see_nothing_is_not_believed() -> None:
    """The luckiest of them looks good on the networks it was chosen by."""
    lucky, expected = [], []
    for seed in range(5):
        utilities, truth = proxies({f"p{number}": 0.0 for number in range(30)}, 24, seed)
        found = recommend(utilities, truth, resamples=60)
        assert found is not None
        assert "too few to tell" in found.warnings[0]
        lucky.append(max(spearman(values, truth) for values in utilities.values()))
        expected.append(found.expected.value)
    assert min(lucky) > 0.3
    assert abs(np.mean(expected)) < 0.2


def test_one_that_points_the_wrong_way_is_not_called_a_question_of_more_training() -> None:
    truth = np.random.default_rng(0).standard_normal(40)
    found = recommend({"dextr": -truth}, truth)
    assert found is not None
    assert (found.choice, found.expected.high) == ("dextr", pytest.approx(-1))
    assert "negative correlation" in found.warnings[0]


def test_proxies_without_a_say_are_left_out() -> None:
    utilities, truth = proxies({"dextr": 5.0}, 40)
    unfit = {
        "dss": np.full(40, np.nan),
        "linear_regions": np.ones(40),
        "zen": np.where(np.arange(40) < 30, np.nan, truth),
    }
    found = recommend(utilities | unfit, truth)
    assert found is not None
    assert found.choice == "dextr"
    assert recommend(unfit, truth) is None
    assert recommend(utilities, np.ones(40)) is None
    assert recommend({"dextr": np.arange(7.0)}, np.arange(7.0)) is None


def test_networks_that_were_not_trained_to_the_end_do_not_count() -> None:
    utilities, truth = proxies({"dextr": 5.0, "zen": 0.0}, 40)
    truth[:5] = np.nan
    found = recommend(utilities, truth)
    assert found is not None
    known = {name: values[5:] for name, values in utilities.items()}
    assert found.expected.value == pytest.approx(recommend(known, truth[5:]).expected.value)  # type: ignore[union-attr]
