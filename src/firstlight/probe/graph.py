"""A network as a device runs it: one forward pass as a list of operations, with what each of them reads and writes.

Devices only run networks forward, and their formats simplify them: operations that do not lead to an output are left
out, an operation that is repeated on the same tensor runs once, views and copies cost nothing, a BatchNorm becomes part
of the convolution or linear layer before it, and a ReLU part of the operation before it. What does not depend on the
input is a constant. Padding other than that of the formats, which strided convolutions often have, is an operation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only
from torch.utils.flop_counter import flop_registry

from firstlight.probe.cost import plain_kernels

CONV, DEPTHWISE, LINEAR, MATMUL = PRODUCTS = ("conv", "depthwise", "linear", "matmul")
NORM, RELU, OTHER = "norm", "relu", "other"
# Kinds of operations without a FLOP formula, by the beginning of their names in PyTorch
_NAMES = {
    NORM: ("native_batch_norm", "_native_batch_norm", "cudnn_batch_norm", "native_layer_norm", "native_group_norm"),
    RELU: ("relu", "hardtanh", "clamp"),
    "activation": ("gelu", "silu", "sigmoid", "tanh", "hard", "elu", "leaky_relu", "mish", "softplus", "_prelu"),
    "softmax": ("_softmax", "_log_softmax", "_safe_softmax"),
    "pool": ("max_pool", "avg_pool", "mean", "_adaptive", "adaptive", "sum"),
    "add": ("add", "sub", "rsub"),
    "multiply": ("mul", "div", "pow"),
    "concatenate": ("cat", "stack"),
    "pad": ("constant_pad",),
    "gather": ("embedding", "index"),
}
KINDS = (*PRODUCTS, *_NAMES, OTHER)
_COPIES = ("clone", "contiguous", "_to_copy", "_unsafe_view", "lift_fresh")
# What a BatchNorm and a ReLU can be part of
_TAKES_NORM, _TAKES_RELU = (CONV, DEPTHWISE, LINEAR), (CONV, DEPTHWISE, LINEAR, NORM, "add", "multiply")


@dataclass(frozen=True)
class Operation:
    """One operation. Tensors and constants are given by their keys in the graph.

    Attributes:
        kind: One of `KINDS`.
        reads: The tensors that it reads and that depend on the input.
        writes: The tensors that it writes.
        kernel: The constant that it multiplies by; None if there is none.
        constants: The other constants that it reads, such as a bias.
        channels: The output channels of an operation with a kernel.
        area: The positions of the input that one output reads: 9 for a kernel of 3x3, 1 for a matrix product.
        macs: Multiply-accumulates.
        name: Its name in PyTorch.
        settings: Its arguments other than tensors, as text.
        padded: The elements of its input with padding, if formats need an operation of its own for the padding; else 0.
    """

    kind: str
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    kernel: int | None = None
    constants: tuple[int, ...] = ()
    channels: int = 0
    area: int = 1
    macs: int = 0
    name: str = ""
    settings: str = ""
    padded: int = 0


@dataclass(frozen=True)
class Graph:
    """A network as a device runs it, for one input.

    Attributes:
        sizes: The number of elements of each tensor and constant.
        inputs: The tensors that the network is given.
        outputs: The tensors that it returns.
        operations: The operations in the order of the forward pass.
    """

    sizes: Mapping[int, int]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    operations: tuple[Operation, ...]


def record_graph(model: nn.Module, *inputs: Tensor, simplified: bool = True) -> Graph:
    """Record one forward pass of a model in evaluation mode; on the meta device, nothing is computed.

    Args:
        model: The model.
        inputs: Its inputs.
        simplified: Whether to simplify the graph as formats do. Otherwise it is what PyTorch itself runs.
    """
    recorder = _Recorder(inputs)
    with plain_kernels(), recorder:
        returned = model(*inputs)
    outputs = [recorder.key(leaf) for leaf in tree_leaves(returned) if isinstance(leaf, Tensor)]
    graph = Graph(recorder.sizes, recorder.inputs, tuple(outputs), tuple(recorder.operations))
    return without_unused_sizes(simplify(graph) if simplified else graph)


def simplify(graph: Graph) -> Graph:
    """Simplify a graph as formats do."""
    return _with_padding(_merged(_merged(_live(_once(graph)), _with_norm), _with_relu))


class _Recorder(TorchDispatchMode):
    """Records operations. Tensors that share memory have one key; a tensor that is changed in place gets a new one."""

    def __init__(self, inputs: Sequence[Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.sizes: dict[int, int] = {}
        self.operations: list[Operation] = []
        self._keys: dict[int, int] = {}  # by the address of the memory
        self._kept: list[Any] = []  # so that no address is used twice
        self.inputs = tuple(map(self.key, inputs))
        self._variable = set(self.inputs)  # what depends on the input

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        given = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        keys = [self.key(tensor) for tensor in given]
        out = func(*args, **(kwargs or {}))
        made = [leaf for leaf in tree_leaves(out) if isinstance(leaf, Tensor)]
        if made and self._variable.intersection(keys):
            formula = flop_registry.get(func._overloadpacket)
            macs = formula(*args, **(kwargs or {}), out_val=out) // 2 if formula else None
            others = tree_map_only(Tensor, lambda tensor: None, (args, kwargs))
            name = func._overloadpacket.__name__
            self._record(name, given, keys, made, macs, str(others), _padded(name, args))
        return out

    def key(self, tensor: Tensor) -> int:
        if tensor.untyped_storage()._cdata not in self._keys:
            self._assign(tensor, None)
        return self._keys[tensor.untyped_storage()._cdata]

    def _assign(self, tensor: Tensor, key: int | None) -> None:
        """Give the memory of a tensor a key; a new one if None."""
        storage = tensor.untyped_storage()
        if key is None:
            key = len(self.sizes)
            self.sizes[key] = storage.nbytes() // tensor.element_size()
        self._kept.append(storage)
        self._keys[storage._cdata] = key

    def _record(
        self,
        name: str,
        given: Sequence[Tensor],
        keys: Sequence[int],
        made: Sequence[Tensor],
        macs: int | None,
        settings: str,
        padded: int,
    ) -> None:
        kind = _kind(name, given, macs is not None)
        source = next(key for key in keys if key in self._variable)
        if kind == OTHER and self._is_copy(name, made, source):
            for tensor in made:
                self._assign(tensor, source)
            return
        made = made[:1] if kind == NORM else made  # the others are for training
        for tensor in made:
            self._assign(tensor, None)
        reads = [key for key in keys if key in self._variable]
        constants = [key for key in keys if key not in self._variable]
        if "batch_norm" in name:  # two of its four vectors are left when it is a product and a sum
            constants = constants[:2]
        writes = [self.key(tensor) for tensor in made]
        self._variable.update(writes)
        kernel = None
        if kind in PRODUCTS:
            factors = keys[:2] if kind in (CONV, DEPTHWISE) else keys[-2:]  # the first of addmm is a bias
            kernel = next((key for key in reversed(factors) if key in constants), None)
            kind = LINEAR if kind == MATMUL and kernel is not None else kind
        self.operations.append(
            Operation(
                kind,
                tuple(dict.fromkeys(reads)),
                tuple(dict.fromkeys(writes)),
                kernel,
                tuple(dict.fromkeys(key for key in constants if key != kernel)),
                made[0].shape[1 if kind in (CONV, DEPTHWISE) else -1] if kernel is not None else 0,
                prod(given[1].shape[2:]) if kind in (CONV, DEPTHWISE) else 1,
                macs or 0,
                name,
                settings,
                padded,
            )
        )

    def _is_copy(self, name: str, made: Sequence[Tensor], source: int) -> bool:
        """Return whether the results are the numbers of `source`, in the same memory or elsewhere."""
        if all(self._keys.get(tensor.untyped_storage()._cdata) == source for tensor in made):
            return True
        return name.startswith(_COPIES) and sum(tensor.numel() for tensor in made) <= self.sizes[source]


def _kind(name: str, given: Sequence[Tensor], is_product: bool) -> str:
    if not is_product:
        return next((kind for kind, names in _NAMES.items() if name.startswith(names)), OTHER)
    if "conv" not in name:
        return MATMUL
    inputs, kernel = given[:2]
    return DEPTHWISE if kernel.shape[1] == 1 and inputs.shape[1] > 1 else CONV


def _live(graph: Graph) -> Graph:
    """Leave out operations that do not lead to an output, and results that nothing reads."""
    needed, kept = set(graph.outputs), []
    for operation in reversed(graph.operations):
        if needed.intersection(operation.writes):
            kept.append(replace(operation, writes=tuple(key for key in operation.writes if key in needed)))
            needed.update(operation.reads)
    return replace(graph, operations=tuple(reversed(kept)))


def _once(graph: Graph) -> Graph:
    """Run operations once that do the same to the same tensors, and let all read the result of the first."""
    same: dict[int, int] = {}
    first: dict[tuple[Any, ...], Operation] = {}
    for operation in graph.operations:
        operation = replace(operation, reads=tuple(same.get(key, key) for key in operation.reads))
        done = (operation.name, operation.reads, operation.kernel, operation.constants, operation.settings)
        before = first.setdefault(done, operation)
        same |= zip(operation.writes, before.writes, strict=True)
    outputs = tuple(same.get(key, key) for key in graph.outputs)
    return replace(graph, outputs=outputs, operations=tuple(first.values()))


def _merged(graph: Graph, merge: Callable[[Operation, Operation], Operation | None]) -> Graph:
    """Make operations part of the operation before them, whose result nothing else reads, where `merge` can."""
    readers = Counter(key for operation in graph.operations for key in operation.reads) + Counter(graph.outputs)
    kept: dict[int, Operation] = {}  # by what they write
    for operation in graph.operations:
        before = kept.get(operation.reads[0]) if len(operation.reads) == 1 else None
        merged = merge(before, operation) if before is not None and readers[operation.reads[0]] == 1 else None
        if before is not None and merged is not None:
            del kept[operation.reads[0]]
            operation = merged
        kept[operation.writes[0]] = operation
    return replace(graph, operations=tuple(kept.values()))


def _with_norm(before: Operation, operation: Operation) -> Operation | None:
    if before.kind not in _TAKES_NORM or before.kernel is None or "batch_norm" not in operation.name:
        return None
    # its shift becomes a bias, one number per channel
    return replace(before, writes=operation.writes, constants=before.constants or operation.constants[:1])


def _with_relu(before: Operation, operation: Operation) -> Operation | None:
    if before.kind not in _TAKES_RELU or operation.kind != RELU:
        return None
    return replace(before, writes=operation.writes)


def _padded(name: str, args: Sequence[Any]) -> int:
    """Return the elements of a padded input, unless the format's own padding gives the same."""
    if name == "convolution" and not args[6]:  # not a transposed one
        kernel, stride, padding, dilation = args[1].shape[2:], *args[3:6]
    elif name in ("max_pool2d_with_indices", "avg_pool2d"):
        kernel, dilation = args[1], [1]
        stride = args[2] if len(args) > 2 and args[2] else kernel
        padding = args[3] if len(args) > 3 else [0]
    else:
        return 0
    batch, channels, *sides = args[0].shape
    axes = [
        (side, *(values[place % len(values)] for values in (kernel, stride, padding, dilation)))
        for place, side in enumerate(sides)
    ]
    counts = name == "avg_pool2d" and (len(args) < 6 or args[5])  # formats leave padding out of a mean
    if not any(padding) or (all(_is_same(*axis) for axis in axes) and not counts):
        return 0
    return int(batch * channels * prod(side + 2 * pad for side, _, _, pad, _ in axes))


