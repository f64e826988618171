"""Proxies of tangent kernels against explicit gradients, one sample at a time."""

from __future__ import annotations

from math import isnan, sqrt

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from tests import nets, slow
from torch import Tensor, nn

import firstlight
from firstlight.probe import Probe
from firstlight.proxies.kernel import knas, ntk_condition, ntk_trace, ntk_trace_batch, ntk_trace_exact, te_ntk

NETS = ["residual", "smooth", "attention", "plain", "mlp"]


def label_gram(name: str) -> Tensor:
    rows = slow.batch_sum_logit_gradients(nets.build(name), *nets.labelled(1)[0])
    return rows @ rows.T


def probe_of(name: str) -> Probe:
    return Probe(nets.build(name), nets.labelled(1))


@pytest.mark.parametrize("name", NETS)
def test_trace_mean_and_condition_of_the_label_kernel(name: str) -> None:
    gram = label_gram(name)
    probe = probe_of(name)
    assert ntk_trace(probe).value ** 2 * len(gram) == pytest.approx(float(gram.trace()), rel=1e-9)
    assert knas(probe).value ** 2 == pytest.approx(float(gram.sum()) / len(gram) ** 2, rel=1e-7)
    assert knas(probe).value <= ntk_trace(probe).value
    sigma = np.linalg.svd(gram.numpy(), compute_uv=False)
    assert ntk_condition(probe).value == pytest.approx(sigma[0] / sigma[-1], rel=1e-5)


def test_samples_that_repeat_teach_one_thing() -> None:
    x, y = nets.labelled(1)[0]
    probe = Probe(nets.build("plain"), (x[:1].repeat(3, 1, 1, 1), y[:1].repeat(3)))
    assert knas(probe).value == pytest.approx(ntk_trace(probe).value, rel=1e-9)
    condition = ntk_condition(probe)
    assert condition.value >= 1e11
    assert "within rounding" in condition.note


def test_a_linear_map_has_the_kernel_of_its_inputs() -> None:
    x = torch.tensor([[3.0, 0.0], [0.0, 1.0]])
    probe = Probe(nn.Linear(2, 4, bias=False), (x, torch.tensor([1, 1])))
    assert ntk_trace(probe).value == pytest.approx(sqrt((9 + 1) / 2))
    assert ntk_condition(probe).value == pytest.approx(9)
    assert knas(probe).value == pytest.approx(sqrt((9 + 1) / 4))
    assert te_ntk(probe).value == pytest.approx(9)
    assert ntk_trace_exact(probe).value == pytest.approx(4 * (9 + 1) / 2)  # each of four logits has the same kernel
    assert ntk_trace(Probe(nn.Linear(2, 4), (x, torch.tensor([1, 1])))).value == pytest.approx(sqrt((10 + 2) / 2))


@pytest.mark.parametrize("name", NETS)
def test_order_of_samples_does_not_matter(name: str) -> None:
    x, y = nets.labelled(1)[0]
    order = torch.tensor([3, 5, 0, 1, 4, 2])
    wanted = "ntk_trace,ntk_condition,knas,ntk_trace_batch,ntk_trace_batch:form=sum,ntk_trace_exact,te_ntk"
    expected = firstlight.score(nets.build(name), (x, y), wanted)
    for key, score in firstlight.score(nets.build(name), (x[order], y[order]), wanted).items():
        assert score.value == pytest.approx(expected[key].value, rel=1e-5)


@pytest.mark.parametrize("name", NETS)
def test_trace_of_the_batch_in_both_forms(name: str) -> None:
    x, y = nets.labelled(1)[0]
    mean = slow.loss_gradients(nets.build(name), x, y)
    single = [slow.loss_gradients(nets.build(name), x[i : i + 1], y[i : i + 1]) for i in range(len(x))]
    probe = probe_of(name)
    found, summed = ntk_trace_batch(probe).value, ntk_trace_batch(probe, form="sum").value
    assert found == pytest.approx(sum(float(g.square().sum()) for g in mean.values()), rel=1e-9)
    assert summed == pytest.approx(sum(float(g.square().sum()) for s in single for g in s.values()), rel=1e-9)


