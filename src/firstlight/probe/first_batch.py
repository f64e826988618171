"""Quantities of the first batch: one forward pass in train mode, and the backward passes that are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from firstlight.core.errors import UnsupportedError, is_out_of_memory
from firstlight.probe.batch import Batch
from firstlight.probe.gradients import (
    NO_WEIGHT,
    FisherRecorder,
    LossGradients,
    average,
    differentiable,
    gradients_of,
    layers_of,
    other_parameters,
    refuse_hidden_layers,
    weights_of,
)
from firstlight.probe.kernel import GramRecorder
from firstlight.probe.observe import random_state
from firstlight.probe.rectifiers import PATTERN_SAMPLES, CodeRecorder, ReluCodes, rectifiers_of
from firstlight.probe.subject import Subject, are_probabilities, quantity, refuse_other_labels

# What the pass can measure; pieces in `Probe.expected` are measured together
Piece = Literal["codes", "kernel", "jacobian", "gradients", "fisher", "hessian", "width"]
PIECES: tuple[Piece, ...] = get_args(Piece)
OF_LOSS = {"gradients", "fisher", "hessian"}
# What every pass that computes logits yields
FREE = {"width", "random"}


class FirstBatchQuantities(Subject):
    def relu_codes(self) -> ReluCodes:
        """Return the on/off codes of ReLUs in the first batch. Cost: the forward pass."""
        found: ReluCodes = self._piece("codes")
        return found

    def label_kernel(self) -> Tensor:
        """Return the Gram matrix (N, N) of per-sample gradients of the logit of each sample's own label, in float64.

        Cost: a backward pass without weight gradients, and products layer by layer. BatchNorm couples samples; see
        `kernel.GramRecorder` for the consequences.
        """
        found: Tensor = self._piece("kernel")
        return found

    def input_jacobian(self) -> Tensor:
        """Return the gradient of the sum of all outputs with respect to each sample's inputs, shape (N, inputs).

        Cost: a backward pass without weight gradients. BatchNorm couples samples: the gradient of one sample is that of
        the outputs of all.
        """
        found: Tensor = self._piece("jacobian")
        return found

    def first_loss_gradients(self) -> LossGradients:
        """Return the loss and its gradient with respect to each layer's weight. Cost: a backward pass."""
        found: LossGradients = self._piece("gradients")
        return found

    def fisher(self) -> float:
        """Return the Fisher sensitivity of channels; see `gradients.FisherRecorder`. Free with the loss gradients."""
        found: float = self._piece("fisher")
        return found

    def hessian_gradient_product(self) -> float:
        """Return the sum over weights of W times H g. Cost: a backward pass through the backward pass."""
        found: float = self._piece("hessian")
        return found

    def labels(self) -> Tensor:
        """Return one class for each sample. Free with every quantity but the codes."""
        targets = self._batch_with_targets(0).targets
        assert targets is not None
        if targets.is_floating_point() and are_probabilities(targets):
            targets = targets.argmax(1)
        if targets.ndim != 1 or targets.is_floating_point():
            raise UnsupportedError("one class label for each sample is needed.")
        refuse_other_labels(targets, self.logit_width())
        return targets

    def logit_width(self) -> int:
        """Return the number of logits of a sample. Free with every quantity but the codes."""
        found: int = self._piece("width")
        return found

    @quantity
    def _piece(self, piece: Piece) -> Any:
        """Measure a piece, and the expected ones along with it."""
        self._require(piece)
        known = {p for p in PIECES if ("_piece", p) in self._memory}
        others = {p for p in PIECES if p in self.expected and p not in known and self._possible(p)} - {piece}
        found = self._attempt({piece, *others}, any_error=bool(others))
        if found is None and others:
            # from now on one at a time: each needs less memory alone, and may not fail where another does
            self.expected -= set(PIECES)
            found = self._attempt({piece})
        found = found or self._measure_in_chunks(piece)
        self._memory |= {("_piece", p): found[p] for p in PIECES if p in found}
        return found[piece]

    def _require(self, piece: Piece) -> None:
        """Raise `UnsupportedError` if the network or the batch lacks what a piece needs, before any pass is made."""
        if piece == "codes":
            rectifiers_of(self.model)
        if piece == "jacobian" and not any(x.is_floating_point() for x in self.batches[0].inputs):
            raise UnsupportedError("the Jacobian needs floating-point inputs; this network takes integers.")
        if piece == "kernel":
            targets = self._batch_with_targets(0).targets
            if targets is not None and (targets.ndim != 1 or targets.is_floating_point()):
                raise UnsupportedError("the kernel of label logits needs one integer label for each sample.")
        if piece in OF_LOSS:
            self._batch_for_loss(0)
        if piece in OF_LOSS | {"kernel"}:
            weights_of(self.model)
        if piece in ("kernel", "fisher"):
            refuse_hidden_layers(self.model)

    def _possible(self, piece: Piece) -> bool:
        try:
            self._require(piece)
        except UnsupportedError:
            return False
        return True

    def _attempt(self, wanted: set[str], *, any_error: bool = False) -> dict[str, Any] | None:
        """Return the pieces; None if memory runs out, or on any error with `any_error`.

        The caller retries after the failed pass has been freed.
        """
        try:
            return self._measure(wanted)
        except Exception as error:
            if not any_error and not is_out_of_memory(error):
                raise
        return None

    def _measure_in_chunks(self, piece: Piece) -> dict[str, Any]:
        """Measure ever smaller chunks of the batch if they add up to the same value; else raise `MemoryError`."""
        batch = self.batches[0]
        size = len(batch)
        while size > 1 and self._adds_up(piece):
            size = (size + 1) // 2
            chunks = batch.chunks(size)
            parts = [found for chunk in chunks if (found := self._with(self.model, [chunk])._attempt({piece}))]
            if any(part["random"] for part in parts):
                break  # the whole batch would draw other random numbers
            if len(parts) == len(chunks):
                shares = [len(chunk) / len(batch) for chunk in chunks]
                return {piece: _joined(piece, [part[piece] for part in parts], shares)}
        raise MemoryError(f"neither the batch of {len(batch)} ({batch.described()}) nor its parts fit into memory.")

    def _adds_up(self, piece: Piece) -> bool:
        """Return True if samples are independent, so that the values of chunks add up to that of the batch."""
        coupled = any(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in self.model.modules())
        return not coupled and (piece == "jacobian" or (piece in ("gradients", "fisher") and self._loss is None))

    def _measure(self, wanted: set[str]) -> dict[str, Any]:
        found = self._pass(wanted, careful=False)
        return self._pass(wanted, careful=True) or {} if found is None else found

    def _pass(self, wanted: set[str], *, careful: bool) -> dict[str, Any] | None:
        """Return the pieces; None if a needed activation was overwritten, or a layer gets no gradient from the inputs.

        `careful` copies activations, and differentiates with respect to all weights.
        """
        batch = self.batches[0]
        weights = weights_of(self.model) if wanted & (OF_LOSS | {"kernel"}) else {}
        layers = layers_of(self.model) if wanted & {"kernel", "fisher"} else []
        leaves = [x.clone().requires_grad_() for x in batch.inputs if x.is_floating_point()]
        others = other_parameters(self.model, weights) if wanted & OF_LOSS else {}
        sources = [*weights.values(), *others.values()] if wanted & OF_LOSS or careful or not leaves else []
        codes = CodeRecorder(len(batch), pattern_samples=PATTERN_SAMPLES)
        gram = GramRecorder(len(batch), copies=careful)
        fisher = FisherRecorder(copies=careful)
        found: dict[str, Any] = {}
        with ExitStack() as context:
            context.enter_context(self._watched("first batch", training=True))
            # fused attention cannot be differentiated twice, and no piece may depend on which others are measured
            context.enter_context(sdpa_kernel(SDPBackend.MATH))
            context.enter_context(differentiable(self.model, *sources))
            if "codes" in wanted:
                context.enter_context(codes.watching(self.model))
            if "kernel" in wanted:
                context.enter_context(gram.watching(layers))
            if "fisher" in wanted:
                context.enter_context(fisher.watching(layers))
            if wanted == {"codes"}:
                with torch.no_grad():
                    self._forward(batch)
            else:
                before = random_state(self.model)
                logits = self._logits(batch, _moving(leaves) if wanted & {"kernel", "jacobian"} else torch.clone)
                found["random"] = not torch.equal(before, random_state(self.model))
                found["width"] = logits.shape[1] if logits.ndim > 1 else 1
                if "kernel" in wanted:
                    total = self._label_logits(logits, batch).sum()
                    # from the inputs first, without weight gradients; then the layers that do not depend on the inputs
                    with gram.listening():
                        _gradients(total, leaves, keep=True)
                        beside = [layer.weight for layer in layers if layer in gram.unmet] if sources else []
                        _gradients(total, beside, keep=len(wanted) > 1)
                    found["kernel"] = gram.gram()
                if "jacobian" in wanted:
                    found["jacobian"] = _jacobian(logits.sum(), leaves, keep=bool(wanted & OF_LOSS))
                if wanted & OF_LOSS:
                    loss = self._loss_value(logits, batch.targets)
                    with fisher.listening():
                        every = gradients_of(loss, weights | others, differentiable="hessian" in wanted)
                    gradient = {name: every[name] for name in weights if name in every}
                    if not gradient:
                        raise UnsupportedError(NO_WEIGHT)
                    found["fisher"] = fisher.total
                    if "hessian" in wanted:
                        found["hessian"] = _hessian_product(gradient, weights)
                    detached = {name: tensor.detach() for name, tensor in gradient.items()}
                    along = _sum_of_products(weights | others, every)
                    found["gradients"] = LossGradients(float(loss.detach()), detached, along)
        if gram.overwritten or fisher.overwritten or (gram.cut_off and not careful):
            return None
        if "codes" in wanted:
            found["codes"] = codes.codes()
        return {name: value for name, value in found.items() if name in wanted | {"gradients"} | FREE}

    def _label_logits(self, logits: Tensor, batch: Batch) -> Tensor:
        assert batch.targets is not None
        self._check_labels(logits, batch.targets)
        return logits.gather(1, batch.targets[:, None])[:, 0]


