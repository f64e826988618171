"""Hand-made networks for click prediction, as baselines: built for the same skeleton, with the same embeddings.

logistic    a weight for each category and each dense value
dnn         fully connected layers over embeddings and dense values
dlrm        dot products of all pairs of embeddings and of a projection of the dense values (Naumov et al., 2019)
deepfm      sum of logistic regression, factorization machine and dnn (Guo et al., IJCAI 2017)

Default sizes are those of the papers for Criteo. Layers have biases, ReLUs between them and no normalization.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from firstlight.core.errors import SettingError, UnknownNameError
from firstlight.core.seeds import torch_generator
from firstlight.core.settings import settings_of
from firstlight.spaces.nasrec.blocks import EMBEDDING
from firstlight.spaces.nasrec.network import ClickModel, Embeddings, NasRecSkeleton
from firstlight.spaces.ops import Linear

HIDDEN = (400, 400, 400)


def perceptron(sizes: Sequence[int]) -> nn.Sequential:
    """Return linear maps from each size to the next, with ReLUs between them."""
    layers: list[nn.Module] = []
    for inputs, outputs in itertools.pairwise(sizes):
        layers += [Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class LogisticRegression(ClickModel):
    def __init__(self, skeleton: NasRecSkeleton) -> None:
        super().__init__(skeleton)
        self.categories = Embeddings(skeleton.tables, skeleton.logits)
        self.numbers = Linear(skeleton.dense, skeleton.logits)

    def logits(self, dense: Tensor, categories: Tensor) -> Tensor:
        out: Tensor = self.numbers(dense) + self.categories(categories).sum(1)
        return out


class PlainDnn(ClickModel):
    def __init__(self, skeleton: NasRecSkeleton, *, hidden: tuple[int, ...] = HIDDEN) -> None:
        super().__init__(skeleton)
        self.embeddings = Embeddings(skeleton.tables)
        inputs = skeleton.dense + len(skeleton.tables) * EMBEDDING
        self.layers = perceptron([inputs, *hidden, skeleton.logits])

    def logits(self, dense: Tensor, categories: Tensor) -> Tensor:
        out: Tensor = self.layers(torch.cat([dense, self.embeddings(categories).flatten(1)], 1))
        return out


class Dlrm(ClickModel):
    """The dense values become a vector as wide as an embedding, which enters the products and the top layers."""

    pairs: Tensor

    def __init__(
        self,
        skeleton: NasRecSkeleton,
        *,
        bottom: tuple[int, ...] = (512, 256, 64),
        top: tuple[int, ...] = (512, 256),
    ) -> None:
        super().__init__(skeleton)
        self.embeddings = Embeddings(skeleton.tables)
        self.bottom = nn.Sequential(*perceptron([skeleton.dense, *bottom, EMBEDDING]), nn.ReLU())
        vectors = 1 + len(skeleton.tables)
        self.register_buffer("pairs", torch.tril_indices(vectors, vectors, -1), persistent=False)
        self.top = perceptron([EMBEDDING + self.pairs.shape[1], *top, skeleton.logits])

    def logits(self, dense: Tensor, categories: Tensor) -> Tensor:
        vector = self.bottom(dense)
        vectors = torch.cat([vector[:, None], self.embeddings(categories)], 1)
        products = vectors @ vectors.transpose(1, 2)
        out: Tensor = self.top(torch.cat([vector, products[:, self.pairs[0], self.pairs[1]]], 1))
        return out


class DeepFm(ClickModel):
    """The factorization machine is over the fields; dense values enter the other two parts."""

    def __init__(self, skeleton: NasRecSkeleton, *, hidden: tuple[int, ...] = HIDDEN) -> None:
        super().__init__(skeleton)
        self.first_order = LogisticRegression(skeleton)
        self.deep = PlainDnn(skeleton, hidden=hidden)  # shares its embeddings with the factorization machine

    def logits(self, dense: Tensor, categories: Tensor) -> Tensor:
        vectors = self.deep.embeddings(categories)
        pairs = (vectors.sum(1).square() - vectors.square().sum(1)).sum(1, keepdim=True) / 2
        deep: Tensor = self.deep.layers(torch.cat([dense, vectors.flatten(1)], 1))
        out: Tensor = self.first_order.logits(dense, categories) + pairs + deep
        return out


BASELINES: dict[str, Callable[..., ClickModel]] = {
    "logistic": LogisticRegression,
    "dnn": PlainDnn,
    "dlrm": Dlrm,
    "deepfm": DeepFm,
}


def build_baseline(name: str, skeleton: NasRecSkeleton, *, seed: int = 0, **sizes: Any) -> ClickModel:
    """Build a baseline with initialized weights.

    Args:
        name: Name of the baseline.
        skeleton: The skeleton.
        seed: Seed of the weights.
        **sizes: Widths of hidden layers, such as `hidden=(64, 32)`.

    Raises:
        UnknownNameError: If there is no such baseline.
        SettingError: If the baseline does not have such layers, or a width is below 1.
    """
    if name not in BASELINES:
        raise UnknownNameError("baseline", name, BASELINES)
    known = settings_of(BASELINES[name])
    for size, widths in sizes.items():
        if size not in known or not widths or min(widths) < 1:
            raise SettingError(
                f"{size}={widths!r} is not a size of the baseline {name!r}. It has: {', '.join(known) or 'none'}, each "
                "with the widths of one or more hidden layers, such as (64, 32)."
            )
    network = BASELINES[name](skeleton, **sizes)
    network.initialize(torch_generator(seed, name, "weights"))
    return network
