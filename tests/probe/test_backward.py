"""Gradients, kernels and Jacobians against slow twins on networks with BatchNorm, without, residual and attention."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
import torch.nn.functional as F
from tests import nets, slow
from torch import Tensor, nn

from firstlight.core.errors import DataError, ModelError, UnsupportedError
from firstlight.core.seeds import seeded
from firstlight.probe import Probe
from firstlight.probe.spectra import SmallestCorrelation

NETS = ["residual", "smooth", "attention", "gated", "mlp"]
COUPLED = {"residual", "smooth"}


def batch(seed: int = 0, samples: int = 5) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(samples, 3, 8, 8, dtype=torch.float64, generator=generator)
    return x, torch.randint(3, (samples,), generator=generator)


@pytest.mark.parametrize("name", NETS)
def test_loss_gradients(name: str) -> None:
    x, y = batch()
    found = Probe(nets.build(name), (x, y)).loss_gradients()
    expected = slow.loss_gradients(nets.build(name), x, y)
    assert found.weights.keys() == expected.keys()
    for layer, gradient in expected.items():
        assert torch.allclose(found.weights[layer], gradient, rtol=1e-9, atol=1e-14)
    assert found.loss == pytest.approx(F.cross_entropy(nets.build(name).train()(x), y).item(), rel=1e-12)
    model = nets.build(name).train()
    F.cross_entropy(model(x), y).backward()
    products = [float((p.detach() * p.grad).sum()) for p in model.parameters() if p.grad is not None]
    assert found.along == pytest.approx(sum(products), rel=1e-9)


@pytest.mark.parametrize("name", NETS)
def test_fisher(name: str) -> None:
    x, y = batch()
    assert Probe(nets.build(name), (x, y)).fisher() == pytest.approx(slow.fisher(nets.build(name), x, y), rel=1e-9)


def test_fisher_of_activations_that_are_overwritten() -> None:
    class Overwriting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(4, 6), nn.Linear(6, 3)

        def forward(self, x: Tensor) -> Tensor:
            return self.second(self.first(x).add_(1.0).tanh())

    torch.manual_seed(0)
    model, x, y = Overwriting().double(), torch.randn(5, 4, dtype=torch.float64), torch.tensor([0, 1, 2, 0, 1])
    assert Probe(model, (x, y)).fisher() == pytest.approx(slow.fisher(model, x, y), rel=1e-9)


def test_fisher_costs_no_pass_of_its_own_where_it_is_expected() -> None:
    x, y = batch()
    calls = []
    net = nets.build("mlp")
    net.register_forward_hook(lambda *_: calls.append(1))
    probe = Probe(net, (x, y))
    probe.expected.add("fisher")
    probe.loss_gradients()
    first = probe.fisher()
    assert len(calls) == 1
    late = Probe(net, (x, y))
    late.loss_gradients()
    assert late.fisher() == first


@pytest.mark.parametrize("name", ["smooth", "attention", "gated"])
def test_hessian_gradient_product(name: str) -> None:
    x, y = batch()
    expected = slow.hessian_product(nets.build(name), x, y)
    assert Probe(nets.build(name), (x, y)).hessian_gradient_product() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("name", NETS)
def test_label_kernel_of_the_batch_sum(name: str) -> None:
    x, y = batch()
    rows = slow.batch_sum_logit_gradients(nets.build(name), x, y)
    kernel = Probe(nets.build(name), (x, y)).label_kernel()
    assert torch.allclose(kernel, rows @ rows.T, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", sorted(set(NETS) - COUPLED))
def test_label_kernel_is_the_tangent_kernel_where_samples_are_uncoupled(name: str) -> None:
    x, y = batch()
    rows = slow.per_sample_logit_gradients(nets.build(name), x, y)
    assert torch.allclose(Probe(nets.build(name), (x, y)).label_kernel(), rows @ rows.T, rtol=1e-9, atol=1e-12)


def test_label_kernel_of_grouped_strided_dilated_and_repeated_convolutions() -> None:
    class Odd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.grouped = nn.Conv2d(4, 8, 3, stride=2, padding=2, dilation=2, groups=2)
            self.same = nn.Conv2d(8, 8, 3, padding="same", padding_mode="circular", bias=False)
            self.pixel = nn.Conv2d(8, 8, 1, stride=2)
            self.head = nn.Linear(8, 3)

        def forward(self, x: Tensor) -> Tensor:
            x = self.same(self.same(self.grouped(x).relu_()))
            return self.head(self.pixel(x).mean((2, 3)))

    torch.manual_seed(0)
    model, y = Odd().double(), torch.tensor([0, 1, 2, 1])
    x = torch.randn(4, 4, 9, 9, dtype=torch.float64)
    rows = slow.per_sample_logit_gradients(model, x, y)
    assert torch.allclose(Probe(model, (x, y)).label_kernel(), rows @ rows.T, rtol=1e-9, atol=1e-12)


def test_kernel_of_a_network_that_takes_words() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(9, 6), nn.Flatten(), nn.Linear(18, 4), nn.Tanh(), nn.Linear(4, 3)).double()
    x, y = torch.randint(9, (4, 3)), torch.tensor([0, 1, 2, 0])
    rows = slow.per_sample_logit_gradients(model, x, y)
    assert torch.allclose(Probe(model, (x, y)).label_kernel(), rows @ rows.T, rtol=1e-9, atol=1e-12)


class WordsAndNumbers(nn.Module):
    """Layers that no input which can move leads to, beside one that it does; and a weight that two layers share."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(9, 4)
        self.of_words, self.of_numbers = nn.Linear(4, 6), nn.Linear(2, 6)
        self.again = nn.Linear(4, 6)
        self.again.weight = self.of_words.weight
        self.head = nn.Linear(6, 3)

    def forward(self, words: Tensor, numbers: Tensor) -> Tensor:
        embedded = self.words(words)
        hidden = self.of_words(embedded).tanh() * self.again(embedded)
        return self.head((hidden + self.of_numbers(numbers)).tanh())


