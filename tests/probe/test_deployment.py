"""Flash and RAM: counted on the graph, and again by running real modules."""

from __future__ import annotations

from typing import Any

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from firstlight.probe.deployment import count_ram
from firstlight.probe.graph import record_graph


def hooked_peak(model: nn.Module, layers: list[nn.Module], x: Tensor, item: int) -> int:
    """Return the peak by hooks on the layers of a chain with shortcuts: the slow and obvious way.

    Each hook notes the tensors that a layer is given and the one that it returns. A tensor is alive from its layer to
    the last one that is given it.
    """
    made: list[Tensor] = [x]
    steps: list[tuple[list[int], int]] = []

    def place(tensor: Tensor) -> int:
        return next(place for place, other in enumerate(made) if other is tensor)

    def hook(module: nn.Module, args: tuple[Any, ...], out: Tensor) -> None:
        read = [place(tensor) for tensor in args]
        made.append(out)
        steps.append((read, len(made) - 1))

    handles = [layer.register_forward_hook(hook) for layer in layers]
    last = place(model(x))
    for handle in handles:
        handle.remove()
    peak = x.numel() * item
    for now, (_, written) in enumerate(steps):
        alive = {written}
        for tensor in range(written):
            read_later = any(tensor in read for read, _ in steps[now:]) or tensor == last
            alive |= {tensor} if read_later else set()
        peak = max(peak, sum(made[tensor].numel() for tensor in alive) * item)
    return peak


class Sum(nn.Module):
    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return a + b


class Chain(nn.Module):
    """Convolutions with BatchNorm; some read the sum of the last two results."""

    def __init__(self, widths: list[int], shortcuts: list[bool]) -> None:
        super().__init__()
        self.layers, self.sums = nn.ModuleList(), nn.ModuleList()
        before = 2
        for width, shortcut in zip(widths, shortcuts, strict=True):
            width = before if shortcut else width
            self.layers.append(nn.Sequential(nn.Conv2d(before, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()))
            self.sums.append(Sum() if shortcut else nn.Identity())
            before = width

    def forward(self, x: Tensor) -> Tensor:
        for layer, join in zip(self.layers, self.sums, strict=True):
            y = layer(x)
            x = join(y, x) if isinstance(join, Sum) else y
        return x

    def parts(self) -> list[nn.Module]:
        joins = [join for join in self.sums if isinstance(join, Sum)]
        return [*self.layers, *joins]


@given(st.lists(st.tuples(st.integers(1, 6), st.booleans()), min_size=1, max_size=6))
@settings(max_examples=25, deadline=None)
def test_ram_is_the_peak_that_hooks_see(blocks: list[tuple[int, bool]]) -> None:
    model = Chain([width for width, _ in blocks], [shortcut for _, shortcut in blocks]).eval()
    x = torch.randn(1, 2, 4, 4)
    graph = record_graph(model, x)
    with torch.no_grad():
        assert count_ram(graph) == hooked_peak(model, model.parts(), x, 4)
        assert count_ram(graph, int8=True) == hooked_peak(model, model.parts(), x, 1)


def test_ram_of_a_chain_by_hand() -> None:
    chain = nn.Sequential(nn.Linear(8, 64), nn.Linear(64, 8), nn.Linear(8, 64), nn.Linear(64, 2))
    graph = record_graph(chain, torch.randn(1, 8))
    assert count_ram(graph) == 4 * (64 + 8)
    assert count_ram(graph, int8=True) == 64 + 8


def test_what_is_not_quantized_stays_wide() -> None:
    """The formats compute a GELU with floating-point numbers."""
    chain = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 2))
    graph = record_graph(chain, torch.randn(1, 8))
    assert count_ram(graph, int8=True) == 4 * (16 + 16)