def _is_same(side: int, kernel: int, stride: int, padding: int, dilation: int) -> bool:
    """Return whether this padding is what formats call "same": as little as the output needs, less of it in front."""
    extent, outputs = (kernel - 1) * dilation + 1, -(-side // stride)
    needed = max((outputs - 1) * stride + extent - side, 0)
    return padding == needed // 2 and (side + 2 * padding - extent) // stride + 1 == outputs


def _with_padding(graph: Graph) -> Graph:
    sizes, operations, padded = dict(graph.sizes), list[Operation](), dict[tuple[int, int], int]()
    for operation in graph.operations:
        if operation.padded:
            given = (operation.reads[0], operation.padded)
            if given not in padded:
                padded[given] = max(sizes) + 1
                sizes[padded[given]] = operation.padded
                operations.append(Operation("pad", given[:1], (padded[given],), name="pad"))
            operation = replace(operation, reads=(padded[given], *operation.reads[1:]))
        operations.append(operation)
    return replace(graph, sizes=sizes, operations=tuple(operations))


def without_unused_sizes(graph: Graph) -> Graph:
    used = {*graph.inputs, *graph.outputs}
    for operation in graph.operations:
        used.update(operation.reads, operation.writes, operation.constants, [operation.kernel or 0])
    return replace(graph, sizes={key: size for key, size in graph.sizes.items() if key in used})
