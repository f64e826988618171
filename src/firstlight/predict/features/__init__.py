"""Features of architectures: what can be counted without a forward pass on data, one function for each family.

`features_of` chooses the function by the class of the architectures. A space without features of its own has those of
its choices, or else those of its modules.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
import torch

from firstlight.core.errors import DataError, ModelError, UnsupportedError
from firstlight.predict.features.edge_cells import cell201_features, micro_features
from firstlight.predict.features.genotypes import genotype_features
from firstlight.predict.features.modules import module_features, modules_features
from firstlight.predict.features.recommenders import recommender_features
from firstlight.predict.features.stages import (
    macro_features,
    perceptron_features,
    plain_features,
    sizes_features,
    structure_features,
    transformer_features,
)
from firstlight.predict.features.vertex_cells import cell101_features
from firstlight.spaces.autoformer.network import Transformer
from firstlight.spaces.base import Architecture, Skeleton, Space
from firstlight.spaces.darts.genotypes import Genotype
from firstlight.spaces.nasbench101.cell import Cell101
from firstlight.spaces.nasbench201.cell import Cell201
from firstlight.spaces.nasrec.blocks import Recommender
from firstlight.spaces.nats_sss import Sizes
from firstlight.spaces.plain.perceptron import Perceptron
from firstlight.spaces.plain.shape import Plain
from firstlight.spaces.plainnet.grammar import Structure
from firstlight.spaces.transnas.space import MacroModules, MicroCell

FAMILIES: Mapping[type[Architecture], Callable[[Any], pd.DataFrame]] = {
    Cell101: cell101_features,
    Cell201: cell201_features,
    Genotype: genotype_features,
    MacroModules: macro_features,
    MicroCell: micro_features,
    Perceptron: perceptron_features,
    Plain: plain_features,
    Recommender: recommender_features,
    Sizes: sizes_features,
    Structure: structure_features,
    Transformer: transformer_features,
}
"""The function that returns the features of architectures, by their class."""


def features_of(space: Space[Any], texts: Sequence[str], skeleton: Skeleton | None = None) -> pd.DataFrame:
    """Return the features of architectures of a space.

    Args:
        space: The space.
        texts: The texts of the architectures.
        skeleton: The fixed part of the networks, for a space whose features are those of its modules.

    Returns:
        A row for each text, which is its index, and a column for each feature.

    Raises:
        DataError: If there are no architectures.
        ParseError: If a text is not that of an architecture of the space.

    Example:
        >>> import firstlight
        >>> from firstlight.predict.features import features_of
        >>> found = features_of(firstlight.space("nats-sss"), ["8:16:32:48:64"])
        >>> found["depth"].tolist()
        [5.0]
    """
    if not texts:
        raise DataError("There are no architectures to compute features of.")
    architectures = [space.parse(text) for text in texts]
    found = _family_of(space, skeleton, type(architectures[0]))(architectures)
    found.index = pd.Index(texts, name="architecture")
    return found


def described_features(space: Space[Any]) -> str:
    """Return in words where the features of a space come from."""
    if type(space.example()) in FAMILIES:
        return "the graph or the stages of each network"
    return "the choices of each network" if space.has_choices else "the operations of each network's forward pass"


def _family_of(
    space: Space[Any], skeleton: Skeleton | None, kind: type[Architecture]
) -> Callable[[Sequence[Any]], pd.DataFrame]:
    if kind in FAMILIES:
        return FAMILIES[kind]
    if space.has_choices:
        return functools.partial(choice_features, space)
    return functools.partial(network_features, space, skeleton or space.skeleton())


def choice_features(space: Space[Any], architectures: Sequence[Architecture]) -> pd.DataFrame:
    """Return the features of vectors of choices: the place of each option, and a column of 0 and 1 for each option."""
    columns: dict[str, list[float]] = {}
    chosen = [space.to_choices(architecture) for architecture in architectures]
    for number, options in enumerate(space.choices()):
        if len(options) < 2:
            continue
        columns[f"choice {number + 1}"] = [float(places[number]) for places in chosen]
        for place, option in enumerate(options):
            columns[f"choice {number + 1} is {option}"] = [float(places[number] == place) for places in chosen]
    return pd.DataFrame(columns, dtype=float)


def network_features(space: Space[Any], skeleton: Skeleton, architectures: Sequence[Architecture]) -> pd.DataFrame:
    """Return the space-free features of the networks of any space, which are built without weights.

    A network that cannot be built or run without numbers is built with weights and shown zeros.

    Raises:
        ModelError: If a network cannot be built or run with numbers, either.
    """
    return pd.DataFrame([_network_features(space, skeleton, entry) for entry in architectures], dtype=float)


def _network_features(space: Space[Any], skeleton: Skeleton, architecture: Architecture) -> dict[str, float]:
    shape = (1, *skeleton.input_shape)
    try:
        with torch.device("meta"):
            network = space.network(architecture, skeleton)
        return module_features(network, torch.empty(shape, device="meta"))
    except UnsupportedError:
        raise
    except Exception:  # whatever the user's network does with numbers
        with torch.random.fork_rng(devices=[]):
            return module_features(_built(space, skeleton, architecture), torch.zeros(shape))


def _built(space: Space[Any], skeleton: Skeleton, architecture: Architecture) -> torch.nn.Module:
    try:
        return space.network(architecture, skeleton)
    except Exception as error:
        raise ModelError(
            f"The network {architecture} of {space.name!r} cannot be built, so it has no features: "
            f"{type(error).__name__}: {error}"
        ) from error


__all__ = ["FAMILIES", "described_features", "features_of", "module_features", "modules_features", "network_features"]
