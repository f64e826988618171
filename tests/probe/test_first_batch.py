"""One forward pass for all pieces, and what happens when memory runs out."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests import nets
from torch import nn

import firstlight
from firstlight.probe import Probe
from firstlight.probe.batch import Batch
from firstlight.probe.first_batch import FirstBatchQuantities

PIECES = {"codes", "kernel", "jacobian", "gradients", "fisher", "hessian"}


def counted(name: str) -> tuple[nn.Module, list[int]]:
    calls: list[int] = []
    net = nets.build(name)
    net.register_forward_hook(lambda *_: calls.append(1))
    return net, calls


def data(samples: int = 6) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    return (
        torch.randn(samples, 3, 8, 8, dtype=torch.float64, generator=generator),
        torch.randint(3, (samples,), generator=generator),
    )


@pytest.mark.parametrize("name", ["residual", "mlp"])
def test_all_pieces_take_one_forward_pass(name: str) -> None:
    net, calls = counted(name)
    probe = Probe(net, data())
    probe.expected |= PIECES
    for piece in (probe.relu_codes, probe.label_kernel, probe.input_jacobian, probe.loss_gradients, probe.fisher):
        piece()
    probe.hessian_gradient_product()
    assert len(calls) == 1


def test_a_piece_that_cannot_be_had_does_not_spoil_the_others() -> None:
    x, _ = data()
    probe = Probe(nets.build("smooth"), x)  # no labels and no ReLU
    probe.expected |= PIECES
    assert probe.input_jacobian().shape == (6, 192)


def out_of_memory_above(limit: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let passes of larger batches fail as PyTorch's CPU allocator does."""
    sizes: list[int] = []
    plain = FirstBatchQuantities._pass

    def scarce(self: Any, batch: Batch, wanted: set[str], *, copies: bool) -> Any:
        sizes.append(len(batch))
        if len(batch) > limit:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
        return plain(self, batch, wanted, copies=copies)

    monkeypatch.setattr(FirstBatchQuantities, "_pass", scarce)
    return sizes


@pytest.mark.parametrize("name", ["attention", "mlp", "gated"])
def test_chunks_do_not_change_a_value(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Probe(nets.build(name), data())
    expected, jacobian = whole.loss_gradients(), whole.input_jacobian()
    sizes = out_of_memory_above(2, monkeypatch)
    probe = Probe(nets.build(name), data())
    found = probe.loss_gradients()
    assert sizes == [6, 6, 3, 3, 2, 2, 2]
    assert found.loss == pytest.approx(expected.loss, rel=1e-12)
    for layer, gradient in expected.weights.items():
        assert torch.allclose(found.weights[layer], gradient, rtol=1e-9, atol=1e-14)
    assert torch.allclose(probe.input_jacobian(), jacobian, rtol=1e-9, atol=1e-14)


def test_chunks_are_refused_where_batch_norm_couples_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    out_of_memory_above(2, monkeypatch)
    score = firstlight.score(nets.build("residual"), data(), "grad_norm")["grad_norm"]
    assert score.status == "out_of_memory"
    assert "does not fit" in score.note


def test_together_is_given_up_before_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = FirstBatchQuantities._pass

    def scarce(self: Any, batch: Batch, wanted: set[str], *, copies: bool) -> Any:
        if len(wanted) > 1:
            raise MemoryError("too much at once")
        return plain(self, batch, wanted, copies=copies)

    expected = firstlight.score(nets.build("residual"), data(), "grad_norm,jacov,ntk_trace")
    monkeypatch.setattr(FirstBatchQuantities, "_pass", scarce)
    found = firstlight.score(nets.build("residual"), data(), "grad_norm,jacov,ntk_trace")
    assert {n: s.value for n, s in found.items()} == pytest.approx({n: s.value for n, s in expected.items()}, rel=1e-12)
