"""Quantities of forward passes: cost, feature maps, codes of ReLUs, curvature of the output."""

from __future__ import annotations

import copy
import functools
import math

import torch
from torch import Tensor, nn

from firstlight.core.errors import DataError, FirstlightError, UnsupportedError, is_out_of_memory
from firstlight.probe import curvature, features, rectifiers
from firstlight.probe.cost import Cost, measure_cost
from firstlight.probe.first_batch import FirstBatchQuantities
from firstlight.probe.subject import quantity
from firstlight.probe.substitutes import substitute_layers


class ForwardQuantities(FirstBatchQuantities):
    @quantity
    def cost(self) -> Cost:
        """Return parameters and multiply-accumulates for one input. Cost: a forward pass of one input, unless known."""
        batch = self.batches[0].head(1)
        with self._watched("cost", training=False), self._explained(batch):
            cost: Cost = batch.feed(functools.partial(measure_cost, self.model))
        return cost

    @quantity
    def decoder_parameters(self) -> int:
        """Return the number of parameters that are trained, without those of embeddings. Free."""
        embedded = {
            parameter
            for module in self.model.modules()
            if isinstance(module, (nn.Embedding, nn.EmbeddingBag))
            for parameter in module.parameters()
        }
        return sum(p.numel() for p in self.model.parameters() if p.requires_grad and p not in embedded)

    def classes_if_known(self) -> int | None:
        """Return the number of logits of a sample, by a forward pass in eval mode; None if it cannot be determined."""
        try:
            with self._watched("classes", training=False), torch.no_grad():
                logits = self._logits(self.batches[0].head(1))
        except FirstlightError:  # the measurements themselves report what is wrong with the model
            return None
        return logits.shape[1] if logits.ndim == 2 else None

    @quantity
    def feature_statistic(
        self, statistic: features.Statistic, *, modules: features.Modules = "all", images: int = 1
    ) -> features.FeatureValues:
        """Reduce the first sample's output of every module call to one number, in train mode.

        Cost: one forward pass, which also serves all statistics in `expected`.

        Args:
            statistic: The reduction, such as `spectra.InverseCondition()`.
            modules: "all" includes containers and the network itself, which repeat the output of their last child, as
                in the reference implementation of Dextr; "leaf" only modules without children.
            images: The number of samples in the pass, from which BatchNorm takes its statistics.
        """
        keys = {
            wanted: ("feature_statistic", wanted, modules, images)
            for wanted in (statistic, *self.expected)
            if isinstance(wanted, features.Statistic)
        }
        missing = [wanted for wanted, key in keys.items() if key not in self._memory]
        recorder = features.FeatureRecorder(missing, self.seed)
        named = None if self._logits_name is None else self.logits_in
        watching = recorder.watching(self.model, modules, named)
        with self._watched("features", training=True), torch.no_grad(), watching:
            substitute_layers(self.model)
            self._forward(self.batches[0].head(images))
        found = recorder.values()
        self._memory |= {keys[wanted]: values for wanted, values in found.items()}
        return found[statistic]

    @quantity
    def relu_patterns(self, samples: int) -> rectifiers.ReluCodes:
        """Return the codes of the first batch, with the patterns of ReLU units over the first `samples` samples.

        Cost: one forward pass in train mode of the whole first batch; free with `relu_codes` for 16 samples.
        """
        if samples == rectifiers.PATTERN_SAMPLES:
            return self.relu_codes()
        return self._relu_pass(rectifiers.CodeRecorder(len(self.batches[0]), pattern_samples=samples)).codes()

    @quantity
    def activation_patterns(self, samples: int, *, first: float = 0.0, last: float = 1.0) -> int | None:
        """Return the number of different on/off patterns of the units of ReLUs and GELUs over the first samples.

        Units are those of all shapes, tokens included; None if an input is not finite. Cost: one forward pass of these
        samples in train mode.

        Args:
            samples: The number of samples.
            first: The depth of the first layer that counts, as a share of all ReLUs and GELUs.
            last: The depth behind the last one.
        """
        batch = self.batches[0].head(samples)
        recorder = rectifiers.PatternRecorder()
        chosen = rectifiers.within(rectifiers.switches_of(self.model), first, last)
        with self._watched("patterns", training=True), torch.no_grad(), recorder.watching(chosen):
            self._forward(batch)
        return recorder.patterns()

    @quantity
    def relu_inner_products(self) -> Tensor:
        """Return the products of ReLU inputs for each pair of samples, shape (N, N). Cost: a forward pass."""
        return self._relu_pass(rectifiers.CodeRecorder(len(self.batches[0]), real_valued=True)).products()

    def _relu_pass(self, recorder: rectifiers.CodeRecorder) -> rectifiers.CodeRecorder:
        with self._watched("first batch", training=True), torch.no_grad(), recorder.watching(self.model):
            self._forward(self.batches[0])
        return recorder

    @quantity
    def output_jet(
        self, *, basis: Tensor | None = None, thetas: tuple[float, ...] = (0.0,), size: tuple[int, ...] | None = None
    ) -> curvature.OutputJet:
        """Return value, velocity and acceleration of every output along a unit circle in input space, in train mode.

        Cost: one forward pass of three inputs for each point.

        Args:
            basis: Orthonormal directions that span the circle, shape (inputs, 2). Default: drawn from the seed.
            thetas: The points of the circle, as angles.
            size: The shape of an input on the curve. Default: that of the batch; images of less than 64 pixels in width
                or height are doubled in size if the network accepts it, because at the size of CIFAR images the
                curvature is mostly noise.
        """
        usual = tuple(self.batches[0].image.shape[1:])
        if size is None and basis is None and curvature.is_small(usual):
            try:
                return self._jet_at((usual[0], 2 * usual[1], 2 * usual[2]), None, thetas)
            except UnsupportedError:
                pass  # the network takes one input size, such as a transformer with positional embeddings
        return self._jet_at(size or usual, basis, thetas)

    @quantity
    def output_curve(self, points: int, *, size: tuple[int, ...] | None = None) -> Tensor:
        """Return every output at evenly spaced points of the circle of `output_jet`, shape (points, outputs).

        The first point is that of `output_jet`. Cost: one forward pass of one input for each point, in train mode.
        `size` is the shape of an input on the curve; by default that of `output_jet`.
        """
        shape = size or self.output_jet().shape
        thetas = tuple(2 * math.pi * number / points for number in range(points))
        basis = curvature.circle_basis(torch.Size(shape).numel(), self.seed)
        like = self.batches[0].image
        with self._watched("output_curve", training=True):
            return curvature.output_curve(lambda x: self.logits_in(self.model(x)), shape, basis, thetas, like)

    @quantity
    def output_curvature(
        self,
        *,
        basis: Tensor | None = None,
        thetas: tuple[float, ...] = (0.0,),
        coordinates: tuple[int, ...] | None = None,
        size: tuple[int, ...] | None = None,
    ) -> float | None:
        """Return the curvature of the output along the circle, summed over `thetas`; None if the output is constant.

        Free with `output_jet`, unless its derivatives look like rounding errors. Then a second jet in the other
        precision (float32 or float64) shows whether the output moves. If it does, the curvature is that in float64.
        If it does not, the curvature is infinite: |a| / |v|^2 grows without bound as the velocity v goes to 0. The
        usual cause is BatchNorm right before the global pooling, which gives each channel of a single image a mean of
        0: a signal reaches the last layers, but the pooling does not pass it on.

        Args:
            basis: As in `output_jet`.
            thetas: As in `output_jet`.
            coordinates: The outputs that count; an output may be repeated. Default: all.
            size: As in `output_jet`.
        """
        jet = self.output_jet(basis=basis, thetas=thetas, size=size)
        if curvature.is_doubtful(jet):
            again = self._jet_in_other_precision(jet.shape, basis, thetas)
            coarse, jet = (again, jet) if self._in_double_precision() else (jet, again)
            if curvature.is_only_rounding(coarse, jet):
                return math.inf
        return curvature.curvature(jet, None if coordinates is None else torch.tensor(coordinates))

    @quantity
    def _jet_in_other_precision(
        self, shape: tuple[int, ...], basis: Tensor | None, thetas: tuple[float, ...]
    ) -> curvature.OutputJet:
        dtype = torch.float32 if self._in_double_precision() else torch.float64
        batch = self.batches[0].head(1).map(lambda x: x.to(dtype) if x.is_floating_point() else x)
        return self._with(copy.deepcopy(self.model).to(dtype), [batch])._jet_at(shape, basis, thetas)

    def _in_double_precision(self) -> bool:
        return self.batches[0].image.dtype == torch.float64

    def _jet_at(self, shape: tuple[int, ...], basis: Tensor | None, thetas: tuple[float, ...]) -> curvature.OutputJet:
        dimension = torch.Size(shape).numel()
        if basis is None:
            basis = curvature.circle_basis(dimension, self.seed)
        elif basis.shape != (dimension, 2):
            raise DataError(
                f"The basis of the curve has shape {tuple(basis.shape)}; inputs of {shape} need ({dimension}, 2)."
            )
        like = self.batches[0].image
        with self._watched("output_jet", training=True):
            try:
                return curvature.output_jet(lambda jet: self.logits_in(self.model(jet)), shape, basis, thetas, like)
            except FirstlightError:
                raise
            except Exception as error:
                if is_out_of_memory(error):
                    raise
                raise UnsupportedError(
                    f"the forward pass fails on an input of shape {shape} carried with its derivatives: "
                    f"{type(error).__name__}: {error}"
                ) from error
