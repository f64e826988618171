"""Operations of the cell-based spaces, and the initialization of weights.

The layers here allocate their weights without filling them. `initialize` fills each exactly once, from an explicit
generator, so that building a network is cheap and does not depend on the global random state.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from firstlight.core.errors import UnknownNameError

INITIALIZATIONS = ("default", "xavier", "he", "ntk")


class Conv2d(nn.Conv2d):
    """A convolution whose weights stay unset until `initialize`."""

    def reset_parameters(self) -> None:
        pass


class Linear(nn.Linear):
    """A linear map whose weights stay unset until `initialize`."""

    def reset_parameters(self) -> None:
        pass


class ReLUConvBN(nn.Sequential):
    """ReLU, bias-free convolution with "same" padding, affine BatchNorm."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int = 1) -> None:
        super().__init__(
            nn.ReLU(),
            Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False),
            nn.BatchNorm2d(outputs),
        )


class SeparableConv(nn.Sequential):
    """ReLU, depthwise convolution with "same" padding, pointwise convolution, BatchNorm."""

    def __init__(self, channels: int, kernel: int, stride: int = 1, dilation: int = 1) -> None:
        padding = dilation * (kernel // 2)
        super().__init__(
            nn.ReLU(),
            Conv2d(channels, channels, kernel, stride, padding, dilation, groups=channels, bias=False),
            Conv2d(channels, channels, 1, bias=False),
            nn.BatchNorm2d(channels),
        )


class FactorizedReduce(nn.Module):
    """ReLU, two strided 1x1 convolutions with half of the outputs each, BatchNorm.

    The second convolution is shifted by one pixel, with zeros beyond the right and lower edge of the image.
    """

    def __init__(self, inputs: int, outputs: int, stride: int = 2) -> None:
        super().__init__()
        self.rectifier = nn.ReLU()
        self.even = Conv2d(inputs, outputs // 2, 1, stride, bias=False)
        self.odd = Conv2d(inputs, outputs - outputs // 2, 1, stride, bias=False)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x: Tensor) -> Tensor:
        x = self.rectifier(x)
        shifted = F.pad(x, (0, 1, 0, 1))[:, :, 1:, 1:]
        out: Tensor = self.norm(torch.cat([self.even(x), self.odd(shifted)], 1))
        return out


class Zero(nn.Module):
    """Zeros of the size that a strided layer would return."""

    def __init__(self, stride: int = 1) -> None:
        super().__init__()
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        return zeros(x, self.stride)


def zeros(x: Tensor, stride: int = 1, channels: int | None = None) -> Tensor:
    """Return zeros of the shape that a layer with this stride and these channels would return for `x`."""
    nothing = x * 0
    if stride > 1:
        nothing = nothing[:, :, ::stride, ::stride]
    return nothing if channels is None else nothing[:, :1].expand(-1, channels, -1, -1)


class ResidualReduction(nn.Module):
    """Two 3x3 convolutions, the first with stride 2, beside an average-pooled 1x1 shortcut."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.first = ReLUConvBN(inputs, outputs, 3, stride=2)
        self.second = ReLUConvBN(outputs, outputs, 3)
        self.shortcut = nn.Sequential(nn.AvgPool2d(2, stride=2), Conv2d(inputs, outputs, 1, bias=False))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.second(self.first(x)) + self.shortcut(x)
        return out


@torch.no_grad()
def initialize(network: nn.Module, generator: torch.Generator, initialization: str = "default") -> None:
    """Fill all weights of a network. Normalization layers keep gain 1 and shift 0.

    A network with its own rule has a method `initialize(generator)`. It is used as the default, and fills what the
    other initializations do not.

    Args:
        network: The network, whose weights are changed in place.
        generator: Source of the random numbers.
        initialization: "default": weights and biases uniform within 1/sqrt(fan-in), as in PyTorch. "xavier" and "he":
            weights normal with variance 2 / (fan-in + fan-out) or 2 / fan-in, biases as by default. "ntk": weights
            normal with variance 1 / fan-in, biases 0, as in the theory of tangent kernels.

    Raises:
        UnknownNameError: If there is no such initialization.
    """
    if initialization not in INITIALIZATIONS:
        raise UnknownNameError("initialization", initialization, INITIALIZATIONS)
    own = getattr(network, "initialize", None)
    if callable(own):
        own(generator)
        if initialization == "default":
            return
    for module in network.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            fan_in, fan_out = module.weight[0].numel(), module.weight[:, 0].numel()
            bound = 1 / math.sqrt(fan_in)
            if initialization == "default":
                module.weight.uniform_(-bound, bound, generator=generator)
            else:
                variance = {"xavier": 2 / (fan_in + fan_out), "he": 2 / fan_in, "ntk": 1 / fan_in}[initialization]
                module.weight.normal_(0, math.sqrt(variance), generator=generator)
            if module.bias is not None:
                module.bias.uniform_(-bound, bound, generator=generator)
                if initialization == "ntk":
                    module.bias.zero_()
