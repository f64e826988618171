"""Quantities of changed copies of the network: with other weights, or after a few steps of training."""

from __future__ import annotations

import copy
import functools
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor, nn

from firstlight.core.errors import UnsupportedError
from firstlight.core.seeds import torch_generator
from firstlight.probe import gradients
from firstlight.probe.backward import BackwardQuantities
from firstlight.probe.batch import Batch
from firstlight.probe.observe import dtype_of
from firstlight.probe.subject import quantity

# Each is imported by the quantity that needs it: most proxies need none of them.
if TYPE_CHECKING:
    from firstlight.probe import blocks, channels, steps


class AlteredQuantities(BackwardQuantities):
    @quantity
    def path_sum(self, *, batch_norm: bool = False) -> float:
        """Return the sum over weights of |w d/dw| of the summed outputs for an input of ones, with weights |w|.

        Cost: one forward and one backward pass of one sample in float64, on a copy. BatchNorm is removed unless
        `batch_norm`.
        """
        from firstlight.probe import variants

        twin = self._with(variants.absolute(self.model, batch_norm=batch_norm))
        with twin._watched("path sum", training=True):
            found = gradients.weight_gradients(twin.model, lambda: twin._logits(twin._ones()).sum())
        weights = twin.weights()
        return float(sum((weights[name] * gradient).abs().sum() for name, gradient in found.items()))

    @quantity
    def synaptic_terms(self) -> tuple[float, float]:
        """Return the diversity of attention and the saliency of other linear layers for an input of ones, weights |w|.

        Cost: one forward and one backward pass of one sample in float64, on a copy.
        """
        from firstlight.probe import attention, variants

        twin = self._with(variants.absolute(self.model, batch_norm=True))
        weights = attention.attention_weights(twin.model)
        others = attention.other_linear_weights(twin.model, weights)
        with twin._watched("synaptic terms", training=False), gradients.differentiable(twin.model, *weights, *others):
            return attention.synaptic_terms(twin._logits(twin._ones()).sum(), weights, others)

    @quantity
    def matrix_energies(self) -> tuple[float, float]:
        """Return the sums of ||W||^2 / min(rows, columns) over attention weights and over other linear weights.

        Cost: none but that of drawing the weights by Xavier's rule, on a copy.
        """
        from firstlight.probe import attention

        weights = attention.attention_weights(self.model)
        others = attention.other_linear_weights(self.model, weights)
        generator = torch_generator(self.seed, "matrix energies")

        def energy(shapes: list[Tensor]) -> float:
            total = 0.0
            for rows, columns in (weight.shape for weight in shapes):
                drawn = torch.randn(rows, columns, generator=generator, dtype=torch.float64)
                total += float(drawn.square().sum()) * 2 / (rows + columns) / min(rows, columns)
            return total

        return energy(weights), energy(others)

    @quantity
    def constant_outputs(self, *, value: float) -> Tensor:
        """Return the logits of the first batch in train mode, all in one row, when all weights are equal.

        Cost: one forward pass in float64 on a copy; the product of many small weights would vanish in float32.
        """
        from firstlight.probe import variants

        twin = self._with(variants.constant(self.model, value).double())
        batch = self.batches[0].map(lambda x: x.double() if x.is_floating_point() else x)
        with twin._watched("constant weights", training=True), torch.no_grad():
            return twin._logits(batch).flatten().cpu()

    @quantity
    def channel_graph(self) -> channels.ChannelGraph:
        """Return the size of the graph of channels, on a copy with weights drawn from N(0, 1) and biases 0.

        Cost: for each layer, a forward pass of as many samples as it has input channels.
        """
        from firstlight.probe import channels, variants

        twin = self._with(variants.reinitialized(self.model, torch_generator(self.seed, "channels"), kaiming=False))
        recorder = channels.GraphRecorder()
        with twin._watched("channels", training=False), torch.no_grad(), recorder.watching(twin.model):
            logits = twin._logits(self.batches[0].head(1))
        return recorder.graph(logits[0].numel())

    @quantity
    def fisher_matrix(self, *, tensors: int = 128, given: bool = False) -> Tensor:
        """Return the Fisher information in the first parameter of each of the first `tensors` parameter tensors.

        Cost: one forward pass of the batch, and one backward pass for each logit, in eval mode, on a copy with Kaiming
        initialization and noise as input; one backward pass for each logit of each sample if parameters are used
        outside of the usual layers, as positions of a transformer are. `given` keeps the weights and inputs.
        """
        from firstlight.probe import fisher, variants

        generator = torch_generator(self.seed, "fisher")
        batch, model = self.batches[0], self.model
        if not given:
            batch = batch.map(lambda x: torch.randn(x.shape, generator=generator).to(x) if x.is_floating_point() else x)
            model = variants.reinitialized(model, generator, kaiming=True)
        twin = self._with(model)
        chosen = [parameter for _, parameter in model.named_parameters()][:tensors]
        with twin._watched("fisher", training=False), gradients.differentiable(model, *chosen):
            if fisher.outside_of_layers(model, chosen):
                rows = [twin._logits(sample) for sample in batch.chunks(1)]
                return fisher.fisher_information(torch.cat(rows), fisher.derivatives_of_samples(rows, chosen))
            recorder = fisher.DerivativeRecorder(chosen, len(batch))
            with recorder.watching(model):
                logits = twin._logits(batch)
                return fisher.fisher_information(logits, fisher.derivatives_of_batch(logits, chosen, recorder))

    def parameter_tensors(self) -> int:
        """Return the number of parameter tensors: weights and biases count one each."""
        return sum(1 for _ in self.model.parameters())

    @quantity
    def training_steps(self, *, recipe: Literal["sgd", "adagrad"], batches: int = 4) -> steps.TrainingSteps:
        """Train a copy for one step on each of the first batches, in train mode, and return the gradients on the way.

        Cost: one forward and one backward pass for each batch.

        Args:
            recipe: "sgd" is plain SGD with a learning rate of 1; gradients of the weights of convolutions and linear
                layers are kept. "adagrad" is Adagrad (eps 0.01) with a peak rate of 0.04, warmed up over 50 of 500
                steps and followed by half a cosine, with gradients clipped at norm 5. Its first four rates are 1e-8,
                1e-8, 8e-4 and 1.6e-3; gradients of all parameters that are not frozen are kept.
            batches: The number of steps.
        """
        from firstlight.probe import steps

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
                raise UnsupportedError("all parameters are frozen; unfreeze those to be trained.")
            optimizer = torch.optim.Adagrad(watched.values(), lr=0.04, eps=1e-2)
            schedule = steps.warm_cosine(0.04, 500, 50, floor=1e-8)
            # the published code is one step behind: the first two steps have the lowest rate
            return steps.take_steps(losses, watched, optimizer, rate=lambda step: schedule(max(0, step - 1)), clip=5.0)

    @quantity
    def feature_change(
        self, *, step: float = 1e-2, samples: int = 16, draw: int = 0, given: Tensor | None = None
    ) -> tuple[float, float]:
        """Return the log of the change of the last feature map when inputs move, and the log of BatchNorm's scale.

        Cost: two forward passes on a copy with weights drawn from N(0, 1), in train mode.

        Args:
            step: The size of the move.
            samples: The number of noise inputs.
            draw: The number of the draw; draws are independent.
            given: Two batches of inputs and directions, shape (2, samples, ...), in place of noise. The network then
                keeps its weights.
        """
        from firstlight.probe import perturbation, variants

        if given is None:
            generator = torch_generator(self.seed, "feature change", str(draw))
            image = self.batches[0].image
            pair = torch.randn(2, samples, *image.shape[1:], generator=generator).to(image)
            twin = self._with(variants.reinitialized(self.model, generator, kaiming=False))
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
        """Return how rich the features behind each block are, and how gradients pass between neighboring blocks.

        Cost: one forward pass of a batch and one backward pass block by block, on a copy with Kaiming initialization
        and noise as input. `given` keeps the weights and inputs, and uses a fixed pattern in place of random signs.
        """
        from firstlight.probe import blocks, variants

        generator = torch_generator(self.seed, "blocks")
        batch, model = self.batches[0], self.model
        if not given:
            batch = batch.map(lambda x: torch.randn(x.shape, generator=generator).to(x) if x.is_floating_point() else x)
            model = variants.reinitialized(model, generator, kaiming=True)

        def signs(like: Tensor) -> Tensor:
            if given:
                return torch.where(torch.arange(like.numel()) % 3 != 0, 1.0, -1.0).view(like.shape).to(like)
            return (2 * torch.randint(2, like.shape, generator=generator) - 1).to(like)

        twin = self._with(model)
        recorder = blocks.BlockRecorder()
        watched = twin._watched("blocks", training=not self.is_transformer())
        with watched, gradients.differentiable(model, *model.parameters()), recorder.watching(blocks.blocks_of(model)):
            # a block before all weights needs inputs that require gradients
            twin._forward(batch, lambda x: x.clone().requires_grad_().clone() if x.is_floating_point() else x.clone())
            return blocks.block_statistics(recorder.features, signs)

    def layer_groups(self) -> dict[str, str]:
        """Return a text for each parameter, equal for parameters of the same size in modules that print alike."""
        owners = dict(self.model.named_modules())
        return {
            name: f"{owners[name.rpartition('.')[0]]} {parameter.numel()}"
            for name, parameter in self.model.named_parameters()
        }

    def is_transformer(self) -> bool:
        """Return True if the network has LayerNorm, which normalizes tokens rather than channels."""
        return any(isinstance(module, nn.LayerNorm) for module in self.model.modules())

    def _ones(self) -> Batch:
        dtype = dtype_of(self.model)
        return self.batches[0].head(1).map(lambda x: torch.ones_like(x, dtype=dtype) if x.is_floating_point() else x)
