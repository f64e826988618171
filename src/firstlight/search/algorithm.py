"""What a search algorithm is, and how one is asked for: by name with settings, by `module:name`, or as an object."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Literal, get_args, overload

from firstlight.core.errors import FirstlightError, MissingExtraError, UnknownNameError
from firstlight.core.importing import module_of
from firstlight.core.settings import (
    Settings,
    check_function,
    check_settings,
    choices,
    marked,
    read_settings,
    settings_of,
    smallest_values,
    summary,
    write_settings,
)
from firstlight.search.problem import Problem
from firstlight.spaces.base import Space

Need = Literal["choices", "supernet", "one_shot", "truth", "optuna"]
# Returns how many networks an algorithm scores with given settings; None if it goes on as long as it may.
Budget = Callable[[Mapping[str, Any]], int | None]


@dataclass(frozen=True)
class InQueries:
    """The value of a setting in a query search, where every score is the training of a network.

    Queries are few, so the algorithm must learn from each: `population: Annotated[int, InQueries(10)] = 64`.
    """

    value: Any


@dataclass(frozen=True)
class BatchSize:
    """Marks the setting that is the number of inputs in a batch; `batch_size` of a search applies to it."""


@dataclass(frozen=True)
class Algorithm:
    """A search algorithm with the facts about it. Make one with the decorator `algorithm`.

    Attributes:
        name: The name of the function, with dashes.
        function: Takes a `Problem` and its settings as keyword-only arguments.
        reference: A key of the bibliography; "" if it was never published.
        needs: What it requires: a space whose architectures are vectors of "choices", the "supernet" or the
            "one_shot" network of the space, the "truth" (true performance), or the package "optuna".
        costs: Costs that it minimizes by default, in addition to maximizing the score.
        proxy: The default proxy; "" for the default proxy of the space.
        fidelities: Whether it chooses how long networks are trained in a query search.
        budget: A function of the settings that returns the number of networks to score; None if they do not set it.
        report: The block of the report page that shows its findings: "hnas" or "one_shot"; "" for none.
    """

    name: str
    function: Callable[..., None]
    reference: str = ""
    needs: tuple[Need, ...] = ()
    costs: tuple[str, ...] = ()
    proxy: str = ""
    fidelities: bool = False
    budget: Budget | None = None
    report: str = ""

    def check(self, space: Space[Any]) -> None:
        """Check that it can search a space.

        Raises:
            FirstlightError: If the space or an installed package lacks what it needs.
        """
        if "choices" in self.needs:
            space.choices()
        if "supernet" in self.needs:
            space.supernet()
        if "one_shot" in self.needs:
            space.one_shot()
        if "optuna" in self.needs and find_spec("optuna") is None:
            raise MissingExtraError(f"{self.name}, which uses Optuna,", "optuna")

    @property
    def searches_supernet(self) -> bool:
        """Whether it searches a supernet or a one-shot network, and scores only the networks that it decides on."""
        return "supernet" in self.needs or self.takes_steps

    @property
    def takes_steps(self) -> bool:
        """Whether it takes steps through a one-shot network, which other algorithms can use again."""
        return "one_shot" in self.needs

    @property
    def needs_truth(self) -> bool:
        """Whether it needs to know how well trained networks perform."""
        return "truth" in self.needs

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return summary(self.function)

    @functools.cached_property
    def settings(self) -> dict[str, inspect.Parameter]:
        """The settings by name."""
        return settings_of(self.function)

    @property
    def query_settings(self) -> dict[str, Any]:
        """The settings that have another default in a query search."""
        marks = {name: marked(setting, InQueries) for name, setting in self.settings.items()}
        return {name: mark.value for name, mark in marks.items() if mark is not None}

    @property
    def batch_setting(self) -> str | None:
        """The name of the setting that is the number of inputs in a batch; None if there is none."""
        return next((name for name, setting in self.settings.items() if marked(setting, BatchSize)), None)

    @property
    def full_name(self) -> str:
        """`module:name`, by which others can import it."""
        return f"{module_of(self.function)}:{self.function.__name__}"


Search = Callable[..., None]


@overload
def algorithm(function: Search, /) -> Algorithm: ...


@overload
def algorithm(
    *,
    reference: str = "",
    needs: tuple[Need, ...] = (),
    costs: tuple[str, ...] = (),
    proxy: str = "",
    fidelities: bool = False,
    budget: Budget | None = None,
    report: str = "",
) -> Callable[[Search], Algorithm]: ...


def algorithm(
    function: Search | None = None,
    /,
    *,
    reference: str = "",
    needs: tuple[Need, ...] = (),
    costs: tuple[str, ...] = (),
    proxy: str = "",
    fidelities: bool = False,
    budget: Budget | None = None,
    report: str = "",
) -> Algorithm | Callable[[Search], Algorithm]:
    """Turn a function into a search algorithm. A decorator, with or without parentheses.

    The function takes a `Problem` and returns nothing: the problem records the networks that it scored, and the best of
    them is the result. Its keyword-only arguments are settings, which users write after its name:
    `climb:neighbors=8`. Document each in the `Args:` section of the docstring.

    Args:
        function: The function.
        reference: A key of the bibliography or any other text that says where it was published.
        needs: What it requires: a space whose architectures are vectors of "choices", the "supernet" or the
            "one_shot" network of the space, the "truth" (true performance), or the package "optuna".
        costs: Costs that it minimizes by default, in addition to maximizing the score.
        proxy: The default proxy; "" for the default proxy of the space.
        fidelities: Whether it chooses how long networks are trained in a query search.
        budget: A function of the settings that returns the number of networks to score; None if they do not set it.
        report: The block of the report page that shows its findings: "hnas" or "one_shot"; "" for none.

    Returns:
        The algorithm, which every call accepts in place of a name.

    >>> @firstlight.algorithm
    ... def first(problem, *, count: int = 3):
    ...     problem.score(itertools.islice(problem.space, count))
    >>> small = {"cells": 1, "channels": 4}
    >>> firstlight.search("nasbench201", proxy="params", algorithm=first, skeleton=small, workers=0).scored
    3
    """

    for need in needs:
        if need not in get_args(Need):
            raise UnknownNameError("kind of needs", need, get_args(Need))

    def decorate(function: Search) -> Algorithm:
        check_function("search algorithm", function, "a problem")
        name = function.__name__.replace("_", "-")
        return Algorithm(name, function, reference, needs, costs, proxy, fidelities, budget, report)

    return decorate if function is None else decorate(function)


@dataclass(frozen=True)
class AlgorithmRequest:
    """An algorithm with its settings. Text form: `name` or `name:setting=value:setting=value`.

    Attributes:
        algorithm: The algorithm.
        settings: The settings that differ from their defaults.
        name: The name in the text form: that in the registry, or `module:name`.
        written: The text as the user wrote it. The random numbers of a search depend on it.
    """

    algorithm: Algorithm
    settings: Settings = ()
    name: str = ""
    written: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or self.algorithm.name)
        object.__setattr__(self, "written", self.written or str(self))
        check_settings(self.algorithm.name, self.settings, smallest_values(self.algorithm.settings))

    @classmethod
    def parse(
        cls, given: str | Algorithm, *, batch_size: int | None = None, for_queries: bool = False
    ) -> AlgorithmRequest:
        """Read an algorithm as users give it.

        Args:
            given: A name, `module:name`, either with settings behind it, or an object.
            batch_size: Inputs in a batch, for an algorithm with such a setting, unless its own is written.
            for_queries: Whether the algorithm is used in a query search, where some settings have other defaults.

        Raises:
            UnknownNameError: If there is no algorithm of this name.
            SettingError: If it is not an algorithm, or has no such setting.
        """
        from firstlight.search.algorithms import ALGORITHMS

        name, behind = ALGORITHMS.split(given) if isinstance(given, str) else ("", "")
        found = ALGORITHMS.find(name if isinstance(given, str) else given)
        name = name or ALGORITHMS.name_of(found) or found.full_name
        if batch_size is not None and found.batch_setting and f":{found.batch_setting}=" not in behind:
            behind += f":{found.batch_setting}={batch_size}"
        if for_queries:  # settings that are written come last, and so take precedence
            behind = "".join(f":{setting}={value}" for setting, value in found.query_settings.items()) + behind
        settings = read_settings("algorithm", name, found.settings, _pairs(found, behind))
        return cls(found, settings, name, name + behind)

    def __str__(self) -> str:
        return write_settings(self.name, self.settings)

    @property
    def all_settings(self) -> dict[str, Any]:
        """All settings by name, including those that have their default."""
        defaults = {name: setting.default for name, setting in self.algorithm.settings.items()}
        return defaults | dict(self.settings)

    @property
    def budget(self) -> int | None:
        """How many networks it scores with these settings; None if it goes on as long as it may."""
        return None if self.algorithm.budget is None else self.algorithm.budget(self.all_settings)

    def default_proxy(self, space: Space[Any]) -> str:
        """Return the proxy that networks are scored by unless the user names one."""
        return self.algorithm.proxy or space.proxy

    def run(self, problem: Problem) -> None:
        """Let the algorithm search. The problem knows afterwards what it has scored."""
        try:
            self.algorithm.function(problem, **dict(self.settings))
        except FirstlightError:
            raise
        except Exception as error:
            error.add_note(f"The search algorithm {self.name!r} raised this error. What it has scored is stored.")
            raise


def _pairs(found: Algorithm, behind: str) -> list[str]:
    """Split settings at the colons between them: an architecture may contain colons, and a proxy its own settings."""
    pairs: list[str] = []
    for part in re.split(r":(?=\w+=)", behind[1:]) if behind else ():
        if part.partition("=")[0] in found.settings or not pairs or not _takes_text(found, pairs[-1]):
            pairs.append(part)
        else:
            pairs[-1] += f":{part}"
    return pairs


def _takes_text(found: Algorithm, pair: str) -> bool:
    """Return whether a setting may be any text, and not only one of a few names."""
    setting = found.settings.get(pair.partition("=")[0])
    return setting is not None and isinstance(setting.default, str) and not choices(setting)
