"""Weight-sharing networks of spaces, as far as they can be trained and lend their weights to architectures.

shared = firstlight.space("nasrec-small").shared()
network = shared.network(skeleton, seed=0)
train_shared(network, batches, steps, shared.policy(), recipe_for(shared), seed=0)
model = shared.subnet(network, architecture)
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from torch import nn

from firstlight.core.seeds import torch_generator
from firstlight.spaces.cells import EDGES, FourNodeCell, StagedNetwork
from firstlight.spaces.nasbench201.space import Cell201
from firstlight.spaces.nasbench201.supernet import Supernet201
from firstlight.spaces.nasrec.blocks import Recommender
from firstlight.spaces.nasrec.network import NasRecSkeleton
from firstlight.spaces.nasrec.space import NasRec
from firstlight.spaces.nasrec.subnet import Subnet
from firstlight.spaces.nasrec.supernet import SharedNetwork
from firstlight.spaces.ops import initialise
from firstlight.spaces.supernets.mixed import MixedEdge
from firstlight.spaces.supernets.paths import CellPaths, NasRecPaths, PathPolicy
from firstlight.spaces.supernets.sharing import sharing_copy


class Shared(ABC):
    """What a space's weight-sharing network is, how it is trained, and how an architecture inherits from it."""

    name: str
    recipe: ClassVar[Mapping[str, Any]]  # settings of the recipe that it is trained by unless told otherwise
    policies: tuple[str, ...]  # which paths can be trained; the first unless told otherwise
    frozen: bool  # whether subnets are frozen unless told otherwise

    @abstractmethod
    def network(self, skeleton: Any, *, seed: int = 0) -> nn.Module:
        """The whole network with weights that are a pure function of the seed."""

    @abstractmethod
    def policy(self, name: str = "") -> PathPolicy:
        """What is trained in each step, by its name."""

    @abstractmethod
    def subnet(self, network: nn.Module, architecture: Any, *, frozen: bool | None = None) -> nn.Module:
        """A module for proxies that computes what the network does with the path of the architecture taken.

        It uses the weights of the network and copies none. If it is frozen, only the final layer can be trained.
        """


class SharedNasRec(Shared):
    """Frozen subnets are the reference: SiGeo's published code for clicks trains and sees their final layer alone."""

    # as NASRec and SiGeo train theirs
    recipe: ClassVar[Mapping[str, Any]] = {
        "optimizer": "adagrad",
        "learning_rate": 0.12,
        "batch_size": 512,
        "schedule": "warm-cosine",
    }
    policies = NasRecPaths.NAMES
    frozen = True

    def __init__(self, space: NasRec) -> None:
        self.space = space
        self.name = space.name

    def network(self, skeleton: NasRecSkeleton, *, seed: int = 0) -> SharedNetwork:
        network = SharedNetwork(self.space, skeleton)
        initialise(network, torch_generator(seed, self.name, "shared weights"))
        return network

    def policy(self, name: str = "") -> NasRecPaths:
        return NasRecPaths.named(self.space, name or self.policies[0])

    def subnet(self, network: nn.Module, architecture: Recommender, *, frozen: bool | None = None) -> Subnet:
        assert isinstance(network, SharedNetwork)
        return Subnet(network, architecture, frozen=self.frozen if frozen is None else frozen)


class SharedCells(Shared):
    """NAS-Bench-201. A subnet is the network of the architecture by itself; BatchNorm in train mode is as in training,
    since running statistics are those of all paths together."""

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
