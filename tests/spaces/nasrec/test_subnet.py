"""Subnets of the weight-sharing network of NASRec: the same numbers and gradients, without its zeros."""

from __future__ import annotations

import copy
import functools
import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import pattern
from torch import Tensor, nn

import firstlight
from firstlight.core.errors import SettingError
from firstlight.probe import Probe
from firstlight.spaces.nasrec.network import NasRecSkeleton
from firstlight.spaces.nasrec.space import NasRec, NasRecFull, NasRecSmall
from firstlight.spaces.nasrec.subnet import Subnet
from firstlight.spaces.nasrec.supernet import SharedNetwork
from firstlight.spaces.ops import initialize

SPACE = NasRecFull(3)


@functools.cache
def shared(layer_norm: int = 1, space: NasRec = SPACE) -> SharedNetwork:
    """Biases and shifts are not zero, as they are not after training."""
    network = SharedNetwork(space, NasRecSkeleton((10,), dense=6, rows=5, layer_norm=layer_norm)).double()
    initialize(network, torch.Generator().manual_seed(0))
    with torch.no_grad():
        for number, parameter in enumerate(network.parameters()):
            if parameter.ndim == 1:
                parameter.add_(0.3 * torch.sin(torch.arange(len(parameter)) + number))
    return network


def inputs(samples: int = 5) -> Tensor:
    return torch.cat([pattern(samples, 6), torch.arange(4 * samples).view(samples, 4) % 5], 1)


def gradients(network: nn.Module, loss: Tensor) -> dict[str, Tensor]:
    """Of all parameters that are reached; those of a subnet have the names that they have in the whole network."""
    named = {name.removeprefix("body."): parameter for name, parameter in network.named_parameters()}
    found = torch.autograd.grad(loss, list(named.values()), allow_unused=True)
    return {name: value for name, value in zip(named, found, strict=True) if value is not None}


@pytest.mark.parametrize("layer_norm", [1, 0])
@settings(max_examples=8)
@given(seed=st.integers(min_value=0, max_value=2**32))
def test_it_computes_and_learns_what_the_whole_network_does(layer_norm: int, seed: int) -> None:
    architecture = SPACE.sample(random.Random(seed))
    whole = shared(layer_norm)
    whole.take(architecture)
    expected = whole(inputs())
    expected_gradients = gradients(whole, expected.square().sum())
    for frozen in (True, False):
        subnet = Subnet(whole, architecture, frozen=frozen)
        found = subnet(inputs())
        torch.testing.assert_close(found, expected)
        found_gradients = gradients(subnet, found.square().sum())
        assert "final.weight" in found_gradients
        assert frozen == (len(found_gradients) == 2)
        for name, value in found_gradients.items():
            torch.testing.assert_close(value, expected_gradients[name])
        if not frozen:  # what is left out would learn nothing
            assert not any(value.any() for name, value in expected_gradients.items() if name not in found_gradients)


def test_dense_values_as_wide_as_operators_are() -> None:
    """There is no linear map then where the first block would need one."""
    space = NasRecFull(1)
    for dense, text in ((16, "dot:32~0~0+0;linear3d:16~0"), (1024, "gating:64~0~0+0;linear3d:16~0")):
        whole = SharedNetwork(space, NasRecSkeleton((dense + 2,), dense=dense, rows=5)).double()
        initialize(whole, torch.Generator().manual_seed(0))
        architecture = space.parse(text)
        whole.take(architecture)
        x = torch.cat([pattern(3, dense), torch.arange(6).view(3, 2) % 5], 1)
        torch.testing.assert_close(Subnet(whole, architecture, frozen=True)(x), whole(x))


def test_blocks_that_nobody_reads_are_not_there() -> None:
    text = "fc:32~0~0+0;transformer:16~0|dot:64~0,1~0+0;linear3d:16~0;interaction;fm|fc:16~0~0+0;linear3d:32~1"
    subnet = Subnet(shared(), SPACE.parse(text), frozen=False)
    there = {
        name.split(".")[2] + " " + ".".join(name.split(".")[3:5])
        for name, _ in subnet.named_parameters()
        if "blocks" in name
    }
    assert there == {"0 operators.transformer", "2 operators.fc", "2 operators.linear3d"}