def _joined(piece: Piece, parts: list[Any], shares: list[float]) -> Any:
    """Combine the values of chunks, given their shares of the samples, to the value of the whole batch."""
    if piece == "jacobian":
        return torch.cat(parts)
    if piece == "fisher":  # the gradient of a mean over samples, squared, and a mean of that
        return sum(share**3 * part for share, part in zip(shares, parts, strict=True))
    return average(list(zip(shares, parts, strict=True)))


def _moving(leaves: list[Tensor]) -> Any:
    """Return a function that yields copies of the leaves in turn, since a first layer may work in place."""
    given = iter(leaves)
    return lambda x: next(given).clone() if x.is_floating_point() else x.clone()


def _gradients(total: Tensor, leaves: list[Tensor], *, keep: bool) -> list[Tensor | None]:
    if not total.requires_grad or not leaves:
        return [None] * len(leaves)
    return list(torch.autograd.grad(total, leaves, retain_graph=keep, allow_unused=True))


def _jacobian(total: Tensor, leaves: list[Tensor], *, keep: bool) -> Tensor:
    found = _gradients(total, leaves, keep=keep)
    rows = [torch.zeros_like(leaf) if g is None else g for leaf, g in zip(leaves, found, strict=True)]
    return torch.cat([row.detach().flatten(1) for row in rows], dim=1)


def _hessian_product(gradients: dict[str, Tensor], weights: dict[str, Tensor]) -> float:
    """Return the sum of W * H g: the gradient of g . g' with g' = g held fixed is H g."""
    slope = sum(((gradient * gradient.detach()).sum() for gradient in gradients.values()), start=torch.zeros(()))
    if not slope.requires_grad:
        return 0.0
    reached = [weights[name] for name in gradients]
    products = torch.autograd.grad(slope, reached, allow_unused=True)
    found = {name: product for name, product in zip(gradients, products, strict=True) if product is not None}
    return _sum_of_products(weights, found)


def _sum_of_products(weights: Mapping[str, Tensor], others: Mapping[str, Tensor]) -> float:
    """Return the sum over all numbers of weight times other; weights without another are left out."""
    return float(sum((weights[name].detach() * other.detach()).double().sum() for name, other in others.items()))
