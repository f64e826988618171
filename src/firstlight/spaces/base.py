"""The two nouns of a search space: an architecture, and the space it belongs to."""

from __future__ import annotations

import contextlib
import dataclasses
import random
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import torch
from torch import nn

from firstlight.core.errors import ParseError, SettingError, UnsupportedError
from firstlight.core.importing import source_digest
from firstlight.core.seeds import python_generator, torch_generator
from firstlight.probe.cost import Cost, Footprint, measure_cost, measure_footprint
from firstlight.spaces.ops import initialize

if TYPE_CHECKING:
    from firstlight.spaces.supernets import OneShot, Supernet
    from firstlight.spaces.supernets.shared import Shared


class Architecture(ABC):
    """An immutable, hashable value of one space; `str(arch)` and `space.parse(text)` are inverses."""

    @abstractmethod
    def __str__(self) -> str: ...


@dataclass(frozen=True)
class Skeleton:
    """What surrounds the searched part of a network and is the same for every architecture of a run."""

    input_shape: tuple[int, ...] = (3, 32, 32)
    classes: int = 10

    def __str__(self) -> str:
        settings = sorted(self.settings().items())
        return ",".join(f"{name}={_plain(value)}" for name, value in settings if value != ())

    def settings(self) -> dict[str, Any]:
        """By their names, as `Space.skeleton` takes them."""
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class Drawing:
    """An architecture as a labeled graph, for the report: edges are (from, to, label).

    A `chain` of blocks leads from each node to the next, and so does a `stack`, whose blocks are all of one kind.
    """

    nodes: tuple[str, ...]
    edges: tuple[tuple[int, int, str], ...]
    form: Literal["graph", "chain", "stack"] = "graph"


A = TypeVar("A", bound=Architecture)


