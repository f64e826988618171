"""The blocks of plain networks. All of them take and return feature maps."""

from __future__ import annotations

from torch import Tensor, nn

from firstlight.spaces.ops import Conv2d, Linear
from firstlight.spaces.plain.shape import Kind, Stage

SQUEEZE = 4  # squeeze-and-excitation reduces the channels by this factor

Size = tuple[int, int]


def convolution(inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1) -> list[nn.Module]:
    """Return a convolution without bias, with "same" padding, and BatchNorm."""
    layer = Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, groups=groups, bias=False)
    return [layer, nn.BatchNorm2d(outputs)]


def squeezed_width(channels: int) -> int:
    return channels // SQUEEZE


class SqueezeExcitation(nn.Module):
    """Scales each channel by a gate between 0 and 1 that depends on the means of all channels (Hu et al., 2018)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            Conv2d(channels, squeezed_width(channels), 1),
            nn.ReLU(),
            Conv2d(squeezed_width(channels), channels, 1),
            nn.Sigmoid(),
        )

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = x * self.gate(x)
        return out


class ChannelNorm(nn.LayerNorm):
    """Normalizes the channels of each position."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class Residual(nn.Module):
    """A branch, a shortcut that is a projection where the shape changes, and a ReLU after their sum."""

    def __init__(self, branch: list[nn.Module], inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.branch = nn.Sequential(*branch)
        same = inputs == outputs and stride == 1
        self.shortcut = nn.Identity() if same else nn.Sequential(*convolution(inputs, outputs, 1, stride))
        self.relu = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.relu(self.branch(x) + self.shortcut(x))
        return out


def basic(inputs: int, stage: Stage, stride: int) -> nn.Module:
    """Two convolutions (He et al., 2016)."""
    first = [*convolution(inputs, stage.width, stage.size, stride), nn.ReLU()]
    return Residual(
        [*first, *convolution(stage.width, stage.width, stage.size), *_gate(stage)], inputs, stage.width, stride
    )


def bottleneck(inputs: int, stage: Stage, stride: int) -> nn.Module:
    """A convolution between two 1x1 convolutions that reduce and restore the channels (He et al., 2016)."""
    inner = stage.width // stage.expansion
    reduced = [*convolution(inputs, inner, 1), nn.ReLU(), *convolution(inner, inner, stage.size, stride), nn.ReLU()]
    return Residual([*reduced, *convolution(inner, stage.width, 1), *_gate(stage)], inputs, stage.width, stride)


def _gate(stage: Stage) -> list[nn.Module]:
    return [SqueezeExcitation(stage.width)] if stage.gated else []


class Inverted(nn.Module):
    """A depthwise convolution between two 1x1 convolutions that expand and reduce (Sandler et al., 2018).

    The shortcut exists only where the shape stays the same. The gate follows the depthwise convolution.
    """

    def __init__(self, inputs: int, stage: Stage, stride: int) -> None:
        super().__init__()
        inner = inputs * stage.expansion
        layers = [*convolution(inputs, inner, 1), nn.ReLU()] if stage.expansion > 1 else []
        layers += [*convolution(inner, inner, stage.size, stride, groups=inner), nn.ReLU()]
        layers += [SqueezeExcitation(inner)] if stage.gated else []
        self.branch = nn.Sequential(*layers, *convolution(inner, stage.width, 1))
        self.same = inputs == stage.width and stride == 1

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.branch(x)
        return x + out if self.same else out


class ConvNeXt(nn.Module):
    """A depthwise convolution, normalization, and an MLP for each position, around which is a shortcut.

    As in ConvNeXt (Liu et al., 2022) without layer scale, which would hide the branch before training.
    """

    def __init__(self, width: int, stage: Stage) -> None:
        super().__init__()
        self.depthwise = Conv2d(width, width, stage.size, padding=stage.size // 2, groups=width)
        self.norm = nn.LayerNorm(width)
        self.expand = Linear(width, width * stage.expansion)
        self.activation = nn.GELU()
        self.reduce = Linear(width * stage.expansion, width)
        self.gate = nn.Sequential(*_gate(stage))

    def forward(self, x: Tensor) -> Tensor:
        positions = self.depthwise(x).permute(0, 2, 3, 1)
        mixed = self.reduce(self.activation(self.expand(self.norm(positions))))
        out: Tensor = x + self.gate(mixed.permute(0, 3, 1, 2))
        return out


class Transformer(nn.Module):
    """Attention between all positions and an MLP for each, with normalization before and a shortcut around each."""

    def __init__(self, width: int, stage: Stage) -> None:
        super().__init__()
        self.heads = stage.size
        self.first_norm = nn.LayerNorm(width)
        self.qkv = Linear(width, 3 * width)
        self.proj = Linear(width, width)
        self.second_norm = nn.LayerNorm(width)
        self.expand = Linear(width, width * stage.expansion)
        self.activation = nn.GELU()
        self.reduce = Linear(width * stage.expansion, width)

    def forward(self, x: Tensor) -> Tensor:
        tokens = x.flatten(2).transpose(1, 2)
        tokens = tokens + self.attended(self.first_norm(tokens))
        tokens = tokens + self.reduce(self.activation(self.expand(self.second_norm(tokens))))
        out: Tensor = tokens.transpose(1, 2).reshape(x.shape)
        return out

    def attended(self, tokens: Tensor) -> Tensor:
        # (samples, heads, tokens, width of a head) each
        query, key, value = self.qkv(tokens).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        weights = ((query / query.shape[-1] ** 0.5) @ key.transpose(-2, -1)).softmax(-1)
        mixed: Tensor = self.proj((weights @ value).transpose(1, 2).flatten(2))
        return mixed


def patches(inputs: int, outputs: int, patch: Size, size: Size) -> list[nn.Module]:
    """Return a convolution of patches that do not overlap; zeros complete those at the right and lower edge."""
    missing = -size[0] % patch[0], -size[1] % patch[1]
    padding = [nn.ZeroPad2d((0, missing[1], 0, missing[0]))] if any(missing) else []
    return [*padding, Conv2d(inputs, outputs, patch, patch)]


def stage_blocks(kind: Kind, inputs: int, stage: Stage, size: Size) -> list[nn.Module]:
    """Return the blocks of a stage whose inputs have this size.

    ConvNeXt and transformer blocks keep the shape: where it changes, normalization and a convolution of patches go
    before the first block.
    """
    if kind in ("basic", "bottleneck", "inverted"):
        block = {"basic": basic, "bottleneck": bottleneck, "inverted": Inverted}[kind]
        first = block(inputs, stage, stage.stride)
        return [first, *(block(stage.width, stage, 1) for _ in range(stage.depth - 1))]
    same_shape = ConvNeXt if kind == "convnext" else Transformer
    blocks: list[nn.Module] = [same_shape(stage.width, stage) for _ in range(stage.depth)]
    if inputs == stage.width and stage.stride == 1:
        return blocks
    change = patches(inputs, stage.width, (stage.stride, stage.stride), size)
    return [nn.Sequential(ChannelNorm(inputs), *change), *blocks]
