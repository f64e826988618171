"""Search spaces of users: named choices, and a function that builds a network from them."""

from __future__ import annotations

import functools
import hashlib
import inspect
import itertools
import math
import pickle
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import nn

from firstlight.core.errors import ModelError, SettingError
from firstlight.core.importing import import_named, name_of, source_digest
from firstlight.core.seeds import seeded, torch_generator
from firstlight.probe.cost import Cost, Footprint, measure_cost, measure_footprint
from firstlight.probe.graph import Graph, record_graph
from firstlight.spaces.base import Architecture, Skeleton, Space
from firstlight.spaces.ops import initialize
from firstlight.spaces.reading import Reader

FROM_SKELETON = ("input_shape", "classes")
Measured = TypeVar("Measured", Cost, Footprint, Graph)


@dataclass(frozen=True)
class Choices(Architecture):
    """The label of the chosen option for each name. The text is `name=label,...`."""

    chosen: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return ",".join(f"{name}={label}" for name, label in self.chosen)


class ChoiceSpace(Space[Choices]):
    """All combinations of named choices, built into networks by a function.

    The weights are those that `build` draws, from a seed that depends on the architecture. Stored scores belong to the
    exact source of the function: if it changes, they are computed again.

    Args:
        name: Name of the space, without a colon.
        build: Function that takes one option for each name as a keyword argument and returns an `nn.Module`. If it
            also takes `input_shape` or `classes`, it gets those of the skeleton.
        **choices: Options for each name: strings, numbers, booleans and None, or a dictionary from labels to any
            objects. Labels must not contain spaces, commas or "=".

    Raises:
        SettingError: If there is nothing to choose, an option has no valid label, or the function's arguments do not
            match the choices.

    Example:
        >>> import firstlight
        >>> from torch import nn
        >>> def build(width, norm, classes):
        ...     features = [nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(48, width), norm(width), nn.ReLU()]
        ...     return nn.Sequential(*features, nn.Linear(width, classes))
        >>> norms = {"batch": nn.BatchNorm1d, "layer": nn.LayerNorm}
        >>> space = firstlight.ChoiceSpace("mlp", build, width=(16, 32, 64), norm=norms)
        >>> len(space)
        6
        >>> network = space.build("width=32,norm=layer")
    """

    reference = ""
    proxy = "zico"  # choices are often widths, which Dextr ranks upside down

    def __init__(self, name: str, build: Callable[..., nn.Module], /, **choices: Iterable[Any] | Mapping[str, Any]):
        if not isinstance(name, str) or not name or ":" in name:
            raise SettingError(f"{name!r} cannot be the name of a space. Use a string without ':', such as 'mlp'.")
        if not callable(build):
            raise SettingError(f"The space {name!r} needs a function that builds a network; got {build!r}.")
        self.name = name
        self.options = {choice: _labeled(choice, options) for choice, options in choices.items()}
        if not any(len(options) > 1 for options in self.options.values()):
            raise SettingError(f"The space {name!r} has nothing to choose. Give at least one choice two options.")
        self.summary = (inspect.getdoc(build) or f"choices of {', '.join(self.options)}").partition("\n")[0]
        self._function = build
        self._surroundings = _checked_signature(name, build, self.options)

    def __call__(self, *arguments: Any, **named: Any) -> nn.Module:
        """Call the function itself, as if it had not become a space."""
        return self._function(*arguments, **named)

    def __reduce__(self) -> tuple[Callable[[str], Any], tuple[str]]:
        """Pickle the space by its address: functions are not sent to other processes, which import the space."""
        address = name_of(self)
        if address is None:
            raise pickle.PicklingError(f"no module has {self.name!r} among its names")
        return import_named, (address,)

    def __len__(self) -> int:
        return math.prod(map(len, self.options.values()))

    def __iter__(self) -> Iterator[Choices]:
        for labels in itertools.product(*self.options.values()):
            yield self._architecture(labels)

    def _architecture(self, labels: Iterable[str]) -> Choices:
        return Choices(tuple(zip(self.options, labels, strict=True)))

    def sample(self, rng: random.Random) -> Choices:
        return self._architecture(rng.choice(list(options)) for options in self.options.values())

    def mutate(self, architecture: Choices, rng: random.Random) -> Choices:
        chosen = dict(architecture.chosen)
        name = rng.choice([name for name, options in self.options.items() if len(options) > 1])
        chosen[name] = rng.choice([label for label in self.options[name] if label != chosen[name]])
        return self._architecture(chosen.values())

    def parse(self, text: str) -> Choices:
        reader = Reader(text)
        labels = []
        for number, (name, options) in enumerate(self.options.items()):
            reader.skip(f"{',' if number else ''}{name}=")
            labels.append(reader.one_of(options, f"one of {', '.join(options)}"))
        reader.end()
        return self._architecture(labels)

    def canonical(self, architecture: Choices) -> Choices:
        """Return the architecture itself: nothing is known about what the function does with the choices."""
        return architecture

    def choices(self) -> tuple[tuple[str, ...], ...]:
        return tuple(map(tuple, self.options.values()))

    def from_choices(self, indices: Sequence[int]) -> Choices:
        return self._architecture(labels[index] for labels, index in zip(self.choices(), indices, strict=True))

    def to_choices(self, architecture: Choices) -> tuple[int, ...]:
        chosen = zip(self.choices(), architecture.chosen, strict=True)
        return tuple(labels.index(label) for labels, (_, label) in chosen)

    def network(self, architecture: Choices, skeleton: Skeleton) -> nn.Module:
        values = {name: self.options[name][label] for name, label in architecture.chosen}
        values |= {name: getattr(skeleton, name) for name in self._surroundings}
        try:
            network: Any = self._function(**values)
        except Exception as error:  # anything that the user's function raises
            raise ModelError(f"{self.name}({architecture}) failed: {type(error).__name__}: {error}") from error
        if not isinstance(network, nn.Module):
            kind = type(network).__name__
            raise ModelError(f"{self.name}({architecture}) returned a {kind}; it must return a torch.nn.Module.")
        return network

    def build(
        self,
        architecture: Choices | str,
        skeleton: Skeleton | None = None,
        *,
        seed: int = 0,
        device: torch.device | str | None = None,
        initialization: str = "default",
    ) -> nn.Module:
        """Build a network; by default its weights are those that the function draws. See `Space.build`."""
        if isinstance(architecture, str):
            architecture = self.parse(architecture)
        with seeded(seed, str(architecture)):
            network = self.network(architecture, skeleton or self.skeleton())
        if initialization != "default":
            initialize(network, torch_generator(seed, str(architecture), "weights"), initialization)
        return network.to(device)

    def fingerprint(self) -> str:
        """Return a digest of the function's source code and the labels of its options."""
        labels = repr({name: list(options) for name, options in self.options.items()})
        return f"{source_digest(self._function)}-{hashlib.blake2b(labels.encode(), digest_size=4).hexdigest()}"

    def cost(self, architecture: Choices, skeleton: Skeleton | None = None) -> Cost:
        return self._measured(measure_cost, architecture, skeleton or self.skeleton())

    def footprint(self, architecture: Choices, skeleton: Skeleton | None = None) -> Footprint:
        return self._measured(measure_footprint, architecture, skeleton or self.skeleton())

    def graph(self, architecture: Choices, skeleton: Skeleton | None = None, *, simplified: bool = True) -> Graph:
        record = functools.partial(record_graph, simplified=simplified)
        return self._measured(record, architecture, skeleton or self.skeleton())

    def _measured(
        self, measure: Callable[[nn.Module, torch.Tensor], Measured], architecture: Choices, skeleton: Skeleton
    ) -> Measured:
        with seeded(0):  # leaves the global random state alone
            try:
                return measure(*self._weightless(architecture, skeleton))
            except Exception:  # the function needs actual numbers, which tensors on the meta device lack
                network = self.network(architecture, skeleton).eval()
        shape = (1, *skeleton.input_shape)
        try:
            return measure(network, torch.zeros(shape))
        except Exception as error:  # anything that the user's network raises
            raise ModelError(
                f"{self.name}({architecture}) does not take inputs of {shape}: {type(error).__name__}: {error}"
            ) from error


