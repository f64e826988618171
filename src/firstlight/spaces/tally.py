"""Adds up what layers cost without building them, for spaces whose cost has a closed form."""

from __future__ import annotations

from firstlight.probe.cost import Cost

Size = tuple[int, int]


class Tally:
    """Parameters and multiply-accumulates of the layers named so far."""

    def __init__(self) -> None:
        self.params = 0
        self.macs = 0
        self.gains = True  # whether BatchNorms have gain and shift

    def conv(self, inputs: int, outputs: int, kernel_area: int, size: Size, *, norm: bool = True) -> None:
        """A convolution without biases; `inputs` is what each output reads, `size` what it gives."""
        weights = inputs * outputs * kernel_area
        self.params += weights + (2 * outputs if norm and self.gains else 0)
        self.macs += weights * size[0] * size[1]

    def norm(self, channels: int) -> None:
        self.params += 2 * channels

    def linear(self, inputs: int, outputs: int, *, bias: bool = True, times: int = 1) -> None:
        """A linear map, applied to so many vectors of each input."""
        self.params += (inputs + bias) * outputs
        self.macs += inputs * outputs * times

    def cost(self) -> Cost:
        return Cost(self.params, self.macs)


def halved(size: Size) -> Size:
    """What a strided layer with "same" padding makes of a size."""
    return (size[0] + 1) // 2, (size[1] + 1) // 2