def test_the_mean_form_is_never_more_than_the_sum_form_over_samples() -> None:
    probe = probe_of("plain")
    assert ntk_trace_batch(probe).value <= ntk_trace_batch(probe, form="sum").value / 6
    alone = Probe(nets.build("plain"), tuple(part[:1] for part in nets.labelled(1)[0]))
    assert ntk_trace_batch(alone).value == pytest.approx(ntk_trace_batch(alone, form="sum").value, rel=1e-12)


def squared_error(logits: Tensor, labels: Tensor) -> Tensor:
    return (logits - torch.eye(logits.shape[1]).to(logits)[labels]).square().sum() / len(labels)


@pytest.mark.parametrize("name", NETS)
def test_the_trace_of_the_squared_error_and_of_the_other_parameterization(name: str) -> None:
    x, y = nets.labelled(1)[0]
    model = nets.build(name)
    layers = [module for module in model.modules() if isinstance(module, (nn.Conv2d, nn.Linear))]
    found = {"cross_entropy": F.cross_entropy, "mse": squared_error}
    for loss, function in found.items():
        gradients = torch.autograd.grad(function(model.train()(x.clone()), y), [layer.weight for layer in layers])
        plain = sum(float(g.square().sum()) for g in gradients)
        scaled = sum(
            float(g.square().sum()) / layer.weight[0].numel() for g, layer in zip(gradients, layers, strict=True)
        )
        assert ntk_trace_batch(probe_of(name), loss=loss).value == pytest.approx(plain, rel=1e-9)
        assert ntk_trace_batch(probe_of(name), loss=loss, parameterization="ntk").value == pytest.approx(
            scaled, rel=1e-9
        )
    alone = Probe(nets.build(name), (x[:1], y[:1]))
    for parameterization in ("standard", "ntk"):
        mean, total = (
            ntk_trace_batch(alone, form=form, parameterization=parameterization).value for form in ("mean", "sum")
        )
        assert mean == pytest.approx(total, rel=1e-9)


def test_the_exact_trace_of_the_other_parameterization_is_that_of_scaled_gradients() -> None:
    x = nets.images(3)
    model = nets.build("smooth").train()
    total = 0.0
    for i in range(3):
        for k in range(model(x).shape[1]):
            model.zero_grad()
            model(x.clone())[i, k].backward()
            for module in model.modules():
                if isinstance(module, (nn.Conv2d, nn.Linear)):
                    total += float(module.weight.grad.square().sum()) / module.weight[0].numel()
                elif isinstance(module, nn.BatchNorm2d) and module.affine:
                    total += float(module.weight.grad.square().sum() + module.bias.grad.square().sum())
    found = ntk_trace_exact(Probe(nets.build("smooth"), x), samples=3, parameterization="ntk").value
    assert found == pytest.approx(total / 3, rel=1e-9)


def exact_trace(model: nn.Module, x: Tensor) -> float:
    """A forward pass of the batch for every single sample and logit."""
    samples, classes = model.train()(x.clone()).shape
    total = 0.0
    for i in range(samples):
        for k in range(classes):
            model.zero_grad()
            model(x.clone())[i, k].backward()
            total += sum(float(p.grad.square().sum()) for p in model.parameters() if p.grad is not None)
    return total / samples


@pytest.mark.parametrize("name", NETS)
def test_the_exact_trace_is_that_of_every_sample_and_logit(name: str) -> None:
    x = nets.images(6)
    assert ntk_trace_exact(Probe(nets.build(name), x)).value == pytest.approx(
        exact_trace(nets.build(name), x), rel=1e-9
    )
    few = ntk_trace_exact(Probe(nets.build(name), x), samples=4).value
    assert few == pytest.approx(exact_trace(nets.build(name), x[:4]), rel=1e-9)