def choices(**options: Iterable[Any] | Mapping[str, Any]) -> Callable[[Callable[..., nn.Module]], ChoiceSpace]:
    """Turn a function that builds a network into a `ChoiceSpace` of the same name.

    The space can still be called like the function.

    Args:
        **options: Options for each keyword argument of the function, as in `ChoiceSpace`.

    Returns:
        A decorator.

    Raises:
        SettingError: As `ChoiceSpace`, when the decorator is applied.

    Example:
        >>> import firstlight
        >>> from torch import nn
        >>> @firstlight.choices(channels=(16, 32), kernel=(1, 3, 5))
        ... def small(channels, kernel, classes=10):
        ...     features = [nn.Conv2d(3, channels, kernel), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
        ...     return nn.Sequential(*features, nn.Linear(channels, classes))
        >>> len(small)
        6
        >>> network = small(channels=16, kernel=3)
    """
    return lambda function: ChoiceSpace(getattr(function, "__name__", ""), function, **options)


def _labeled(name: str, options: Iterable[Any] | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(options, (str, set, frozenset)) or not isinstance(options, Iterable):
        raise SettingError(f"{name} is {options!r}; write the options as a tuple, such as {name}=(16, 32).")
    pairs = (
        list(options.items()) if isinstance(options, Mapping) else [(_label(name, value), value) for value in options]
    )
    labels = [label for label, _ in pairs]
    for label in labels:
        if not isinstance(label, str) or not re.fullmatch(r"[^\s,=]+", label):
            raise SettingError(f"{name} has the option {label!r}; a label is a string without spaces, commas and '='.")
    if not labels or len(set(labels)) < len(labels):
        raise SettingError(f"{name} has the options ({', '.join(labels)}); give at least one, and each only once.")
    return dict(pairs)


def _label(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    raise SettingError(
        f"{name} has the option {value!r}, which is neither a string nor a number. Give it a label: "
        f'{name}={{"some_label": ..., "another": ...}}.'
    )


def _checked_signature(space: str, build: Callable[..., nn.Module], options: Mapping[str, object]) -> tuple[str, ...]:
    """Return the settings of the skeleton that the function takes besides the choices."""
    parameters = inspect.signature(build).parameters
    named = [p.name for p in parameters.values() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    unknown = [] if takes_any else [name for name in options if name not in named]
    if unknown:
        raise SettingError(f"The function of {space!r} does not take {unknown[0]!r}. It takes: {', '.join(named)}.")
    surroundings = tuple(name for name in FROM_SKELETON if name in named and name not in options)
    needed = [name for name in named if parameters[name].default is inspect.Parameter.empty]
    missing = [name for name in needed if name not in options and name not in surroundings]
    if missing:
        raise SettingError(
            f"The function of {space!r} needs {missing[0]!r}. Add it to the choices or give it a default."
        )
    return surroundings
