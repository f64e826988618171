"""Ensembles chosen on one half of the networks and judged on the other."""

from __future__ import annotations

import numpy as np
import pytest

from firstlight.core.statistics import spearman
from firstlight.evaluation.selection import choose_members, judge_ensemble, mean_rank
from firstlight.proxies.ensembles import Ensemble


def proxies(networks: int = 400, seed: int = 0) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Three that see the truth through noise of their own, one that sees nothing, one that sees it upside down."""
    generator = np.random.default_rng(seed)
    truth = generator.standard_normal(networks)
    noise = {name: generator.standard_normal(networks) for name in ("dextr", "zico", "params", "zen", "plain")}
    weights = {"dextr": 1.2, "zico": 1.0, "params": 0.8, "zen": 0.0, "plain": -1.0}
    return {name: weights[name] * truth + noise[name] for name in noise}, truth


def test_several_that_err_independently_beat_each_alone_on_networks_they_were_not_chosen_by() -> None:
    utilities, truth = proxies()
    judged = judge_ensemble(utilities, truth)
    assert judged is not None
    assert {"dextr", "zico"} <= set(judged.members) <= {"dextr", "zico", "params"}
    assert judged.networks == 200
    assert judged.gain is not None
    assert judged.gain.low > 0
    assert judged.quality.estimates["spearman"].value > judged.single.estimates["spearman"].value
    assert judged.quality.estimates["spearman"].value > judged.all_members.estimates["spearman"].value
    assert {str(request) for request in Ensemble.parse(judged.text).requests} == set(judged.members)
    assert judged.to_dict()["judged"]["n"] == 200


def test_members_are_added_while_they_help_and_no_more_than_four() -> None:
    utilities, truth = proxies()
    chosen = choose_members(utilities, truth)
    reached = [spearman(mean_rank(utilities, chosen[:count]), truth) for count in range(1, len(chosen) + 1)]
    assert reached == sorted(reached)
    assert "plain" not in chosen
    assert choose_members({"dextr": truth, "zico": utilities["zico"]}, truth) == ["dextr"]  # nothing is left to gain
    many = {f"p{number}": truth + noise for number, noise in enumerate(np.random.default_rng(1).normal(size=(9, 400)))}
    assert len(choose_members(many, truth)) == 4
    assert len(choose_members(many, truth, limit=2)) == 2


def test_networks_without_a_score_rank_lowest() -> None:
    utilities = {"a": np.array([3.0, np.nan, 1.0]), "b": np.array([1.0, 2.0, 3.0])}
    assert mean_rank(utilities, ["a"]) == pytest.approx(np.array([3, 1, 2]) / 3)
    assert mean_rank(utilities, ["a", "b"]) == pytest.approx(np.array([2, 1.5, 2.5]) / 3)


def test_networks_that_share_a_score_are_in_one_half() -> None:
    utilities, truth = proxies(networks=60)
    groups = np.repeat(np.arange(15), 4)
    judged = judge_ensemble(utilities, truth, groups=groups, resamples=20)
    assert judged is not None
    assert judged.networks % 4 == 0


def test_too_little_to_choose_from() -> None:
    utilities, truth = proxies(networks=19)
    assert judge_ensemble(utilities, truth) is None
    utilities, truth = proxies(networks=40)
    assert judge_ensemble({}, truth) is None
    assert judge_ensemble({"dextr": np.full(40, np.nan)}, truth) is None
    assert judge_ensemble({"dextr": np.ones(40)}, truth) is None
