"""The operators of NASRec: dense ones return a vector for each sample, sparse ones rows as wide as an embedding.

With `norm`, a linear map has no bias and is followed by a LayerNorm, unless stated otherwise.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from firstlight.spaces.nasrec.blocks import EMBEDDING
from firstlight.spaces.ops import Linear

HEADS = 8
TRANSFORMER_GAIN = 0.17


def projection(inputs: int, outputs: int, norm: bool) -> nn.Sequential:
    """Return a linear map with a LayerNorm, or with a bias instead."""
    linear = Linear(inputs, outputs, bias=not norm)
    return nn.Sequential(linear, nn.LayerNorm(outputs)) if norm else nn.Sequential(linear)


def fitting(inputs: int, outputs: int, norm: bool) -> nn.Module:
    """Return a projection if the size changes, otherwise the identity."""
    return nn.Identity() if inputs == outputs else projection(inputs, outputs, norm)


def over_rows(layer: nn.Module, x: Tensor) -> Tensor:
    """Apply a layer to the rows of (samples, rows, width), so that it mixes rows."""
    mixed: Tensor = layer(x.transpose(1, 2))
    return mixed.transpose(1, 2)


class FullyConnected(nn.Module):
    """Linear map, norm, ReLU."""

    def __init__(self, inputs: int, width: int, norm: bool) -> None:
        super().__init__()
        self.linear = projection(inputs, width, norm)
        self.rectifier = nn.ReLU()

    def forward(self, dense: Tensor) -> Tensor:
        out: Tensor = self.rectifier(self.linear(dense))
        return out


class Linear3d(nn.Module):
    """The same over rows."""

    def __init__(self, inputs: int, rows: int, norm: bool) -> None:
        super().__init__()
        self.linear = projection(inputs, rows, norm)
        self.rectifier = nn.ReLU()

    def forward(self, sparse: Tensor) -> Tensor:
        return over_rows(nn.Sequential(self.linear, self.rectifier), sparse)


class DotProduct(nn.Module):
    """Dot products of all pairs of rows and the dense vector, projected.

    The number of rows is first changed to round(sqrt(2 width)), so that there are about `width` pairs.
    """

    places: Tensor

    def __init__(self, inputs: int, rows: int, width: int, norm: bool) -> None:
        super().__init__()
        self.dense = fitting(inputs, EMBEDDING, norm)
        factors = round(math.sqrt(2 * width))
        self.rows = fitting(rows, factors, norm)
        self.project = projection(factors * (factors + 1) // 2, width, norm)
        below_diagonal = [row * (factors + 1) + column for row in range(factors + 1) for column in range(row)]
        self.register_buffer("places", torch.tensor(below_diagonal), persistent=False)

    def forward(self, dense: Tensor, sparse: Tensor) -> Tensor:
        vectors = torch.cat([self.dense(dense)[:, None], over_rows(self.rows, sparse)], 1)
        products = vectors @ vectors.transpose(1, 2)
        out: Tensor = self.project(products.flatten(1)[:, self.places])
        return out


class OfTwo(nn.Module):
    """The base of operators on two vectors: both are padded with zeros to `inputs`, and the result is projected."""

    def __init__(self, inputs: int, width: int, norm: bool, *, bias: bool) -> None:
        super().__init__()
        self.inputs = inputs
        self.project = nn.Identity() if inputs == width else Linear(inputs, width, bias=bias)
        self.norm = nn.LayerNorm(width) if norm else nn.Identity()

    def filled(self, x: Tensor) -> Tensor:
        return F.pad(x, (0, self.inputs - x.shape[1]))

    def finished(self, x: Tensor) -> Tensor:
        out: Tensor = self.norm(self.project(x))
        return out


class Sum(OfTwo):
    def __init__(self, inputs: int, width: int, norm: bool) -> None:
        super().__init__(inputs, width, norm, bias=not norm)

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        return self.finished(self.filled(left) + self.filled(right))


class SigmoidGating(OfTwo):
    """sigmoid(linear(left)) * right. Both linear maps always have biases."""

    def __init__(self, inputs: int, width: int, norm: bool) -> None:
        super().__init__(inputs, width, norm, bias=True)
        self.gate = Linear(inputs, inputs)

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        return self.finished(torch.sigmoid(self.gate(self.filled(left))) * self.filled(right))


class Attention(nn.Module):
    """Attention among rows, with eight heads."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = Linear(EMBEDDING, 3 * EMBEDDING)
        self.out = Linear(EMBEDDING, EMBEDDING)

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.heads(x)
        return self.merged(F.scaled_dot_product_attention(query, key, value))

    def heads(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values of shape (samples, heads, rows, width)."""
        samples, rows, _ = x.shape
        query, key, value = self.qkv(x).view(samples, rows, 3, HEADS, EMBEDDING // HEADS).permute(2, 0, 3, 1, 4)
        return query, key, value

    def merged(self, mixed: Tensor) -> Tensor:
        out: Tensor = self.out(mixed.transpose(1, 2).flatten(2))
        return out


class Transformer(nn.Module):
    """A projection of rows, then attention and an MLP, each added to its input and normalized."""

    def __init__(self, inputs: int, rows: int, norm: bool) -> None:
        super().__init__()
        self.rows = projection(inputs, rows, norm)
        self.attention = Attention()
        self.attention_norm = nn.LayerNorm(EMBEDDING)
        self.ffn1 = Linear(EMBEDDING, EMBEDDING)
        self.rectifier = nn.ReLU()
        self.ffn2 = Linear(EMBEDDING, EMBEDDING)
        self.ffn_norm = nn.LayerNorm(EMBEDDING)
        for layer in (self.attention_norm, self.ffn_norm):
            nn.init.constant_(layer.weight, TRANSFORMER_GAIN)

    def forward(self, sparse: Tensor) -> Tensor:
        return self.attend(over_rows(self.rows, sparse))

    def attend(self, x: Tensor) -> Tensor:
        """Apply attention and the MLP to projected rows."""
        x = self.attention_norm(x + self.attention(x))
        out: Tensor = self.ffn_norm(x + self.ffn2(self.rectifier(self.ffn1(x))))
        return out


class FactorizationMachine(nn.Module):
    """(sum of rows)^2 - sum of squared rows: twice the sum of the products of all pairs of rows, projected.

    Without a projection there is no normalization. Published networks have an unused LayerNorm there, which counts
    toward the parameters.
    """

    def __init__(self, width: int, norm: bool) -> None:
        super().__init__()
        self.project = fitting(EMBEDDING, width, norm)
        if width == EMBEDDING and norm:
            self.idle_norm = nn.LayerNorm(width)

    def forward(self, sparse: Tensor) -> Tensor:
        out: Tensor = self.project(sparse.sum(1).square() - sparse.square().sum(1))
        return out
