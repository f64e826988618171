"""What a network needs on a device: bytes of flash for its file, and bytes of RAM while it runs."""

from __future__ import annotations

from firstlight.probe.graph import Graph

FLOAT_BYTES, INT8_BYTES = 4, 1
# What a LiteRT file with short names has for each tensor besides its numbers: its shape, its buffer, its operation
TENSOR_BYTES, INT8_TENSOR_BYTES = 116, 124
# A scale and a zero point, which 8-bit tensors have once, and 8-bit kernels and their biases for each output channel
SCALE_BYTES = 4 + 8


def count_ram(graph: Graph, *, int8: bool = False) -> int:
    """Return the peak of the bytes of all tensors that are alive at the same time.

    The operations run in the order of the forward pass, without copies. A tensor is alive from the operation that
    writes it to the last one that reads it. Constants are not part of it: they stay in flash.
    """
    last = {key: place for place, operation in enumerate(graph.operations) for key in operation.reads}
    last |= dict.fromkeys(graph.outputs, len(graph.operations))
    alive = {key for key in graph.inputs if key in last}
    now = peak = sum(graph.sizes[key] for key in alive)
    for place, operation in enumerate(graph.operations):
        now += sum(graph.sizes[key] for key in operation.writes)
        peak = max(peak, now)
        alive.update(operation.writes)
        over = {key for key in (*operation.reads, *operation.writes) if last[key] <= place}
        now -= sum(graph.sizes[key] for key in over & alive)
        alive -= over
    return peak * (INT8_BYTES if int8 else FLOAT_BYTES)


def count_flash(graph: Graph, *, int8: bool = False) -> int:
    """Return the bytes of the network's LiteRT file: its constants, and what the format adds.

    With `int8`, kernels have 8 bits, biases 32, and other constants 8. The format adds about the same for each tensor.
    """
    kernels, biases, others = set[int](), set[int](), set[int]()
    channels = 0
    for operation in graph.operations:
        if operation.kernel is None:
            others.update(operation.constants)
        else:
            kernels.add(operation.kernel)
            biases.update(operation.constants)
            channels += operation.channels * (1 + len(operation.constants))
    biases -= kernels
    others -= kernels | biases
    constants = kernels | biases | others
    variables = {*graph.inputs, *(key for operation in graph.operations for key in operation.writes)}
    if not int8:
        return FLOAT_BYTES * _total(graph, constants) + TENSOR_BYTES * len(constants | variables)
    numbers = INT8_BYTES * _total(graph, kernels | others) + FLOAT_BYTES * _total(graph, biases)
    scales = SCALE_BYTES * (channels + len(others | variables))
    return numbers + scales + INT8_TENSOR_BYTES * len(constants | variables)


def _total(graph: Graph, keys: set[int]) -> int:
    return sum(graph.sizes[key] for key in keys)
