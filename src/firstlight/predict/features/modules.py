"""Features of any network, whatever its space: from the graph of operations of one forward pass without numbers.

A copy of the network runs on the meta device, where tensors have shapes only. Everything is counted for one input:

    count(KIND), params(KIND), macs(KIND)   operations, parameters and multiply-accumulates by kind of operation
    params(third n), macs(third n)          the share in each third of the depth
    width(third n)                          the mean width of its products: output channels of a layer with weights
    least_width, most_width, last_width     of layers with weights; the last is the one before the output
    depth, least_depth                      products on the longest and on the shortest path from input to output
    paths                                   the number of paths from input to output
    reach, relative_reach                   the receptive field of the last convolution or pooling, also by the input
    stride                                  the input's side relative to that of the last convolution or pooling

Counts of the first, `paths`, sizes and widths are logarithms to base 2 of one plus the number.
"""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from firstlight.core.errors import ModelError, UnsupportedError
from firstlight.probe.cost import plain_kernels

PRODUCTS = ("spatial", "pointwise", "depthwise", "grouped", "linear", "attention")
# Kinds of other operations, by the beginning of their names in PyTorch
_NAMES = {
    "norm": ("native_batch_norm", "native_layer_norm", "native_group_norm", "_native_batch_norm", "cudnn_batch_norm"),
    "activation": ("relu", "gelu", "silu", "sigmoid", "tanh", "hard", "elu", "leaky_relu", "mish", "softplus", "prelu"),
    "softmax": ("_softmax", "_log_softmax", "softmax"),
    "pool": ("max_pool", "avg_pool", "mean", "_adaptive", "adaptive"),
    "add": ("add", "sub", "rsub"),
    "multiply": ("mul", "div"),
    "concatenate": ("cat", "stack"),
    "embedding": ("embedding", "_embedding"),
    "recurrent": ("lstm", "gru", "rnn"),
}
KINDS = (*PRODUCTS, *_NAMES)
# Products that mix tensors of the forward pass rather than apply weights
_WITHOUT_WEIGHTS = ("bmm", "baddbmm")
THIRDS = 3


@dataclass(frozen=True)
class _Flow:
    """What is known of a tensor that depends on the input.

    Attributes:
        longest, shortest: Products on the longest and on the shortest path from the input.
        paths: The number of these paths.
        reach: The side of the receptive field, in pixels of the input.
        jump: The distance of neighboring positions, in pixels of the input.
    """

    longest: int = 0
    shortest: int = 0
    paths: float = 1.0
    reach: int = 1
    jump: int = 1


@dataclass(frozen=True)
class _Product:
    """A convolution or matrix product: its kind, depth, width, parameters and multiply-accumulates."""

    kind: str
    depth: int
    width: int
    params: int
    macs: int


@dataclass
class _Graph:
    """The operations of a forward pass."""

    counts: Counter[str] = field(default_factory=Counter)
    params: Counter[str] = field(default_factory=Counter)
    products: list[_Product] = field(default_factory=list)
    last: _Flow = _Flow()
    out: _Flow | None = None


