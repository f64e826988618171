"""ZiCo and SiGeo: statistics of the gradient over several batches, the Fisher-Rao norm, and the loss."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, log, nan
from typing import Annotated, Literal

import torch
from torch import Tensor

from firstlight.core.errors import SettingError, UnsupportedError
from firstlight.core.settings import AtLeast
from firstlight.probe import Probe
from firstlight.probe.gradients import LossGradients, Weights
from firstlight.probe.steps import TrainingSteps
from firstlight.proxies.base import AfterWarmUp, Parts, proxy
from firstlight.proxies.sizes import Per, size_for

# Keep logarithms away from zero, as in the published code.
EPSILON = 1e-5
TINY = 1e-10
# The number of batches that a deviation needs.
Several = Annotated[int, AtLeast(2)]
# What the Fisher-Rao norm sums over: all parameters of the network, or the weights that T1 sums over.
SummedOver = Literal["all", "weights"]


@proxy(reference="Li2023zico", needs="labels", batch_size=64, expects=("gradients",))
def zico(probe: Probe, *, batches: Several = 2, per: Per = "network") -> Parts:
    """Large gradients that vary little between batches.

        M = sum over layers of ln( sum over weights of mean|g| / sigma )

    The mean of the absolute value and the population standard deviation sigma of the gradient are taken over batches.
    Weights whose gradient does not vary are left out.

    Scale: about 50 to 600 on NAS-Bench-201. Higher is better. Cost: one forward and backward pass for each batch,
    shared by all gradient proxies.

    Args:
        batches: Number of batches; at least 2.
        per: Divide the sum by the number of weight tensors (`layer`), of parameters (`parameter`) or of
            multiply-accumulates (`mac`). Published is the sum over the `network`.
    """
    value = steadiness([entry.weights for entry in probe.all_loss_gradients(batches)], per_layer=True)
    if not value:
        refuse_equal_batches(probe, batches)
    note = "no gradient varies between batches: the loss does not depend on the weights"
    return Parts(value / size_for(probe, per, len(probe.weights())), note="" if value else note)


@proxy(
    reference="Zheng2023sigeo",
    needs="labels",
    batch_size=64,
    expects=("gradients",),
    revision=2,  # over all parameters
)
def fr_norm(probe: Probe, *, batches: int = 4, parameters: SummedOver = "all") -> Parts:
    """Fisher-Rao norm: how the loss reacts to larger parameters.

        M = ln( (1/k) sum over batches i of (theta . g_i)^2 + 1e-5 )

    The sum is the empirical Fisher information in the direction of theta, over k batches. As in the paper, theta is
    every parameter of the network. `parameters="weights"` takes the weights of convolutions, linear layers and
    attention only, without biases, normalization and embeddings.

    Scale: at least ln(1e-5) = -11.5. Higher is better without training; it grows as the network is warmed up. Cost:
    one forward and backward pass for each batch, shared by all gradient proxies.

    Args:
        batches: Number of batches k.
        parameters: Take `all` parameters, or the `weights` that `zico` reads.
    """
    return Parts(fisher_rao(probe, probe.all_loss_gradients(batches), parameters))


@proxy(
    reference="Zheng2023sigeo",
    higher_is_better=False,
    needs="labels",
    batch_size=64,
    expects=("gradients",),
)
def loss(probe: Probe, *, batches: int = 4) -> Parts:
    """The loss of the last batch, for warmed-up weights.

        M = loss_k

    Cross-entropy of the last of k batches, in training mode; the third term of `sigeo`. Without any training it is
    about ln(classes) and says little.

    Scale: about ln(classes) = 2.3 for ten classes without training. Lower is better. Cost: one forward and backward
    pass for each batch, shared by all gradient proxies.

    Args:
        batches: Number of batches k.
    """
    return Parts(probe.all_loss_gradients(batches)[-1].loss)


@proxy(
    reference="Zheng2023sigeo",
    needs="labels",
    batch_size=64,
    expects=("gradients",),
    revision=3,  # the Fisher-Rao norm is over all parameters
    beside=("zico", "loss", "params"),
)
def sigeo(
    probe: Probe,
    *,
    lambda1: Annotated[float, AfterWarmUp(1.0)] = 1.0,
    lambda2: Annotated[float, AfterWarmUp(1.0, {"images": 50.0})] = 1.0,
    lambda3: Annotated[float, AfterWarmUp(1.0)] = 0.0,
    batches: Several = 4,
    neuron_wise: bool = False,
    parameters: SummedOver = "all",
    variant: Literal["paper", "official-cv", "official-rec"] = "paper",
) -> Parts:
    """ZiCo plus Fisher-Rao norm minus loss: for warmed-up weights.

        M = lambda1 T1 + lambda2 T2 - lambda3 loss_k
        T1 = sum over layers of ln( sum over weights of mean|g| / sigma )
        T2 = ln( (1/k) sum over batches i of (theta . g_i)^2 + 1e-5 )

    T1 is the formula of `zico` and T2 that of `fr_norm`, over the same k batches. loss_k is the loss of the last of
    these batches (Eq. 7). theta is every parameter of the network; `parameters="weights"` takes only the weights that
    T1 sums over. After a warm-up (`--warmup`), lambda3 = 1, and lambda2 = 50 for images and 1 for other data; a lambda
    that is given keeps its value. ZiCo, loss and parameters are always reported beside it.

    The published code lets the weights change between batches and has another Fisher-Rao term: `variant="official-cv"`
    takes a step of SGD at rate 1 after each batch, and 2 ln( sum over layers of |sum of W . g_i| );
    `variant="official-rec"` takes a step of Adagrad on all that is not frozen, and ln |sum of W . g_i|.

    Scale: about 50 to 600 on NAS-Bench-201. Higher is better. Cost: one forward and backward pass for each batch,
    shared by all gradient proxies (the official variants: their own).

    Args:
        lambda1: Weight of T1.
        lambda2: Weight of T2.
        lambda3: Weight of the loss.
        batches: Number of batches k; at least 2.
        neuron_wise: Take one logarithm of the sum over all weights together in T1.
        parameters: Take `all` parameters in T2, or the `weights` that T1 sums over.
        variant: The `paper`, or the published code for computer vision (`official-cv`) or recommendation
            (`official-rec`).
    """
    if variant != "paper":
        for name, changed in (("neuron_wise", neuron_wise), ("parameters", parameters != "all")):
            if changed:
                raise SettingError(f"sigeo:{name} applies to variant=paper, and the variant is {variant}.")
    if variant == "paper":
        gradients = probe.all_loss_gradients(batches)
        first = steadiness([entry.weights for entry in gradients], per_layer=not neuron_wise)
        if not first:
            refuse_equal_batches(probe, batches)
        second, last = fisher_rao(probe, gradients, parameters), gradients[-1].loss
    else:
        recipe: Literal["sgd", "adagrad"] = "sgd" if variant == "official-cv" else "adagrad"
        steps = probe.training_steps(recipe=recipe, batches=batches)
        first, second = _official_cv(steps) if recipe == "sgd" else _official_rec(steps, probe.layer_groups())
        last = steps.losses[-1]
    value = lambda1 * first + lambda2 * second - lambda3 * last
    return Parts(value, steadiness=first, fisher_rao=second, loss=last)


def refuse_equal_batches(probe: Probe, count: int) -> None:
    """Raise an error if the batches that a variation is measured over are all the same.

    Raises:
        UnsupportedError: If they are.
    """
    first, *others = probe.batches[:count]
    if all(batch.equals(first) for batch in others):
        raise UnsupportedError(
            f"the {count} batches are identical, so that no gradient can vary between them. Pass batches of different "
            "samples."
        )


def steadiness(gradients: Sequence[Weights], *, per_layer: bool) -> float:
    """Return the sum over layers of ln( sum of mean|g| / sigma ), or one logarithm of all weights together."""
    totals = list(layer_ratios(gradients).values())
    if not all(map(isfinite, totals)):
        return nan
    if per_layer:
        return sum(log(total) for total in totals if total > 0)
    return log(sum(totals)) if sum(totals) > 0 else 0.0


def layer_ratios(gradients: Sequence[Weights]) -> dict[str, float]:
    """Return the sum of mean|g| / sigma of each layer. Where the loss of a batch does not depend on it, g is zero."""
    reached = {name: gradient for entry in gradients for name, gradient in entry.items()}
    return {
        name: _ratio_sum([entry.get(name, torch.zeros_like(known)) for entry in gradients])
        for name, known in reached.items()
    }


def _ratio_sum(gradients: Sequence[Tensor]) -> float:
    """Return the sum over weights of mean|g| / sigma, in two passes over the batches, without stacking them.

    All is relative to the first gradient, so that the deviation of equal ones is exactly zero.
    """
    first, count = gradients[0], len(gradients)
    mean = torch.zeros_like(first)
    size = torch.zeros_like(first)
    for gradient in gradients:
        mean += gradient - first
        size += gradient.abs()
    mean /= count
    variance = torch.zeros_like(mean)
    for gradient in gradients:
        variance += (gradient - first).sub_(mean).square_()
    deviation = variance.mul_(1 / count).sqrt_()
    ratio = size.mul_(1 / count).div_(deviation)
    return float(torch.where(deviation != 0, ratio, 0.0).double().sum())


def fisher_rao(probe: Probe, gradients: Sequence[LossGradients], parameters: SummedOver = "all") -> float:
    """Return the logarithm of the mean over batches of the squared product of parameters and gradients."""
    products = [entry.along if parameters == "all" else _of_weights(probe.weights(), entry) for entry in gradients]
    return log(sum(product**2 for product in products) / len(products) + EPSILON)


def _of_weights(weights: Weights, entry: LossGradients) -> float:
    return sum(float((weights[name] * gradient).double().sum()) for name, gradient in entry.weights.items())


def _official_cv(steps: TrainingSteps) -> tuple[float, float]:
    """Return ZiCo's term, and 2 ln( sum over layers of |(sum of gradients) . (last weights)| )."""
    ratios = {name: ratio for name, ratio in layer_ratios(steps.gradients).items() if ratio > 0}
    sizes = [abs(_along_weights(steps, name)) for name in ratios]
    return sum(map(log, ratios.values())), 2 * log(sum(sizes) + EPSILON)


def _official_rec(steps: TrainingSteps, groups: dict[str, str]) -> tuple[float, float]:
    """Return both terms of the published code.

    Of each group of equal layers, the first weight whose gradient varies counts, with the unbiased deviation; and the
    absolute value of (sum of gradients) . (last weights) is taken over all groups together.
    """
    members: dict[str, list[str]] = {}
    for name in steps.gradients[0]:
        members.setdefault(groups[name], []).append(name)
    first = 0.0
    for names in members.values():
        series = torch.stack([torch.cat([entry[name].flatten() for name in names]) for entry in steps.gradients])
        deviation = series.std(0)
        varying = deviation.nonzero()
        if len(varying):
            place = varying[0]
            first += log(float(series.abs().mean(0)[place] / deviation[place]))
    return first, log(abs(sum(_along_weights(steps, name) for name in steps.gradients[0])) + TINY)


def _along_weights(steps: TrainingSteps, name: str) -> float:
    return sum(float((entry[name] * steps.weights[name]).double().sum()) for entry in steps.gradients)
