"""How fast a path through a one-shot network learns at initialization, and how every other option would change it.

    T = || gradient of the loss with respect to the parameters ||^2     the trace norm of the tangent kernel, estimated
    H = dT/dz for the weight z of each option, 1 on the path and 0 off it

Options off the path enter T with z^2 = 0, so that neither T nor H needs a backward pass through them. Let g be the
gradient, x the input of an option, o its output, delta the gradient of the loss with respect to the point's output, and
let a dot denote the derivative when the weights move along g. Then

    H = 2 ( <delta-dot, o(x)> + <delta, J x-dot> ),        J the Jacobian of o

which takes one forward pass of the option in forward mode. x-dot and delta-dot come from one second backward pass
along the path: they are the derivatives of T/2 with respect to the gradient at x and to the point's output.
"""

from __future__ import annotations

import contextlib
import itertools
import pathlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.autograd.forward_ad as forward_mode
import torch.nn.functional as F
from torch import Tensor, nn

from firstlight.probe.tangent import LOSSES, LossName, Parameterization, ntk_factors
from firstlight.spaces.supernets.mixed import ChoicePoint, MixedEdge

Path = Mapping[str, Sequence[str]]  # the options taken, by the name of the choice
Packed = tuple[pathlib.Path, torch.device]
# Smaller tensors are kept in memory
SMALL = 10_000
Slopes = dict[str, dict[str, float]]  # H, by choice and option


@dataclass(frozen=True)
class TraceStep:
    """T, and H for each option."""

    trace: float
    slopes: Slopes