class Space(ABC, Generic[A]):
    """A set of architectures that can be sampled, changed, written down, read back and built."""

    name: str
    summary: str
    reference: str  # where it was published, and by whom else it is used: keys of the bibliography
    used_by: tuple[str, ...] = ()
    proxy: str = "dextr"  # by which networks are judged unless told otherwise
    initial: str = ""  # a small architecture to grow from, where the space has one
    benchmark: str = ""  # where trained networks of it can be looked up
    data_kind: str = "images"  # the kind of data that its networks take
    warm_up_weights: Literal["own", "shared"] = "own"  # what a warm-up trains unless told otherwise
    skeleton_type: type[Skeleton] = Skeleton

    @abstractmethod
    def sample(self, rng: random.Random) -> A:
        """A random architecture, uniform unless the space says otherwise."""

    @abstractmethod
    def mutate(self, architecture: A, rng: random.Random) -> A:
        """A neighbor that differs from `architecture` in one choice."""

    def mutate_often(self, architecture: A, rng: random.Random, times: int) -> A:
        """So many mutations one after the other."""
        for _ in range(times):
            architecture = self.mutate(architecture, rng)
        return architecture

    def customary(self, architecture: A) -> bool:
        """Whether papers that search the space would admit it; the text form may allow more than they do."""
        return True

    @abstractmethod
    def parse(self, text: str) -> A:
        """The architecture that `text` stands for; raises `ParseError` pointing at the place that is wrong."""

    def read(self, text: str) -> A:
        """`parse` for what people write: the error also shows what an architecture looks like."""
        try:
            return self.parse(text)
        except ParseError as error:
            example = ""
            with contextlib.suppress(Exception):  # a space of one's own may have none to give
                example = f"An architecture of {self.name} looks like {self.example()}"
            raise ParseError(error.text, error.position, error.expected, example) from error

    def example(self) -> A:
        """One that was drawn at random, always the same, in its plainest form."""
        return self.canonical(self.sample(python_generator(0, "examples", self.name)))

    @abstractmethod
    def canonical(self, architecture: A) -> A:
        """The one member that stands for all architectures computing the same function."""

    def identity(self, architecture: A) -> A:
        """What a search by samples and mutations knows an architecture as: two that are alike in it are one.

        That is the canonical one, unless choices that make no difference now are kept for mutations to come.
        """
        return self.canonical(architecture)

    @abstractmethod
    def network(self, architecture: A, skeleton: Any) -> nn.Module:
        """The network with its weights allocated but not initialized."""

    def __len__(self) -> int:
        raise TypeError(f"The space {self.name!r} has no number of architectures that can be counted.")

    def __iter__(self) -> Iterator[A]:
        raise TypeError(f"The space {self.name!r} cannot be enumerated; use sample().")

    def choices(self) -> tuple[tuple[str, ...], ...]:
        """The options of each choice, where every architecture is a vector of independent choices."""
        from firstlight.spaces import SPACES  # the registry imports this module

        having = [name for name, space in SPACES.items() if space.has_choices]
        raise UnsupportedError(
            f"Architectures of {self.name!r} are no vectors of independent choices, which this search needs. "
            f"Those of {', '.join(having)} and of any firstlight.ChoiceSpace are."
        )

    def from_choices(self, indices: Sequence[int]) -> A:
        """The architecture that takes these options, by their places; the inverse of `to_choices`."""
        raise NotImplementedError(f"{self.name!r} has choices() and must have from_choices().")

    def to_choices(self, architecture: A) -> tuple[int, ...]:
        """Which option of each choice an architecture takes."""
        raise NotImplementedError(f"{self.name!r} has choices() and must have to_choices().")

    @property
    def has_choices(self) -> bool:
        return type(self).choices is not Space.choices

    def skeleton(self, **settings: Any) -> Skeleton:
        """The default skeleton with some settings changed."""
        return self.skeleton_type(**self.read_skeleton(settings))

    def read_skeleton(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Settings of the skeleton, if they are some and of the right kind."""
        known = {field.name: field for field in dataclasses.fields(self.skeleton_type)}
        unknown = sorted(set(settings) - set(known))
        if unknown:
            raise SettingError(
                f"The skeleton of {self.name!r} has no setting {unknown[0]!r}. It has: {', '.join(known)}."
            )
        return {name: _like(known[name].default, name, value) for name, value in settings.items()}

    def build(
        self,
        architecture: A | str,
        skeleton: Skeleton | None = None,
        *,
        seed: int = 0,
        device: torch.device | str | None = None,
        initialization: str = "default",
    ) -> nn.Module:
        """A ready network whose weights are a pure function of the seed and the architecture's text.

        `initialization` is how they are drawn: as PyTorch does by default, or "xavier" or "he".
        """
        if isinstance(architecture, str):
            architecture = self.read(architecture)
        network = self.network(architecture, skeleton or self.skeleton())
        initialize(network, torch_generator(seed, str(architecture), "weights"), initialization)
        return network.to(device)

    def cost(self, architecture: A, skeleton: Skeleton | None = None) -> Cost:
        """Parameters and multiply-accumulates; counted on the meta device unless the space knows a formula."""
        return measure_cost(*self._weightless(architecture, skeleton))

    def footprint(self, architecture: A, skeleton: Skeleton | None = None) -> Footprint:
        """Activations and memory, counted on the meta device."""
        return measure_footprint(*self._weightless(architecture, skeleton))

    def _weightless(self, architecture: A, skeleton: Skeleton | None) -> tuple[nn.Module, torch.Tensor]:
        """The network and one input for it, both without any numbers in them."""
        skeleton = skeleton or self.skeleton()
        with torch.device("meta"):
            network = self.network(architecture, skeleton).eval()  # in training, BatchNorm refuses a single number
        return network, torch.empty(1, *skeleton.input_shape, device="meta")

    def fingerprint(self) -> str:
        """Of the code, for spaces of one's own: what was scored by other code is not taken for the same."""
        return source_digest(type(self))

    def supernet(self) -> Supernet:
        """The weight-sharing network of the space, for algorithms that take operations away instead of drawing."""
        raise self._lacks("supernet", "supernet")

    def one_shot(self) -> OneShot:
        """The one-shot network of the space, for algorithms that learn preferences for all options at once."""
        raise self._lacks("one-shot network", "one_shot")

    def shared(self) -> Shared:
        """The weight-sharing network of the space that can be trained, and lends its weights to architectures."""
        raise self._lacks(
            "weights that architectures share", "shared", "which is what is to be trained", "weights of their own"
        )

    def _lacks(
        self,
        title: str,
        method: str,
        purpose: str = "which is what this algorithm searches in",
        otherwise: str = "an algorithm that does without, such as evolution",
    ) -> SettingError:
        from firstlight.spaces import SPACES

        able = (name for name, space in SPACES.items() if getattr(type(space), method) is not getattr(Space, method))
        return SettingError(
            f"The space {self.name!r} has no {title}, {purpose}. Take one of {', '.join(able)}, or {otherwise}."
        )

    def drawing(self, architecture: A) -> Drawing | None:
        """The architecture as a graph, if the space can draw one."""
        return None


def _like(default: object, name: str, value: object) -> Any:
    """The value, if it is of the default's kind: a whole number, or several, of which one alone needs no tuple."""
    if isinstance(default, tuple) and len(default) < 2 and type(value) is int:
        value = (value,)
    numbers = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if isinstance(default, tuple) != isinstance(value, (tuple, list)) or not all(type(n) is int for n in numbers):
        raise SettingError(f"{name} is {value!r}; expected something like {_plain(default)}.")
    return numbers if isinstance(default, tuple) else value


def _plain(value: object) -> str:
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)