@pytest.mark.parametrize("together", [False, True])
def test_kernel_with_layers_off_the_inputs_path_and_tied_weights(together: bool) -> None:
    torch.manual_seed(0)
    model = WordsAndNumbers().double()
    words, numbers = torch.randint(9, (4,)), torch.randn(4, 2, dtype=torch.float64)
    y = torch.tensor([0, 1, 2, 0])
    wanted = [p for layer in slow.layers(model).values() for p in (layer.weight, layer.bias)]
    different = list(dict.fromkeys(wanted))
    logits = model(words, numbers).gather(1, y[:, None])[:, 0]
    rows = torch.stack(
        [torch.cat([g.flatten() for g in torch.autograd.grad(z, different, retain_graph=True)]) for z in logits]
    )
    probe = Probe(model, ((words, numbers), y))
    probe.expected |= {"gradients", "fisher", "jacobian"} if together else set()
    assert torch.allclose(probe.label_kernel(), rows @ rows.T, rtol=1e-9, atol=1e-12)
    assert len(probe.loss_gradients().weights) == 3


def test_gradients_of_fused_attention_include_its_queries() -> None:
    x, y = batch()
    model = nets.build("fused_attention")
    found = Probe(model, (x, y)).loss_gradients().weights
    F.cross_entropy(model.train()(x), y).backward()
    assert found.keys() == {"patches", "attention.in_proj_weight", "attention.out_proj", "head"}
    assert torch.allclose(found["attention.in_proj_weight"], model.attention.in_proj_weight.grad, rtol=1e-9)


@pytest.mark.parametrize(
    "made", [nn.utils.parametrizations.weight_norm, nn.utils.parametrizations.spectral_norm, torch.nn.utils.weight_norm]
)
@pytest.mark.filterwarnings("ignore:.*weight_norm:FutureWarning")
def test_weights_made_of_others_are_refused(made: Callable[[nn.Module], nn.Module]) -> None:
    model = nn.Sequential(nn.Flatten(), made(nn.Linear(192, 3)))
    with pytest.raises(UnsupportedError, match="computed from other parameters"):
        Probe(model, batch()).loss_gradients()


