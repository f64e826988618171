"""Search spaces and their architectures: the base classes."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import torch
from torch import nn

from firstlight.core.errors import ParseError, SettingError, UnsupportedError, did_you_mean
from firstlight.core.importing import source_digest
from firstlight.core.seeds import as_generator, python_generator, torch_generator
from firstlight.probe.cost import Cost, Footprint, measure_cost, measure_footprint
from firstlight.probe.graph import Graph, record_graph
from firstlight.spaces.ops import initialize

if TYPE_CHECKING:
    from firstlight.spaces.supernets import OneShot, Supernet
    from firstlight.spaces.supernets.shared import Shared


class Architecture(ABC):
    """One member of a search space.

    Architectures are immutable and hashable; subclasses are usually frozen dataclasses. The text of an architecture is
    exact: `space.parse(str(architecture)) == architecture`.

    Example:
        >>> import firstlight
        >>> space = firstlight.space("nats-sss")
        >>> architecture = space.parse("8:16:32:48:64")
        >>> str(architecture)
        '8:16:32:48:64'
        >>> space.parse(str(architecture)) == architecture
        True
    """

    @abstractmethod
    def __str__(self) -> str: ...


@dataclass(frozen=True)
class Skeleton:
    """The fixed part of all networks of a run: everything around what is searched.

    Spaces extend it by settings such as the number of cells. All settings are integers or tuples of integers.

    Args:
        input_shape: Shape of one input, without the batch dimension.
        classes: Number of outputs.

    Example:
        >>> import firstlight
        >>> skeleton = firstlight.space("nasbench201").skeleton(channels=8, input_shape=(3, 16, 16))
        >>> str(skeleton)
        'cells=5,channels=8,classes=10,input_shape=3x16x16'
    """

    input_shape: tuple[int, ...] = (3, 32, 32)
    classes: int = 10

    def __str__(self) -> str:
        settings = sorted(self.settings().items())
        return ",".join(f"{name}={_plain(value)}" for name, value in settings if value != ())

    def settings(self) -> dict[str, Any]:
        """Return all settings by name, as `Space.skeleton` takes them."""
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class Drawing:
    """An architecture as a labeled graph, for reports.

    Args:
        nodes: Labels of the nodes.
        edges: Edges as (source, target, label).
        form: "chain" if each node leads to the next; "stack" if it does and all blocks are of one kind.
    """

    nodes: tuple[str, ...]
    edges: tuple[tuple[int, int, str], ...]
    form: Literal["graph", "chain", "stack"] = "graph"


A = TypeVar("A", bound=Architecture)


def _with_generator(method: Callable[..., Any], position: int) -> Callable[..., Any]:
    """Give a method a `random.Random`, whatever it is called with at the position."""

    @functools.wraps(method)
    def call(self: Any, *arguments: Any, **named: Any) -> Any:
        if "rng" in named:
            named["rng"] = as_generator(named["rng"])
        elif len(arguments) > position:
            given = list(arguments)
            given[position] = as_generator(given[position])
            arguments = tuple(given)
        return method(self, *arguments, **named)

    return call


class Space(ABC, Generic[A]):
    """A set of architectures that can be sampled, mutated, written as text, read back and built.

    Subclass it for your own space, and implement `sample`, `mutate`, `parse`, `canonical` and `network`. If every
    architecture is a combination of named choices, `firstlight.ChoiceSpace` needs no more than a function that builds
    a network.

    Attributes:
        name: Name of the space.
        summary: One line about it.
        reference: Key of the publication in the bibliography; empty if there is none.
        used_by: Keys of publications that search the space.
        proxy: The proxy that scores its networks by default.
        evidence: What supports this choice: its Spearman correlation with accuracy, and that of counting parameters.
        initial: Text of a small architecture to start from; empty if the space has none.
        textbook: Text of the best-known architecture, which `read` accepts as "textbook"; empty if there is none.
        benchmark: The benchmark that holds results of trained networks; empty if there is none.
        data_kind: The kind of data that its networks take: "images", or another key of `firstlight.data.sources.KINDS`.
        warm_up_weights: What a warm-up trains by default: each network's "own" weights, or those that all networks
            of the space share ("shared").
        channels_last: Whether networks are trained on CPUs with channels last in memory, which is faster for
            convolutions. Their layers must not call `view` on what a convolution returns.
        skeleton_type: The class of its skeletons.

    Example:
        >>> import random
        >>> import firstlight
        >>> space = firstlight.space("nasbench201")
        >>> len(space)
        15625
        >>> parent = space.sample(random.Random(0))
        >>> child = space.mutate(parent, random.Random(1))
        >>> sum(a != b for a, b in zip(space.to_choices(parent), space.to_choices(child)))
        1
        >>> network = space.build(child, seed=0)
        >>> space.cost(child).params == sum(p.numel() for p in network.parameters())
        True
    """

    name: str
    summary: str
    reference: str
    used_by: tuple[str, ...] = ()
    proxy: str = "dextr"
    evidence: str = ""
    initial: str = ""
    textbook: str = ""
    benchmark: str = ""
    data_kind: str = "images"
    warm_up_weights: Literal["own", "shared"] = "own"
    channels_last: bool = False
    skeleton_type: type[Skeleton] = Skeleton

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        for name, position in (("sample", 0), ("mutate", 1)):
            if name in vars(cls):
                setattr(cls, name, _with_generator(vars(cls)[name], position))

    @abstractmethod
    def sample(self, rng: Any) -> A:
        """Return a random architecture, uniformly distributed unless the space says otherwise.

        Args:
            rng: The only source of randomness: a `random.Random`, a generator of NumPy, or a seed. A space that
                implements this method is always given a `random.Random`.
        """

    @abstractmethod
    def mutate(self, architecture: A, rng: Any) -> A:
        """Return a neighbor of `architecture`, which differs from it in one choice.

        Args:
            architecture: The parent, which is not changed.
            rng: The only source of randomness, as in `sample`.
        """

    def mutate_often(self, architecture: A, rng: Any, times: int) -> A:
        """Apply `times` mutations, one after the other."""
        generator = as_generator(rng)
        for _ in range(times):
            architecture = self.mutate(architecture, generator)
        return architecture

    def customary(self, architecture: A) -> bool:
        """Return whether publications that search the space would admit the architecture.

        The text form may allow more than they do.
        """
        return True

    @abstractmethod
    def parse(self, text: str) -> A:
        """Return the architecture that `text` stands for; the inverse of `str`.

        Raises:
            ParseError: If the text is not that of an architecture. The error points at the position that is wrong.
        """

    def read(self, text: str) -> A:
        """Parse text written by a user, who may also write "textbook" if the space has such an architecture.

        Raises:
            ParseError: As `parse`, with an example of an architecture added.
        """
        try:
            return self.parse(self.textbook if self.textbook and text.strip() == "textbook" else text)
        except ParseError as error:
            example = ""
            with contextlib.suppress(Exception):  # a user's space may be unable to give one
                example = f"An architecture of {self.name} looks like {self.example()}"
            raise ParseError(error.text, error.position, error.expected, example) from error

    def example(self) -> A:
        """Return an architecture that was drawn at random, always the same one, in its canonical form."""
        return self.canonical(self.sample(python_generator(0, "examples", self.name)))

    @abstractmethod
    def canonical(self, architecture: A) -> A:
        """Return the one architecture that represents all that compute the same function.

        Return `architecture` itself if no two architectures of the space are known to be equivalent.
        """

    def identity(self, architecture: A) -> A:
        """Return what a search tells architectures apart by: two with the same identity are scored once.

        By default that is the canonical form. A space overrides this if choices that have no effect now must be kept
        for later mutations.
        """
        return self.canonical(architecture)

    @abstractmethod
    def network(self, architecture: A, skeleton: Any) -> nn.Module:
        """Return the network with its weights allocated but not initialized.

        Args:
            architecture: An architecture of the space.
            skeleton: A skeleton of the class `skeleton_type`.
        """

    def __bool__(self) -> bool:
        return True  # also where the length is not known

    def __len__(self) -> int:
        raise TypeError(f"The number of architectures of {self.name!r} is not known.")

    def __iter__(self) -> Iterator[A]:
        raise TypeError(f"The architectures of {self.name!r} cannot be enumerated. Draw some with sample().")

    def choices(self) -> tuple[tuple[str, ...], ...]:
        """Return the options of each choice, if every architecture is a vector of independent choices.

        Raises:
            UnsupportedError: If the architectures of the space are not such vectors.
        """
        from firstlight.spaces import SPACES  # the registry imports this module

        having = [name for name, space in SPACES.items() if space.has_choices]
        raise UnsupportedError(
            f"Architectures of {self.name!r} are not vectors of independent choices, which this search needs. Those of "
            f"{', '.join(having)} and of every firstlight.ChoiceSpace are."
        )

    def from_choices(self, indices: Sequence[int]) -> A:
        """Return the architecture with the given option of each choice; the inverse of `to_choices`."""
        raise NotImplementedError(f"{self.name!r} has choices() and must have from_choices().")

    def to_choices(self, architecture: A) -> tuple[int, ...]:
        """Return the index of the option that the architecture takes for each choice."""
        raise NotImplementedError(f"{self.name!r} has choices() and must have to_choices().")

    @property
    def has_choices(self) -> bool:
        """True if the space implements `choices`."""
        return type(self).choices is not Space.choices

    def operations(self, architecture: A) -> set[str]:
        """Return the names of what an architecture is made of, for advice on limits that exclude some of it.

        By default, these are the options of its choices; nothing in a space without choices.
        """
        if not self.has_choices:
            return set()
        pairs = zip(self.choices(), self.to_choices(architecture), strict=True)
        return {options[index] for options, index in pairs}

    def skeleton(self, **settings: Any) -> Skeleton:
        """Return the default skeleton with some settings changed.

        Args:
            **settings: Settings by name, such as `channels=8`.

        Raises:
            SettingError: If a setting is unknown, has a value of the wrong type, or does not fit the others.
        """
        return self.skeleton_type(**self.read_skeleton(settings))

    def read_skeleton(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Check settings of a skeleton and convert them to the types of their defaults.

        Raises:
            SettingError: If a setting is unknown or has a value of the wrong type.
        """
        known = {field.name: field for field in dataclasses.fields(self.skeleton_type)}
        unknown = sorted(set(settings) - set(known))
        if unknown:
            near = did_you_mean(unknown[0], known)
            raise SettingError(
                f"The skeleton of {self.name!r} has no setting {unknown[0]!r}.{near} It has: {', '.join(known)}."
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
        """Build a network with initialized weights.

        The weights are a pure function of the seed, the architecture's text and the initialization.

        Args:
            architecture: An architecture of the space, or its text.
            skeleton: The fixed part of the network; the default skeleton if None.
            seed: Seed of the weights.
            device: Device to move the network to.
            initialization: "default" (as PyTorch does), "xavier", "he" or "ntk"; see `ops.initialize`.

        Returns:
            The network, in training mode.

        Raises:
            ParseError: If the text is not that of an architecture.
        """
        if isinstance(architecture, str):
            architecture = self.read(architecture)
        network = self.network(architecture, skeleton or self.skeleton())
        initialize(network, torch_generator(seed, str(architecture), "weights"), initialization)
        return network if device is None else network.to(device)  # which would look at every tensor

    def cost(self, architecture: A, skeleton: Skeleton | None = None) -> Cost:
        """Return parameters and multiply-accumulates, counted on the meta device unless the space has a formula."""
        return measure_cost(*self._weightless(architecture, skeleton))

    def footprint(self, architecture: A, skeleton: Skeleton | None = None) -> Footprint:
        """Return activations and memory, counted on the meta device."""
        return measure_footprint(*self._weightless(architecture, skeleton))

    def graph(self, architecture: A, skeleton: Skeleton | None = None, *, simplified: bool = True) -> Graph:
        """Return the network as a device runs it, recorded on the meta device.

        Args:
            architecture: An architecture of the space.
            skeleton: The fixed part of the network; the default skeleton if None.
            simplified: Whether to simplify it as the formats of devices do, or leave it as PyTorch runs it.
        """
        return record_graph(*self._weightless(architecture, skeleton), simplified=simplified)

    def _weightless(self, architecture: A, skeleton: Skeleton | None) -> tuple[nn.Module, torch.Tensor]:
        """Return the network and one input, both on the meta device."""
        skeleton = skeleton or self.skeleton()
        with torch.device("meta"):
            network = self.network(architecture, skeleton).eval()  # in training, BatchNorm refuses a single number
        return network, torch.empty(1, *skeleton.input_shape, device="meta")

    def fingerprint(self) -> str:
        """Return a digest of the space's source code.

        It is part of the store's keys for spaces that are not built in: scores of an older version are not reused.
        """
        return source_digest(type(self))

    def supernet(self) -> Supernet:
        """Return the supernet, for algorithms that remove operations from it.

        Raises:
            SettingError: If the space has none.
        """
        raise self._lacks("supernet", "supernet")

    def one_shot(self) -> OneShot:
        """Return the one-shot network, for algorithms that learn preferences for all options at once.

        Raises:
            SettingError: If the space has none.
        """
        raise self._lacks("one-shot network", "one_shot")

    def shared(self) -> Shared:
        """Return the weight-sharing network that can be trained, and from which architectures inherit weights.

        Raises:
            SettingError: If the space has none.
        """
        raise self._lacks("shared weights", "shared", "which this warm-up trains", "weights=own")

    def _lacks(
        self,
        title: str,
        method: str,
        purpose: str = "which this algorithm searches",
        otherwise: str = "an algorithm that needs none, such as evolution",
    ) -> SettingError:
        from firstlight.spaces import SPACES

        able = (name for name, space in SPACES.items() if getattr(type(space), method) is not getattr(Space, method))
        return SettingError(
            f"The space {self.name!r} has no {title}, {purpose}. Use one of {', '.join(able)}, or {otherwise}."
        )

    def drawing(self, architecture: A, skeleton: Skeleton | None = None) -> Drawing | None:
        """Return the architecture as a graph, or None if the space cannot draw it.

        Args:
            architecture: An architecture of the space.
            skeleton: The fixed part of the network, for drawings that show it; the default skeleton if None.
        """
        return None


def _like(default: object, name: str, value: object) -> Any:
    """Return the value if it has the default's type: an integer, or a tuple, for which a single integer may stand."""
    if isinstance(default, tuple) and len(default) < 2 and type(value) is int:
        value = (value,)
    numbers = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if isinstance(default, tuple) != isinstance(value, (tuple, list)) or not all(type(n) is int for n in numbers):
        raise SettingError(f"{name} is {value!r}; expected something like {_plain(default)}.")
    return numbers if isinstance(default, tuple) else value


def _plain(value: object) -> str:
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)
