"""What a proxy is, and what it answers."""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from firstlight.core.errors import DivergedError, FirstlightError, SettingError, UnsupportedError, is_out_of_memory
from firstlight.core.importing import import_named, module_of, name_of
from firstlight.core.settings import Settings, settings_of
from firstlight.probe import Probe
from firstlight.probe.cost import Cost

# In `Proxy.after_warm_up`: all kinds of data that are not named
ANY_DATA = "*"
Status = Literal["ok", "non_finite", "unsupported", "out_of_memory", "failed"]


class Parts:
    """What a proxy's formula returns: its value, the named parts it was made of, and a remark if one is due."""

    def __init__(self, value: float, *, note: str = "", **parts: float) -> None:
        self.value = float(value)
        self.note = note
        self.parts = {name: float(part) for name, part in parts.items()}


@dataclass(frozen=True)
class Score:
    """A proxy's answer about one network. `value` is NaN unless `status` is "ok"; there are no sentinel numbers."""

    value: float
    parts: Mapping[str, float] = field(default_factory=dict)
    status: Status = "ok"
    note: str = ""
    seconds: float = 0.0
    higher_is_better: bool = True

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    @property
    def utility(self) -> float:
        """The value turned so that higher is better, whatever the proxy's direction; NaN unless `ok`."""
        if not self.ok:
            return math.nan
        return self.value if self.higher_is_better else -self.value

    @classmethod
    def without_value(cls, status: Status, note: str, seconds: float = 0.0) -> Score:
        return cls(math.nan, status=status, note=note, seconds=seconds)

    @classmethod
    def of_parts(cls, found: Parts) -> Score:
        """What a formula returned; a value that is no number is not `ok`."""
        if not math.isfinite(found.value):
            return cls(math.nan, found.parts, "non_finite", found.note or f"the formula gave {found.value}")
        return cls(found.value, found.parts, "ok", found.note)

    @classmethod
    def of_error(cls, error: Exception) -> Score:
        """What there is in place of a value; errors of our own explain themselves, others are told by their kind."""
        if isinstance(error, UnsupportedError):
            return cls.without_value("unsupported", str(error))
        if isinstance(error, DivergedError):
            return cls.without_value("non_finite", str(error))
        note = str(error) if isinstance(error, FirstlightError) else f"{type(error).__name__}: {error}"
        return cls.without_value("out_of_memory" if is_out_of_memory(error) else "failed", note)

    def to_dict(self) -> dict[str, Any]:
        """Plain values; numbers that JSON cannot hold become null."""
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
    """What is known of one network: its scores by the text of the request, and its cost.

    The cost is None where there is nothing to count: the network cannot be built or run, or its worker was lost.
    """

    architecture: str
    scores: dict[str, Score]
    cost: Cost | None
    reused: bool = False

    @property
    def seconds(self) -> float:
        """Of computing, now or when the scores were new."""
        return math.fsum(score.seconds for score in self.scores.values())

    def to_dict(self) -> dict[str, Any]:
        return {
            "architecture": self.architecture,
            "scores": {name: score.to_dict() for name, score in self.scores.items()},
            "cost": None if self.cost is None else dataclasses.asdict(self.cost),
        }


@dataclass(frozen=True)
class Proxy:
    """A formula with the facts about it. Call it with a `Probe`."""

    name: str
    function: Callable[..., Parts]
    reference: str
    higher_is_better: bool
    needs_data: bool
    needs_labels: bool
    revision: int
    batch_size: int = 1
    batches: int = 1
    fewest_batches: int = 1
    expects: tuple[Hashable, ...] = ()
    after_warm_up: Mapping[str, Settings] = field(default_factory=dict, hash=False)
    beside: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        return (inspect.getdoc(self.function) or "").split("\n", 1)[0]

    @property
    def settings(self) -> dict[str, inspect.Parameter]:
        return settings_of(self.function)

    @property
    def full_name(self) -> str:
        """`module:name`, by which others can import it."""
        return f"{module_of(self.function)}:{self.name}"

    def __call__(self, probe: Probe, **settings: Any) -> Parts:
        return self.function(probe, **settings)

    def __reduce__(self) -> tuple[Callable[[str], Any], tuple[str]]:
        """Functions do not travel to other processes: there the proxy is found by its name, or imported."""
        from firstlight.proxies import PROXIES
        from firstlight.proxies.requests import find_proxy

        if PROXIES.is_built_in(self.name) and PROXIES[self.name] is self:
            return find_proxy, (self.name,)
        address = name_of(self)
        if address is None:
            raise SettingError(
                f"Worker processes cannot find the proxy {self.name!r} again: no module has it among its names. Put it "
                "at the top level of a module that they can import, or stay in this process with workers=0 "
                "(--workers 0)."
            )
        return import_named, (address,)


# As users give them: one or several, by name (separated by commas) or as objects
Proxies = str | Proxy | Sequence[str | Proxy]


def proxy(
    *,
    reference: str,
    higher_is_better: bool = True,
    needs_data: bool = True,
    needs_labels: bool = False,
    revision: int = 1,
    batch_size: int = 1,
    batches: int = 1,
    fewest_batches: int = 1,
    expects: tuple[Hashable, ...] = (),
    after_warm_up: Mapping[str, Settings] | None = None,
    beside: tuple[str, ...] = (),
) -> Callable[[Callable[..., Parts]], Proxy]:
    """Make a proxy of a formula `f(probe, *, setting=default, ...) -> Parts`; its name is the function's.

    Raise `revision` when the formula's values change, so that stored scores of the old one are not reused.
    `batch_size` and `batches` are what it is given unless the user says otherwise; less than `fewest_batches` is
    refused. `expects` are quantities that others can measure for it along the way (see `Probe.expected`).
    `after_warm_up` are settings that its authors take for trained weights, by the kind of data that networks take, with
    `"*"` for all other kinds. `beside` names
    proxies that are always asked and told together with it, since it is to be compared with them.
    """

    def decorate(function: Callable[..., Parts]) -> Proxy:
        return Proxy(
            function.__name__,
            function,
            reference,
            higher_is_better,
            needs_data,
            needs_labels,
            revision,
            batch_size,
            batches,
            fewest_batches,
            expects,
            after_warm_up or {},
            beside,
        )

    return decorate


def _finite_or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
