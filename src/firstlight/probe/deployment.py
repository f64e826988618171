"""What a network needs on a device: bytes of flash for its file, and bytes of RAM while it runs."""

from __future__ import annotations

from firstlight.probe.graph import PRODUCTS, Graph

FLOAT_BYTES, INT8_BYTES = 4, 1
# Kinds of operations that the formats compute with 8-bit integers; they compute others with floating-point numbers
QUANTIZED = frozenset({*PRODUCTS, "relu", "pool", "add", "multiply", "concatenate", "pad"})


def count_ram(graph: Graph, *, int8: bool = False) -> int:
    """Return the peak of the bytes of all tensors that are alive at the same time.

    The operations run in the order of the forward pass, without copies. A tensor is alive from the operation that
    writes it to the last one that reads it. Weights are not part of it: they stay in flash.
    """
    wide = _floating(graph) if int8 else set(graph.sizes)
    size = {key: count * (FLOAT_BYTES if key in wide else INT8_BYTES) for key, count in graph.sizes.items()}
    last = {key: place for place, operation in enumerate(graph.operations) for key in operation.reads}
    last |= dict.fromkeys(graph.outputs, len(graph.operations))
    alive = {key for key in graph.inputs if key in last}
    peak = sum(size[key] for key in alive)
    for place, operation in enumerate(graph.operations):
        alive.update(operation.writes)
        peak = max(peak, sum(size[key] for key in alive))
        alive = {key for key in alive if last[key] > place}
    return peak


def _floating(graph: Graph) -> set[int]:
    """Return the tensors that stay floating-point numbers in an int8 network."""
    others = [operation for operation in graph.operations if operation.kind not in QUANTIZED]
    return {key for operation in others for key in (*operation.reads, *operation.writes)}


def count_flash(graph: Graph, *, int8: bool = False) -> int:
    """Return the bytes of the network's file: its constants, and what the format adds."""
    kernels = {operation.kernel for operation in graph.operations if operation.kernel is not None}
    others = {key for operation in graph.operations for key in operation.constants} - kernels
    kernel_bytes = INT8_BYTES if int8 else FLOAT_BYTES
    return sum(graph.sizes[key] * kernel_bytes for key in kernels) + sum(
        graph.sizes[key] * FLOAT_BYTES for key in others
    )
