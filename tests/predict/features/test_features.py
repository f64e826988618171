from __future__ import annotations

import random

import pytest
from tests.spaces.own import perceptron

from firstlight.core.errors import DataError, ParseError
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
    import torch

    assert found.iloc[0].to_dict() == module_features(built, torch.zeros(1, 3, 16, 16))
    assert found.equals(network_features(space, small, [space.parse("8:8:16:16:24")]).set_axis(found.index))
    assert described_features(space) == "the operations of each network's forward pass"


def test_bad_input() -> None:
    with pytest.raises(DataError, match="There are no architectures"):
        features_of(SPACES["nasbench201"], [])
    with pytest.raises(ParseError):
        features_of(SPACES["nasbench201"], ["8:8:16:16:24"])
