"""Random networks: layers of all kinds chained at random, some of them odd, and the batches that go with them."""

from __future__ import annotations

import random
import warnings
from typing import Any

import torch
from tests.fuzz.layers import Shape, draw_layer
from tests.fuzz.oddities import FATES, Branches, odd_layer
from torch import Tensor, nn

SHAPES: tuple[Shape, ...] = ((3, 8, 8), (3, 8, 8), (3, 8, 8), (1, 4, 6), (4, 6), (5,), (2, 3, 4, 4))
CLASSES = 5


class Graph(nn.Module):
    """One layer after the other; some are there twice."""

    def __init__(self, layers: list[nn.Module]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x: Tensor) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x


def random_model(seed: int) -> tuple[nn.Module, list[tuple[Tensor, Tensor]]]:
    """A network of one to nine layers, and four small batches with labels."""
    rng = random.Random(seed)
    shape = rng.choice(SHAPES)
    samples = rng.choice((1, 2, 4))
    generator = torch.Generator().manual_seed(seed)
    batches = [
        (torch.randn(samples, *shape, generator=generator), torch.randint(CLASSES, (samples,), generator=generator))
        for _ in range(4)
    ]
    with torch.random.fork_rng(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's, about what some layers are made of
        torch.manual_seed(seed)
        model = _model(rng, (samples, *shape))
        for _ in range(rng.choice((0, 0, 1, 2))):
            _suffer(model, rng)
    return model, batches


def _model(rng: random.Random, shape: Shape) -> nn.Module:
    layers: list[nn.Module] = []
    odd = rng.choice((0.0, 0.0, 0.1, 0.3))
    careless = rng.random() < 0.1  # keeps layers that do not fit, or behind which nothing can follow
    now = shape
    for _ in range(rng.randint(1, 8)):
        layer = _layer(rng, now, odd)
        then = None if layer is None else _shape_behind(layer, now)
        if layer is None or not (then or careless):
            continue
        layers += [layer] * (2 if then == now and rng.random() < 0.2 else 1)
        now = then or now
    if careless:
        return Graph(layers)
    if rng.random() < 0.9:
        layers.append(nn.Flatten())
        width = _shape_behind(nn.Flatten(), now)
        if width is not None and len(width) == 2:
            layers.append(nn.Linear(width[1], CLASSES))
    return Graph(layers)


def _layer(rng: random.Random, shape: Shape, odd: float) -> nn.Module | None:
    """None for one that PyTorch does not make."""
    try:
        if rng.random() < odd:
            return odd_layer(rng, shape)
        layer = draw_layer(rng, shape)
        if rng.random() < 0.25:
            others = [nn.Identity(), draw_layer(rng, shape)]
            return Branches(rng.choice(("sum", "product", "concat")), layer, *others[: rng.choice((1, 2))])
        return layer
    except (ValueError, RuntimeError, AssertionError, IndexError, ZeroDivisionError, NotImplementedError):
        return None


def _shape_behind(layer: nn.Module, shape: Shape) -> Shape | None:
    """None where the layer does not take it, or what comes out is too large or no tensor to go on with."""
    try:
        with torch.no_grad():
            out = layer.eval()(torch.randn(shape))
    except Exception:
        return None
    finally:
        layer.train()
    if not isinstance(out, Tensor) or not 2 <= out.ndim <= 5 or out.numel() > 2_000:
        return None
    return tuple(out.shape)


def _suffer(model: nn.Module, rng: random.Random) -> None:
    try:
        rng.choice(FATES)(model, rng)
    except (RuntimeError, TypeError, AttributeError, KeyError):
        return
