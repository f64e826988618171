"""Verdicts: each outcome, in figures and in words."""

from __future__ import annotations

import numpy as np
import pytest

from firstlight.training.verdict import NetworkAnswers, judge, same_network, stacked


def answers(accuracy: float, samples: int, trainings: int = 3, *, seed: int = 0) -> NetworkAnswers:
    """Answers whose errors are independent."""
    rng = np.random.default_rng(seed)
    return NetworkAnswers("plain ResNet", rng.random((trainings, samples)) < accuracy)


@pytest.mark.parametrize(
    ("accuracies", "samples", "outcome", "words"),
    [
        ((0.9, 0.8), 2000, "better", "Better than the plain ResNet by "),
        ((0.8, 0.9), 2000, "worse", "Worse than the plain ResNet by "),
        ((0.8, 0.8), 20_000, "alike", "As good as the plain ResNet: the difference is "),
        ((0.8, 0.8), 100, "unclear", "Not distinguishable from the plain ResNet on 100 test samples: "),
    ],
)
def test_outcomes(accuracies: tuple[float, float], samples: int, outcome: str, words: str) -> None:
    found, baseline = (answers(value, samples, seed=place) for place, value in enumerate(accuracies, start=2))
    verdict = judge(found, baseline)
    assert verdict.outcome == outcome
    assert verdict.text.startswith(words)
    assert verdict.difference.value == pytest.approx(found.accuracy - baseline.accuracy)
    content = verdict.to_dict()
    assert content["difference"] == pytest.approx(100 * verdict.difference.value, abs=0.006)
    assert content["interval"][0] <= content["difference"] <= content["interval"][1]
    assert content["trainings"] == [3, 3]


def test_worse_is_told_with_the_interval_the_other_way_round() -> None:
    verdict = judge(answers(0.5, 1000), answers(0.9, 1000, seed=1))
    low, high = -100 * verdict.difference.high, -100 * verdict.difference.low
    assert f"[{low:.1f}, {high:.1f}]: use that one." in verdict.text


def test_what_would_tell_more() -> None:
    few = judge(answers(0.8, 200), answers(0.8, 200, seed=1))
    assert "test samples would tell differences of 2.0 points" in few.text
    rng = np.random.default_rng(0)
    uneven = [NetworkAnswers("plain ResNet", rng.random((3, 5000)) < [[0.5], [0.7], [0.9]]) for _ in range(2)]
    assert "more seeds would tell more" in judge(*uneven).text


def test_single_trainings_are_said_to_be() -> None:
    one, other = answers(0.9, 500, 1), answers(0.5, 500, 1, seed=1)
    assert "Each was trained once" in judge(one, other).text
    assert "One of them was trained once" in judge(one, answers(0.5, 500, 3)).text
    assert "trained once" not in judge(answers(0.9, 500), answers(0.5, 500)).text


def test_titles_in_sentences() -> None:
    assert NetworkAnswers("logistic regression", stacked([[True]])).named == "logistic regression"
    assert NetworkAnswers("plain ConvNeXt", stacked([[True]])).named == "the plain ConvNeXt"


def test_a_baseline_that_was_chosen_is_no_better_than_itself() -> None:
    verdict = same_network(answers(0.8, 50))
    assert (verdict.outcome, verdict.difference.value) == ("alike", 0)
    assert verdict.text == "No network was better than the plain ResNet on the validation samples: use that one."