class _Recorder(TorchDispatchMode):
    """Records every operation on a tensor that depends on the input."""

    def __init__(self, inputs: Sequence[Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.graph = _Graph()
        self._flows = {id(value): _Flow() for value in inputs}
        self._alive: list[Tensor] = list(inputs)  # so that no two tensors have the same id

    def flow_of(self, value: object) -> _Flow | None:
        return self._flows.get(id(value))

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        given = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        made = [leaf for leaf in tree_leaves(out) if isinstance(leaf, Tensor)]
        flows = list({id(value): flow for value in given if (flow := self.flow_of(value))}.values())
        if flows and made:
            weights = sum(value.numel() for value in given if self.flow_of(value) is None)
            self._add(func, args, kwargs or {}, out, made, _joined(flows), weights)
        return out

    def _add(
        self,
        func: Any,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        out: Any,
        made: Sequence[Tensor],
        flow: _Flow,
        weights: int,
    ) -> None:
        kind = _kind(func, args)
        if kind is not None:
            self.graph.counts[kind] += 1
        if kind in PRODUCTS:
            formula = _flops(func)
            macs = 0 if formula is None else formula(*args, **kwargs, out_val=out) // 2
            flow = _Flow(flow.longest + 1, flow.shortest + 1, flow.paths, flow.reach, flow.jump)
            width = made[0].shape[1] if func._overloadpacket is torch.ops.aten.convolution else made[0].shape[-1]
            self.graph.products.append(_Product(str(kind), flow.longest, width, weights, macs))
        elif kind is not None:
            self.graph.params[kind] += weights
        window = _window(func, args)
        if window is not None:
            kernel, stride = window
            reach = flow.reach + (kernel - 1) * flow.jump
            flow = _Flow(flow.longest, flow.shortest, flow.paths, reach, flow.jump * stride)
            if flow.reach >= self.graph.last.reach:
                self.graph.last = flow
        for value in made:
            self._flows[id(value)] = flow
            self._alive.append(value)


def _joined(flows: Sequence[_Flow]) -> _Flow:
    return _Flow(
        max(flow.longest for flow in flows),
        min(flow.shortest for flow in flows),
        sum(flow.paths for flow in flows),
        max(flow.reach for flow in flows),
        max(flow.jump for flow in flows),
    )


def _flops(func: Any) -> Callable[..., int] | None:
    found: Callable[..., int] | None = flop_registry.get(func._overloadpacket)
    return found


def _kind(func: Any, args: Sequence[Any]) -> str | None:
    """Return the kind of an operation; None for one that computes nothing, or that is not told apart."""
    name = func._overloadpacket.__name__
    if name == "convolution":
        weight, groups = args[1], args[8]
        if groups == args[0].shape[1] > 1:
            return "depthwise"
        if groups > 1:
            return "grouped"
        return "pointwise" if max(weight.shape[2:], default=1) == 1 else "spatial"
    if name in _WITHOUT_WEIGHTS or "scaled_dot_product" in name:
        return "attention"
    if _flops(func) is not None:
        return "linear"
    return next((kind for kind, starts in _NAMES.items() if name.startswith(starts)), None)


def _window(func: Any, args: Sequence[Any]) -> tuple[int, int] | None:
    """Return the kernel, dilation included, and the stride of a convolution or pooling; None for anything else."""
    name = func._overloadpacket.__name__
    if name == "convolution" and len(args[1].shape) > 2 and not args[6]:
        kernel, stride, dilation = args[1].shape[-1], args[3][-1], args[5][-1]
        return (kernel - 1) * dilation + 1, stride
    if name.startswith(("max_pool", "avg_pool")) and len(args) > 1:
        kernel = args[1][-1]
        return kernel, args[2][-1] if len(args) > 2 and args[2] else kernel
    return None


def module_features(module: nn.Module, *inputs: Tensor) -> dict[str, float]:
    """Return the features of a network. It is not changed.

    Args:
        module: The network.
        *inputs: One input, or several for a network that takes several, with a batch dimension. Their shapes count,
            and their values only for a network whose forward pass depends on them.

    Raises:
        ModelError: If the network cannot be copied, or its forward pass fails.
        UnsupportedError: If nothing that it returns depends on the input.

    Example:
        >>> import torch
        >>> from torch import nn
        >>> from firstlight.predict.features.modules import module_features
        >>> layers = nn.Conv2d(3, 7, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(7, 10)
        >>> network = nn.Sequential(*layers)
        >>> found = module_features(network, torch.zeros(1, 3, 8, 8))
        >>> found["count(spatial)"], found["depth"], found["width(third 1)"]
        (1.0, 2.0, 3.0)
    """
    try:
        twin = copy.deepcopy(module).eval()
    except Exception as error:  # whatever the user's classes do
        raise ModelError(f"{type(module).__name__} cannot be copied: {type(error).__name__}: {error}.") from error
    values = [value.detach() for value in inputs]
    try:
        graph = _recorded(copy.deepcopy(twin).to("meta"), [value.to("meta") for value in values])
    except Exception:  # its forward pass asks for numbers, which tensors on the meta device lack
        try:
            graph = _recorded(twin, values)
        except Exception as error:  # anything that the user's network raises
            shapes = ", ".join(str(tuple(value.shape)) for value in values)
            raise ModelError(
                f"{type(module).__name__} does not take inputs of {shapes}, so it has no features: "
                f"{type(error).__name__}: {error}"
            ) from error
    if graph.out is None:
        raise UnsupportedError(
            f"What {type(module).__name__} returns does not depend on its input: it has no features."
        )
    side = max((value.shape[-1] for value in values if value.dim() > 3), default=1)
    return dict(_features(graph, graph.out, sum(weight.numel() for weight in module.parameters()), side))


def modules_features(networks: Mapping[str, nn.Module], *inputs: Tensor) -> pd.DataFrame:
    """Return the features of networks by their names, a row for each; see `module_features`."""
    rows = [module_features(network, *inputs) for network in networks.values()]
    return pd.DataFrame(rows, index=list(networks), dtype=float)


def _recorded(network: nn.Module, inputs: Sequence[Tensor]) -> _Graph:
    recorder = _Recorder(inputs)
    with plain_kernels(), recorder:
        out = network(*inputs)
    flows = [flow for leaf in tree_leaves(out) if (flow := recorder.flow_of(leaf))]
    recorder.graph.out = _joined(flows) if flows else None
    return recorder.graph


def _features(graph: _Graph, out: _Flow, params: int, side: int) -> Iterator[tuple[str, float]]:
    products = graph.products
    for kind in KINDS:
        own = [product for product in products if product.kind == kind]
        yield f"count({kind})", float(graph.counts[kind])
        yield f"params({kind})", _log(sum(product.params for product in own) + graph.params[kind])
        if kind in PRODUCTS:
            yield f"macs({kind})", _log(sum(product.macs for product in own))
    yield "params", _log(params)
    yield "macs", _log(sum(product.macs for product in products))
    yield "products", float(len(products))
    depth = max((product.depth for product in products), default=0)
    for third in range(THIRDS):
        own = [product for product in products if (product.depth - 1) * THIRDS // depth == third]
        for name in ("params", "macs"):
            whole = sum(getattr(product, name) for product in products)
            yield f"{name}(third {third + 1})", sum(getattr(product, name) for product in own) / max(whole, 1)
        yield f"width(third {third + 1})", float(np.mean([_log(product.width) for product in own])) if own else 0.0
    widths = [product.width for product in products if product.params]
    yield "least_width", _log(min(widths, default=0))
    yield "most_width", _log(max(widths, default=0))
    yield "last_width", _log(widths[-2] if len(widths) > 1 else 0)
    yield "depth", float(out.longest)
    yield "least_depth", float(out.shortest)
    yield "paths", _log(out.paths)
    yield "reach", _log(graph.last.reach)
    yield "relative_reach", _log(graph.last.reach) - _log(side)
    yield "stride", math.log2(graph.last.jump)


def _log(number: float) -> float:
    return math.log2(1 + number)
