"""The network of a probe, its batches, how it is run, and the memory of what was measured."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules.lazy import LazyModuleMixin

from firstlight.core.errors import BatchError, FirstlightError, ModelError, UnsupportedError, is_out_of_memory
from firstlight.core.seeds import derive
from firstlight.probe.batch import Batch, Batches, as_batches
from firstlight.probe.cost import Cost
from firstlight.probe.observe import device_of, dtype_of, keeping_weights, modules_of, undisturbed

if TYPE_CHECKING:
    from typing import Self  # of Python 3.11 and later

Loss = Callable[[Any, Any], Tensor]
P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound="Subject")


class Subject:
    """The network, the batches and the memory of a `Probe`, which describes the arguments."""

    def __init__(
        self,
        model: nn.Module,
        batches: Batches,
        *,
        loss: Loss | None = None,
        logits: int | str | None = None,
        seed: int = 0,
        cost: Cost | None = None,
    ) -> None:
        _refuse_unfinished(model)
        self.model = model
        self.batches = as_batches(batches, device_of(model), dtype_of(model))
        self.seed = seed
        self.expected: set[Hashable] = set()
        self._loss = loss
        self._logits_name = logits
        self._memory: dict[Any, Any] = {} if cost is None else {("cost",): cost}

    def _with(self, model: nn.Module, batches: list[Batch] | None = None) -> Self:
        """Return a probe with an empty memory of another network, or with other batches."""
        twin = copy.copy(self)
        twin.model, twin._memory, twin.expected = model, {}, set()
        twin.batches = self.batches if batches is None else batches
        return twin

    def with_loss(self, loss: Loss) -> Self:
        """Return a probe with an empty memory, and with another loss."""
        twin = self._with(self.model)
        twin._loss = loss
        return twin

    @property
    def rounding(self) -> float:
        """The relative rounding error of the precision in which the network computes."""
        return torch.finfo(dtype_of(self.model) or torch.get_default_dtype()).eps

    def _batch_with_targets(self, index: int) -> Batch:
        batch = self.batches[index]
        if batch.targets is None:
            raise UnsupportedError("the batches have no targets; pass pairs (inputs, targets).")
        return batch

    def _batch_for_loss(self, index: int) -> Batch:
        """Return a batch; targets are required unless the user gave a loss, which may not need them."""
        return self._batch_with_targets(index) if self._loss is None else self.batches[index]

    def _loss_of(self, batch: Batch) -> Tensor:
        return self._loss_value(self._logits(batch), batch.targets)

    def _loss_value(self, logits: Tensor, targets: Tensor | None) -> Tensor:
        if self._loss is not None:
            value = self._loss(logits, targets)
            if not isinstance(value, Tensor) or value.numel() != 1:
                raise BatchError(f"The loss must be a single number; it is {value!r:.200}.")
            return value.reshape(())
        assert targets is not None
        if targets.is_floating_point() and (targets.shape != logits.shape or not are_probabilities(targets)):
            raise UnsupportedError(
                "targets that are not class labels need a loss; pass loss=, such as "
                "torch.nn.functional.mse_loss or binary_cross_entropy_with_logits."
            )
        self._check_labels(logits, targets)
        return F.cross_entropy(logits, targets)

    def _check_labels(self, logits: Tensor, targets: Tensor) -> None:
        if targets.is_floating_point():
            return
        if targets.ndim != logits.ndim - 1 or logits.ndim < 2:
            raise UnsupportedError(
                f"labels of shape {tuple(targets.shape)} do not match logits of shape {tuple(logits.shape)}; give one "
                "class label for each sample, or pass your own loss with loss=."
            )
        if len(targets) != len(logits):
            raise UnsupportedError(
                f"the network returns {len(logits)} rows for {len(targets)} samples, which labels do not match; pass a "
                "own loss with loss=."
            )
        refuse_other_labels(targets, logits.shape[1])

    def _logits(self, batch: Batch, change: Callable[[Tensor], Any] = torch.clone) -> Tensor:
        logits = self.logits_in(self._forward(batch, change))
        if not isinstance(logits, Tensor):
            raise UnsupportedError(f"the logits are a {type(logits).__name__}, not a tensor. Select them with logits=.")
        if not logits.numel():
            raise UnsupportedError(f"the network returns an empty tensor of shape {tuple(logits.shape)}.")
        return logits

    def logits_in(self, output: Any) -> Any:
        """Return the logits in the output of the network."""
        if self._logits_name is None:
            if isinstance(output, (tuple, list, dict)):
                there = ", ".join(map(repr, output)) if isinstance(output, dict) else f"0 to {len(output) - 1}"
                raise UnsupportedError(
                    f"the network returns a {type(output).__name__}; name the logits in it with logits= ({there})."
                )
            return output
        name = self._logits_name
        if isinstance(output, Tensor):
            raise BatchError(
                f"The network returns a single tensor, so there is no part {name!r} in it. Leave logits out."
            )
        if isinstance(name, str) and not isinstance(output, Mapping) and hasattr(output, name):
            return getattr(output, name)  # such as a dataclass
        try:
            return output[name]
        except (KeyError, IndexError, TypeError) as error:
            there = f" It has: {', '.join(map(repr, output))}." if isinstance(output, Mapping) else ""
            raise BatchError(
                f"The output is a {type(output).__name__} without a part {name!r} that could be the logits.{there}"
            ) from error

    @contextmanager
    def _watched(self, purpose: str, *, training: bool) -> Iterator[None]:
        # Inference tensors have no version counter, which measurements need to detect in-place changes. Autocast is
        # off because a measurement should not depend on the caller's precision.
        full_precision = torch.autocast(device_of(self.model).type, enabled=False)
        undone = undisturbed(self.model, training=training, seed=derive(self.seed, purpose))
        with torch.inference_mode(False), full_precision, undone:
            yield

    @contextmanager
    def isolated(self) -> Iterator[None]:
        """Undo what a formula does to weights and buffers, and forget what was measured if it changed any."""
        memory = dict(self._memory)
        changed: list[Tensor] = []
        try:
            with keeping_weights(self.model) as changed:
                yield
        finally:
            if changed:
                self._memory = memory

    @contextmanager
    def _explained(self, batch: Batch) -> Iterator[None]:
        """Turn an error of the model into a `ModelError` that describes the batch."""
        try:
            yield
        except FirstlightError:
            raise
        except Exception as error:
            if is_out_of_memory(error):
                raise
            if "Expected more than 1 value per channel" in str(error):
                raise UnsupportedError(
                    f"BatchNorm in train mode sees one value for each channel in a batch of {batch.described()}; "
                    "use a larger batch or larger inputs."
                ) from error
            raise ModelError(
                f"The model's forward pass failed on {batch.described()}: {type(error).__name__}: {error}"
                f"{self._hint(batch)}"
            ) from error

    def _hint(self, batch: Batch) -> str:
        """Explain the error if it looks as if a single image was given in place of a batch."""
        convolves = any(isinstance(module, nn.Conv2d) for module in self.model.modules())
        if not convolves or all(inputs.ndim != 3 for inputs in batch.inputs):
            return ""
        return ". The first dimension is the batch: give one image as image.unsqueeze(0), a batch of one."

    def _forward(self, batch: Batch, change: Callable[[Tensor], Any] = torch.clone) -> Any:
        with self._explained(batch):
            return batch.feed(self.model, change)


def quantity(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Memoize a method of a probe by its arguments.

    The result is kept in `_memory`, under the name of the method and its arguments in the order of its signature. A
    method whose pass yields other quantities at no cost enters them there under their own keys.
    """
    signature = inspect.signature(method)

    @functools.wraps(method)
    def remembered(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        key = (method.__name__, *(_key(value) for value in bound.args[1:]), *map(_key, bound.kwargs.values()))
        if key not in self._memory:
            self._memory[key] = method(self, *args, **kwargs)
        return cast(R, self._memory[key])

    return remembered


def _key(argument: object) -> object:
    if isinstance(argument, Tensor):
        return "tensor", argument.shape, argument.dtype, argument.numpy(force=True).tobytes()
    if isinstance(argument, list):
        return tuple(map(_key, argument))
    return argument


def refuse_other_labels(labels: Tensor, classes: int) -> None:
    """Raise `BatchError` if a label is not one of the classes."""
    low, high = int(labels.min()), int(labels.max())
    if low < 0 or high >= classes:
        raise BatchError(
            f"Labels range from {low} to {high}; the network has {classes} classes, so labels must be 0 to "
            f"{classes - 1}."
        )


def are_probabilities(targets: Tensor) -> bool:
    """Return True if each row is a distribution over two classes or more, as one-hot labels are."""
    if targets.ndim != 2 or targets.shape[1] < 2 or bool((targets < 0).any()):
        return False
    return bool(torch.allclose(targets.sum(1), targets.new_ones(len(targets)), atol=1e-4))


def _refuse_unfinished(model: nn.Module) -> None:
    if not isinstance(model, nn.Module):
        raise ModelError(f"Expected a torch.nn.Module, got a {type(model).__name__}.")
    modules = modules_of(model)
    if any(isinstance(module, LazyModuleMixin) for module in modules):  # they change class when they first run
        raise ModelError("The model has lazy layers whose shapes are not known yet; run it once on a batch first.")
    if any(isinstance(module, torch.jit.ScriptModule) for module in modules):
        raise ModelError(
            "The model contains TorchScript (torch.jit), whose layers cannot be observed or restored; give the Python "
            "model that it was made from."
        )
    if dtype_of(model) in (torch.float16, torch.bfloat16):
        raise ModelError(
            f"The model is in half precision ({dtype_of(model)}), in which gradients and singular values are mostly "
            "rounding errors; give model.float() instead."
        )
