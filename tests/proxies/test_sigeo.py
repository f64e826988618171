"""ZiCo, the Fisher-Rao norm and SiGeo, written out from their formulas."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log
from typing import Literal

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from tests import nets, slow
from torch import Tensor, nn

import firstlight
from firstlight.core.errors import SettingError, UnsupportedError
from firstlight.probe import Probe
from firstlight.proxies.sigeo import EPSILON, fr_norm, loss, sigeo, steadiness, zico

NETS = ["residual", "smooth", "attention", "mlp"]


def gradients(name: str, count: int) -> list[dict[str, Tensor]]:
    return [slow.loss_gradients(nets.build(name), x, y) for x, y in nets.labelled(count)]


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("count", [2, 3])
def test_zico_by_numpy(name: str, count: int) -> None:
    expected = sum(log(ratio) for ratio in slow.steady_ratios(gradients(name, count)).values())
    assert zico(Probe(nets.build(name), nets.labelled(count)), batches=count).value == pytest.approx(expected, rel=1e-7)


def test_gradients_of_one_and_three() -> None:
    series = [{"layer": torch.tensor([1.0, -1.0, 0.0])}, {"layer": torch.tensor([3.0, -3.0, 0.0])}]
    assert steadiness(series, per_layer=True) == pytest.approx(log(2 + 2))
    turned = [{"layer": torch.tensor([-1.0])}, {"layer": torch.tensor([3.0])}]
    assert steadiness(turned, per_layer=True) == pytest.approx(log(2 / 2))  # the mean of the sizes, not of the numbers


@pytest.mark.parametrize("count", [2, 3, 4, 7])
def test_identical_batches_tell_nothing(count: int) -> None:
    same = [nets.labelled(1)[0]] * count
    for network in (nets.build("residual"), nets.build("plain"), nets.build("plain").float()):
        with pytest.raises(UnsupportedError, match=f"the {count} batches are identical"):
            zico(Probe(network, same), batches=count)


@pytest.mark.parametrize("name", NETS)
def test_a_louder_loss_is_as_steady(name: str) -> None:
    batches = nets.labelled(2)
    loud = Probe(nets.build(name), batches, loss=lambda logits, y: 5 * F.cross_entropy(logits, y))
    assert zico(loud).value == pytest.approx(zico(Probe(nets.build(name), batches)).value, rel=1e-9)


def test_the_order_of_batches_does_not_matter() -> None:
    batches = nets.labelled(3)
    values = {zico(Probe(nets.build("plain"), order), batches=3).value for order in (batches, batches[::-1])}
    assert max(values) == pytest.approx(min(values), rel=1e-9)
    fewer = zico(Probe(nets.build("plain"), batches), batches=2).value
    assert fewer == zico(Probe(nets.build("plain"), batches[:2])).value != pytest.approx(max(values))


SUMMED_OVER = {"all": slow.along_parameters, "weights": slow.along_weights}


@pytest.mark.parametrize("name", ["smooth", "attention", "gated"])
@pytest.mark.parametrize("parameters", SUMMED_OVER)
def test_fisher_rao_norm_by_finite_differences(name: str, parameters: Literal["all", "weights"]) -> None:
    slopes = [SUMMED_OVER[parameters](nets.build(name), x, y) for x, y in nets.labelled(3)]
    expected = log(sum(slope**2 for slope in slopes) / 3 + EPSILON)
    probe = Probe(nets.build(name), nets.labelled(3))
    assert fr_norm(probe, batches=3, parameters=parameters).value == pytest.approx(expected, rel=1e-4)


def test_the_fisher_rao_norm_is_over_all_parameters_of_the_network() -> None:
    """Embeddings, normalization and biases count: their products with gradients are taken one by one."""
    model = nn.Sequential(nn.Embedding(7, 3), nn.Flatten(), nn.LayerNorm(6), nn.Linear(6, 2)).double()
    x, y = torch.tensor([[0, 3], [5, 5], [6, 1]]), torch.tensor([0, 1, 1])
    F.cross_entropy(model(x), y).backward()
    products = {name: float((p.detach() * p.grad).sum()) for name, p in model.named_parameters() if p.grad is not None}
    assert len(products) == 5
    model.zero_grad()
    found = {over: fr_norm(Probe(model, [(x, y)]), batches=1, parameters=over).value for over in ("all", "weights")}
    assert found["all"] == pytest.approx(log(sum(products.values()) ** 2 + EPSILON), rel=1e-9)
    assert found["weights"] == pytest.approx(log(products["3.weight"] ** 2 + EPSILON), rel=1e-9)


def test_layers_before_batch_norm_do_not_move_the_loss_as_they_grow() -> None:
    batches = nets.labelled(2)
    products = []
    for x, y in batches:
        net = nets.build("smooth")
        products.append(float((slow.loss_gradients(net, x, y)["head"] * net.head.weight.detach()).sum()))
    expected = log(np.mean(np.square(products)) + EPSILON)
    found = fr_norm(Probe(nets.build("smooth"), batches), batches=2, parameters="weights").value
    assert found == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("name", NETS)
def test_the_loss_is_that_of_the_last_batch_of_the_other_terms(name: str) -> None:
    """Eq. 7 has the loss of D_k, where D_0 to D_k are the batches of T1; further batches are not looked at."""
    probe, batches = Probe(nets.build(name), nets.labelled(6)), nets.labelled(6)
    for count in (2, 4):
        found = sigeo(probe, lambda1=0.0, lambda2=0.0, lambda3=1.0, batches=count)
        assert found.value == pytest.approx(-slow.loss(nets.build(name), *batches[count - 1]), rel=1e-9)
        assert found.parts["steadiness"] == zico(probe, batches=count).value


def test_settings_of_the_paper_only() -> None:
    probe = Probe(nets.build("mlp"), nets.labelled(4))
    with pytest.raises(SettingError, match="parameters applies to variant=paper"):
        sigeo(probe, parameters="weights", variant="official-cv")
    with pytest.raises(SettingError, match="neuron_wise applies to variant=paper"):
        sigeo(probe, neuron_wise=True, variant="official-rec")


@pytest.mark.parametrize("name", NETS)
def test_the_weighted_sum_of_its_parts(name: str) -> None:
    batches = nets.labelled(4)
    probe = Probe(nets.build(name), batches)
    found = sigeo(probe, lambda1=2.0, lambda2=50.0, lambda3=3.0)
    t1, t2, loss = zico(probe, batches=4).value, fr_norm(probe).value, slow.loss(nets.build(name), *batches[-1])
    assert found.parts == pytest.approx({"steadiness": t1, "fisher_rao": t2, "loss": loss}, rel=1e-9)
    assert found.value == pytest.approx(2 * t1 + 50 * t2 - 3 * loss, rel=1e-9)
    assert sigeo(probe).value == pytest.approx(t1 + t2, rel=1e-9)
    assert sigeo(probe, lambda2=0.0).value == t1
    by_weights = t1 + fr_norm(probe, parameters="weights").value
    assert sigeo(probe, parameters="weights").value == pytest.approx(by_weights, rel=1e-9)


@pytest.mark.parametrize("name", NETS)
def test_all_neurons_under_one_logarithm(name: str) -> None:
    expected = log(sum(slow.steady_ratios(gradients(name, 4)).values()))
    probe = Probe(nets.build(name), nets.labelled(4))
    assert sigeo(probe, lambda2=0.0, neuron_wise=True).value == pytest.approx(expected, rel=1e-7)


def trained(
    model: nn.Module, watched: dict[str, nn.Parameter], optimiser: torch.optim.Optimizer, rates: Callable[[int], float]
) -> tuple[list[dict[str, Tensor]], dict[str, Tensor], float]:
    """Gradients of four batches with a step after each; the last weights and the last loss."""
    model.train()
    series = []
    for number, (x, y) in enumerate(nets.labelled(4)):
        optimiser.param_groups[0]["lr"] = rates(number)
        model.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        series.append({name: p.grad.clone() for name, p in watched.items() if p.grad is not None})
        optimiser.step()
    return series, {name: p.detach() for name, p in watched.items()}, float(loss.detach())


def products(series: list[dict[str, Tensor]], last: dict[str, Tensor]) -> dict[str, float]:
    return {name: float((sum(entry[name] for entry in series) * last[name]).sum()) for name in series[0]}


@pytest.mark.parametrize("name", NETS)
def test_the_published_form_for_images(name: str) -> None:
    model = nets.build(name)
    watched = {key: layer.weight for key, layer in slow.layers(model).items()}
    series, last, loss = trained(model, watched, torch.optim.SGD(model.parameters(), lr=1.0), lambda step: 1.0)
    first = sum(log(ratio) for ratio in slow.steady_ratios(series).values())
    second = 2 * log(sum(map(abs, products(series, last).values())) + 1e-5)
    found = sigeo(Probe(nets.build(name), nets.labelled(4)), lambda2=50.0, lambda3=1.0, variant="official-cv")
    assert found.parts == pytest.approx({"steadiness": first, "fisher_rao": second, "loss": loss}, rel=1e-6)
    assert found.value == pytest.approx(first + 50 * second - loss, rel=1e-6)


@pytest.mark.parametrize("name", ["residual", "attention", "mlp"])
def test_the_published_form_for_clicks(name: str) -> None:
    model = nets.build(name)
    watched = dict(model.named_parameters())
    optimiser = torch.optim.Adagrad(model.parameters(), lr=0.04, eps=1e-2)
    series, last, loss = trained(model, watched, optimiser, lambda step: 1e-8 + (0.04 - 1e-8) * max(0, step - 1) / 50)
    owners = dict(model.named_modules())
    groups: dict[tuple[str, int], list[str]] = {}
    for key in series[0]:
        groups.setdefault((repr(owners[key.rpartition(".")[0]]), watched[key].numel()), []).append(key)
    first = 0.0
    for members in groups.values():
        stack = np.stack([np.concatenate([entry[key].flatten().numpy() for key in members]) for entry in series])
        deviation = stack.std(0, ddof=1)
        place = np.flatnonzero(deviation)[0]
        first += log(np.abs(stack[:, place]).mean() / deviation[place])
    second = log(abs(sum(products(series, last).values())) + 1e-10)
    found = sigeo(Probe(nets.build(name), nets.labelled(4)), lambda3=1.0, variant="official-rec")
    assert found.parts == pytest.approx({"steadiness": first, "fisher_rao": second, "loss": loss}, rel=1e-6)
    assert found.value == pytest.approx(first + second - loss, rel=1e-6)
    assert len(groups) < len(series[0]) or name == "mlp"


def test_the_published_form_for_clicks_sees_what_is_not_frozen() -> None:
    model = nets.build("mlp").requires_grad_(False)
    model[-1].requires_grad_(True)
    series, last, _ = trained(
        (twin := nets.build("mlp")),
        dict(twin[-1].named_parameters()),
        torch.optim.Adagrad(twin[-1].parameters(), lr=0.04, eps=1e-2),
        lambda step: 1e-8 + (0.04 - 1e-8) * max(0, step - 1) / 50,
    )
    found = sigeo(Probe(model, nets.labelled(4)), variant="official-rec")
    assert exp(found.parts["fisher_rao"]) == pytest.approx(abs(sum(products(series, last).values())), rel=1e-6)
    frozen = firstlight.score(nets.build("mlp").requires_grad_(False), nets.labelled(4), "sigeo:variant=official-rec")
    assert next(iter(frozen.values())).status == "unsupported"


@pytest.mark.parametrize("name", NETS)
def test_without_its_other_terms_it_is_zico(name: str) -> None:
    batches = nets.labelled(4)
    alone = sigeo(Probe(nets.build(name), batches), lambda2=0.0, lambda3=0.0).value
    assert alone == pytest.approx(zico(Probe(nets.build(name), batches), batches=4).value, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", NETS)
def test_the_loss_is_that_of_the_last_batch(name: str) -> None:
    batches = nets.labelled(4)
    probe = Probe(nets.build(name), batches)
    for count in (1, 3, 4):
        expected = slow.loss(nets.build(name), *batches[count - 1])
        assert loss(probe, batches=count).value == pytest.approx(expected, rel=1e-9)
    score = firstlight.score(nets.build(name), batches, "loss")["loss"]
    assert score.utility == -score.value < 0


def two_weights() -> Probe:
    """Probabilities of 3/4 and 1/4 for two classes, and a batch for each class: all can be done by hand."""
    model = nn.Linear(1, 2, bias=False).double()
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[log(3)], [0.0]], dtype=torch.float64))
    one = torch.ones(1, 1, dtype=torch.float64)
    return Probe(model, [(one, torch.tensor([0])), (one, torch.tensor([1]))])


def test_an_example_by_hand() -> None:
    """Gradients are (-1/4, 1/4) and (3/4, -3/4): their mean size is 1/2, and so is their deviation."""
    probe, along = two_weights(), [-log(3) / 4, 3 * log(3) / 4]
    first, second = log(1 + 1), log((along[0] ** 2 + along[1] ** 2) / 2 + 1e-5)
    assert zico(probe).value == pytest.approx(first, rel=1e-12)
    assert fr_norm(probe, batches=2).value == pytest.approx(second, rel=1e-12)
    assert loss(probe, batches=2).value == pytest.approx(log(4), rel=1e-12)
    found = sigeo(probe, lambda1=1.0, lambda2=50.0, lambda3=1.0, batches=2)
    assert found.value == pytest.approx(first + 50 * second - log(4), rel=1e-12)
    assert sigeo(probe, lambda2=0.0, batches=2, neuron_wise=True).value == pytest.approx(log(2), rel=1e-12)


def test_the_published_form_for_images_by_hand() -> None:
    """After a step at rate 1 the weights are ln 3 + 1/4 and -1/4, and the first class has the probability p."""
    p = 3 * exp(0.5) / (3 * exp(0.5) + 1)
    found = sigeo(two_weights(), lambda2=50.0, lambda3=1.0, batches=2, variant="official-cv")
    along = (p - 1 / 4) * ((log(3) + 1 / 4 - p) - (-1 / 4 + p))
    parts = {"steadiness": log(2), "fisher_rao": 2 * log(abs(along) + 1e-5), "loss": -log(1 - p)}
    assert found.parts == pytest.approx(parts, rel=1e-12)
    assert found.value == pytest.approx(log(2) + 50 * parts["fisher_rao"] + log(1 - p), rel=1e-12)


def test_the_published_form_for_clicks_by_hand() -> None:
    """Its rates are so small that the weights practically stand still. One weight counts, by the unbiased deviation."""
    found = sigeo(two_weights(), lambda3=1.0, batches=2, variant="official-rec")
    parts = {"steadiness": log(0.5 / 0.5**0.5), "fisher_rao": log(log(3) / 2), "loss": log(4)}
    assert found.parts == pytest.approx(parts, abs=0.005)
    assert found.value == pytest.approx(sum(parts.values()) - 2 * log(4), abs=0.01)


def test_too_few_batches() -> None:
    score = firstlight.score(nets.build("mlp"), nets.labelled(2), "sigeo")["sigeo"]
    assert score.status == "unsupported"
    assert "4 batches are needed; got 2" in score.note


@pytest.mark.parametrize("name", ["zico", "sigeo", "l_swag"])
def test_identical_batches_have_no_variation_to_measure(name: str) -> None:
    batch = nets.labelled(1)[0]
    count = 4 if name == "sigeo" else 2
    found = firstlight.score(nets.build("residual"), [batch] * count, name)[name]
    assert found.status == "unsupported"
    assert found.note.startswith(f"the {count} batches are identical")
    assert firstlight.score(nets.build("residual"), nets.labelled(count), name)[name].ok


def test_the_same_images_with_other_labels_are_other_batches() -> None:
    (x, y), _ = nets.labelled(2)
    assert firstlight.score(nets.build("residual"), [(x, y), (x, y.roll(1))], "zico")["zico"].ok
