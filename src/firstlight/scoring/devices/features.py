"""What the latency of a network is made of: counts, multiply-accumulates and elements, by group of operations."""

from __future__ import annotations

from firstlight.probe.graph import Graph, Operation

# Groups of operations. A device spends time on each operation, on each multiply-accumulate and on each element.
SPATIAL, POINTWISE, POOL, OTHERS = GROUPS = ("spatial", "pointwise", "pool", "others")
FEATURES = (
    *(f"count({group})" for group in GROUPS),
    *(f"macs({group})" for group in (SPATIAL, POINTWISE)),
    *(f"elements({group})" for group in GROUPS),
)


def features_of(graph: Graph) -> dict[str, float]:
    """Return the features of a network. They add up over its operations.

    Multiply-accumulates and elements are in millions. The elements of an operation are those that it reads and writes,
    its weights included.
    """
    found = dict.fromkeys(FEATURES, 0.0)
    for operation in graph.operations:
        group = _group(operation)
        constants = (*operation.constants, *(() if operation.kernel is None else (operation.kernel,)))
        elements = sum(graph.sizes[key] for key in (*operation.reads, *operation.writes, *constants))
        found[f"count({group})"] += 1
        found[f"elements({group})"] += elements / 1e6
        if operation.macs:
            found[f"macs({group})"] += operation.macs / 1e6
    return found


def _group(operation: Operation) -> str:
    if not operation.macs:
        return POOL if operation.kind == POOL else OTHERS
    return SPATIAL if operation.area > 1 else POINTWISE
