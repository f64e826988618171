"""Shared weights of NAS-Bench-201: how they are trained, and how a cell inherits its part of them."""

from __future__ import annotations

import copy
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import nn

from firstlight.core.errors import UnknownNameError
from firstlight.spaces.cells import EDGES, FourNodeCell, StagedNetwork
from firstlight.spaces.nasbench201.cell import OPERATIONS, Cell201
from firstlight.spaces.nasbench201.supernet import Supernet201
from firstlight.spaces.supernets.mixed import MixedEdge, set_weights
from firstlight.spaces.supernets.shared import PathPolicy, Shared
from firstlight.spaces.supernets.sharing import sharing_copy


@dataclass(frozen=True)
class CellPaths(PathPolicy):
    """Which operations are trained: `single-path` draws one for each edge, the same in all cells; `full` takes all."""

    name: str

    NAMES: ClassVar[tuple[str, ...]] = ("single-path", "full")

    def __post_init__(self) -> None:
        if self.name not in self.NAMES:
            raise UnknownNameError("path policy", self.name, self.NAMES)

    def take(self, network: nn.Module, step: int, rng: random.Random) -> None:
        full = Supernet201.layout.full
        for place in full.layout.places:
            chosen = rng.choice(OPERATIONS)
            alone = {name: float(name == chosen) for name in OPERATIONS}
            set_weights(network, place, full.weights(place) if self.name == "full" else alone)


class SharedCells(Shared):
    """The shared weights of NAS-Bench-201. A subnet is the stand-alone network of an architecture.

    It is in training mode, because the running statistics of BatchNorm mix all paths.
    """

    name = "nasbench201"
    recipe: ClassVar[Mapping[str, Any]] = {
        "optimizer": "sgd",
        "learning_rate": 0.1,
        "batch_size": 128,
        "schedule": "constant",
        "momentum": 0.9,
    }
    policies = CellPaths.NAMES
    frozen = False

    def network(self, skeleton: Any, *, seed: int = 0) -> nn.Module:
        return Supernet201().build(Supernet201.layout.full, skeleton, seed=seed)

    def policy(self, name: str = "") -> CellPaths:
        return CellPaths(name or self.policies[0])

    def subnet(self, network: nn.Module, architecture: Cell201, *, frozen: bool | None = None) -> nn.Module:
        assert isinstance(network, StagedNetwork)
        parts = [_chosen(part, architecture) if isinstance(part, FourNodeCell) else part for part in network.body]
        alone = copy.copy(network)
        alone._modules = network._modules | {"body": nn.Sequential(*parts)}
        subnet = sharing_copy(alone).train()
        if frozen:
            subnet.requires_grad_(False)
            subnet.classifier.requires_grad_(True)
        return subnet


def _chosen(cell: FourNodeCell, architecture: Cell201) -> FourNodeCell:
    edges: dict[tuple[int, int], nn.Module] = {}
    for (target, source), operation in zip(EDGES, architecture.operations, strict=True):
        mixed = cell.edges[f"{source}-{target}"]
        assert isinstance(mixed, MixedEdge)
        if operation != "none":
            edges[target, source] = mixed.operations[operation]
    return FourNodeCell(edges)
