"""A network under observation, and everything measured of it so far."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import torch
from torch import Tensor, nn
from torch.nn.modules.lazy import LazyModuleMixin

from firstlight.cost import Cost, measure_cost
from firstlight.errors import DataError, FirstlightError, ModelError, UnsupportedError, is_out_of_memory
from firstlight.probe import curvature, features
from firstlight.probe.observe import device_of, dtype_of, undisturbed
from firstlight.seeds import derive

Batch = tuple[Tensor, Tensor | None]
Batches = Tensor | tuple[Tensor, Tensor] | Sequence[Tensor | tuple[Tensor, Tensor | None]]


P = ParamSpec("P")
R = TypeVar("R")


def quantity(method: Callable[Concatenate[Probe, P], R]) -> Callable[Concatenate[Probe, P], R]:
    """Measure once for each set of arguments, remember, and answer from memory afterwards."""

    signature = inspect.signature(method)

    @functools.wraps(method)
    def remembered(self: Probe, /, *args: P.args, **kwargs: P.kwargs) -> R:
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        key = (method.__name__, *(_key(value) for value in bound.args[1:]), *map(_key, bound.kwargs.values()))
        if key not in self._memory:
            self._memory[key] = method(self, *args, **kwargs)
        return cast(R, self._memory[key])

    return remembered


class Probe:
    """An untrained network, the batches it is shown, and the quantities that proxies ask of it.

    The network is measured where it lives (device and precision) and comes back as it went in: weights, buffers, mode,
    gradients, hooks and random state. A quantity is a pure function of the network, the batches and the seed.
    """

    def __init__(self, model: nn.Module, batches: Batches, *, seed: int = 0, cost: Cost | None = None) -> None:
        _refuse_unfinished(model)
        self.model = model
        self.batches = _as_batches(batches, device_of(model), dtype_of(model))
        self.seed = seed
        self.expected: set[features.Statistic] = set()
        self._memory: dict[Any, Any] = {} if cost is None else {("cost",): cost}

    @quantity
    def cost(self) -> Cost:
        """Parameters, and multiply-accumulates for one input. One forward pass of one sample, unless known before."""
        with self._watched("cost", training=False), self._explained(0):
            return measure_cost(self.model, self.batches[0][0][:1].clone())

    def feature_statistic(
        self, statistic: features.Statistic, *, modules: features.Modules = "all"
    ) -> features.FeatureValues:
        """One number for the first sample's output of every module call, in train mode. One forward pass.

        The pass also serves all statistics in `expected`. `modules="all"` counts containers and the network itself,
        which repeat the output of their last child, as the reference implementation of Dextr does; `modules="leaf"`
        counts only modules that contain no others.
        """
        known: dict[features.Statistic, features.FeatureValues] = self._memory.setdefault(("features", modules), {})
        if statistic not in known:
            recorder = features.FeatureRecorder({statistic, *self.expected} - known.keys(), self.seed)
            with self._watched("features", training=True), torch.no_grad(), recorder.watching(self.model, modules):
                self._forward(0)
            known.update(recorder.values())
        return known[statistic]

    @quantity
    def output_jet(
        self, *, basis: Tensor | None = None, thetas: tuple[float, ...] = (0.0,), size: tuple[int, ...] | None = None
    ) -> curvature.OutputJet:
        """Velocity and acceleration of every output along a unit circle in input space, in train mode.

        The cost is that of one forward pass on three inputs for each point. `basis` (inputs x 2, orthonormal) spans the
        circle; by default it is drawn from the seed. `size` is the shape of an input on the curve; by default an image
        of twice the usual side, or of the usual side if the network accepts no other: at the size of CIFAR images the
        curvature would be mostly noise.
        """
        usual = tuple(self.batches[0][0].shape[1:])
        if size is None and basis is None and len(usual) == 3:
            try:
                return self._jet_at((usual[0], 2 * usual[1], 2 * usual[2]), None, thetas)
            except UnsupportedError:
                pass  # made for one input size, such as a transformer with a table of positions
        return self._jet_at(size or usual, basis, thetas)

    @quantity
    def output_curvature(
        self,
        *,
        basis: Tensor | None = None,
        thetas: tuple[float, ...] = (0.0,),
        coordinates: tuple[int, ...] | None = None,
        size: tuple[int, ...] | None = None,
    ) -> float | None:
        """Curvature of the output along the circle, summed over `thetas`; None where the output does not move.

        `coordinates` picks outputs, with repeats if wanted; by default all of them count. Costs nothing beyond
        `output_jet`.
        """
        jet = self.output_jet(basis=basis, thetas=thetas, size=size)
        return curvature.curvature(jet, None if coordinates is None else torch.tensor(coordinates))

    def _jet_at(self, shape: tuple[int, ...], basis: Tensor | None, thetas: tuple[float, ...]) -> curvature.OutputJet:
        dimension = torch.Size(shape).numel()
        if basis is None:
            basis = curvature.circle_basis(dimension, self.seed)
        elif basis.shape != (dimension, 2):
            raise DataError(
                f"The basis of the curve has shape {tuple(basis.shape)}; inputs of {shape} need ({dimension}, 2)."
            )
        like = self.batches[0][0]
        if not like.is_floating_point():
            raise UnsupportedError("curvature needs inputs that can move; this network takes whole numbers.")
        with self._watched("output_jet", training=True):
            try:
                return curvature.output_jet(self.model, shape, basis, thetas, like)
            except FirstlightError:
                raise
            except Exception as error:
                if is_out_of_memory(error):
                    raise
                raise UnsupportedError(
                    f"the forward pass fails on an input of shape {shape} carried with its derivatives: "
                    f"{type(error).__name__}: {error}"
                ) from error

    @contextmanager
    def _watched(self, purpose: str, *, training: bool) -> Iterator[None]:
        # inference tensors carry no version, by which the measurements notice what changed in place
        with torch.inference_mode(False), undisturbed(self.model, training=training, seed=derive(self.seed, purpose)):
            yield

    @contextmanager
    def _explained(self, index: int) -> Iterator[None]:
        """Name the batch that the model's own error came from."""
        try:
            yield
        except FirstlightError:
            raise
        except Exception as error:
            if is_out_of_memory(error):
                raise
            inputs = self.batches[index][0]
            raise ModelError(
                f"The model's forward pass failed on batch {index + 1} of {len(self.batches)} "
                f"(inputs {tuple(inputs.shape)}, {inputs.dtype}, {inputs.device}): {type(error).__name__}: {error}"
            ) from error

    def _forward(self, index: int) -> Any:
        with self._explained(index):
            return self.model(self.batches[index][0].clone())  # a first layer may work in place


