"""TE-NAS: operations of a supernet are pruned that hinder its training most and its expressivity least."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from firstlight.data.inputs import CIRCLE, InputSource
from firstlight.proxies.ensembles import parse_criterion
from firstlight.search.algorithm import algorithm
from firstlight.search.judge import SupernetJudge
from firstlight.search.problem import Problem
from firstlight.spaces.supernets import State

# Linear regions are counted for tiny images: of larger ones, a network tells all apart
REGION_SHAPE = (1, 4, 4)
# Changes that are the same to so many digits behind the point are the same
DIGITS = 3


@algorithm(reference="Chen2021tenas", needs=("supernet",))
def prune(
    problem: Problem,
    *,
    prune_number: int = 1,
    repeats: int = 3,
    channels: int = 3,
    kernel_samples: int = 8,
    region_samples: int = 500,
) -> None:
    """TE-NAS: prune what makes the tangent kernel worse and hardly adds linear regions.

    In each round, for every operation on every edge of the supernet: by which part do the condition of its tangent
    kernel (`te_ntk`) and its `linear_regions` change without it? Operations are ranked by how much the first falls, and
    by how little the second does; of each edge those `prune_number` go whose ranks add up to least, until one is left.
    In the end, nodes with too many edges lose edges in the same way.

    Both are the mean of `repeats` initialisations of thin networks with as few cells as possible. The kernel is that of
    `channels` channels and `kernel_samples` inputs of the run; published are 3 and 72 for NAS-Bench-201, and 1 and 14
    for DARTS. Regions are counted with one channel, and are those that `region_samples` points of a circle of 4x4
    images lie in; published are 3,000 crops of 3x3 pixels. What is left of an edge has the weights of `zero-cost-pt`.
    For `darts`, a `prune_number` of 3 is customary.

    The proxy of the search plays no part, but scores the network in the end.
    """
    supernet = problem.space.supernet()
    thin = {"cells": supernet.fewest_cells, "channels": channels}
    tiny = {"cells": supernet.fewest_cells, "channels": 1, "input_shape": REGION_SHAPE}
    drawn: dict[str, Any] = {"repeats": repeats, "initialization": "he"}
    kernel = parse_criterion(f"te_ntk:samples={kernel_samples}")
    regions = parse_criterion("linear_regions")
    judges = [
        problem.supernet(kernel, thin, kernel_samples, **drawn),
        problem.supernet(regions, tiny, source=InputSource(CIRCLE, region_samples), **drawn),
    ]
    network = problem.space.canonical(supernet.architecture(pruned(judges, supernet.layout.full, prune_number)))
    if not problem.allows(network):
        raise problem.limits_too_tight()
    problem.score_all([network])


def pruned(judges: Sequence[SupernetJudge], state: State, number: int) -> State:
    """The state when nothing is left to be pruned, `number` operations of each edge in a round."""
    while edges := state.undecided:
        options = [(edge, name) for edge in edges for name in state.operations(edge)]
        ranks = _ranks(judges, state, [state.without(*option) for option in options])
        ranked = sorted(zip(ranks, options, strict=True), key=lambda entry: entry[0])
        for edge in edges:
            names = [name for _, (place, name) in ranked if place == edge]
            state = state.without(edge, *names[: min(number, len(names) - 1)])
    return _without_spare_edges(judges, state)


def _without_spare_edges(judges: Sequence[SupernetJudge], state: State) -> State:
    """The state after every node has lost the edges that it does not keep, all in one round."""
    edges = [edge for node in state.crowded for edge in state.edges(node)]
    if not edges:
        return state
    ranks = _ranks(judges, state, [state.without(edge) for edge in edges])
    for _, edge in sorted(zip(ranks, edges, strict=True), key=lambda entry: entry[0]):
        if edge.node in state.crowded:
            state = state.without(edge)
    return state


def _ranks(judges: Sequence[SupernetJudge], state: State, pruned: Sequence[State]) -> list[int]:
    """For each of the pruned states the sum of its ranks: lowest where most is gained, or least is lost."""
    from scipy.stats import rankdata

    gains = [[round(gain, DIGITS) for gain in judge.gains(state, pruned)] for judge in judges]
    ranks = [rankdata([-gain for gain in own], method="dense") for own in gains]
    return [int(sum(own)) for own in zip(*ranks, strict=True)]