def test_an_own_loss_may_do_without_targets() -> None:
    x, _ = batch()
    found = Probe(nets.build("mlp"), x, loss=lambda logits, targets: logits.square().mean()).loss_gradients()
    model = nets.build("mlp").train()
    model(x).square().mean().backward()
    for name, layer in slow.layers(model).items():
        assert torch.allclose(found.weights[name], layer.weight.grad, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("name", NETS)
def test_input_jacobian(name: str) -> None:
    x, y = batch()
    found = Probe(nets.build(name), (x, y)).input_jacobian()
    assert torch.allclose(found, slow.input_jacobian(nets.build(name), x), rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("name", ["smooth", "attention", "mlp"])
def test_output_kernel(name: str) -> None:
    x, _ = batch()
    model = nets.build(name).train()
    chosen = [p for n, p in model.named_parameters() if "weight" in n]
    sums = model(x).sum(1)
    rows = torch.stack(
        [
            torch.cat(
                [
                    g.flatten()
                    for g in torch.autograd.grad(s, chosen, retain_graph=True, allow_unused=True)
                    if g is not None
                ]
            )
            for s in sums
        ]
    )
    assert torch.allclose(Probe(nets.build(name), x).output_kernel(), rows @ rows.T, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["smooth", "residual", "mlp"])
def test_sample_gradients(name: str) -> None:
    x, y = batch()
    model = nets.build(name)
    single = [slow.loss_gradients(model, x[i : i + 1], y[i : i + 1]) for i in range(len(x))]
    found = Probe(nets.build(name), (x, y)).sample_gradients()
    expected = sum(float(sum(g[n].sign() for g in single).abs().sum()) for n in single[0])
    assert found.sign_agreement == expected
    assert found.energy == pytest.approx(sum(float(g.square().sum()) for s in single for g in s.values()), rel=1e-9)


def test_a_frozen_model_is_measured_and_stays_frozen() -> None:
    x, y = batch()
    frozen = nets.build("residual").requires_grad_(False)
    found = Probe(frozen, (x, y)).loss_gradients()
    free = Probe(nets.build("residual"), (x, y)).loss_gradients()
    assert all(torch.equal(found.weights[name], free.weights[name]) for name in free.weights)
    assert not any(p.requires_grad for p in frozen.parameters())


def test_layers_that_the_loss_does_not_reach_are_absent() -> None:
    class Idle(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.idle = nn.Linear(4, 3), nn.Linear(4, 3)

        def forward(self, x: Tensor) -> Tensor:
            self.idle(x)
            return self.used(x)

    probe = Probe(Idle(), (torch.randn(4, 4), torch.tensor([0, 1, 2, 0])))
    assert list(probe.loss_gradients().weights) == ["used"]


def test_bad_labels_and_missing_ones() -> None:
    x, y = batch()
    with pytest.raises(DataError, match=r"Labels range from 0 to 9; the network has 5 classes"):
        Probe(nets.build("mlp"), (x, torch.tensor([0, 1, 2, 3, 9]))).loss_gradients()
    with pytest.raises(UnsupportedError, match="targets"):
        Probe(nets.build("mlp"), x).loss_gradients()
    with pytest.raises(UnsupportedError, match="loss="):
        Probe(nets.build("mlp"), (x, torch.randn(5))).loss_gradients()
    with pytest.raises(UnsupportedError, match="4 batches are needed; got 1"):
        Probe(nets.build("mlp"), (x, y)).all_loss_gradients(4)
    with pytest.raises(DataError, match="numbers of samples"):
        Probe(nets.build("mlp"), (x, y[:3]))


def test_models_that_have_no_gradients_to_offer() -> None:
    x, y = torch.randn(4, 3), torch.tensor([0, 1, 2, 0])
    with pytest.raises(UnsupportedError, match="no Conv2d or Linear"):
        Probe(nn.Identity(), (x, y)).loss_gradients()
    with pytest.raises(ModelError, match="half precision"):
        Probe(nn.Linear(3, 3).half(), (x, y))
    with pytest.raises(UnsupportedError, match="larger batch"):
        Probe(nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)), (x[:1], y[:1])).loss_gradients()


def test_a_loss_of_ones_own_and_other_targets() -> None:
    x, _ = batch()
    targets = torch.randn(5, 5, dtype=torch.float64)
    found = Probe(nets.build("mlp"), (x, targets), loss=F.mse_loss).loss_gradients()
    assert found.loss == pytest.approx(F.mse_loss(nets.build("mlp")(x), targets).item())
    labels = (targets > 0).double()
    multi = Probe(nets.build("mlp"), (x, labels), loss=F.binary_cross_entropy_with_logits).loss_gradients()
    assert multi.loss == pytest.approx(F.binary_cross_entropy_with_logits(nets.build("mlp")(x), labels).item())
    with pytest.raises(DataError, match="a single number"):
        Probe(nets.build("mlp"), (x, targets), loss=lambda a, b: a - b).loss_gradients()


class Several(nn.Module):
    """Takes two inputs and returns features and logits, as a pair or by name."""

    def __init__(self, named: bool) -> None:
        super().__init__()
        self.dense, self.words, self.head = nn.Linear(4, 6), nn.Embedding(7, 6), nn.Linear(6, 3)
        self.named = named

    def forward(self, dense: Tensor, words: Tensor) -> object:
        features = torch.tanh(self.dense(dense) + self.words(words))
        logits = self.head(features)
        return {"features": features, "logits": logits} if self.named else (features, logits)


@pytest.mark.parametrize("named", [False, True])
def test_several_inputs_and_outputs(named: bool) -> None:
    torch.manual_seed(0)
    model = Several(named)
    dense, words, y = torch.randn(5, 4), torch.randint(7, (5,)), torch.tensor([0, 1, 2, 0, 1])
    inputs = {"words": words, "dense": dense} if named else (dense, words)
    probe = Probe(model, (inputs, y), logits="logits" if named else 1)
    assert probe.loss_gradients().weights.keys() == {"dense", "head"}
    assert probe.label_kernel().shape == (5, 5)
    assert probe.input_jacobian().shape == (5, 4)
    assert probe.cost().params == sum(p.numel() for p in model.parameters())
    with pytest.raises(UnsupportedError, match="logits="):
        Probe(model, (inputs, y)).loss_gradients()
    with pytest.raises(DataError, match="without a part"):
        Probe(model, (inputs, y), logits="answer" if named else 7).loss_gradients()
    with pytest.raises(UnsupportedError, match="a single input"):
        probe.output_curvature()


@dataclass
class Answer:
    features: Tensor
    logits: Tensor


def test_logits_that_are_an_attribute_or_not_there_at_all() -> None:
    class Answering(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.head = nn.Linear(4, 6), nn.Linear(6, 3)

        def forward(self, x: Tensor) -> Answer:
            features = self.layer(x)
            return Answer(features, self.head(features))

    torch.manual_seed(0)
    batch = (torch.randn(5, 4), torch.tensor([0, 1, 2, 0, 1]))
    assert Probe(Answering(), batch, logits="logits").loss_gradients().weights.keys() == {"layer", "head"}
    with pytest.raises(UnsupportedError, match="logits="):
        Probe(Answering(), batch).loss_gradients()
    with pytest.raises(DataError, match="a single tensor"):
        Probe(nn.Linear(4, 3), batch, logits=0).loss_gradients()


def test_feature_maps_take_the_named_logits_for_the_networks_own() -> None:
    torch.manual_seed(0)
    model = Several(named=True)
    inputs = {"dense": torch.randn(5, 4), "words": torch.randint(7, (5,))}
    found = Probe(model, inputs, logits="logits").feature_statistic(SmallestCorrelation())
    last = dict(zip(found.names, found.values.tolist(), strict=True))
    assert last["<root>"] == last["head"]


def test_sparse_gradients_count_like_dense_ones() -> None:
    found = []
    for sparse in (True, False):
        with seeded(0):
            probe = Probe(nn.Sequential(nn.Embedding(5, 3, sparse=sparse), nn.Linear(3, 2)), torch.tensor([[1], [4]]))
        found.append((probe.exact_trace(), probe.output_kernel().tolist()))
    assert found[0] == found[1]


def test_a_backward_pass_for_each_pixel_is_refused() -> None:
    probe = Probe(nn.Conv2d(1, 3, 1), torch.randn(1, 1, 60, 60))
    with pytest.raises(
        UnsupportedError, match=r"\(1, 3, 60, 60\).*10,800 numbers takes a backward pass; at most 8,192"
    ):
        probe.exact_trace()
