"""What a proxy is, and what it answers."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import numbers
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args, overload

from firstlight.core.errors import (
    DivergedError,
    FirstlightError,
    SettingError,
    UnknownNameError,
    UnsupportedError,
    is_out_of_memory,
)
from firstlight.core.importing import import_named, module_of, name_of
from firstlight.core.settings import check_function, marked, settings_of, summary
from firstlight.probe import Probe
from firstlight.probe.cost import Cost

Status = Literal["ok", "non_finite", "unsupported", "out_of_memory", "failed"]
# What a proxy needs besides the network: nothing but the shape of an input, inputs, or inputs with labels.
Needs = Literal["nothing", "inputs", "labels"]


class Parts:
    """The value of a proxy with its named parts, for proxies that return more than a number.

    Args:
        value: The value.
        note: A remark on this value, shown next to it.
        **parts: Numbers that the value consists of, by name.

    >>> found = firstlight.Parts(5.0, note="of two layers", first=2.0, second=3.0)
    >>> found.parts
    {'first': 2.0, 'second': 3.0}
    """

    def __init__(self, value: float, *, note: str = "", **parts: float) -> None:
        self.value = float(value)
        self.note = note
        self.parts = {name: float(part) for name, part in parts.items()}


@dataclass(frozen=True)
class Score:
    """The score of a network by a proxy. There are no sentinel values: if there is no value, `status` says why.

    Attributes:
        value: The value of the formula; NaN unless `status` is "ok".
        parts: The named parts of the value, if the proxy returns any.
        status: "ok", "non_finite" (the formula returned infinity or NaN), "unsupported" (the proxy is not defined for
            this network), "out_of_memory" or "failed".
        note: A remark, or the reason for a missing value.
        seconds: How long the measurement took.
        higher_is_better: The direction of the proxy.

    >>> firstlight.Score(2.0, higher_is_better=False).utility
    -2.0
    """

    value: float
    parts: Mapping[str, float] = field(default_factory=dict)
    status: Status = "ok"
    note: str = ""
    seconds: float = 0.0
    higher_is_better: bool = True

    @property
    def ok(self) -> bool:
        """Whether there is a value."""
        return self.status == "ok"

    @property
    def reason(self) -> str:
        """Why there is no value: the status and the note."""
        return f"{self.status} ({self.note})"

    @property
    def utility(self) -> float:
        """The value, negated if lower is better, so that a search can maximize it; NaN unless `ok`."""
        if not self.ok:
            return math.nan
        return self.value if self.higher_is_better else -self.value

    @classmethod
    def without_value(cls, status: Status, note: str, seconds: float = 0.0) -> Score:
        """Return a score that has no value."""
        return cls(math.nan, status=status, note=note, seconds=seconds)

    @classmethod
    def of_parts(cls, found: Parts) -> Score:
        """Return the score of what a formula returned; a value that is not finite has the status "non_finite"."""
        if not math.isfinite(found.value):
            return cls(math.nan, found.parts, "non_finite", found.note or f"the formula gave {found.value}")
        return cls(found.value, found.parts, "ok", found.note)

    @classmethod
    def of_error(cls, error: Exception) -> Score:
        """Return the score of a formula that raised. Errors of Firstlight explain themselves, others get their type."""
        if isinstance(error, UnsupportedError):
            return cls.without_value("unsupported", str(error))
        if isinstance(error, DivergedError):
            return cls.without_value("non_finite", str(error))
        note = str(error) if isinstance(error, FirstlightError) else f"{type(error).__name__}: {error}"
        return cls.without_value("out_of_memory" if is_out_of_memory(error) else "failed", note)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; numbers that JSON cannot hold become None."""
        parts = {name: _finite_or_none(part) for name, part in self.parts.items()}
        return {
            "value": _finite_or_none(self.value),
            "parts": parts,
            "status": self.status,
            "note": self.note,
            "seconds": _finite_or_none(self.seconds),
            "higher_is_better": self.higher_is_better,
        }


