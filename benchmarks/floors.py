"""What the curvature of the output cannot undercut: the convolutions and matrix products of three inputs."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from firstlight.probe.observe import hooked, undisturbed


def products_of_three(network: nn.Module, shape: tuple[int, ...]) -> Callable[[], None]:
    """Return a function that runs only the convolutions and linear maps of the network, on three inputs at a time.

    Images have their channels last, which is the quickest layout here.
    """
    calls: list[tuple[nn.Conv2d | nn.Linear, Tensor]] = []

    def note(layer: nn.Conv2d | nn.Linear, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        x = torch.randn(3 * len(inputs[0]), *inputs[0].shape[1:])
        calls.append((layer, x.contiguous(memory_format=torch.channels_last) if x.ndim == 4 else x))

    layers = [module for module in network.modules() if isinstance(module, (nn.Conv2d, nn.Linear))]
    with undisturbed(network, training=True, seed=0), torch.no_grad(), hooked(layers, note):
        network(torch.randn(1, *shape))

    @torch.no_grad()
    def run() -> None:
        for layer, x in calls:
            if isinstance(layer, nn.Linear):
                F.linear(x, layer.weight)
            else:
                F.conv2d(x, layer.weight, None, layer.stride, layer.padding, layer.dilation, layer.groups)

    return run
