"""Problems judged by true performance."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest
from tests.evaluation.toy_truth import BEST, EPOCHS, SPACE, a_truth, search

from firstlight.evaluation.truth import TRUTH, TableTruth
from firstlight.proxies.base import NetworkScore
from firstlight.search.objective import Objective
from firstlight.search.queries import Queries


def a_problem(truth: TableTruth | None = None, budget: int = 5) -> Queries:
    return Queries(truth or a_truth(), Objective(TRUTH), random.Random(0), budget)


def test_regularised_evolution_finds_the_best_network_of_a_table() -> None:
    for seed in range(3):
        problem, asked = search("evolution:population=10:tournament=10:children=1", 250, seed)
        assert problem.pool.best(1) == [BEST]
        assert len({candidate.network.architecture for candidate in asked}) == len(asked) == 250


def test_a_query_says_its_fidelity_and_what_it_cost() -> None:
    problem = a_problem()
    best = SPACE.parse(BEST)
    (full,) = problem.evaluate([best])
    short = problem.evaluate_at(best, EPOCHS[0])
    assert problem.fidelities == EPOCHS
    assert [candidate.network.scores["truth"].parts["epochs"] for candidate in (full, short)] == [40, 4]
    assert full.utility == 50 + 2 * 18
    assert short.utility == a_truth().figures["toy_val_4"][BEST] != full.utility
    seconds = [candidate.network.scores["truth"].seconds for candidate in (full, short)]
    assert seconds == pytest.approx([epochs * (1 + SPACE.cost(best).macs / 1e9) for epochs in (40, 4)])
    assert problem.scored == 2
    assert list(problem.pool.utilities().values()) == [full.utility]  # the pool holds one fidelity


def test_networks_that_a_table_does_not_have_are_not_asked_about() -> None:
    few = {text: value for text, value in a_truth().figures["toy_val_40"].items() if "3" in text.rpartition("_")[2]}
    truth = replace(a_truth(), figures={"toy_val_40": few})
    problem = a_problem(truth, budget=60)
    assert 0 < len(truth) < len(a_truth())
    assert all(str(architecture) in few for architecture in itertools.islice(problem.distinct_samples(), 60))
    assert len(set(problem.distinct_samples())) == len(few)
    assert problem.fits(SPACE.parse(BEST))
    assert not problem.fits(SPACE.parse("64-41414-3_00_000"))


class Backwards(TableTruth):
    """As worker processes might answer."""

    def scores(self, architectures: Iterable[str]) -> Iterator[NetworkScore]:
        return reversed(list(super().scores(architectures)))


def test_queries_are_numbered_in_the_order_asked() -> None:
    truth = a_truth()
    backwards = Backwards(truth.setting, truth.target, truth.columns, truth.figures, truth.times)
    found = [
        [candidate.network.architecture for candidate in problem.score_as_completed(problem.distinct_samples())]
        for problem in (a_problem(truth, 8), a_problem(backwards, 8))
    ]
    assert found[0] == found[1]
    assert len(found[0]) == 8