@dataclass(frozen=True)
class NetworkScore:
    """What is known about one network.

    Attributes:
        architecture: The text of its architecture, or the name of a model.
        scores: Its scores by the text of the request.
        cost: Its parameters and MACs; None if the network cannot be built or run, or if its worker was lost.
        reused: Whether all scores come from the store.
    """

    architecture: str
    scores: dict[str, Score]
    cost: Cost | None
    reused: bool = False

    @property
    def seconds(self) -> float:
        """How long the scores took to compute, now or earlier."""
        return math.fsum(score.seconds for score in self.scores.values())

    def to_dict(self) -> dict[str, Any]:
        return {
            "architecture": self.architecture,
            "scores": {name: score.to_dict() for name, score in self.scores.items()},
            "cost": None if self.cost is None else dataclasses.asdict(self.cost),
        }


@dataclass(frozen=True)
class AfterWarmUp:
    """Marks a setting that has another default for warmed-up weights: `rate: Annotated[float, AfterWarmUp(2.0)] = 1.0`.

    Attributes:
        value: The default for warmed-up weights.
        by_data: Other defaults for some kinds of data, such as "images".
    """

    value: Any
    by_data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class InSpaces:
    """Marks a setting that changes the defaults of other settings in some spaces.

    `variant: Annotated[Literal["paper", "official"], InSpaces({"official": {"darts": {"images": 32}}})] = "paper"`

    Attributes:
        defaults: The other settings by the value of this one and the name of the space.
    """

    defaults: Mapping[Any, Mapping[str, Mapping[str, Any]]]


@dataclass(frozen=True)
class Proxy:
    """A formula that scores an untrained network, with the facts about it. Make one with the decorator `proxy`.

    Attributes:
        name: The name of the function.
        function: The formula, which takes a `Probe` and its settings as keyword-only arguments.
        reference: A key of the bibliography; "" if it was never published.
        higher_is_better: The direction.
        needs: What it needs in addition to the network: "nothing" (except the shape of an input), "inputs", or "labels"
            (inputs with labels).
        revision: The version of the formula's values; stored scores of another revision are not reused.
        values_since: The oldest revision whose stored values are still right. What had no value then is measured again.
            Default: `revision`.
        batch_size: Default number of inputs in a batch.
        expects: Quantities that others can measure for it along the way (see `Probe.expected`).
        beside: Names of proxies that are always reported together with it.
    """

    name: str
    function: Callable[..., Parts | float]
    reference: str = ""
    higher_is_better: bool = True
    needs: Needs = "inputs"
    revision: int = 1
    batch_size: int = 1
    expects: tuple[Hashable, ...] = ()
    beside: tuple[str, ...] = ()
    values_since: int | None = None

    @property
    def needs_data(self) -> bool:
        """Whether the values of the inputs matter."""
        return self.needs != "nothing"

    @property
    def needs_labels(self) -> bool:
        """Whether it needs labels."""
        return self.needs == "labels"

    @functools.cached_property
    def num_batches(self) -> int:
        """Number of batches unless the user says otherwise: the default of its setting `batches`, if it has one."""
        return int(self.settings["batches"].default) if "batches" in self.settings else 1

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return summary(self.function)

    @functools.cached_property
    def settings(self) -> dict[str, inspect.Parameter]:
        """The settings by name."""
        return settings_of(self.function)

    def after_warm_up(self, data_kind: str) -> dict[str, Any]:
        """Return the defaults of settings for weights that were warmed up on a kind of data, by name."""
        marks = {name: marked(setting, AfterWarmUp) for name, setting in self.settings.items()}
        return {name: mark.by_data.get(data_kind, mark.value) for name, mark in marks.items() if mark is not None}

    def for_space(self, settings: Mapping[str, Any], space: str) -> dict[str, Any]:
        """Return the defaults of other settings that these settings have in a space, by name."""
        found: dict[str, Any] = {}
        for name, value in settings.items():
            mark = marked(self.settings[name], InSpaces)
            found |= {} if mark is None else mark.defaults.get(value, {}).get(space, {})
        return found

    @property
    def full_name(self) -> str:
        """`module:name`, by which others can import it."""
        return f"{module_of(self.function)}:{self.name}"

    def __call__(self, probe: Probe, **settings: Any) -> Parts:
        """Evaluate the formula.

        Raises:
            SettingError: If it returns neither a number nor `Parts`.
        """
        found: object = self.function(probe, **settings)
        if isinstance(found, Parts):
            return found
        if not isinstance(found, bool) and isinstance(found, numbers.Real):
            return Parts(float(found))
        raise SettingError(
            f"The proxy {self.name!r} returned {_described(found)}. It must return a float or firstlight.Parts."
        )

    @functools.cached_property
    def is_built_in(self) -> bool:
        """Whether it is one of Firstlight's own."""
        from firstlight.proxies import PROXIES

        return PROXIES.is_built_in(self.name) and PROXIES[self.name] is self

    def __reduce__(self) -> tuple[Callable[[str], Any], tuple[str]]:
        """Functions cannot be sent to other processes: there the proxy is found by its name, or imported."""
        from firstlight.proxies.requests import find_proxy

        if self.is_built_in:
            return find_proxy, (self.name,)
        address = name_of(self)
        if address is None:
            raise SettingError(
                f"Worker processes cannot import the proxy {self.name!r}, because it is not at the top level of a "
                "module. Define it at the top level of a module that they can import, or run everything in this "
                "process with workers=0 (--workers 0)."
            )
        return import_named, (address,)


