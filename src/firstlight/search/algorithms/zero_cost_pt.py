"""Zero-Cost-PT: operations are chosen on a supernet by what it loses without them."""

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
    """Zero-Cost-PT: of each edge of a supernet, keep the operation without which it scores lowest.

    A proposal decides one edge after the other, in turn in each kind of cell, on a supernet that is never trained; then
    nodes with too many edges lose those without which it scores highest. `order` is in which order edges and nodes are
    decided; `global` decides the one that makes the largest difference. `topology=naswot` judges edges by `naswot`
    whatever the proxy is, as the published code of Dextr and MeCo does.

    Every proposal that is new and within the limits is scored as a network by itself, on as many batches and
    initialisations as `repeats` says, and the best one wins. The published code draws another batch for each decision;
    here all states are shown those of the run, so that a score depends on nothing but what is asked. The supernet of
    `darts` has a ReLU before its pooling, without which its output would not move (`rectified`); for its networks by
    themselves that is a setting of the skeleton.
    """
    judge = problem.supernet()
    edge_judge = judge if topology == "criterion" else problem.supernet(parse_criterion("naswot"))
    proposed: set[str] = set()
    for _ in range(proposals):
        state = _without_spare_edges(problem, edge_judge, order, _with_one_operation(problem, judge, order))
        network = problem.space.canonical(judge.supernet.architecture(state))
        if str(network) not in proposed and problem.allows(network):
            problem.score_all([network])
        proposed.add(str(network))
        if not problem.remaining:
            return
    if not problem.scored:
        raise problem.limits_too_tight()


def _with_one_operation(problem: Problem, judge: SupernetJudge, order: Order) -> State:
    """The state after every edge was decided."""
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
    """The state after every node has lost the edges that it does not keep."""
    while state.crowded:
        for kind in state.layout.kinds:
            nodes = _next(problem, order, [node for node in state.crowded if node[0] == kind])
            while spare := [edge for node in nodes if node in state.crowded for edge in state.edges(node)]:
                states = [state.without(edge) for edge in spare]
                state = states[judge.best(states)]
    return state


def _next(problem: Problem, order: Order, items: Sequence[T]) -> Sequence[T]:
    """Those among which the next decision is made."""
    if not items or order == "global":
        return items
    if order == "random":
        return [problem.rng.choice(items)]
    return items[:1] if order == "forward" else items[-1:]
