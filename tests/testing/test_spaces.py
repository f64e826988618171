"""A space that breaks one contract is told which one, and with what."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from tests.spaces import own
from torch import nn

from firstlight.core.errors import ParseError
from firstlight.probe.cost import Cost
from firstlight.spaces.base import Architecture, Skeleton, Space
from firstlight.spaces.ops import Linear
from firstlight.testing import ContractError, check_space, space_checks
from firstlight.testing.spaces import CONTRACTS

SMALL = {"input_shape": (3, 4, 4), "classes": 3}


@dataclass(frozen=True)
class Width(Architecture):
    width: int

    def __str__(self) -> str:
        return f"w{self.width}"


class Widths(Space[Width]):
    """Perceptrons of 1 to 9 units: all contracts are kept."""

    name = "widths"
    summary = "one hidden layer"
    reference = ""

    def sample(self, rng: random.Random) -> Width:
        return Width(rng.randrange(1, 10))

    def mutate(self, architecture: Width, rng: random.Random) -> Width:
        return Width(rng.choice([width for width in range(1, 10) if width != architecture.width]))

    def parse(self, text: str) -> Width:
        if not re.fullmatch("w[1-9]", text, re.ASCII):
            raise ParseError(text, 0, "a w and a digit")
        return Width(int(text[1]))

    def canonical(self, architecture: Width) -> Width:
        return architecture

    def network(self, architecture: Width, skeleton: Skeleton) -> nn.Module:
        hidden = Linear(48, architecture.width)
        return nn.Sequential(nn.Flatten(), hidden, nn.ReLU(), Linear(architecture.width, skeleton.classes))


class DrawsGlobally(Widths):
    def sample(self, rng: random.Random) -> Width:
        return Width(random.randrange(1, 10))


class ForgetsItsText(Widths):
    def parse(self, text: str) -> Width:
        return Width(1)


class ReadsAnything(Widths):
    def parse(self, text: str) -> Width:
        return Width(int(found[0]) if (found := re.findall("[1-9]", text)) else 1)


class Stays(Widths):
    def mutate(self, architecture: Width, rng: random.Random) -> Width:
        return architecture


class Wanders(Widths):
    def canonical(self, architecture: Width) -> Width:
        return Width(architecture.width % 9 + 1)

    def mutate(self, architecture: Width, rng: random.Random) -> Width:
        return Width(9) if architecture.width == 1 else Width(1)


class Miscounts(Widths):
    def __len__(self) -> int:
        return 8

    def __iter__(self) -> Any:
        return map(Width, range(1, 10))


class WrongChoices(Widths):
    def choices(self) -> tuple[tuple[str, ...], ...]:
        return (tuple("123456789"),)

    def from_choices(self, indices: Any) -> Width:
        return Width(indices[0] + 1)

    def to_choices(self, architecture: Width) -> tuple[int, ...]:
        return (architecture.width % 9,)


class DrawsWeights(Widths):
    def network(self, architecture: Width, skeleton: Skeleton) -> nn.Module:
        torch.rand(1)
        return super().network(architecture, skeleton)


class OneLogit(Widths):
    def network(self, architecture: Width, skeleton: Skeleton) -> nn.Module:
        return nn.Sequential(nn.Flatten(), Linear(48, architecture.width), Linear(architecture.width, 1))


class WrongCost(Widths):
    def cost(self, architecture: Width, skeleton: Skeleton | None = None) -> Cost:
        return Cost(architecture.width, architecture.width)


class CannotBeBuilt(Widths):
    def network(self, architecture: Width, skeleton: Skeleton) -> nn.Module:
        raise ValueError("no such width")


@pytest.mark.parametrize("space", [Widths(), own.perceptron], ids=["class", "choices"])
def test_a_good_one_keeps_all_contracts(space: Space[Any]) -> None:
    check_space(space, skeleton=SMALL)


@pytest.mark.parametrize(
    ("space", "contract", "found"),
    [
        (DrawsGlobally, "samples_architectures", "the same seed draws w"),
        (ForgetsItsText, "text_reads_back", "is read as w1"),
        (ReadsAnything, "refuses_other_text", "is read as w"),
        (Stays, "mutates_within_the_space", "is the same architecture"),
        (Wanders, "mutates_within_the_space", "is not its own canonical form"),
        (Miscounts, "enumerates_what_it_counts", "its length is 8, but it has 9 different architectures"),
        (WrongChoices, "has_consistent_choices", "and its choices .* differ"),
        (DrawsWeights, "builds_pure_networks", "global random numbers"),
        (OneLogit, "builds_networks_that_run", r"returns the shape \(2, 1\)"),
        (WrongCost, "counts_costs", "by the formula, but .* by counting"),
        (CannotBeBuilt, "builds_pure_networks", "none of 20 architectures can be built"),
    ],
)
def test_a_broken_contract_is_named(space: type[Widths], contract: str, found: str) -> None:
    with pytest.raises(
        ContractError, match=f"The space 'widths' breaks the contract '{contract}': .*{found}"
    ) as caught:
        check_space(space(), skeleton=SMALL)
    assert caught.value.contract == contract


def test_names_and_the_list_of_contracts() -> None:
    contracts = space_checks("tests.spaces.own:perceptron", skeleton=SMALL)
    assert [contract.name for contract in contracts] == [test.__name__ for test in CONTRACTS]
