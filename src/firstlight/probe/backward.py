"""Quantities of backward passes beyond those of the first batch: other batches, single samples, single outputs."""

from __future__ import annotations

import functools

from torch import Tensor

from firstlight.core.errors import UnsupportedError
from firstlight.probe import gradients, kernel
from firstlight.probe.first_batch import FirstBatchQuantities
from firstlight.probe.memory import quantity

# A thousand classes of eight samples are fewer; a map of classes for each pixel is not worth so many backward passes
MOST_OUTPUTS = 8192


class BackwardQuantities(FirstBatchQuantities):
    @quantity
    def weights(self) -> gradients.Weights:
        """The weight of each convolution and linear map by the layer's name. Costs nothing."""
        return {name: weight.detach() for name, weight in gradients.weights_of(self.model).items()}

    @quantity
    def loss_gradients(self, index: int = 0) -> gradients.LossGradients:
        """Loss of a batch and its gradient with respect to each layer's weight, in train mode.

        One forward and one backward pass. BatchNorm couples the samples of a batch, as it does in training.
        """
        if index == 0:
            return self.first_loss_gradients()
        return self._with(self.model, [self.batches[index]]).first_loss_gradients()

    @quantity
    def sample_gradients(self, samples: int | None = None) -> gradients.SampleGradients:
        """Signs and norms of the gradients of the first `samples` samples of the first batch, by default of all.

        One forward and one backward pass for each sample alone, in train mode: BatchNorm couples nothing.
        """
        singles = self._batch_for_loss(0).chunks(1)[:samples]
        with self._watched("sample gradients", training=True):
            losses = (functools.partial(self._loss_of, single) for single in singles)
            return gradients.sample_gradients(self.model, losses)

    @quantity
    def output_kernel(self, *, samples: int = 8, training: bool = True) -> Tensor:
        """Gram matrix of the gradients of each sample's summed outputs, over all parameters named weight.

        One batched forward pass of the first samples and one backward pass for each: in train mode BatchNorm couples
        the samples and the gradients account for it.
        """
        batch = self.batches[0].head(samples)
        chosen = [parameter for name, parameter in self.model.named_parameters() if "weight" in name]
        if not chosen:
            raise UnsupportedError("the network has no parameters named weight to differentiate with respect to.")
        with self._watched("output kernel", training=training), gradients.differentiable(self.model, *chosen):
            return kernel.coupled_gram(self._logits(batch).flatten(1).sum(1), chosen)

    @quantity
    def exact_trace(self, *, samples: int = 8) -> float:
        """Trace of the tangent kernel of all logits of the first samples, over all parameters, in train mode.

        One batched forward pass of these samples and one backward pass for each sample and logit: BatchNorm couples the
        samples, and the gradients account for it.
        """
        batch = self.batches[0].head(samples)
        parameters = list(self.model.parameters())
        if not parameters:
            raise UnsupportedError("the network has no parameters to differentiate with respect to.")
        with self._watched("exact trace", training=True), gradients.differentiable(self.model, *parameters):
            logits = self._logits(batch)
            if logits.numel() > MOST_OUTPUTS:
                raise UnsupportedError(
                    f"the network returns {tuple(logits.shape)}, and this takes a backward pass for each of these "
                    f"{logits.numel():,} numbers; {MOST_OUTPUTS:,} are allowed. Look at fewer samples, or measure "
                    "ntk_trace."
                )
            return kernel.coupled_trace(logits.flatten(), parameters)

    def all_loss_gradients(self, count: int) -> list[gradients.LossGradients]:
        """The loss gradients of the first `count` batches."""
        self._require_batches(count)
        return [self.loss_gradients(index) for index in range(count)]

    def _require_batches(self, count: int) -> None:
        if len(self.batches) < count:
            raise UnsupportedError(
                f"this needs the gradients of {count} batches and {len(self.batches)} were given. Pass a list of "
                f"{count} batches, or --num-batches {count} on the command line."
            )
