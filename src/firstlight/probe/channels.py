"""The graph of a network's channels: which channels of a layer's output respond to which channels of its input."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from firstlight.probe.gradients import refuse_hidden_layers, weights_of
from firstlight.probe.observe import hooked
from firstlight.probe.variants import NORMALIZATIONS

# Layers that join each channel to itself: shortcuts and pooling
CHANNELWISE = (nn.Identity, *(getattr(nn, f"{kind}Pool2d") for kind in ("Avg", "Max", "AdaptiveAvg", "AdaptiveMax")))
# Layers whose output stands for the same vertices as their input
TRANSPARENT = (nn.ReLU, nn.ReLU6, nn.GELU, nn.Dropout, *NORMALIZATIONS)
_CHUNK = 64


@dataclass(frozen=True)
class ChannelGraph:
    """The size of the graph.

    Attributes:
        vertices: The number of channels of all tensors that layers read, and of the output.
        edges: The number of pairs of an input and an output channel of a layer that respond to each other.
    """

    vertices: int
    edges: int


class GraphRecorder:
    """Counts vertices and edges while a sample passes through the network."""

    def __init__(self) -> None:
        self.edges = 0
        self._sources: dict[int, int] = {}
        self._channels: dict[int, int] = {}
        self._kept: list[Tensor] = []  # the identity of a tensor is unique only as long as it exists

    def watching(self, model: nn.Module) -> AbstractContextManager[None]:
        weights_of(model)  # raises an error if there are none
        refuse_hidden_layers(model)
        known = (nn.Conv2d, nn.Linear, *CHANNELWISE, *TRANSPARENT)
        return hooked([module for module in model.modules() if isinstance(module, known)], self._see)

    def graph(self, outputs: int) -> ChannelGraph:
        return ChannelGraph(sum(self._channels.values()) + outputs, self.edges)

    def _see(self, layer: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> None:
        read = inputs[0]
        self._kept += [read, output]
        source = self._sources.get(id(read), id(read))
        if isinstance(layer, TRANSPARENT):
            self._sources[id(output)] = source
            return
        channels = read.shape[-1] if isinstance(layer, nn.Linear) else read.shape[1]
        self._channels[source] = channels
        self.edges += channels if isinstance(layer, CHANNELWISE) else responding_pairs(layer, read)


def responding_pairs(layer: nn.Module, like: Tensor) -> int:
    """Return for how many pairs (i, j) output channel j is positive somewhere if input channel i is 1, all others 0.

    Args:
        layer: A convolution or linear layer.
        like: An input, which states the size of the feature map.
    """
    if isinstance(layer, nn.Linear):  # all positions are alike
        return int((layer.weight > 0).sum())
    size = like.shape[2:]
    if type(layer).forward is nn.Conv2d.forward and layer.padding_mode == "zeros":
        assert isinstance(layer, nn.Conv2d)
        size = torch.Size(map(telling_side, size, layer.kernel_size, layer.dilation, layer.stride))
    pairs = 0
    for ones in torch.eye(like.shape[1]).to(like).split(_CHUNK):
        response = layer.forward(ones[:, :, None, None].expand(-1, -1, *size))
        pairs += int((response > 0).flatten(2).any(2).sum())
    return pairs


def telling_side(side: int, kernel: int, dilation: int, stride: int) -> int:
    """Return the smallest side of a map of ones that a convolution answers with the same numbers.

    All windows within the map see the same ones, and those that stick out at its ends see as many of them as in a
    larger map whose side differs by a multiple of the stride.
    """
    enough = 2 * (dilation * (kernel - 1) + 1) + stride
    return side if side <= enough else enough + (side - enough) % stride
