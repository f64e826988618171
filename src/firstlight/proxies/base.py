"""What a proxy is, what it answers, and how one is asked for by name."""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from firstlight.errors import DivergedError, FirstlightError, SettingError, UnsupportedError, is_out_of_memory
from firstlight.importing import import_named, module_of, name_of
from firstlight.probe import Probe
from firstlight.settings import Settings, check_settings, read_settings, settings_of, write_settings

# Settings by which proxies say how many samples of the batch they look at; by default they make do with what there is
SAMPLE_COUNTS = ("images", "samples")
# What the networks of a space look at
Shown = Literal["images", "clicks"]
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

    def as_json(self) -> dict[str, Any]:
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
    after_warm_up: Mapping[Shown, Settings] = field(default_factory=dict, hash=False)
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
        from firstlight.proxies import PROXIES, find_proxy

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
    after_warm_up: Mapping[Shown, Settings] | None = None,
    beside: tuple[str, ...] = (),
) -> Callable[[Callable[..., Parts]], Proxy]:
    """Make a proxy of a formula `f(probe, *, setting=default, ...) -> Parts`; its name is the function's.

    Raise `revision` when the formula's values change, so that stored scores of the old one are not reused.
    `batch_size` and `batches` are what it is given unless the user says otherwise; less than `fewest_batches` is
    refused. `expects` are quantities that others can measure for it along the way (see `Probe.expected`).
    `after_warm_up` are settings that its authors take for trained weights, by what networks are shown. `beside` names
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


@dataclass(frozen=True)
class ProxyRequest:
    """A proxy with its settings. Text form: `name` or `name:setting=value:setting=value`.

    `written` are the settings that the user named, also those that are what they would have been anyway. `name` is what
    it is asked for by: its own, or `module:name` of one that is not in the registry.
    """

    proxy: Proxy
    settings: Settings = ()
    written: frozenset[str] = field(default=frozenset(), compare=False)
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or self.proxy.name)
        check_settings(self.proxy.name, self.settings, {"batches": self.proxy.fewest_batches})

    @classmethod
    def parse(cls, text: str) -> ProxyRequest:
        from firstlight.proxies import find_proxy

        name, pairs = split_name(text)
        refuse_ensemble(name)
        found = find_proxy(name)
        written = frozenset(pair.partition("=")[0] for pair in pairs)
        return cls(found, read_settings("proxy", name, found.settings, pairs), written, name)

    @classmethod
    def of(cls, proxy: Proxy) -> ProxyRequest:
        """A proxy as an object: by its name in the registry, or else by its full one, which tells it from others."""
        from firstlight.proxies import PROXIES

        registered = proxy.name in PROXIES and PROXIES[proxy.name] is proxy
        return cls(proxy, name=proxy.name if registered else proxy.full_name)

    def after_warm_up(self, shown: Shown) -> ProxyRequest:
        """With the settings of its authors for warmed-up weights, unless one of their kind is written."""
        usual = self.proxy.after_warm_up.get(shown, ())
        if not usual or self.written & {name for name, _ in self.proxy.after_warm_up["images"]}:
            return self
        defaults = {name: parameter.default for name, parameter in self.proxy.settings.items()}
        settings = dict(self.settings) | {name: value for name, value in usual if value != defaults[name]}
        return replace(self, settings=tuple(sorted(settings.items())))

    def __str__(self) -> str:
        return write_settings(self.name, self.settings)

    def measure(self, probe: Probe) -> Score:
        """The score; whatever goes wrong becomes its status and note."""
        start = time.perf_counter()
        score = self._answer(probe)
        seconds = time.perf_counter() - start
        return replace(score, seconds=seconds, higher_is_better=self.proxy.higher_is_better)

    @property
    def batches(self) -> int:
        found: int = dict(self.settings).get("batches", self.proxy.batches)
        return found

    @property
    def samples(self) -> int:
        """How many samples a batch must hold to give it what its settings ask for."""
        return max((value for name, value in self.settings if name in SAMPLE_COUNTS), default=1)

    def _answer(self, probe: Probe) -> Score:
        try:
            if self.proxy.needs_data and self.samples > (given := len(probe.batches[0])):
                raise UnsupportedError(
                    f"{self} asks for {self.samples} samples and the batch holds {given}. Pass a larger batch, or "
                    f"--batch-size {self.samples} on the command line."
                )
            outcome = self.proxy(probe, **dict(self.settings))
        except Exception as error:  # whatever a formula, or the user's model or loss, does
            return Score.of_error(error)
        return Score.of_parts(outcome)


def measure_all(requests: Collection[ProxyRequest], probe: Probe) -> dict[str, Score]:
    """All scores of one network; what several proxies need is measured once, and together where that is cheaper.

    One that fails does not take the others with it.
    """
    probe.expected.update(*(request.proxy.expects for request in requests))  # so that one pass can serve several
    return {str(request): request.measure(probe) for request in requests}


def split_name(text: str) -> tuple[str, list[str]]:
    """A name, which may be `module:name`, and what is written behind it: settings have an equals sign."""
    from firstlight.proxies import PROXIES

    name, *pairs = text.strip().split(":")
    if name and name not in PROXIES and pairs and pairs[0] and "=" not in pairs[0]:
        name = f"{name}:{pairs.pop(0)}"
    return name, pairs


def parse_requests(proxies: Proxies, *, plain: bool = False) -> list[ProxyRequest]:
    """Proxies as users name them: one or several, by name (separated by commas), `all`, or as objects.

    Objects go by their full names, or by `plain` ones where nothing is kept that others might take for theirs.
    """
    from firstlight.proxies import PROXIES

    requests = []
    for item in proxies if isinstance(proxies, Iterable) and not isinstance(proxies, str) else [proxies]:
        if isinstance(item, Proxy):
            requests.append(ProxyRequest(item) if plain else ProxyRequest.of(item))
        elif not isinstance(item, str):
            raise not_a_proxy(item)
        elif item.strip() == "all":
            requests += [ProxyRequest(entry) for entry in PROXIES.values()]
        else:
            refuse_ensemble(item)
            requests += [ProxyRequest.parse(text) for text in item.split(",") if text.strip()]
    if not requests:
        raise SettingError(f"No proxy was named. Known: {', '.join(PROXIES)}.")
    return requests


def not_a_proxy(entry: object) -> SettingError:
    from firstlight.proxies import PROXIES

    return SettingError(
        f'{entry!r} is not a proxy. Write the decorator @firstlight.proxy(reference="") above a function of your own, '
        f"and give the object or its module:name; or name one of {', '.join(PROXIES)}."
    )


def read_requests(proxies: Proxies, warmed: Shown | None = None) -> list[ProxyRequest]:
    """The same with those that are to be told beside them; `warmed` is what networks are shown after a warm-up."""
    requests = parse_requests(proxies)
    return with_companions(requests if warmed is None else [entry.after_warm_up(warmed) for entry in requests])


def with_companions(requests: Iterable[ProxyRequest]) -> list[ProxyRequest]:
    """And those that are to be told beside them, each once."""
    asked = list(requests)
    beside = [ProxyRequest.parse(text) for request in asked for text in request.proxy.beside]
    return list(dict.fromkeys([*asked, *beside]))


def refuse_ensemble(name: str) -> None:
    """Where a score of one network is wanted, say so."""
    from firstlight.algorithms.ensembles import AGGREGATIONS, NAMED

    if any(f"{known}(" in name or known == name.strip() for known in (*AGGREGATIONS, *NAMED)):
        raise SettingError(
            f"{name!r} is an ensemble, which judges networks beside each other and has no score for one alone; only "
            "proxies are taken here. Order by it with `firstlight rank --by`, look for the best with `firstlight "
            "search --proxy`, or have one chosen and judged with `firstlight correlate --ensemble`."
        )


def _finite_or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