def test_weights_are_shared_and_nothing_of_a_frozen_one_is_copied() -> None:
    architecture = SPACE.sample(random.Random(0))
    own = dict(shared().named_parameters())
    for frozen in (True, False):
        subnet = Subnet(shared(), architecture, frozen=frozen)
        for name, parameter in subnet.named_parameters():
            assert parameter.data_ptr() == own[name.removeprefix("body.")].data_ptr()
            assert parameter is not own[name.removeprefix("body.")]
    frozen_one = Subnet(shared(), architecture, frozen=True)
    assert [name for name, _ in frozen_one.named_parameters()] == ["final.weight", "final.bias"]
    twin = copy.deepcopy(frozen_one)
    assert twin.body is frozen_one.body
    assert twin.final.weight.data_ptr() != frozen_one.final.weight.data_ptr()


PROXIES = "zico:batches=4,fr_norm,sigeo,sigeo:variant=official-rec,sigeo:variant=official-cv"


@pytest.mark.parametrize("frozen", [True, False])
def test_gradient_proxies_judge_subnets_and_leave_them_as_they_are(frozen: bool) -> None:
    space = NasRecFull(1)
    whole, architecture = shared(1, space), space.parse("gating:64~0~0+0;transformer:16~0;interaction;fm")
    before = {name: value.clone() for name, value in whole.state_dict().items()}
    subnet = Subnet(whole, architecture, frozen=frozen)
    batches = [(inputs(8) + number, torch.arange(8) % 2) for number in range(4)]
    scores = firstlight.score(subnet, batches, PROXIES)
    assert {score.status for score in scores.values()} == {"ok"}
    assert all(torch.equal(value, before[name]) for name, value in whole.state_dict().items())
    seen = Probe(subnet, batches).loss_gradients().weights
    assert (set(seen) == {"final"}) == frozen
    steps = Probe(subnet, batches).training_steps(recipe="adagrad")
    assert (set(steps.weights) == {"final.weight", "final.bias"}) == frozen


def test_scores_of_a_frozen_one_are_those_of_the_final_layer_of_the_whole_network() -> None:
    whole, architecture = copy.deepcopy(shared()), SPACE.sample(random.Random(5))
    batches = [(inputs(8) + number, torch.arange(8) % 2) for number in range(4)]
    subnet = Subnet(whole, architecture, frozen=True)
    whole.take(architecture)
    whole.requires_grad_(False)
    whole.final.requires_grad_(True)
    official = "sigeo:variant=official-rec:lambda3=1"
    found, expected = (firstlight.score(network, batches, official) for network in (subnet, whole))
    assert [score.value for score in found.values()] == pytest.approx([score.value for score in expected.values()])
    gradient = Probe(whole, batches).loss_gradients(1).weights["final"]
    torch.testing.assert_close(Probe(subnet, batches).loss_gradients(1).weights["final"], gradient)


def test_what_changes_all_weights_needs_a_subnet_that_is_not_frozen() -> None:
    space = NasRecFull(1)
    network, batch = copy.deepcopy(shared(1, space)).float(), (inputs(8).float(), torch.arange(8) % 2)
    scores = {
        frozen: firstlight.score(
            Subnet(network, space.parse("sum:32~0~0+0;linear3d:16~0"), frozen=frozen), batch, "synflow,linear_regions"
        )
        for frozen in (True, False)
    }
    assert [score.status for score in scores[True].values()] == ["unsupported", "unsupported"]
    assert "need a subnet that is not frozen" in scores[True]["synflow"].note
    assert [score.status for score in scores[False].values()] == ["ok", "ok"]


def test_inputs_can_be_differentiated_through_a_frozen_one() -> None:
    subnet = Subnet(shared(), SPACE.sample(random.Random(1)), frozen=True)
    x = inputs().requires_grad_()
    assert bool(torch.autograd.grad(subnet(x).sum(), x)[0][:, :6].any())


def test_an_architecture_of_other_blocks_is_refused() -> None:
    with pytest.raises(SettingError, match="2 blocks and the weight-sharing network 3"):
        Subnet(shared(), NasRecSmall(2).sample(random.Random(0)), frozen=True)
