"""Adds up the cost of layers without building them, for spaces with a closed form of the cost."""

from __future__ import annotations

from firstlight.probe.cost import Cost

Size = tuple[int, int]


class Tally:
    """Parameters and multiply-accumulates of the layers added so far."""

    def __init__(self) -> None:
        self.params = 0
        self.macs = 0
        self.gains = True  # True if BatchNorms have gain and shift

    def conv(self, inputs: int, outputs: int, kernel_area: int, size: Size, *, norm: bool = True) -> None:
        """Add a convolution without bias. `inputs` are the channels that each output reads, `size` the output size."""
        weights = inputs * outputs * kernel_area
        self.params += weights + (2 * outputs if norm and self.gains else 0)
        self.macs += weights * size[0] * size[1]

    def norm(self, channels: int) -> None:
        self.params += 2 * channels

    def linear(self, inputs: int, outputs: int, *, bias: bool = True, times: int = 1) -> None:
        """Add a linear map that is applied to `times` vectors of each input."""
        self.params += (inputs + bias) * outputs
        self.macs += inputs * outputs * times

    def cost(self) -> Cost:
        return Cost(self.params, self.macs)


def halved(size: Size) -> Size:
    """Return the output size of a layer with stride 2 and "same" padding."""
    return (size[0] + 1) // 2, (size[1] + 1) // 2
