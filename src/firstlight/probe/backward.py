"""Quantities of other backward passes: of further batches, single samples and single outputs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor

from firstlight.core.errors import UnsupportedError
from firstlight.probe import gradients, kernel, tangent
from firstlight.probe.first_batch import FirstBatchQuantities
from firstlight.probe.subject import quantity

# Enough for 1,000 classes of 8 samples; a class map for each pixel would take too many backward passes
MOST_OUTPUTS = 8192

R = TypeVar("R")


class BackwardQuantities(FirstBatchQuantities):
    @quantity
    def weights(self) -> gradients.Weights:
        """Return the weight of each convolution and linear layer, by the layer's name. Free."""
        return {name: weight.detach() for name, weight in gradients.weights_of(self.model).items()}

    @quantity
    def loss_gradients(self, index: int = 0) -> gradients.LossGradients:
        """Return the loss of a batch and its gradient with respect to each layer's weight, in train mode.

        Cost: one forward and one backward pass. BatchNorm couples the samples of a batch, as in training.
        """
        if index == 0:
            return self.first_loss_gradients()
        return self._with(self.model, [self.batches[index]]).first_loss_gradients()

    @quantity
    def sample_gradients(self, samples: int | None = None) -> gradients.SampleGradients:
        """Return signs and norms of the gradients of the first `samples` samples of the first batch; by default of all.

        Cost: one forward and one backward pass for each sample by itself, in train mode, so BatchNorm couples none.
        """
        singles = self._batch_for_loss(0).chunks(1)[:samples]
        with self._watched("sample gradients", training=True):
            losses = (functools.partial(self._loss_of, single) for single in singles)
            return gradients.sample_gradients(self.model, losses)

    @quantity
    def mean_hessian_gradient_product(self) -> float:
        """Return the mean over samples of the first batch of W times H g, where H and g are those of the sample alone.

        Cost: a forward pass, a backward pass and one through it, for each sample, in train mode.
        """
        singles = self._batch_for_loss(0).chunks(1)
        return sum(self._with(self.model, [one]).hessian_gradient_product() for one in singles) / len(singles)

    @quantity
    def output_kernel(self, *, samples: int = 8, training: bool = True) -> Tensor:
        """Return the Gram matrix of the gradients of each sample's summed outputs, over all parameters named "weight".

        Cost: one forward pass of the first samples together, and one backward pass for each. In train mode BatchNorm
        couples the samples, and the gradients account for it.
        """
        batch = self.batches[0].head(samples)
        chosen = [parameter for name, parameter in self.model.named_parameters() if "weight" in name]
        if not chosen:
            raise UnsupportedError("the network has no parameters named weight.")
        with self._watched("output kernel", training=training), gradients.differentiable(self.model, *chosen):
            return kernel.coupled_gram(self._logits(batch).flatten(1).sum(1), chosen)

    @quantity
    def response_correlations(self) -> Tensor:
        """Return the correlations between samples of ReLU inputs and their gradients, weighted by block, shape (N, N).

        Cost: one forward and one backward pass of the first batch, in train mode. See `responses.ResponseRecorder`.
        """
        from firstlight.probe import responses

        batch = self._batch_for_loss(0)
        recorder = responses.ResponseRecorder(responses.block_numbers(self.model), len(batch))
        parameters = list(self.model.parameters())
        watched = self._watched("responses", training=True)
        with watched, gradients.differentiable(self.model, *parameters), recorder.watching():
            torch.autograd.grad(self._loss_of(batch), parameters, allow_unused=True)
        return recorder.total

    @quantity
    def exact_trace(self, *, samples: int = 8, parameterization: tangent.Parameterization = "standard") -> float:
        """Return the trace of the tangent kernel of all logits of the first samples, over all parameters.

        Cost: one forward pass of these samples together in train mode, and one backward pass for each sample and logit.
        BatchNorm couples the samples, and the gradients account for it. With the parameterization "ntk", gradients are
        those with respect to w in W = w / sqrt(fan-in), and biases are left out.
        """
        return self._of_all_logits(kernel.coupled_trace, samples, parameterization)

    @quantity
    def exact_kernel(self, *, samples: int = 8, parameterization: tangent.Parameterization = "standard") -> Tensor:
        """Return the tangent kernel of all logits of the first samples: the matrix whose trace is `exact_trace`.

        Its rows are the logits of the first sample, then those of the second, and so on. Cost: that of `exact_trace`,
        with the gradients of all logits in memory.
        """
        return self._of_all_logits(kernel.coupled_gram, samples, parameterization)

    def _of_all_logits(self, measure: Callable[..., R], samples: int, parameterization: tangent.Parameterization) -> R:
        batch = self.batches[0].head(samples)
        parameters = list(self.model.parameters())
        factors = tangent.ntk_factors(self.model) if parameterization == "ntk" else {}
        if not parameters:
            raise UnsupportedError("the network has no parameters.")
        with self._watched("exact trace", training=True), gradients.differentiable(self.model, *parameters):
            logits = self._logits(batch)
            if logits.numel() > MOST_OUTPUTS:
                raise UnsupportedError(
                    f"the network returns {tuple(logits.shape)}, and each of these {logits.numel():,} numbers takes a "
                    f"backward pass; at most {MOST_OUTPUTS:,} are allowed. Use fewer samples, or ntk_trace."
                )
            return measure(logits.flatten(), parameters, factors)

    def all_loss_gradients(self, count: int) -> list[gradients.LossGradients]:
        """Return the loss gradients of the first `count` batches."""
        self._require_batches(count)
        return [self.loss_gradients(index) for index in range(count)]

    def _require_batches(self, count: int) -> None:
        if len(self.batches) < count:
            raise UnsupportedError(
                f"the gradients of {count} batches are needed; got {len(self.batches)}. Pass a list of {count}, or "
                f"--num-batches {count} on the command line."
            )