def _as_batches(batches: Any, device: torch.device, dtype: torch.dtype | None) -> list[Batch]:
    items: Sequence[Any]
    if isinstance(batches, Tensor) or _is_pair(batches):
        items = [batches]
    elif isinstance(batches, Iterable):
        items = list(batches)
    else:
        items = [None]
    pairs: list[Batch] = []
    for item in items:
        inputs, targets = (item, None) if isinstance(item, Tensor) else item if _is_pair(item) else (None, None)
        if inputs is None or inputs.ndim == 0 or len(inputs) == 0:
            raise DataError(
                "Batches must be a tensor, a pair (inputs, targets), or a list of these, each with one sample or more; "
                f"got {type(item).__name__}."
            )
        if not bool(inputs.isfinite().all()):
            raise DataError(f"Batch {len(pairs) + 1} holds inputs that are NaN or infinite; clean the data first.")
        inputs = inputs.to(device, dtype) if inputs.is_floating_point() else inputs.to(device)
        pairs.append((inputs, None if targets is None else targets.to(device)))
    if not pairs:
        raise DataError("No batches were given; a proxy needs at least one batch of inputs.")
    return pairs


def _is_pair(item: object) -> bool:
    return (
        isinstance(item, tuple)
        and len(item) == 2
        and isinstance(item[0], Tensor)
        and (item[1] is None or isinstance(item[1], Tensor))
    )


def _key(argument: object) -> object:
    if isinstance(argument, Tensor):
        return "tensor", argument.shape, argument.dtype, argument.numpy(force=True).tobytes()
    return argument


def _refuse_unfinished(model: nn.Module) -> None:
    if not isinstance(model, nn.Module):
        raise ModelError(f"Expected a torch.nn.Module, got a {type(model).__name__}.")
    if any(isinstance(module, LazyModuleMixin) for module in model.modules()):  # they change class once they are run
        raise ModelError("The model has lazy layers whose shapes are not known yet; run it once on a batch first.")
