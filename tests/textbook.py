"""The slow, obvious way to compute what Firstlight measures: the twins that tests and benchmarks compare with."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from firstlight.spaces.cells import EDGES
from firstlight.spaces.nasbench201.cell import OPERATIONS, Cell201
from firstlight.spaces.nasbench201.network import Skeleton201, network_of
from firstlight.spaces.ops import Zero, initialize


def inverse_conditions(model: nn.Module, x: Tensor) -> list[float]:
    """sigma_min / sigma_max of the first sample's output at every module call, one SVD each."""
    ratios = [float(sigma.min() / sigma.max()) for sigma in _singular_values(model, x)]
    return [ratio if math.isfinite(ratio) else 0.0 for ratio in ratios]


def largest_singular_values(model: nn.Module, x: Tensor) -> list[float]:
    """sigma_max of the first sample's output at every module call, one SVD each."""
    return [float(sigma.max()) for sigma in _singular_values(model, x)]


def _singular_values(model: nn.Module, x: Tensor) -> list[Tensor]:
    found: list[Tensor] = []

    def hook(_module: nn.Module, _inputs: tuple[Tensor, ...], output: Tensor) -> None:
        feature = output[0].detach()
        found.append(torch.linalg.svdvals(feature.reshape(feature.shape[0], -1)))

    handles = [module.register_forward_hook(hook) for module in model.modules()]
    model.train()
    model(x)
    for handle in handles:
        handle.remove()
    return found


def derivatives(
    model: nn.Module, basis: Tensor, theta: float, shape: tuple[int, ...], coordinates: list[int] | None = None
) -> tuple[Tensor, Tensor]:
    """Velocity and acceleration of the outputs along the circle: two backward passes for each coordinate."""
    model.train()
    angle = torch.tensor([theta], dtype=basis.dtype, requires_grad=True)
    point = (basis[:, 0] * angle.cos() + basis[:, 1] * angle.sin()).view(1, *shape)
    with sdpa_kernel(SDPBackend.MATH):  # the fused attention kernels have no second derivative
        outputs = model(point).flatten()
    velocities, accelerations = [], []
    for coordinate in range(len(outputs)) if coordinates is None else coordinates:
        (velocity,) = torch.autograd.grad(outputs[coordinate], angle, create_graph=True)
        (acceleration,) = torch.autograd.grad(velocity, angle, retain_graph=True)
        velocities.append(velocity.detach())
        accelerations.append(acceleration)
    return torch.cat(velocities), torch.cat(accelerations)


def curvature(velocity: Tensor, acceleration: Tensor) -> float:
    v, a = velocity.double(), acceleration.double()
    area = (v @ v) * (a @ a) - (v @ a) ** 2
    return float((v @ v) ** -1.5 * area.clamp(min=0).sqrt())


def dextr(model: nn.Module, x: Tensor, basis: Tensor, shape: tuple[int, ...], coordinates: list[int]) -> float:
    """The whole proxy at the published definition, for the benchmark."""
    independence = math.log1p(sum(inverse_conditions(model, x)))
    bending = math.log1p(curvature(*derivatives(model, basis, 0.0, shape, coordinates)))
    return independence * bending / (independence + bending)


class FiveOperations(nn.Module):
    """A cell of NAS-Bench-201 with all five operations on each edge, of which one is run."""

    def __init__(self, architecture: Cell201, channels: int) -> None:
        super().__init__()
        self.edges = nn.ModuleList(nn.ModuleDict({name: _all(name, channels) for name in OPERATIONS}) for _ in EDGES)
        self.chosen = architecture.operations

    def forward(self, x: Tensor) -> Tensor:
        nodes = [x]
        for target in range(1, 4):
            places = [place for place, edge in enumerate(EDGES) if edge[0] == target]
            nodes.append(sum(self.edges[p][self.chosen[p]](nodes[EDGES[p][1]]) for p in places))
        return nodes[-1]


def _all(name: str, channels: int) -> nn.Module:
    if name.startswith("nor_conv"):
        size = int(name[-1])
        layers = nn.Conv2d(channels, channels, size, padding=size // 2, bias=False), nn.BatchNorm2d(channels)
        return nn.Sequential(nn.ReLU(), *layers)
    others = {"none": Zero(), "skip_connect": nn.Identity()}
    return others.get(name) or nn.AvgPool2d(3, stride=1, padding=1, count_include_pad=False)


def published_network(architecture: Cell201) -> nn.Module:
    """The network as the published code builds it, with all operations on each edge."""
    network = network_of(Skeleton201(), lambda channels: FiveOperations(architecture, channels))
    for part in (network.stem, network.classifier, *(m for m in network.body if not isinstance(m, FiveOperations))):
        initialize(part, torch.Generator().manual_seed(0))
    return network
