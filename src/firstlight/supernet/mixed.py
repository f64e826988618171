"""An edge on which several operations stand at once, each with a weight."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence

from torch import Tensor, nn

from firstlight.spaces.ops import zeros

Weight = float | Tensor  # tensors where gradients with respect to the weights are wanted


class MixedEdge(nn.Module):
    """The weighted sum of its operations. One whose weight is 0 is not run, unless a gradient is asked of the weight.

    Operations without a module, such as `none`, add nothing. `place` tells apart the edges of a cell, and is the same
    in every cell of a kind.
    """

    def __init__(
        self, place: object, operations: Mapping[str, nn.Module], weights: Mapping[str, Weight], stride: int = 1
    ) -> None:
        super().__init__()
        self.place = place
        self.operations = nn.ModuleDict(operations)
        self.weights = dict(weights)
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        terms = [
            _times(self.weights[name], operation(x))
            for name, operation in self.operations.items()
            if _counts(self.weights[name])
        ]
        return functools.reduce(operator.add, terms) if terms else zeros(x, self.stride)


def set_weights(network: nn.Module, place: object, weights: Mapping[str, Weight] | Sequence[Weight]) -> None:
    """Give the operations on an edge of every cell other weights, by name or in the order in which they stand there."""
    for edge in network.modules():
        if isinstance(edge, MixedEdge) and edge.place == place:
            named = weights if isinstance(weights, Mapping) else dict(zip(edge.weights, weights, strict=True))
            edge.weights = {name: named[name] for name in edge.weights}


def _counts(weight: Weight) -> bool:
    return (isinstance(weight, Tensor) and weight.requires_grad) or bool(weight != 0)


def _times(weight: Weight, term: Tensor) -> Tensor:
    return term if isinstance(weight, float) and weight == 1 else weight * term
