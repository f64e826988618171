"""A user's own model as a space of one network, so that it is trained and compared like any other."""

from __future__ import annotations

import copy
import hashlib
import inspect
import pickle
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from firstlight.core.errors import ModelError, SettingError
from firstlight.core.importing import import_named, name_of, source_digest
from firstlight.core.seeds import seeded
from firstlight.probe.cost import Cost, Footprint, measure_cost, measure_footprint
from firstlight.probe.graph import Graph, record_graph
from firstlight.probe.observe import broken_weights
from firstlight.spaces.base import Architecture, Skeleton, Space
from firstlight.spaces.custom import FROM_SKELETON
from firstlight.spaces.reading import Reader

TEXT = "model"


@dataclass(frozen=True)
class TheModel(Architecture):
    """The only network of such a space. Its text is `model`."""

    def __str__(self) -> str:
        return TEXT


class ModelSpace(Space[TheModel]):
    """A space whose only network is a user's own model.

    A function or class is called with a seed set, and gets `input_shape` and `classes` if it takes them. A module is
    copied: it is trained from the weights that it has, and itself stays as it is.

    Args:
        name: What reports call it, such as `module:name`.
        model: The module, or the function that builds one.
    """

    summary = "your own model"
    reference = ""
    proxy = "params"

    def __init__(self, name: str, model: nn.Module | Callable[..., nn.Module]) -> None:
        if not isinstance(model, nn.Module) and not callable(model):
            raise SettingError(
                f"{name} is {model!r}, which is neither a torch.nn.Module nor a function that builds one."
            )
        self.name, self._model = name, model

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Pickle a function by its address: functions are not sent to other processes, which import them."""
        if isinstance(self._model, nn.Module):
            return ModelSpace, (self.name, self._model)
        address = name_of(self._model)
        if address is None:
            raise pickle.PicklingError(f"no module has {self.name!r} among its names")
        return imported_model, (self.name, address)

    def __len__(self) -> int:
        return 1

    def sample(self, rng: random.Random) -> TheModel:
        return TheModel()

    def mutate(self, architecture: TheModel, rng: random.Random) -> TheModel:
        raise SettingError(f"{self.name} is a single model: there is nothing to change.")

    def parse(self, text: str) -> TheModel:
        reader = Reader(text)
        reader.skip(TEXT)
        reader.end()
        return TheModel()

    def canonical(self, architecture: TheModel) -> TheModel:
        return architecture

    def network(self, architecture: TheModel, skeleton: Skeleton) -> nn.Module:
        if isinstance(self._model, nn.Module):
            return copy.deepcopy(self._model)
        taken = inspect.signature(self._model).parameters
        given = {name: getattr(skeleton, name) for name in FROM_SKELETON if name in taken}
        try:
            network = self._model(**given)
        except Exception as error:  # whatever the user's function does
            raise ModelError(f"{self.name} cannot be built: {type(error).__name__}: {error}") from error
        if not isinstance(network, nn.Module):
            raise ModelError(f"{self.name} returned a {type(network).__name__}; it must return a torch.nn.Module.")
        return network

    def build(
        self,
        architecture: TheModel | str,
        skeleton: Skeleton | None = None,
        *,
        seed: int = 0,
        device: torch.device | str | None = None,
        initialization: str = "default",
    ) -> nn.Module:
        """Build the model: a function is called with the seed, a module keeps its weights.

        Raises:
            ModelError: If it cannot be built, does not take the data, or has another number of outputs.
            SettingError: If the weights have to be drawn in another way than the model does.
        """
        if initialization != "default":
            raise SettingError(f"initialization is {initialization!r}, but {self.name} initializes itself.")
        known = skeleton or self.skeleton()
        with seeded(seed, self.name):
            network = self.network(TheModel(), known)
            self._check(network, known)
        return network.to(device).train()

    def _check(self, network: nn.Module, skeleton: Skeleton) -> None:
        """Check the weights, and what the model makes of two inputs. Its buffers stay as they are."""
        if broken := broken_weights(network):
            raise ModelError(f"Before any training, {self.name} has {broken}. Initialize or repair them.")
        trial = copy.deepcopy(network).eval()
        device = next((parameter.device for parameter in trial.parameters()), torch.device("cpu"))
        try:
            with torch.no_grad():
                found = trial(torch.zeros(2, *skeleton.input_shape, device=device))
        except Exception as error:  # whatever the user's model does
            raise ModelError(
                f"{self.name} does not take inputs of {skeleton.input_shape}: {type(error).__name__}: {error}"
            ) from error
        shape = tuple(found.shape) if isinstance(found, torch.Tensor) else type(found).__name__
        if shape != (2, skeleton.classes):
            raise ModelError(
                f"{self.name} returns {shape} for two inputs; the data have {skeleton.classes} classes, so that it "
                f"must return (2, {skeleton.classes})."
            )

    def cost(self, architecture: TheModel, skeleton: Skeleton | None = None) -> Cost:
        """Return parameters and multiply-accumulates, counted with one input of zeros."""
        return measure_cost(*self._with_weights(skeleton))

    def footprint(self, architecture: TheModel, skeleton: Skeleton | None = None) -> Footprint:
        """Return activations and memory, counted with one input of zeros."""
        return measure_footprint(*self._with_weights(skeleton))

    def graph(self, architecture: TheModel, skeleton: Skeleton | None = None, *, simplified: bool = True) -> Graph:
        """Return the model as a device runs it, recorded with one input of zeros."""
        return record_graph(*self._with_weights(skeleton), simplified=simplified)

    def _with_weights(self, skeleton: Skeleton | None) -> tuple[nn.Module, torch.Tensor]:
        """Return the model and one input. A user's model may need actual numbers, which the meta device lacks."""
        known = skeleton or self.skeleton()
        return self.build(TheModel(), known).cpu().eval(), torch.zeros(1, *known.input_shape)

    def fingerprint(self) -> str:
        """Return a digest of the code of the model, and of its weights if it is a module."""
        if not isinstance(self._model, nn.Module):
            return source_digest(self._model)
        text = f"{source_digest(type(self._model))}\n{self._model}"
        found = hashlib.blake2b(text.encode(), digest_size=6)
        for name, tensor in self._model.state_dict().items():
            found.update(name.encode())
            found.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
        return found.hexdigest()


def imported_model(name: str, address: str) -> ModelSpace:
    """Return the space of a model that is imported by its address."""
    return ModelSpace(name, import_named(address))