# As users give them: one or several, by name (separated by commas) or as objects.
Proxies = str | Proxy | Sequence[str | Proxy]
Formula = Callable[..., Parts | float]


@overload
def proxy(function: Formula, /) -> Proxy: ...


@overload
def proxy(
    *,
    reference: str = "",
    higher_is_better: bool = True,
    needs: Needs = "inputs",
    revision: int = 1,
    batch_size: int = 1,
    expects: tuple[Hashable, ...] = (),
    beside: tuple[str, ...] = (),
) -> Callable[[Formula], Proxy]: ...


def proxy(
    function: Formula | None = None,
    /,
    *,
    reference: str = "",
    higher_is_better: bool = True,
    needs: Needs = "inputs",
    revision: int = 1,
    batch_size: int = 1,
    expects: tuple[Hashable, ...] = (),
    beside: tuple[str, ...] = (),
) -> Proxy | Callable[[Formula], Proxy]:
    """Turn a formula into a proxy. A decorator, with or without parentheses.

    The function takes a `Probe` and returns a number or `Parts`. Its keyword-only arguments are settings, which users
    write after its name: `mine:scale=2`. A setting `batches` is the number of batches that it uses.

    Args:
        function: The formula.
        reference: A key of the bibliography or any other text that says where the formula was published.
        higher_is_better: Whether higher values are better.
        needs: What it needs in addition to the network: "nothing" (except the shape of an input), "inputs", or "labels"
            (inputs with labels).
        revision: Increase it when the values of the formula change, so that stored scores are not reused.
        batch_size: Default number of inputs in a batch.
        expects: Quantities that others can measure for it along the way (see `Probe.expected`).
        beside: Names of proxies that are always reported together with it.

    Returns:
        The proxy, which every call accepts in place of a name.

    >>> @firstlight.proxy
    ... def width(probe):
    ...     return max(parameter.shape[0] for parameter in probe.model.parameters())
    >>> firstlight.score(torch.nn.Linear(4, 7), torch.zeros(1, 4), width)["width"].value
    7.0
    """

    if needs not in get_args(Needs):
        raise UnknownNameError("kind of needs", needs, get_args(Needs))
    if not isinstance(higher_is_better, bool):
        raise SettingError(f"higher_is_better is {higher_is_better!r}; give True or False.")
    for name, number in (("revision", revision), ("batch_size", batch_size)):
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            raise SettingError(f"{name} is {number!r}; it must be a whole number of 1 or more.")

    def decorate(function: Formula) -> Proxy:
        check_function("proxy", function, "a probe")
        return Proxy(
            function.__name__,
            function,
            reference,
            higher_is_better,
            needs,
            revision,
            batch_size,
            expects,
            beside,
        )

    return decorate if function is None else decorate(function)


def values_since(revision: int) -> Callable[[Proxy], Proxy]:
    """Keep stored values of earlier revisions of a proxy; only what had no value is measured again.

    A decorator above `proxy`.

    Args:
        revision: The oldest revision whose stored values are still right.
    """
    return lambda proxy: replace(proxy, values_since=revision)


def _described(value: object) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"


def _finite_or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
