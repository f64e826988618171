"""A proxy that breaks one contract is told which one, and with what."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from torch import nn

from firstlight import Parts, Probe, proxy
from firstlight.proxies.base import Proxy
from firstlight.testing import ContractError, check_proxy, proxy_checks
from firstlight.testing.proxies import CONTRACTS


@proxy
def good(probe: Probe, *, scale: float = 1.0) -> float:
    """Number of weights."""
    return scale * sum(parameter.numel() for parameter in probe.model.parameters())


@proxy(needs="labels", batch_size=4)
def good_with_labels(probe: Probe) -> Parts:
    """Largest gradient."""
    return Parts(max(float(gradient.abs().max()) for gradient in probe.loss_gradients().weights.values()))


@proxy
def text(probe: Probe) -> Any:
    """Returns no number."""
    return "much"


@proxy
def draws(probe: Probe) -> float:
    """Depends on the global random numbers of Python."""
    return random.random()


@proxy
def draws_weights(probe: Probe) -> float:
    """Takes from the global random numbers of PyTorch, and leaves them otherwise."""
    torch.rand(1)
    return 1.0


@proxy
def leaves_hooks(probe: Probe) -> float:
    """Leaves a hook behind."""
    probe.model.register_forward_hook(lambda *_: None)
    return 1.0


@proxy
def hides_labels(probe: Probe) -> float:
    """Needs labels, and does not say so."""
    return float(probe.labels().double().mean())


@proxy(needs="labels")
def claims_labels(probe: Probe) -> float:
    """Says that it needs labels, and does not look at them."""
    return 1.0


@proxy(needs="nothing")
def hides_inputs(probe: Probe) -> float:
    """Looks at inputs, and does not say so."""
    return float(probe.batches[0].image.sum())


@proxy
def counts_batches(probe: Probe) -> float:
    """Needs two batches, and does not say so."""
    return float(len(probe.batches[1]))


@proxy
def odd_setting(probe: Probe, *, sizes: tuple[int, ...] = (1, 2)) -> float:
    """Has a setting that nobody can write."""
    return 1.0


@proxy
def bare(probe: Probe) -> float:
    return 1.0


@pytest.mark.parametrize("entry", [good, good_with_labels], ids=lambda entry: entry.name)
def test_a_good_one_keeps_all_contracts(entry: Proxy) -> None:
    check_proxy(entry)


@pytest.mark.parametrize(
    ("entry", "contract", "found"),
    [
        (text, "scores_a_network", "'failed': The proxy 'text' returned a str"),
        (draws, "is_deterministic", "the same request gives"),
        (draws_weights, "leaves_random_numbers_alone", "global random numbers"),
        (leaves_hooks, "leaves_the_model_alone", "the hooks of the model has changed"),
        (hides_labels, "needs_labels_where_it_says", "declare needs='labels'"),
        (claims_labels, "needs_labels_where_it_says", "without labels its status is 'ok'"),
        (hides_inputs, "needs_data_where_it_says", "declare needs='inputs'"),
        (counts_batches, "has_enough_batches", "with 1 batches of 1 its status is 'failed': IndexError"),
        (odd_setting, "has_readable_settings", r"the setting 'sizes' has the default \(1, 2\)"),
        (bare, "is_documented", "no docstring"),
    ],
    ids=lambda value: value.name if isinstance(value, Proxy) else "",
)
def test_a_broken_contract_is_named(entry: Proxy, contract: str, found: str) -> None:
    with pytest.raises(ContractError, match=f"(?s)breaks the contract '{contract}': .*{found}") as caught:
        check_proxy(entry)
    assert caught.value.contract == contract
    assert "The contract: " in str(caught.value)


def test_names_settings_and_networks_of_ones_own() -> None:
    def linear() -> nn.Module:
        model = nn.Linear(3, 2)
        model.load_state_dict({"weight": torch.ones(2, 3), "bias": torch.zeros(2)})
        return model

    batches = [(torch.ones(4, 3), torch.tensor([0, 1, 0, 1]))] * 2
    check_proxy(f"{__name__}:good:scale=2", linear, batches)
    names = [contract.name for contract in proxy_checks(good)]
    assert names == [test.__name__ for test in CONTRACTS]
    assert [str(contract) for contract in proxy_checks("params")] == names
