"""TE-NAS: prune the operations of a supernet that harm its trainability most and help its expressivity least."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from firstlight.data.inputs import CIRCLE, InputSource
from firstlight.proxies.ensembles import parse_criterion
from firstlight.search.algorithm import algorithm
from firstlight.search.judge import SupernetJudge
from firstlight.search.problem import Problem
from firstlight.spaces.supernets import State

# Linear regions are counted for tiny images: a network separates all larger ones.
REGION_SHAPE = (1, 4, 4)
# Changes that agree to this many decimal places count as equal.
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
    """TE-NAS: prune operations that make the tangent kernel worse and add few linear regions.

    In each round, every operation on every edge of the supernet is ranked by how much the condition number of the
    tangent kernel (`te_ntk`) decreases without it, and by how little `linear_regions` decreases. On each edge, the
    operations with the lowest sum of ranks are pruned, until one is left. At the end, nodes with too many edges lose
    edges in the same way. Both quantities are means over initializations of thin networks with as few cells as
    possible. Regions are counted with one channel on a circle of 4x4 images; the paper uses 3,000 crops of 3x3 pixels.
    The remaining operations of an edge are weighted as in `zero-cost-pt`.

    The proxy of the search only scores the final network.

    Args:
        prune_number: Number of operations pruned from each edge in a round; 3 is usual for `darts`.
        repeats: Number of initializations.
        channels: Channels of the network whose kernel is measured; published: 3 for NAS-Bench-201, 1 for DARTS.
        kernel_samples: Inputs for the kernel; published: 72 for NAS-Bench-201, 14 for DARTS.
        region_samples: Number of images for which regions are counted.
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
    if not problem.fits(network):
        raise problem.unmet_limits()
    problem.score([network])


def pruned(judges: Sequence[SupernetJudge], state: State, number: int) -> State:
    """Return the state in which nothing is left to prune, after pruning `number` operations of each edge in a round."""
    while edges := state.undecided:
        options = [(edge, name) for edge in edges for name in state.operations(edge)]
        ranks = _ranks(judges, state, [state.without(*option) for option in options])
        ranked = sorted(zip(ranks, options, strict=True), key=lambda entry: entry[0])
        for edge in edges:
            names = [name for _, (place, name) in ranked if place == edge]
            state = state.without(edge, *names[: min(number, len(names) - 1)])
    return _without_spare_edges(judges, state)


def _without_spare_edges(judges: Sequence[SupernetJudge], state: State) -> State:
    """Return the state in which every node has lost the edges that it does not keep, all in one round."""
    edges = [edge for node in state.crowded for edge in state.edges(node)]
    if not edges:
        return state
    ranks = _ranks(judges, state, [state.without(edge) for edge in edges])
    for _, edge in sorted(zip(ranks, edges, strict=True), key=lambda entry: entry[0]):
        if edge.node in state.crowded:
            state = state.without(edge)
    return state


def _ranks(judges: Sequence[SupernetJudge], state: State, pruned: Sequence[State]) -> list[int]:
    """Return the sum of ranks of each pruned state: lowest where most is gained or least is lost."""
    from scipy.stats import rankdata

    gains = [[round(gain, DIGITS) for gain in judge.gains(state, pruned)] for judge in judges]
    ranks = [rankdata([-gain for gain in own], method="dense") for own in gains]
    return [int(sum(own)) for own in zip(*ranks, strict=True)]
