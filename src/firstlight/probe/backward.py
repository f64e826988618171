"""Quantities of backward passes: gradients of the loss, tangent kernels, Jacobians."""

from __future__ import annotations

import functools

import torch
from torch import Tensor

from firstlight.errors import UnsupportedError
from firstlight.probe import gradients, kernel
from firstlight.probe.memory import Remembering, quantity


class BackwardQuantities(Remembering):
    @quantity
    def weights(self) -> gradients.Weights:
        """The weight of each convolution and linear map by the layer's name. Costs nothing."""
        return gradients.layer_weights(self.model)

    @quantity
    def loss_gradients(self, index: int = 0) -> gradients.LossGradients:
        """Loss of a batch and its gradient with respect to each layer's weight, in train mode.

        One forward and one backward pass. The pass of the first batch also measures Fisher information if that is in
        `expected`. BatchNorm couples the samples of a batch, as it does in training.
        """
        return self._loss_gradients(index, fisher=index == 0 and "fisher" in self.expected)

    @quantity
    def fisher(self) -> float:
        """Sum over layers and channels of activation sensitivity (see `LossGradients`). Free with `loss_gradients`."""
        self.expected.add("fisher")
        known = self.loss_gradients(0).fisher
        if known is None:  # the gradients were measured before anybody expected this
            known = self._loss_gradients(0, fisher=True).fisher
        assert known is not None
        return known

    def _loss_gradients(self, index: int, *, fisher: bool) -> gradients.LossGradients:
        batch = self._batch_with_targets(index)
        with self._watched("loss gradients", training=True):
            return gradients.loss_gradients(self.model, lambda: self._loss_of(batch), fisher=fisher)

    @quantity
    def hessian_gradient_product(self) -> float:
        """Sum over weights of W times H g on the first batch, in train mode.

        One pass forward and back beyond `loss_gradients`, and one back through both.
        """
        batch, gradient = self._batch_with_targets(0), self.loss_gradients(0).weights
        with self._watched("loss gradients", training=True):
            return gradients.hessian_gradient_product(self.model, lambda: self._loss_of(batch), gradient)

    @quantity
    def sample_gradients(self) -> gradients.SampleGradients:
        """Signs and norms of the gradients of single samples of the first batch.

        One forward and one backward pass for each sample alone, in train mode: BatchNorm couples nothing.
        """
        samples = self._batch_with_targets(0).chunks(1)
        with self._watched("sample gradients", training=True):
            losses = (functools.partial(self._loss_of, sample) for sample in samples)
            return gradients.sample_gradients(self.model, losses)

    @quantity
    def label_kernel(self) -> Tensor:
        """Gram matrix (N, N) of per-sample gradients of the logit of each sample's own label, in train mode.

        One pass forward and back without weight gradients, and the products. See `kernel.per_sample_gram` for what
        BatchNorm makes of it.
        """
        batch = self._batch_with_targets(0)
        targets = batch.targets
        assert targets is not None
        if targets.ndim != 1 or targets.is_floating_point():
            raise UnsupportedError("the kernel of label logits needs one whole-number label for each sample.")

        def outputs() -> Tensor:
            logits = self._checked_logits(batch, targets, movable=True)
            return logits.gather(1, targets[:, None])[:, 0]

        can_move = any(x.is_floating_point() for x in batch.inputs)
        sources = [] if can_move else list(self.model.parameters())
        with self._watched("label kernel", training=True):
            return kernel.per_sample_gram(self.model, outputs, len(batch), sources)

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
    def input_jacobian(self) -> Tensor:
        """Gradient of the sum of all outputs with respect to each sample's inputs (N, inputs), in train mode.

        One pass forward and back without weight gradients. BatchNorm couples samples: what arrives at one is the
        gradient of the outputs of all.
        """
        batch = self.batches[0]
        leaves = [x.clone().requires_grad_() for x in batch.inputs if x.is_floating_point()]
        if not leaves:
            raise UnsupportedError("the Jacobian needs inputs that can move; this network takes whole numbers.")
        with self._watched("input jacobian", training=True), gradients.differentiable(self.model):
            given = iter(leaves)
            total = self._logits(batch, lambda x: next(given).clone() if x.is_floating_point() else x.clone()).sum()
            found = (
                torch.autograd.grad(total, leaves, allow_unused=True) if total.requires_grad else [None] * len(leaves)
            )
        rows = [torch.zeros_like(leaf) if g is None else g for leaf, g in zip(leaves, found, strict=True)]
        return torch.cat([row.detach().flatten(1) for row in rows], dim=1)

    def all_loss_gradients(self, count: int) -> list[gradients.LossGradients]:
        """The loss gradients of the first `count` batches."""
        self._require_batches(count)
        return [self.loss_gradients(index) for index in range(count)]

    def _require_batches(self, count: int) -> None:
        if len(self.batches) < count:
            raise UnsupportedError(
                f"this needs the gradients of {count} batches and {len(self.batches)} were given. Pass a list of "
                f"{count} batches, or --batches {count} on the command line."
            )
