"""One forward pass for all pieces, and what happens when memory runs out."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests import nets
from torch import nn

import firstlight
from firstlight.core.errors import DataError
from firstlight.probe import Probe
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


def test_what_a_network_lacks_costs_no_pass() -> None:
    net, calls = counted("fused_attention")  # no ReLU, and no layer of its attention can be watched
    found = firstlight.score(net, data(), "naswot,ntk_trace,fisher,grad_norm,jacov,grasp")
    assert [name for name, score in found.items() if score.ok] == ["grad_norm", "jacov", "grasp"]
    assert "no ReLU" in found["naswot"].note
    assert "nn.MultiheadAttention" in found["ntk_trace"].note
    assert "nn.MultiheadAttention" in found["fisher"].note
    assert len(calls) == 1


def test_after_one_failure_each_piece_goes_by_itself() -> None:
    net, calls = counted("residual")
    x, _ = data()
    probe = Probe(net, (x, torch.full((6,), 7)))  # five classes
    probe.expected |= PIECES
    with pytest.raises(DataError, match="0 to 4"):
        probe.loss_gradients()
    assert probe.relu_codes().agreement.shape == (6, 6)
    assert probe.input_jacobian().shape == (6, 192)
    assert len(calls) == 4  # together, the loss, the codes, the Jacobian


def out_of_memory_above(limit: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let passes of larger batches fail as PyTorch's CPU allocator does."""
    sizes: list[int] = []
    plain = FirstBatchQuantities._pass

    def scarce(self: Any, wanted: set[str], *, careful: bool) -> Any:
        sizes.append(len(self.batches[0]))
        if sizes[-1] > limit:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
        return plain(self, wanted, careful=careful)

    monkeypatch.setattr(FirstBatchQuantities, "_pass", scarce)
    return sizes


@pytest.mark.parametrize("name", ["attention", "mlp", "gated"])
def test_chunks_do_not_change_a_value(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Probe(nets.build(name), data())
    expected, jacobian, fisher = whole.loss_gradients(), whole.input_jacobian(), whole.fisher()
    sizes = out_of_memory_above(2, monkeypatch)
    probe = Probe(nets.build(name), data())
    found = probe.loss_gradients()
    assert sizes == [6, 3, 3, 2, 2, 2]
    assert found.loss == pytest.approx(expected.loss, rel=1e-12)
    assert found.along == pytest.approx(expected.along, rel=1e-9)
    for layer, gradient in expected.weights.items():
        assert torch.allclose(found.weights[layer], gradient, rtol=1e-9, atol=1e-14)
    assert torch.allclose(probe.input_jacobian(), jacobian, rtol=1e-9, atol=1e-14)
    assert probe.fisher() == pytest.approx(fisher, rel=1e-9)


@pytest.mark.parametrize("random", [nn.Dropout(0.5), nn.RReLU()])
def test_chunks_are_refused_where_random_numbers_would_differ(
    random: nn.Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    out_of_memory_above(2, monkeypatch)
    net = nn.Sequential(nets.build("mlp"), random)
    score = firstlight.score(net, data(), "grad_norm")["grad_norm"]
    assert score.status == "out_of_memory"


def test_chunks_are_refused_where_batch_norm_couples_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    out_of_memory_above(2, monkeypatch)
    score = firstlight.score(nets.build("residual"), data(), "grad_norm")["grad_norm"]
    assert score.status == "out_of_memory"
    assert "fit into memory" in score.note


def test_together_is_given_up_before_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = FirstBatchQuantities._pass

    def scarce(self: Any, wanted: set[str], *, careful: bool) -> Any:
        if len(wanted) > 1:
            raise MemoryError("too much at once")
        return plain(self, wanted, careful=careful)

    expected = firstlight.score(nets.build("residual"), data(), "grad_norm,jacov,ntk_trace")
    monkeypatch.setattr(FirstBatchQuantities, "_pass", scarce)
    found = firstlight.score(nets.build("residual"), data(), "grad_norm,jacov,ntk_trace")
    assert {n: s.value for n, s in found.items()} == pytest.approx({n: s.value for n, s in expected.items()}, rel=1e-12)
