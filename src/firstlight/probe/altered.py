"""Quantities of the network with other weights than its own, or after a few steps; all on copies."""

from __future__ import annotations

import copy
import functools
from typing import Literal

import torch
from torch import Tensor, nn

from firstlight.core.errors import UnsupportedError
from firstlight.core.seeds import torch_generator
from firstlight.probe import attention, blocks, gradients, perturbation, steps, variants
from firstlight.probe.backward import BackwardQuantities
from firstlight.probe.batch import Batch
from firstlight.probe.memory import quantity
from firstlight.probe.observe import dtype_of


class AlteredQuantities(BackwardQuantities):
    @quantity
    def path_sum(self, *, batch_norm: bool = False) -> float:
        """Sum over weights of |w d/dw| of the summed outputs for an input of ones, all weights replaced by their size.

        One pass forward and back of one sample in float64, on a copy. BatchNorm passes on what it gets unless kept.
        """
        twin = self._with(variants.absolute(self.model, batch_norm=batch_norm))
        with twin._watched("path sum", training=True):
            found = gradients.loss_gradients(twin.model, lambda: twin._logits(twin._ones()).sum())
        weights = twin.weights()
        return float(sum((weights[name] * gradient).abs().sum() for name, gradient in found.weights.items()))

    @quantity
    def synaptic_terms(self) -> tuple[float, float]:
        """Diversity of attention and saliency of other linear maps for an input of ones, weights replaced by sizes.

        One pass forward and back of one sample in float64, on a copy.
        """
        twin = self._with(variants.absolute(self.model, batch_norm=True))
        weights = attention.attention_weights(twin.model)
        others = attention.other_linear_weights(twin.model, weights)
        with twin._watched("synaptic terms", training=False), gradients.differentiable(twin.model, *weights, *others):
            return attention.synaptic_terms(twin._logits(twin._ones()).sum(), weights, others)

    @quantity
    def training_steps(self, *, recipe: Literal["sgd", "adagrad"], batches: int = 4) -> steps.TrainingSteps:
        """Gradients along one step of training for each of the first batches, on a copy, in train mode.

        `sgd`: plain SGD at rate 1; weights of convolutions and linear maps are watched. `adagrad`: Adagrad at 0.04
        (eps 0.01), warmed up over 50 of 500 steps and falling by half a cosine, gradients clipped at norm 5, which
        makes the first four rates 1e-8, 1e-8, 8e-4 and 1.6e-3; all parameters that are not frozen are trained and
        watched. One pass forward and back for each batch.
        """
        self._require_batches(batches)
        twin = self._with(copy.deepcopy(self.model))
        losses = [functools.partial(twin._loss_of, self._batch_for_loss(index)) for index in range(batches)]
        with twin._watched("training steps", training=True), torch.enable_grad():
            if recipe == "sgd":
                twin.model.requires_grad_(True)
                watched = gradients.weights_of(twin.model)
                return steps.take_steps(losses, watched, torch.optim.SGD(twin.model.parameters(), lr=1.0))
            watched = {name: p for name, p in twin.model.named_parameters() if p.requires_grad}
            if not watched:
                raise UnsupportedError("all parameters are frozen; leave those to be trained unfrozen.")
            optimiser = torch.optim.Adagrad(watched.values(), lr=0.04, eps=1e-2)
            schedule = steps.warm_cosine(0.04, 500, 50, floor=1e-8)
            # the published code is one step behind: the first two have the lowest rate
            return steps.take_steps(losses, watched, optimiser, rate=lambda step: schedule(max(0, step - 1)), clip=5.0)

    @quantity
    def feature_change(
        self, *, step: float = 1e-2, samples: int = 16, draw: int = 0, given: Tensor | None = None
    ) -> tuple[float, float]:
        """ln of how far the last feature map moves when noise inputs move by `step`, and ln of BatchNorm's scale.

        Two forward passes of so many samples on a copy with weights drawn from N(0, 1), in train mode. `given` (two
        batches of inputs) keeps the weights and takes these in place of noise; `draw` numbers independent draws.
        """
        if given is None:
            generator = torch_generator(self.seed, "feature change", str(draw))
            image = self.batches[0].image
            pair = torch.randn(2, samples, *image.shape[1:], generator=generator).to(image)
            twin = self._with(variants.reinitialised(self.model, generator, kaiming=False))
        else:
            pair, twin = given, self._with(copy.deepcopy(self.model))
        recorder = perturbation.LastFeatures()
        with twin._watched("feature change", training=True), torch.no_grad(), recorder.watching(twin.model):
            maps = []
            for x in (pair[0], pair[0] + step * pair[1]):
                twin._forward(Batch((x,)))
                maps.append(recorder.take())
            return perturbation.log_mean_change(*maps), perturbation.log_batch_norm_scale(twin.model)

    @quantity
    def block_statistics(self, *, given: bool = False) -> blocks.BlockStatistics:
        """Richness of the features behind each block, and how gradients pass between neighbours.

        One forward pass of the batch's size and one backward pass in pieces, on a copy with weights drawn by Kaiming's
        rule and noise for input. `given` keeps the weights and inputs, and takes a fixed pattern for the random signs.
        """
        generator = torch_generator(self.seed, "blocks")
        batch, model = self.batches[0], self.model
        if not given:
            batch = batch.map(lambda x: torch.randn(x.shape, generator=generator).to(x) if x.is_floating_point() else x)
            model = variants.reinitialised(model, generator, kaiming=True)

        def signs(like: Tensor) -> Tensor:
            if given:
                return torch.where(torch.arange(like.numel()) % 3 != 0, 1.0, -1.0).view(like.shape).to(like)
            return (2 * torch.randint(2, like.shape, generator=generator) - 1).to(like)

        twin = self._with(model)
        recorder = blocks.BlockRecorder()
        watched = twin._watched("blocks", training=not self.is_transformer())
        with watched, gradients.differentiable(model, *model.parameters()), recorder.watching(blocks.blocks_of(model)):
            # inputs that can be differentiated serve a block that comes before all weights
            twin._forward(batch, lambda x: x.clone().requires_grad_().clone() if x.is_floating_point() else x.clone())
            return blocks.block_statistics(recorder.features, signs)

    def layer_groups(self) -> dict[str, str]:
        """For each parameter's name, a text that is equal for parameters of one shape in modules of one description."""
        owners = dict(self.model.named_modules())
        return {
            name: f"{owners[name.rpartition('.')[0]]} {parameter.numel()}"
            for name, parameter in self.model.named_parameters()
        }

    def is_transformer(self) -> bool:
        """Whether it normalises tokens rather than channels."""
        return any(isinstance(module, nn.LayerNorm) for module in self.model.modules())

    def _ones(self) -> Batch:
        dtype = dtype_of(self.model)
        return self.batches[0].head(1).map(lambda x: torch.ones_like(x, dtype=dtype) if x.is_floating_point() else x)
