from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from tests.spaces.own import perceptron
from torch import Tensor, nn

from firstlight.core.errors import DataError, ModelError, ParseError
from firstlight.predict.features import FAMILIES, described_features, features_of, network_features
from firstlight.predict.features.modules import module_features
from firstlight.spaces import SPACES
from firstlight.spaces.base import Architecture, Space
from firstlight.spaces.nats_sss import NATSSizes, Sizes


@pytest.mark.parametrize("name", SPACES)
def test_every_space_has_features(name: str) -> None:
    """A row for each text, all numbers, the same columns for all networks, and something that varies."""
    space = SPACES[name]
    texts = [str(space.sample(random.Random(seed))) for seed in range(30)]
    found, one = features_of(space, texts), features_of(space, texts[:1])
    assert list(found.index) == texts
    assert found.notna().all().all()
    assert list(one.columns) == list(found.columns)
    assert one.iloc[0].equals(found.iloc[0])
    assert (found.nunique() > 1).sum() > 5
    assert type(space.example()) in FAMILIES
    assert described_features(space) == "the graph or the stages of each network"


def test_choices() -> None:
    found = features_of(perceptron, ["width=8,depth=1,activation=gelu", "width=16,depth=2,activation=relu"])
    assert found["choice 1"].tolist() == [1, 2]
    assert found["choice 1 is 8"].tolist() == [1, 0]
    assert found["choice 3 is relu"].tolist() == [0, 1]
    assert described_features(perceptron) == "the choices of each network"


class Own(Architecture):
    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes

    def __str__(self) -> str:
        return str(self.sizes)


class Unlisted(NATSSizes):
    """Architectures of a class of their own, and no choices."""

    name = "unlisted"
    choices = Space.choices

    def parse(self, text: str) -> Own:
        return Own(super().parse(text))

    def sample(self, rng: random.Random) -> Own:
        return Own(super().sample(rng))

    def canonical(self, architecture: Own) -> Own:
        return architecture

    def network(self, architecture: Own, skeleton: object) -> object:
        return super().network(architecture.sizes, skeleton)


def test_other_spaces_have_those_of_modules() -> None:
    space = Unlisted()
    small = space.skeleton(input_shape=(3, 16, 16))
    found = features_of(space, ["8:8:16:16:24"], small)
    built = SPACES["nats-sss"].build("8:8:16:16:24", small)
    assert found.iloc[0].to_dict() == module_features(built, torch.zeros(1, 3, 16, 16))
    assert found.equals(network_features(space, small, [space.parse("8:8:16:16:24")]).set_axis(found.index))
    assert described_features(space) == "the operations of each network's forward pass"


class Picky(nn.Module):
    """A network that looks at numbers, of its weights and of its input."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(48, width), nn.Linear(width, 10)])
        self.share = float(self.layers[0].weight.abs().mean())  # type: ignore[operator]

    def forward(self, x: Tensor) -> Tensor:
        if float(x.abs().sum()) > 1e9:
            raise ValueError("too large")
        return self.layers[1](self.layers[0](x.flatten(1)))  # type: ignore[no-any-return]


class Needy(Unlisted):
    """Networks that need numbers; those of the widest fail with numbers, too."""

    name = "needy"

    def network(self, architecture: Own, skeleton: Any) -> nn.Module:
        width = architecture.sizes.channels[0]
        if width == 64:
            raise ValueError("never wider")
        return Picky(width)


def test_falls_back_to_networks_with_weights() -> None:
    space = Needy()
    small = space.skeleton(input_shape=(3, 4, 4))
    before = torch.get_rng_state()
    found = features_of(space, ["8:8:8:8:8", "16:8:8:8:8"], small)
    assert torch.equal(before, torch.get_rng_state())
    assert found["depth"].tolist() == [2, 2]
    assert (2 ** found["params"]).round().tolist() == [1 + 49 * 8 + 90, 1 + 49 * 16 + 170]
    with pytest.raises(ModelError, match=r"64:8:8:8:8 of 'needy' cannot be built, .*: ValueError: never wider"):
        features_of(space, ["64:8:8:8:8"], small)


def test_bad_input() -> None:
    with pytest.raises(DataError, match="There are no architectures"):
        features_of(SPACES["nasbench201"], [])
    with pytest.raises(ParseError):
        features_of(SPACES["nasbench201"], ["8:8:16:16:24"])
