"""The vision transformers of AutoFormer as stand-alone networks, and their cost."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from firstlight.core.errors import SettingError
from firstlight.probe.cost import Cost
from firstlight.spaces.base import Architecture, Skeleton
from firstlight.spaces.ops import Conv2d, Linear, initialize

PATCH = 16
HEAD_WIDTH = 64
FARTHEST = 14  # patches further apart than this share a relative position
RELATIVE_POSITIONS = 2 * FARTHEST + 2  # -14 to 14, and one for the class token
WEIGHT_DEVIATION = 0.02


@dataclass(frozen=True)
class Transformer(Architecture):
    """The width of the tokens, and for each block its number of heads and its MLP ratio."""

    width: int
    heads: tuple[int, ...]
    ratios: tuple[float, ...]

    @property
    def depth(self) -> int:
        return len(self.heads)

    @property
    def hidden(self) -> tuple[int, ...]:
        """The hidden widths of the MLPs."""
        return tuple(int(self.width * ratio) for ratio in self.ratios)

    def __str__(self) -> str:
        blocks = (f"{heads}x{ratio:g}" for heads, ratio in zip(self.heads, self.ratios, strict=True))
        return f"{self.width}:{'-'.join(blocks)}"


@dataclass(frozen=True)
class AutoFormerSkeleton(Skeleton):
    """The classifier sees the mean of the patches, or with `class_token` 1 the class token.

    The class token is part of the network in both cases.
    """

    input_shape: tuple[int, ...] = (3, 224, 224)
    classes: int = 1000
    class_token: int = 0

    def __post_init__(self) -> None:
        sides = self.input_shape[1:]
        image = len(sides) == 2 and all(side > 0 and side % PATCH == 0 for side in sides) and self.input_shape[0] > 0
        if not image or self.classes < 1 or self.class_token not in (0, 1):
            raise SettingError(
                f"An AutoFormer network cannot be built with {self}. It takes images whose sides are multiples of "
                f"{PATCH}, and needs at least one class, and 0 or 1 for class_token."
            )

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of patches."""
        return self.input_shape[1] // PATCH, self.input_shape[2] // PATCH

    @property
    def tokens(self) -> int:
        return 1 + self.grid[0] * self.grid[1]


