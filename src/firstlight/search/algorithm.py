"""What a search algorithm is: a plain function of a `Problem`, which remembers the best network it has scored."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

from firstlight.core.errors import MissingExtraError
from firstlight.core.settings import Settings, check_settings, choices, read_settings, settings_of, write_settings
from firstlight.search.problem import Problem
from firstlight.spaces.base import Space

Need = Literal["choices", "supernet", "one_shot", "truth", "optuna"]


@dataclass(frozen=True)
class Algorithm:
    name: str
    function: Callable[..., None]
    reference: str = ""
    costs: tuple[str, ...] = ()  # what it keeps low besides, unless told otherwise
    needs: tuple[Need, ...] = ()  # of the space, of what is installed, or the truth about networks
    proxy: str = ""  # what networks are judged by unless told otherwise; else what is usual in the space

    def check(self, space: Space[Any]) -> None:
        """Say before any work what is missing to search this space."""
        if "choices" in self.needs:
            space.choices()
        if "supernet" in self.needs:
            space.supernet()
        if "one_shot" in self.needs:
            space.one_shot()
        if "optuna" in self.needs and find_spec("optuna") is None:
            raise MissingExtraError(f"{self.name}, which is done by Optuna,", "optuna")

    @property
    def decides_by_itself(self) -> bool:
        """Whether it looks at something else than networks, and scores only those that it has chosen."""
        return "supernet" in self.needs or "one_shot" in self.needs

    @property
    def asks_truth(self) -> bool:
        """Whether it is of no use without knowing what trained networks reach."""
        return "truth" in self.needs

    @property
    def sees_batches(self) -> bool:
        """Whether `batch`, among its settings, is how many inputs its steps, or proxies that choose, are shown."""
        return "one_shot" in self.needs or self.asks_truth

    @property
    def summary(self) -> str:
        return (inspect.getdoc(self.function) or "").split("\n", 1)[0]

    @property
    def settings(self) -> dict[str, inspect.Parameter]:
        return settings_of(self.function)


def algorithm(
    *, reference: str = "", costs: tuple[str, ...] = (), needs: tuple[Need, ...] = (), proxy: str = ""
) -> Callable[[Callable[..., None]], Algorithm]:
    """Register a function `f(problem, *, setting=default, ...)` as a search algorithm under its own name."""
    return lambda function: Algorithm(function.__name__.replace("_", "-"), function, reference, costs, needs, proxy)


@dataclass(frozen=True)
class AlgorithmRequest:
    """An algorithm with its settings. Text form: `name` or `name:setting=value:setting=value`."""

    algorithm: Algorithm
    settings: Settings = ()

    def __post_init__(self) -> None:
        check_settings(self.algorithm.name, self.settings)

    @classmethod
    def parse(cls, text: str) -> AlgorithmRequest:
        from firstlight.search.algorithms import ALGORITHMS

        name, _, rest = text.strip().partition(":")
        found = ALGORITHMS[name]
        pairs: list[str] = []
        # an architecture among the settings may have colons, and a proxy settings of its own
        for part in re.split(r":(?=\w+=)", rest) if rest else ():
            if part.partition("=")[0] in found.settings or not pairs or not _takes_text(found, pairs[-1]):
                pairs.append(part)
            else:
                pairs[-1] += f":{part}"
        return cls(found, read_settings("algorithm", name, found.settings, pairs))

    def __str__(self) -> str:
        return write_settings(self.algorithm.name, self.settings)

    def usual_proxy(self, space: Space[Any]) -> str:
        return self.algorithm.proxy or space.proxy

    def run(self, problem: Problem) -> None:
        self.algorithm.function(problem, **dict(self.settings))


def _takes_text(found: Algorithm, pair: str) -> bool:
    """Whether a setting is any text, and not one of a few names."""
    setting = found.settings.get(pair.partition("=")[0])
    return setting is not None and isinstance(setting.default, str) and not choices(setting)


def with_batches_of(size: int | None, text: str) -> str:
    """The text of a request whose steps, or proxies that choose, see batches of this size unless it names another."""
    sees_batches = AlgorithmRequest.parse(text).algorithm.sees_batches
    return text if size is None or not sees_batches or ":batch=" in text else f"{text}:batch={size}"
