"""What a training asks of a network: edges that can be dropped, an auxiliary head, and the layout of its weights."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from firstlight.core.errors import SettingError
from firstlight.spaces.base import Architecture, Skeleton, Space
from firstlight.training.recipe import TrainingRecipe
from firstlight.training.recipes import RecipeRequest


def has_drop_path(network: nn.Module) -> bool:
    """Return whether the network has edges that can be dropped with a probability."""
    return isinstance(getattr(network, "drop_path", None), float)


def fit_recipe(
    request: RecipeRequest, space: Space[Any], architecture: Architecture, skeleton: Skeleton
) -> tuple[TrainingRecipe, list[str]]:
    """Return the recipe as far as the network can follow it, and notes on what was left out.

    Raises:
        SettingError: If the network cannot follow a setting that the user wrote. Only settings that come with the name
            of a recipe are left out.
    """
    recipe, unfit = request.recipe, dict[str, str]()
    if not recipe.layer_norm:
        raise SettingError(
            f"layer_norm is 0, but networks of {space.name!r} have no layer norms that a recipe can omit. Set "
            "layer_norm=1."
        )
    if recipe.drop_path:
        with torch.device("meta"):
            network = space.network(architecture, skeleton)
        if not has_drop_path(network):
            unfit["drop_path"] = f"networks of {space.name!r} have no edges that can be dropped"
    if recipe.auxiliary_weight:
        try:
            with_auxiliary_head(space, skeleton)
        except SettingError as error:
            unfit["auxiliary_weight"] = str(error).rstrip(".")
    notes = []
    for name, reason in unfit.items():
        if name in request.written:
            raise SettingError(f"{name} is {getattr(recipe, name)}, but {reason}. Set {name}=0.")
        notes.append(f"{name}={getattr(recipe, name)} of the recipe {request.name!r} is not used: {reason}.")
    nothing: dict[str, Any] = dict.fromkeys(unfit, 0.0)
    return replace(recipe, **nothing), notes


def with_auxiliary_head(space: Space[Any], skeleton: Skeleton) -> Skeleton:
    """Return the skeleton with an auxiliary head."""
    if "auxiliary" not in {field.name for field in dataclasses.fields(skeleton)}:
        raise SettingError(f"networks of {space.name!r} have no place for an auxiliary head.")
    return replace(skeleton, auxiliary=1)  # type: ignore[call-arg] # it has the field


def build_for_training(
    space: Space[Any],
    architecture: Architecture,
    skeleton: Skeleton,
    recipe: TrainingRecipe,
    *,
    seed: int = 0,
    device: str | None = None,
) -> nn.Module:
    """Build the network with the weights of `space.build`, and an auxiliary head if the recipe gives it a weight."""
    network = space.build(architecture, skeleton, seed=seed, device=device)
    if not recipe.auxiliary_weight:
        return network
    larger = space.build(architecture, with_auxiliary_head(space, skeleton), seed=seed, device=device)
    larger.load_state_dict(network.state_dict(), strict=False)
    return larger


def without_auxiliary_head(
    trained: nn.Module, space: Space[Any], architecture: Architecture, skeleton: Skeleton
) -> nn.Module:
    """Return the network without its auxiliary head, with the trained weights and in eval mode."""
    network = space.build(architecture, skeleton)
    weights = trained.state_dict()
    network.load_state_dict({name: weights[name] for name in network.state_dict()})
    return network.eval()


@contextmanager
def channels_last(network: nn.Module, space: Space[Any]) -> Iterator[None]:
    """Keep the weights of convolutions, and so all feature maps, with channels last in memory.

    On a CPU, convolutional networks train faster. Numbers differ by rounding errors. Afterwards, weights have the
    usual layout again.

    Args:
        network: The network.
        space: Its space, which says whether its layers allow for this.
    """
    on_cpu = all(parameter.device.type == "cpu" for parameter in network.parameters())
    if not (space.channels_last and on_cpu):
        yield
        return
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload] # its stub lacks this argument
    try:
        yield
    finally:
        network.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
