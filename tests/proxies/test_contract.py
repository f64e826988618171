"""What every proxy in the registry must keep: determinism, honest facts, and a model left as it was."""

from __future__ import annotations

import pytest
import torch
from tests import nets
from tests.probe.test_probe import assert_unchanged, snapshot
from torch import nn

import firstlight
from firstlight.proxies import PROXIES, ProxyRequest


def model_and_batches() -> tuple[nn.Module, list[tuple[torch.Tensor, torch.Tensor]]]:
    generator = torch.Generator().manual_seed(1)
    batches = [
        (torch.randn(6, 3, 8, 8, generator=generator), torch.randint(5, (6,), generator=generator)) for _ in range(4)
    ]
    return nets.build("residual").float(), batches


@pytest.mark.parametrize("name", PROXIES)
def test_the_model_comes_back_as_it_went_in(name: str) -> None:
    model, batches = model_and_batches()
    model.eval()
    model.stem.train()
    model(batches[0][0]).sum().backward()
    before = snapshot(model)
    assert firstlight.score(model, batches, [name])[name].status == "ok"
    assert_unchanged(before, snapshot(model))


@pytest.mark.parametrize("name", PROXIES)
def test_the_same_question_has_the_same_answer(name: str) -> None:
    values = set()
    for _ in range(2):
        model, batches = model_and_batches()
        torch.rand(3)  # the global random state has no say
        values.add(firstlight.score(model, batches, [name], seed=5)[name].value)
    assert len(values) == 1


@pytest.mark.parametrize("name", PROXIES)
def test_asking_together_or_alone_is_the_same(name: str) -> None:
    model, batches = model_and_batches()
    together = firstlight.score(model, batches, list(PROXIES))
    alone = firstlight.score(model, batches, name)
    assert together[name].value == alone[name].value
    assert together[name].parts == alone[name].parts


@pytest.mark.parametrize("name", PROXIES)
def test_facts_are_written_down(name: str) -> None:
    entry = PROXIES[name]
    document = entry.function.__doc__ or ""
    assert entry.summary.endswith(".")
    assert "Scale:" in document
    assert "better" in document
    assert "Cost:" in document
    assert str(ProxyRequest.parse(name)) == name
