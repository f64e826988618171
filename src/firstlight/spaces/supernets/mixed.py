"""Modules of a network that hold several options at once, each with a weight."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from firstlight.spaces.ops import zeros

Weight = float | Tensor  # a tensor if gradients with respect to the weight are needed


class ChoicePoint(nn.Module):
    """A choice between options by their weights.

    Args:
        place: What tells apart the points of a cell; the same in every cell of a kind.
        weights: Weights by option.
    """

    def __init__(self, place: object, weights: Mapping[str, Weight]) -> None:
        super().__init__()
        self.place = place
        self.weights = dict(weights)


class MixedEdge(ChoicePoint):
    """The weighted sum of its operations.

    An operation with weight 0 is not run, unless the weight requires a gradient. Operations without a module, such as
    `none`, add nothing.
    """

    def __init__(
        self, place: object, operations: Mapping[str, nn.Module], weights: Mapping[str, Weight], stride: int = 1
    ) -> None:
        super().__init__(place, weights)
        self.operations = nn.ModuleDict(operations)
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        terms = [
            _times(self.weights[name], operation(x))
            for name, operation in self.operations.items()
            if _counts(self.weights[name])
        ]
        return functools.reduce(operator.add, terms) if terms else zeros(x, self.stride)


class MixedInputs(ChoicePoint):
    """The weighted sum of the inputs that a node may read, in the order of the options."""

    def forward(self, inputs: Sequence[Tensor]) -> Tensor:
        weighted = zip(self.weights.values(), inputs, strict=True)
        terms = [_times(weight, x) for weight, x in weighted if _counts(weight)]
        return functools.reduce(operator.add, terms) if terms else torch.zeros_like(inputs[0])


def set_weights(network: nn.Module, place: object, weights: Mapping[str, Weight] | Sequence[Weight]) -> None:
    """Set the weights of the options at a place in every cell, by name or in the order of the options."""
    for point in network.modules():
        if isinstance(point, ChoicePoint) and point.place == place:
            named = weights if isinstance(weights, Mapping) else dict(zip(point.weights, weights, strict=True))
            point.weights = {name: named[name] for name in point.weights}


def scaled(weight: Weight, x: Tensor) -> Tensor:
    """Return the weighted tensor, or zeros without a graph if the weight is 0 and requires no gradient."""
    return _times(weight, x) if _counts(weight) else torch.zeros_like(x)


def _counts(weight: Weight) -> bool:
    return (isinstance(weight, Tensor) and weight.requires_grad) or bool(weight != 0)


def _times(weight: Weight, term: Tensor) -> Tensor:
    return term if isinstance(weight, float) and weight == 1 else weight * term
