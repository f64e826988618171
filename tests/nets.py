"""Tiny networks that between them use every kind of layer the measurements must cope with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Residual(nn.Module):
    """BatchNorm, ReLU in place, residual, average and max pooling, strided convolution with bias."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True))
        self.body = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8))
        self.pool = nn.AvgPool2d(3, stride=1, padding=1, count_include_pad=False)
        self.down = nn.Conv2d(8, 12, 3, stride=2, padding=1)
        self.head = nn.Linear(12, 5)

    def feature_blocks(self) -> list[nn.Module]:
        return [self.stem, self.body, self.down]

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        x = F.relu(self.body(x) + x) + 0.5 * self.pool(x)
        x = F.max_pool2d(self.down(x), 2)
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Smooth(nn.Module):
    """BatchNorm and GELU only: smooth enough for finite differences."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 6, 3, padding=1),
            nn.BatchNorm2d(6),
            nn.GELU(),
            nn.Conv2d(6, 6, 3, padding=1),
            nn.BatchNorm2d(6),
            nn.GELU(),
            nn.AvgPool2d(2),
        )
        self.head = nn.Linear(6, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.layers(x).mean((2, 3)))


class Attention(nn.Module):
    """Patches, a class token and positions, LayerNorm, multi-head attention written out, GELU, GroupNorm."""

    def __init__(self, side: int = 8) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 16, 4, stride=4)
        self.norm_patches = nn.GroupNorm(4, 16)
        self.token = nn.Parameter(torch.zeros(1, 1, 16))
        self.positions = nn.Parameter(0.1 * torch.randn(1, (side // 4) ** 2 + 1, 16))
        self.norm1, self.norm2 = nn.LayerNorm(16), nn.LayerNorm(16)
        self.qkv = nn.Linear(16, 48)
        self.mlp = nn.Sequential(nn.Linear(16, 24), nn.GELU(), nn.Linear(24, 16))
        self.head = nn.Linear(16, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm_patches(self.patches(x)).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1) + self.positions
        q, k, v = (part.unflatten(2, (2, 8)).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, dim=2))
        weights = (q @ k.transpose(-2, -1) / 8**0.5).softmax(-1)
        x = x + (weights @ v).transpose(1, 2).flatten(2)
        x = x + self.mlp(self.norm2(x))
        return self.head(x[:, 1:].mean(1))


class FusedAttention(nn.Module):
    """PyTorch's own attention layer, which calls fused kernels."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 16, 4, stride=4)
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.head = nn.Linear(16, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = x + self.attention(x, x, x, need_weights=False)[0]
        return self.head(x.mean(1))


class Gated(nn.Module):
    """Products of moving tensors, division, powers, padding, sigmoid and SiLU: squeeze-and-excitation and friends."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 3)
        self.gate = nn.Linear(6, 6)
        self.head = nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = F.silu(self.conv(F.pad(x, (1, 1, 1, 1), value=0.5)))
        x = x * torch.sigmoid(self.gate(x.mean((2, 3))))[:, :, None, None]
        pooled = x.mean((2, 3))
        return self.head(1.0 - pooled / (1 + pooled.pow(2).sum(1, keepdim=True)))


def mlp() -> nn.Module:
    return nn.Sequential(
        nn.Flatten(), nn.Linear(3 * 8 * 8, 20), nn.ReLU(), nn.Linear(20, 12), nn.Tanh(), nn.Linear(12, 5)
    )


def plain() -> nn.Module:
    """Convolutions with biases and ReLUs of both kinds, and nothing that couples samples."""
    return nn.Sequential(
        nn.Conv2d(3, 6, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(6, 8, 3, stride=2, padding=1),
        nn.ReLU(inplace=True),
        nn.Conv2d(8, 8, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 5),
    )


NETS: dict[str, Callable[[], nn.Module]] = {
    "residual": Residual,
    "smooth": Smooth,
    "attention": Attention,
    "fused_attention": FusedAttention,
    "gated": Gated,
    "mlp": mlp,
    "plain": plain,
}


def build(name: str, seed: int = 0) -> nn.Module:
    """The network in float64, with all normalizations given gains and shifts that matter."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        net = NETS[name]()
        for module in net.modules():
            if isinstance(module, (nn.BatchNorm2d, nn.LayerNorm, nn.GroupNorm)):
                nn.init.uniform_(module.weight, 0.5, 1.5)
                nn.init.uniform_(module.bias, -0.5, 0.5)
    return net.double()


def images(samples: int = 5, seed: int = 0, side: int = 8) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(samples, 3, side, side, dtype=torch.float64, generator=generator)


def labelled(count: int, samples: int = 6, classes: int = 3) -> list[tuple[Tensor, Tensor]]:
    """Batches of images, no two alike, with labels."""
    generator = torch.Generator().manual_seed(count)
    return [
        (images(samples, seed=100 + number), torch.randint(classes, (samples,), generator=generator))
        for number in range(count)
    ]


class ParityNet(nn.Module):
    """The networks of the parity files: `features`, global pooling, `classifier`."""

    def __init__(self, spec: dict[str, Any]) -> None:
        super().__init__()
        layers = [_parity_layer(**layer) for layer in spec["layers"]]
        width = [layer["cout"] for layer in spec["layers"] if layer["op"] == "conv"][-1]
        self.features = nn.Sequential(*layers)
        self.gap = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Linear(width, spec["num_classes"])

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.gap(self.features(x)).flatten(1))


def _parity_layer(op: str, **spec: Any) -> nn.Module:
    if op == "conv":
        return nn.Conv2d(spec["cin"], spec["cout"], spec["k"], spec["s"], spec["p"], bias=spec["bias"])
    if op == "bn":
        return nn.BatchNorm2d(spec["c"])
    if op == "avgpool":
        return nn.AvgPool2d(spec["k"], spec["s"], spec["p"], count_include_pad=spec["count_include_pad"])
    return nn.ReLU()
