"""The neural tangent kernel of a batch: products of per-sample gradients, summed layer by layer."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from firstlight.core.errors import UnsupportedError
from firstlight.probe.observe import LayerListener

Layer = nn.Conv2d | nn.Linear
Factors = Mapping[Tensor, float]
NO_FACTORS: Factors = MappingProxyType({})


class GramRecorder(LayerListener):
    """Computes Theta_ij = <G_i, G_j> in float64, with G_i the gradient of sample i's output in weights and biases.

    A single backward pass of the sum of all samples' outputs yields the gradient of each layer's output. Together with
    the layer's input it gives the per-sample gradients of its weights, of which only the products are kept. Nothing is
    differentiated with respect to weights.

    BatchNorm in train mode couples samples: the output of sample i depends on all of them, and its activations receive
    the gradient of the sum of all outputs. This is the published definition (HNAS). Without BatchNorm it is the tangent
    kernel itself.
    """

    def __init__(self, samples: int, copies: bool) -> None:
        super().__init__(copies)
        self._samples = samples
        self._uses: Counter[Tensor] = Counter()
        self._sums: dict[Tensor, Tensor] = {}  # per-sample gradients of parameters used more than once
        self._gram = torch.zeros(samples, samples, dtype=torch.float64)

    def gram(self) -> Tensor:
        """Return the Gram matrix, shape (samples, samples)."""
        for gradients in self._sums.values():
            self._gram += _products(gradients)
        return self._gram

    def keep(self, layer: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        if len(output) != self._samples:
            raise UnsupportedError(
                f"a layer gets {len(output)} rows for {self._samples} samples, so its gradients cannot be assigned to "
                "samples."
            )
        if not inputs[0].numel() or not output.numel():
            raise UnsupportedError(f"{layer} has an empty input or output, of shape {tuple(output.shape)}.")
        assert isinstance(layer, Layer)
        self._uses.update(parameters_of(layer))
        return inputs[0]

    def meet(self, layer: nn.Module, kept: Tensor, gradient: Tensor) -> None:
        assert isinstance(layer, Layer)
        for parameter, own in zip(parameters_of(layer), per_sample_gradients(layer, kept, gradient), strict=True):
            if self._uses[parameter] == 1:
                self._gram += _products(own)
            else:
                self._sums[parameter] = self._sums[parameter] + own if parameter in self._sums else own


def parameters_of(layer: Layer) -> list[Tensor]:
    return [layer.weight] if layer.bias is None else [layer.weight, layer.bias]


def per_sample_gradients(layer: Layer, x: Tensor, gradient: Tensor) -> list[Tensor]:
    """Return the gradients of the layer's weight and of its bias, if it has one, each of shape (samples, entries)."""
    samples = len(x)
    if isinstance(layer, nn.Linear):
        x, gradient = x.reshape(samples, -1, layer.in_features), gradient.reshape(samples, -1, layer.out_features)
        weight, positions = torch.bmm(gradient.mT, x), 1
    else:
        groups, channels = layer.groups, layer.out_channels
        gradient = gradient.reshape(samples * groups, channels // groups, -1)
        columns = _columns(layer, x).reshape(samples * groups, -1, gradient.shape[-1])
        weight, positions = torch.bmm(gradient, columns.mT), 2
    parts = [weight] if layer.bias is None else [weight, gradient.sum(positions)]
    return [part.reshape(samples, -1) for part in parts]


def _columns(layer: nn.Conv2d, x: Tensor) -> Tensor:
    """Return, for each position of the output, the entries of the input that the kernel covers."""
    if layer.kernel_size == (1, 1) and layer.stride == (1, 1) and layer.padding in ((0, 0), "valid"):
        return x
    if isinstance(layer.padding, str) or layer.padding_mode != "zeros":
        mode = "constant" if layer.padding_mode == "zeros" else layer.padding_mode
        x, padding = F.pad(x, layer._reversed_padding_repeated_twice, mode=mode), (0, 0)
    else:
        padding = layer.padding  # type: ignore[assignment]
    return F.unfold(x, layer.kernel_size, layer.dilation, padding, layer.stride)


def _products(gradients: Tensor) -> Tensor:
    return (gradients @ gradients.T).double().cpu()


def coupled_gram(outputs: Tensor, parameters: Sequence[Tensor], factors: Factors = NO_FACTORS) -> Tensor:
    """Return products of the exact gradients, with coupled samples; one backward pass for each output.

    The products of a parameter are multiplied by its factor, if it has one.
    """
    rows = [
        torch.cat([torch.zeros(0).to(outputs), *(gradient.flatten() for gradient in gradients)])
        for gradients in _coupled_gradients(outputs, parameters, factors)
    ]
    return _products(torch.stack(rows))


def coupled_trace(outputs: Tensor, parameters: Sequence[Tensor], factors: Factors = NO_FACTORS) -> float:
    """Return the trace of `coupled_gram`, with the gradients of one output in memory at a time."""
    return sum(
        float(torch.linalg.vector_norm(gradient, dtype=torch.float64).square())
        for gradients in _coupled_gradients(outputs, parameters, factors)
        for gradient in gradients
    )


def _coupled_gradients(outputs: Tensor, parameters: Sequence[Tensor], factors: Factors) -> Iterator[list[Tensor]]:
    """Yield the gradients of each output with respect to the parameters that it depends on."""
    scales = [math.sqrt(factors.get(parameter, 1.0)) for parameter in parameters]
    for output in outputs:
        found = zip(torch.autograd.grad(output, parameters, retain_graph=True, allow_unused=True), scales, strict=True)
        # embeddings may give sparse gradients
        yield [scale * gradient.to_dense() for gradient, scale in found if gradient is not None]
