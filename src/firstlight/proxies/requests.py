"""How proxies are asked for: by name with settings, by `module:name`, or as objects."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

from firstlight.core.errors import SettingError, UnsupportedError
from firstlight.core.importing import import_named
from firstlight.core.settings import Settings, check_settings, read_settings, write_settings
from firstlight.probe import Probe
from firstlight.proxies import PROXIES
from firstlight.proxies.base import ANY_DATA, Proxies, Proxy, Score

# Settings by which proxies say how many samples of the batch they look at; by default they make do with what there is
SAMPLE_COUNTS = ("images", "samples")


def find_proxy(name: str) -> Proxy:
    """Return the proxy of this name: built in, from another package, or `module:name`."""
    if ":" not in name or name in PROXIES:
        return PROXIES[name]
    entry = import_named(name)
    if not isinstance(entry, Proxy):
        raise not_a_proxy(name)
    return entry


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
        name, pairs = split_name(text)
        refuse_ensemble(name)
        found = find_proxy(name)
        written = frozenset(pair.partition("=")[0] for pair in pairs)
        return cls(found, read_settings("proxy", name, found.settings, pairs), written, name)

    @classmethod
    def of(cls, proxy: Proxy) -> ProxyRequest:
        """A proxy as an object: by its name in the registry, or else by its full one, which tells it from others."""
        registered = proxy.name in PROXIES and PROXIES[proxy.name] is proxy
        return cls(proxy, name=proxy.name if registered else proxy.full_name)

    def after_warm_up(self, data_kind: str) -> ProxyRequest:
        """With the settings of its authors for warmed-up weights, unless one of their kind is written."""
        by_kind = self.proxy.after_warm_up
        usual = by_kind.get(data_kind, by_kind.get(ANY_DATA, ()))
        if not usual or self.written & {name for name, _ in usual}:
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
    name, *pairs = text.strip().split(":")
    if name and name not in PROXIES and pairs and pairs[0] and "=" not in pairs[0]:
        name = f"{name}:{pairs.pop(0)}"
    return name, pairs


def parse_requests(proxies: Proxies, *, plain: bool = False) -> list[ProxyRequest]:
    """Proxies as users name them: one or several, by name (separated by commas), `all`, or as objects.

    Objects go by their full names, or by `plain` ones where nothing is kept that others might take for theirs.
    """
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
    return SettingError(
        f'{entry!r} is not a proxy. Write the decorator @firstlight.proxy(reference="") above a function of your own, '
        f"and give the object or its module:name; or name one of {', '.join(PROXIES)}."
    )


def read_requests(proxies: Proxies, warmed: str | None = None) -> list[ProxyRequest]:
    """The same with those that are to be told beside them; `warmed` is the kind of data of a warm-up."""
    requests = parse_requests(proxies)
    return with_companions(requests if warmed is None else [entry.after_warm_up(warmed) for entry in requests])


def with_companions(requests: Iterable[ProxyRequest]) -> list[ProxyRequest]:
    """And those that are to be told beside them, each once."""
    asked = list(requests)
    beside = [ProxyRequest.parse(text) for request in asked for text in request.proxy.beside]
    return list(dict.fromkeys([*asked, *beside]))


def refuse_ensemble(name: str) -> None:
    """Where a score of one network is wanted, say so."""
    from firstlight.proxies.ensembles import AGGREGATIONS, NAMED

    if any(f"{known}(" in name or known == name.strip() for known in (*AGGREGATIONS, *NAMED)):
        raise SettingError(
            f"{name!r} is an ensemble, which judges networks beside each other and has no score for one alone; only "
            "proxies are taken here. Order by it with `firstlight rank --by`, look for the best with `firstlight "
            "search --proxy`, or have one chosen and judged with `firstlight correlate --ensemble`."
        )