def test_the_exact_trace_counts_what_only_batch_norm_has() -> None:
    x = nets.images(6)
    model = nets.build("smooth")
    for module in model.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            module.requires_grad_(False)  # for the slow twin alone: frozen weights are measured all the same
    assert 0 < exact_trace(model, x) < ntk_trace_exact(Probe(model, x)).value


def test_a_louder_last_layer_leaves_its_own_part_of_the_exact_trace() -> None:
    def with_last_layer_times(factor: float) -> float:
        model = nets.build("smooth")
        *_, last = (layer for layer in model.modules() if isinstance(layer, nn.Linear))
        with torch.no_grad():
            for parameter in last.parameters():
                parameter.mul_(factor)
        return ntk_trace_exact(Probe(model, nets.images(6))).value

    own, whole = with_last_layer_times(0.0), with_last_layer_times(1.0)
    assert 0 < own < whole
    assert with_last_layer_times(3.0) == pytest.approx(own + 9 * (whole - own), rel=1e-9)


def output_rows(model: nn.Module, x: Tensor) -> Tensor:
    """One forward pass of the batch for each sample's gradient."""
    chosen = [p for n, p in model.named_parameters() if "weight" in n]
    rows = []
    for i in range(len(x)):
        found = torch.autograd.grad(model(x)[i].sum(), chosen, allow_unused=True)
        rows.append(torch.cat([g.flatten() for g in found if g is not None]))
    return torch.stack(rows)


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("mode", ["train", "eval"])
def test_condition_of_the_output_kernel(name: str, mode: str) -> None:
    x = nets.images(6)
    rows = output_rows(nets.build(name).train(mode == "train"), x[:4])
    sigma = torch.linalg.svdvals(rows)
    found = te_ntk(Probe(nets.build(name), x), samples=4, mode=mode)
    assert found.value == pytest.approx(float(sigma[0] / sigma[-1]) ** 2, rel=1e-5)
    assert found.parts["largest"] == pytest.approx(float(sigma[0]) ** 2, rel=1e-9)


def test_batch_norm_couples_samples_in_train_mode_only() -> None:
    x = nets.images(6)
    model = nets.build("smooth").eval()
    alone = torch.cat([output_rows(model, x[i : i + 1]) for i in range(4)])
    gram = alone @ alone.T
    assert torch.allclose(Probe(model, x).output_kernel(samples=4, training=False), gram, rtol=1e-9)
    assert not torch.allclose(Probe(model, x).output_kernel(samples=4), gram, rtol=1e-2)


@pytest.mark.parametrize("factor", [0.1, 7.0])
def test_louder_outputs_scale_the_trace_and_leave_the_condition(factor: float) -> None:
    class Louder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nets.build("smooth")

        def forward(self, x: Tensor) -> Tensor:
            return factor * self.inner(x)

    plain, loud = probe_of("smooth"), Probe(Louder(), nets.labelled(1))
    assert ntk_trace(loud).value == pytest.approx(factor * ntk_trace(plain).value, rel=1e-9)
    assert knas(loud).value == pytest.approx(factor * knas(plain).value, rel=1e-9)
    assert ntk_condition(loud).value == pytest.approx(ntk_condition(plain).value, rel=1e-5)
    assert te_ntk(loud).value == pytest.approx(te_ntk(plain).value, rel=1e-5)
    assert ntk_trace_exact(loud).value == pytest.approx(factor**2 * ntk_trace_exact(plain).value, rel=1e-9)


def test_outputs_that_do_not_depend_on_weights_have_no_condition() -> None:
    class Silent(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x * 0

    probe = Probe(nn.Sequential(nn.Linear(3, 2), Silent()), (torch.randn(4, 3), torch.tensor([0, 1, 0, 1])))
    assert isnan(ntk_condition(probe).value)
    assert isnan(te_ntk(probe).value)
    assert "kernel is zero" in te_ntk(probe).note
    assert ntk_trace(probe).value == ntk_trace_exact(probe).value == 0
