"""Zero-Cost-PT: operations of a supernet are chosen by how much its score drops without them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeVar

from firstlight.proxies.ensembles import parse_criterion
from firstlight.search.algorithm import algorithm
from firstlight.search.judge import SupernetJudge
from firstlight.search.problem import Problem
from firstlight.spaces.supernets import State

Order = Literal["random", "forward", "reverse", "global"]
T = TypeVar("T")


@algorithm(reference="Xiang2023zerocostpt", needs=("supernet",))
def zero_cost_pt(
    problem: Problem,
    *,
    proposals: int = 10,
    order: Order = "random",
    topology: Literal["criterion", "naswot"] = "criterion",
) -> None:
    """On each edge of a supernet, keep the operation without which the supernet scores lowest.

    A proposal decides one edge at a time, alternating between the kinds of cells, on a supernet that is never trained.
    Then nodes with too many edges lose the edges without which the supernet scores highest. Every new proposal within
    the limits is scored as a network, with the `repeats` of the search, and the best one wins.

    The published code draws a new batch for each decision. Here, all states see the batches of the run, so that a score
    depends only on the request. The supernet of `darts` has a ReLU before its pooling, without which its output would
    not change. For its networks, this is the skeleton setting `rectified`.

    Args:
        proposals: Number of proposals.
        order: The order in which edges and nodes are decided; `global` picks the one that makes the largest difference.
        topology: How edges are compared: by the `criterion` of the search, or by `naswot`, as in the published code of
            Dextr and MeCo.
    """
    judge = problem.supernet()
    edge_judge = judge if topology == "criterion" else problem.supernet(parse_criterion("naswot"))
    proposed: set[str] = set()
    for _ in range(proposals):
        state = _without_spare_edges(problem, edge_judge, order, _with_one_operation(problem, judge, order))
        network = problem.space.canonical(judge.supernet.architecture(state))
        if str(network) not in proposed and problem.fits(network):
            problem.score([network])
        proposed.add(str(network))
        if not problem.remaining:
            return
    if not problem.scored:
        raise problem.unmet_limits()


def _with_one_operation(problem: Problem, judge: SupernetJudge, order: Order) -> State:
    """Return the state in which every edge is decided."""
    state = judge.supernet.layout.full
    while state.undecided:
        for kind in state.layout.kinds:
            edges = [place for place in state.undecided if place.kind == kind]
            choices = [(edge, name) for edge in _next(problem, order, edges) for name in state.operations(edge)]
            if choices:
                edge, name = choices[judge.worst([state.without(*choice) for choice in choices])]
                state = state.keeping(edge, name)
    return state


def _without_spare_edges(problem: Problem, judge: SupernetJudge, order: Order, state: State) -> State:
    """Return the state in which every node has lost the edges that it does not keep."""
    while state.crowded:
        for kind in state.layout.kinds:
            nodes = _next(problem, order, [node for node in state.crowded if node[0] == kind])
            while spare := [edge for node in nodes if node in state.crowded for edge in state.edges(node)]:
                states = [state.without(edge) for edge in spare]
                state = states[judge.best(states)]
    return state


def _next(problem: Problem, order: Order, items: Sequence[T]) -> Sequence[T]:
    """Return the items among which the next decision is made."""
    if not items or order == "global":
        return items
    if order == "random":
        return [problem.rng.choice(items)]
    return items[:1] if order == "forward" else items[-1:]