class RelativePositions(nn.Module):
    """A vector for each pair of tokens: the sum of one for their vertical and one for their horizontal distance."""

    vertical_index: Tensor
    horizontal_index: Tensor

    def __init__(self, grid: tuple[int, int]) -> None:
        super().__init__()
        self.vertical = nn.Parameter(torch.empty(RELATIVE_POSITIONS, HEAD_WIDTH))
        self.horizontal = nn.Parameter(torch.empty(RELATIVE_POSITIONS, HEAD_WIDTH))
        rows, columns = grid
        patches = torch.arange(rows * columns)
        self.register_buffer("vertical_index", _distances(patches // columns), persistent=False)
        self.register_buffer("horizontal_index", _distances(patches % columns), persistent=False)

    def forward(self) -> Tensor:
        return self.vertical[self.vertical_index] + self.horizontal[self.horizontal_index]


def _distances(places: Tensor) -> Tensor:
    """Return the row of the table for each pair of tokens; 0 for pairs with the class token, which comes first."""
    apart = (places[None, :] - places[:, None]).clamp(-FARTHEST, FARTHEST) + FARTHEST + 1
    return nn.functional.pad(apart, (1, 0, 1, 0))


class Attention(nn.Module):
    """x + attention(norm(x)), with relative positions added to keys and values."""

    def __init__(self, width: int, heads: int, grid: tuple[int, int]) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.qkv = Linear(width, 3 * HEAD_WIDTH * heads)
        self.key_positions = RelativePositions(grid)
        self.value_positions = RelativePositions(grid)
        self.proj = Linear(HEAD_WIDTH * heads, width)

    def forward(self, x: Tensor) -> Tensor:
        # (samples, heads, tokens, HEAD_WIDTH) each
        query, key, value = self.qkv(self.norm(x)).unflatten(2, (3, self.heads, HEAD_WIDTH)).permute(2, 0, 3, 1, 4)
        logits = query @ key.transpose(-2, -1) + _by_token(query, self.key_positions().transpose(-2, -1))
        weights = (logits / HEAD_WIDTH**0.5).softmax(-1)
        mixed = weights @ value + _by_token(weights, self.value_positions())
        out: Tensor = x + self.proj(mixed.transpose(1, 2).flatten(2))
        return out


def _by_token(rows: Tensor, matrices: Tensor) -> Tensor:
    """Multiply the row of each query token by the matrix of that token, for all samples and heads at once."""
    products: Tensor = (rows.flatten(0, 1).transpose(0, 1) @ matrices).transpose(0, 1)
    return products.reshape(*rows.shape[:3], -1)


class MLP(nn.Module):
    """x + MLP(norm(x)): two linear maps with GELU between them."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.fc1 = Linear(width, hidden)
        self.activation = nn.GELU()
        self.fc2 = Linear(hidden, width)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = x + self.fc2(self.activation(self.fc1(self.norm(x))))
        return out


class VisionTransformer(nn.Module):
    """Patches and a class token with positions, alternating attention and MLPs, and a classifier."""

    def __init__(self, architecture: Transformer, skeleton: AutoFormerSkeleton) -> None:
        super().__init__()
        width = architecture.width
        self.patches = Conv2d(skeleton.input_shape[0], width, PATCH, PATCH)
        self.token = nn.Parameter(torch.empty(1, 1, width))
        self.positions = nn.Parameter(torch.empty(1, skeleton.tokens, width))
        body: list[nn.Module] = []
        for heads, hidden in zip(architecture.heads, architecture.hidden, strict=True):
            body += [Attention(width, heads, skeleton.grid), MLP(width, hidden)]
        self.body = nn.Sequential(*body)
        self.norm = nn.LayerNorm(width)
        self.head = Linear(width, skeleton.classes)
        self.class_token = bool(skeleton.class_token)

    @torch.no_grad()
    def initialize(self, generator: torch.Generator) -> None:
        """Draw linear maps, tokens and positions from N(0, 0.02^2); biases are 0, patches as in PyTorch."""
        initialize(self.patches, generator)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                module.weight.normal_(0, WEIGHT_DEVIATION, generator=generator)
                module.bias.zero_()
            if isinstance(module, RelativePositions):
                module.vertical.normal_(0, WEIGHT_DEVIATION, generator=generator)
                module.horizontal.normal_(0, WEIGHT_DEVIATION, generator=generator)
        self.token.normal_(0, WEIGHT_DEVIATION, generator=generator)
        self.positions.normal_(0, WEIGHT_DEVIATION, generator=generator)

    def feature_blocks(self) -> list[nn.Module]:
        """Return each attention and each MLP, for proxies that compare features between blocks."""
        return list(self.body)

    def forward(self, x: Tensor) -> Tensor:
        patches = self.patches(x).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.token.expand(x.shape[0], -1, -1), patches], dim=1) + self.positions
        tokens = self.norm(self.body(tokens))
        logits: Tensor = self.head(tokens[:, 0] if self.class_token else tokens[:, 1:].mean(1))
        return logits


def exact_cost(architecture: Transformer, skeleton: AutoFormerSkeleton) -> Cost:
    """Count all weights and the products of attention, those with relative positions included."""
    width, tokens, classes = architecture.width, skeleton.tokens, skeleton.classes
    patch_weights = skeleton.input_shape[0] * PATCH**2 * width
    params = patch_weights + width + width * (1 + tokens) + 2 * width + (width + 1) * classes
    macs = patch_weights * (tokens - 1) + width * classes
    for heads, hidden in zip(architecture.heads, architecture.hidden, strict=True):
        inner = HEAD_WIDTH * heads
        weights = 4 * width * inner + 2 * width * hidden
        biases = 3 * inner + 2 * width + hidden
        params += weights + biases + 4 * width + 4 * RELATIVE_POSITIONS * HEAD_WIDTH
        macs += weights * tokens + 4 * tokens**2 * inner
    return Cost(params, macs)


def published_complexity(architecture: Transformer) -> float:
    """Return the number of operations as AutoFormer counts them, for 1,000 classes and 224x224 images.

    Its conventions: 198 tokens in the blocks (the class token counts twice), the classifier on all 197 tokens, and no
    final normalization.
    """
    width, patches, tokens = architecture.width, 196, 198
    total = width + patches * 3 * PATCH**2 * width + (patches + 1) / 2 * width + (patches + 1) * 1000 * width
    for heads, hidden in zip(architecture.heads, architecture.hidden, strict=True):
        inner = HEAD_WIDTH * heads
        total += 2 * tokens * width + 4 * tokens * width * inner + 2 * tokens**2 * inner + 2 * tokens * width * hidden
        total += 2 * FARTHEST * tokens**2 + tokens**2 / 2 + tokens * inner / 2
    return total