@dataclass(frozen=True)
class Objective:
    """The loss whose gradient T measures, and the parameters that the gradient is with respect to.

    Attributes:
        loss: Cross-entropy, or the squared error: the sum over logits of (f - y)^2, averaged over samples.
        parameterization: The weights themselves, or w in W = w / sqrt(fan-in), without biases ("ntk").
    """

    loss: LossName = "cross_entropy"
    parameterization: Parameterization = "standard"

    @property
    def unusual(self) -> list[str]:
        """What is not as usual, in words."""
        usual = vars(USUAL)
        return [value for name, value in vars(self).items() if value != usual[name]]

    def of(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of a batch."""
        return LOSSES[self.loss](logits, labels)

    def squared_norm(self, network: nn.Module, gradients: Sequence[Tensor | None]) -> Tensor:
        """Return T, given the gradient of each of the network's parameters; None for those without influence."""
        factors = ntk_factors(network) if self.parameterization == "ntk" else {}
        known = zip(network.parameters(), gradients, strict=True)
        return torch.stack(
            [factors.get(weight, 1.0) * gradient.square().sum() for weight, gradient in known if gradient is not None]
        ).sum()


USUAL = Objective()


def ready_for_steps(network: nn.Module) -> nn.Module:
    """Prepare a network: BatchNorm without running statistics, which forward mode cannot update; faster pools."""
    for module in list(network.modules()):
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
        for name, child in module.named_children():
            if isinstance(child, nn.AvgPool2d) and _is_box(child):
                setattr(module, name, BoxPool())
    return network.train()


def _is_box(pool: nn.AvgPool2d) -> bool:
    return (pool.kernel_size, pool.stride, pool.padding, pool.count_include_pad) == (3, 1, 1, False)


class BoxPool(nn.Module):
    """Average pooling of 3x3 pixels that does not count the padding, several times faster than PyTorch's on a CPU."""

    def forward(self, x: Tensor) -> Tensor:
        counts = _three(_three(x.new_ones(x.shape[-2:]), -1), -2)
        return _three(_three(x, -1), -2) / counts


def _three(x: Tensor, dimension: int) -> Tensor:
    """Return the sum of each entry and its two neighbors along a dimension."""
    padded = F.pad(x, (1, 1) if dimension == -1 else (0, 0, 1, 1))
    size = x.shape[dimension]
    before, own, behind = (padded.narrow(dimension, shift, size) for shift in range(3))
    return before + own + behind


def trace_along(network: nn.Module, path: Path, x: Tensor, labels: Tensor, objective: Objective = USUAL) -> float:
    """Return T: one forward and backward pass along the path."""
    for point in choice_points(network):
        point.weights = {**_hard(point, path)}
    loss = objective.of(network(x), labels)
    gradients = torch.autograd.grad(loss, list(network.parameters()), allow_unused=True)
    return float(objective.squared_norm(network, gradients))


def trace_step(network: nn.Module, path: Path, x: Tensor, labels: Tensor, objective: Objective = USUAL) -> TraceStep:
    """Return T and H of a network that is `ready_for_steps`. Its choice points keep the weights of the path."""
    points = choice_points(network)
    free = {str(point.place): _free_weights(point, path, x) for point in points}
    for point in points:
        point.weights = dict(free[str(point.place)])
    edges = [point for point in points if isinstance(point, MixedEdge)]
    with _watched(edges) as watched:
        loss = objective.of(network(x), labels)
    weights = list(network.parameters())
    outputs = [watched.outputs[edge] for edge in edges]
    gradients = torch.autograd.grad(loss, [*weights, *outputs], create_graph=True, allow_unused=True)
    trace = objective.squared_norm(network, gradients[: len(weights)])
    deltas = gradients[len(weights) :]
    tensors = {place: [w for w in named.values() if isinstance(w, Tensor)] for place, named in free.items()}
    asked = [*outputs, *watched.etas, *(weight for group in tensors.values() for weight in group)]
    found = iter(torch.autograd.grad(trace, asked, materialize_grads=True))
    delta_dots = [next(found) for _ in outputs]  # these and the next are twice what they are called
    watched.moves.update((key, next(found)) for key in watched.moves)
    slopes = {
        place: {name: float(next(found)) if isinstance(weight, Tensor) else 0.0 for name, weight in named.items()}
        for place, named in free.items()
    }
    for edge, delta, delta_dot in zip(edges, deltas, delta_dots, strict=True):
        place = str(edge.place)
        source = watched.inputs[edge].detach()
        for name, operation in edge.operations.items():
            if not isinstance(free[place][name], Tensor):
                slopes[place][name] += _slope_off_path(operation, source, watched.move_of(edge), delta, delta_dot)
    return TraceStep(float(trace.detach()), slopes)


@contextlib.contextmanager
def saved_on_disk() -> Iterator[None]:
    """Keep the tensors saved for backward passes in temporary files: the same values in less memory, but slower.

    Splitting the batch instead would change the values, because BatchNorm couples its samples.
    """
    with tempfile.TemporaryDirectory() as folder:
        numbers = itertools.count()

        def pack(tensor: Tensor) -> Tensor | Packed:
            if tensor.numel() < SMALL:
                return tensor
            file = pathlib.Path(folder) / str(next(numbers))
            torch.save(tensor.detach().clone(), file)  # of a view, the whole base would be written
            return file, tensor.device

        def unpack(packed: Tensor | Packed) -> Tensor:
            if isinstance(packed, Tensor):
                return packed
            file, device = packed
            tensor: Tensor = torch.load(file, map_location=device, weights_only=True)
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            yield


def choice_points(network: nn.Module) -> list[ChoicePoint]:
    return [module for module in network.modules() if isinstance(module, ChoicePoint)]


def _hard(point: ChoicePoint, path: Path) -> dict[str, float]:
    return {name: float(name in path[str(point.place)]) for name in point.weights}


def _free_weights(point: ChoicePoint, path: Path, like: Tensor) -> dict[str, float | Tensor]:
    """Return weights that require gradients: of operations, those on the path; of inputs, which are cheap, all."""
    everything = not isinstance(point, MixedEdge)
    return {
        name: like.new_tensor(value, requires_grad=True) if value or everything else value
        for name, value in _hard(point, path).items()
    }


@torch.no_grad()
def _slope_off_path(operation: nn.Module, x: Tensor, x_dot: Tensor, delta: Tensor, delta_dot: Tensor) -> float:
    with forward_mode.dual_level():
        out, out_dot = forward_mode.unpack_dual(operation(forward_mode.make_dual(x, x_dot)))
        return float(_inner(delta_dot, out) + _inner(delta, out_dot))


def _inner(a: Tensor, b: Tensor) -> Tensor:
    return torch.dot(a.reshape(-1), b.reshape(-1))


class _Watched:
    """Inputs and outputs of the edges, and the tensors through which x-dot is computed."""

    def __init__(self) -> None:
        self.inputs: dict[MixedEdge, Tensor] = {}
        self.outputs: dict[MixedEdge, Tensor] = {}
        self.etas: list[Tensor] = []
        self.moves: dict[int, Tensor | None] = {}  # by the id of the input, which `inputs` keeps alive

    def before(self, edge: nn.Module, arguments: tuple[Any, ...]) -> tuple[Tensor]:
        (x,) = arguments
        assert isinstance(edge, MixedEdge)
        self.inputs[edge] = x
        if id(x) in self.moves:  # one of the edges that read it is enough
            return (x,)
        self.moves[id(x)] = None
        self.etas.append(torch.zeros_like(x, requires_grad=True))
        return (_WithSideGradient.apply(x, self.etas[-1]),)  # type: ignore[no-untyped-call]

    def behind(self, edge: nn.Module, arguments: object, out: Tensor) -> Tensor:
        assert isinstance(edge, MixedEdge)
        self.outputs[edge] = out if out.requires_grad else out.requires_grad_()
        return self.outputs[edge]

    def move_of(self, edge: MixedEdge) -> Tensor:
        move = self.moves[id(self.inputs[edge])]
        assert move is not None
        return move


@contextlib.contextmanager
def _watched(edges: Sequence[MixedEdge]) -> Iterator[_Watched]:
    watched = _Watched()
    hooks = [edge.register_forward_pre_hook(watched.before) for edge in edges]
    hooks += [edge.register_forward_hook(watched.behind) for edge in edges]
    try:
        yield watched
    finally:
        for hook in hooks:
            hook.remove()


class _WithSideGradient(torch.autograd.Function):
    """The identity, which adds eta to the gradient; eta is zero and serves to differentiate with respect to it."""

    @staticmethod
    def forward(context: Any, x: Tensor, eta: Tensor) -> Tensor:
        context.save_for_backward(eta)
        return x.view_as(x)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (eta,) = context.saved_tensors
        return gradient + eta, None
