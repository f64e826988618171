"""The stages of a network: its layers by the resolution that they work at, with widths and parameters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

UNUSED = "not used"
VECTOR = "vector"


@dataclass(frozen=True)
class Layer:
    """A module with parameters of its own.

    Attributes:
        name: Its name in the network.
        kind: Its class, such as Conv2d.
        shape: The shape of its output for one input, without the batch; empty if it was not used.
        params: The number of its own parameters.
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    params: int

    @property
    def resolution(self) -> str:
        """The size of the feature map: `32x32`, `16 tokens`, or `vector`."""
        if not self.shape:
            return UNUSED
        if len(self.shape) == 1:
            return VECTOR
        return f"{self.shape[0]} tokens" if len(self.shape) == 2 else "x".join(map(str, self.shape[1:]))

    @property
    def width(self) -> int:
        """The number of channels, or of features; 0 if it was not used."""
        if not self.shape:
            return 0
        return self.shape[-1] if len(self.shape) < 3 else self.shape[0]


@dataclass(frozen=True)
class Stage:
    """The layers that work at the same resolution.

    Attributes:
        resolution: The size of their feature maps: `32x32`, `16 tokens`, `vector`, or `not used`.
        layers: The layers, in the order in which they run.
    """

    resolution: str
    layers: tuple[Layer, ...]

    @property
    def params(self) -> int:
        """The number of parameters."""
        return sum(layer.params for layer in self.layers)

    @property
    def widths(self) -> tuple[int, int]:
        """The smallest and the largest width of a layer."""
        found = [layer.width for layer in self.layers]
        return min(found), max(found)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as JSON holds them."""
        layers = [[layer.name, layer.kind, list(layer.shape), layer.params] for layer in self.layers]
        return {"resolution": self.resolution, "layers": layers}

    @classmethod
    def from_dict(cls, known: dict[str, Any]) -> Stage:
        """Read what `to_dict` returned."""
        layers = (
            Layer(str(name), str(kind), tuple(map(int, shape)), int(n)) for name, kind, shape, n in known["layers"]
        )
        return cls(str(known["resolution"]), tuple(layers))


def find_stages(model: nn.Module, inputs: Tensor) -> tuple[Stage, ...]:
    """Run a network once, and return its stages in the order in which they begin.

    The parameters of all stages add up to those of the network. Layers that the forward pass does not reach are a
    stage of their own, the last one.

    Args:
        model: The network, which is left as it is.
        inputs: One input, with the batch as the first dimension.
    """
    own = _parameters(model)
    shapes: dict[str, tuple[int, ...]] = {}
    training = model.training
    model.eval()
    try:
        with _recording(model, own, shapes), torch.no_grad():
            model(inputs)
    finally:
        model.train(training)
    order = [*shapes, *(name for name in own if name not in shapes)]
    modules = dict(model.named_modules())
    stages: dict[str, list[Layer]] = {}
    for name in order:
        layer = Layer(name, type(modules[name]).__name__, shapes.get(name, ()), own[name])
        stages.setdefault(layer.resolution, []).append(layer)
    found = [Stage(resolution, tuple(layers)) for resolution, layers in stages.items()]
    return tuple(sorted(found, key=lambda stage: stage.resolution == UNUSED))


def _parameters(model: nn.Module) -> dict[str, int]:
    """Return how many parameters each module has itself; those that modules share count for the first one."""
    seen: set[int] = set()
    found: dict[str, int] = {}
    for name, module in model.named_modules():
        fresh = {id(tensor): tensor.numel() for tensor in module.parameters(recurse=False) if id(tensor) not in seen}
        seen |= fresh.keys()
        if fresh:
            found[name] = sum(fresh.values())
    return found


@contextmanager
def _recording(model: nn.Module, names: dict[str, int], shapes: dict[str, tuple[int, ...]]) -> Iterator[None]:
    def recorder(name: str) -> Any:
        def record(module: nn.Module, inputs: object, output: object) -> None:
            tensors = [leaf for leaf in tree_leaves(output) if isinstance(leaf, Tensor)]
            if tensors:
                shapes.setdefault(name, tuple(tensors[0].shape[1:]))

        return record

    hooks = [module.register_forward_hook(recorder(name)) for name, module in model.named_modules() if name in names]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
