"""How proxies are asked for: by name with settings, by `module:name`, or as objects."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from firstlight.core.errors import SettingError, UnsupportedError
from firstlight.core.settings import Settings, check_settings, read_settings, smallest_values, write_settings
from firstlight.core.wording import enumerated
from firstlight.probe import Probe
from firstlight.probe.observe import broken_weights
from firstlight.proxies import PROXIES
from firstlight.proxies.base import Proxies, Proxy, Score

ALL = "all"
# Settings that are the number of samples of the batch that a proxy looks at; by default it uses what there is.
SAMPLE_COUNTS = ("images", "samples")


def find_proxy(given: str | Proxy) -> Proxy:
    """Return the proxy that a user means: a name, `module:name`, or an object."""
    return PROXIES.find(given)


@dataclass(frozen=True)
class ProxyRequest:
    """A proxy with its settings. Text form: `name` or `name:setting=value:setting=value`.

    Attributes:
        proxy: The proxy.
        settings: The settings that differ from their defaults.
        written: The settings that the user wrote, including those that have their default value.
        name: The name in the text form: that in the registry, or `module:name`.
        brought_by: The proxy that this one is reported with; "" if it was asked for.
    """

    proxy: Proxy
    settings: Settings = ()
    written: frozenset[str] = field(default=frozenset(), compare=False)
    name: str = ""
    brought_by: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or self.proxy.name)
        check_settings(self.proxy.name, self.settings, smallest_values(self.proxy.settings))

    @classmethod
    def parse(cls, text: str) -> ProxyRequest:
        """Read the text form."""
        name, behind = PROXIES.split(text)
        refuse_ensemble(name)
        found = find_proxy(name)
        pairs = behind[1:].split(":") if behind else []
        written = frozenset(pair.partition("=")[0] for pair in pairs)
        return cls(found, read_settings("proxy", name, found.settings, pairs), written, name)

    @classmethod
    def of(cls, proxy: Proxy) -> ProxyRequest:
        """Return the request for an object, under its name in the registry or else under `module:name`."""
        return cls(proxy, name=PROXIES.name_of(proxy) or proxy.full_name)

    def after_warm_up(self, data_kind: str) -> ProxyRequest:
        """Return the request with the settings for warmed-up weights, except for those that the user wrote."""
        return self._with(self.proxy.after_warm_up(data_kind))

    def for_space(self, space: str) -> ProxyRequest:
        """Return the request with the settings that it has in a space, except for those that the user wrote."""
        return self._with(self.proxy.for_space(dict(self.settings), space))

    def _with(self, usual: Mapping[str, Any]) -> ProxyRequest:
        """Return the request with other defaults. Settings that the user wrote keep their values."""
        defaults = {name: parameter.default for name, parameter in self.proxy.settings.items()}
        changed = {n: value for n, value in usual.items() if n not in self.written and value != defaults[n]}
        settings = tuple(sorted((dict(self.settings) | changed).items()))
        return replace(self, settings=settings, written=self.written | usual.keys())

    def __str__(self) -> str:
        return write_settings(self.name, self.settings)

    def measure(self, probe: Probe) -> Score:
        """Return the score. Whatever goes wrong becomes its status and note."""
        start = time.perf_counter()
        score = self._answer(probe)
        seconds = time.perf_counter() - start
        return replace(score, seconds=seconds, higher_is_better=self.proxy.higher_is_better)

    @property
    def num_batches(self) -> int:
        """The number of batches that it looks at."""
        found: int = dict(self.settings).get("batches", self.proxy.num_batches)
        return found

    @property
    def samples(self) -> int:
        """The number of samples that a batch must hold for its settings."""
        return max((value for name, value in self.settings if name in SAMPLE_COUNTS), default=1)

    def _answer(self, probe: Probe) -> Score:
        try:
            if self.proxy.needs_data and self.samples > (given := len(probe.batches[0])):
                raise UnsupportedError(
                    f"{self} needs {self.samples} samples, but the batch has {given}. Pass a larger batch, or "
                    f"--batch-size {self.samples} on the command line."
                )
            # built-in formulas change nothing
            with nullcontext() if self.proxy.is_built_in else probe.isolated():
                outcome = self.proxy(probe, **dict(self.settings))
        except Exception as error:  # whatever a formula, or the user's model or loss, does
            return Score.of_error(error)
        score = Score.of_parts(outcome)
        broken = broken_weights(probe.model) if score.status == "non_finite" else ""
        return replace(score, note=f"the model has {broken}") if broken else score


def measure_all(requests: Collection[ProxyRequest], probe: Probe) -> dict[str, Score]:
    """Return all scores of one network. What several proxies need is measured once.

    A proxy that fails does not affect the others.
    """
    probe.expected.update(*(request.proxy.expects for request in requests))  # so that one pass can serve several
    return {str(request): request.measure(probe) for request in requests}


def parse_requests(proxies: Proxies, *, plain: bool = False) -> list[ProxyRequest]:
    """Read proxies as users give them: one or several, by name (separated by commas), `all`, or as objects.

    Args:
        proxies: The proxies.
        plain: Whether objects go by the name of their function instead of `module:name`, where nothing is stored.
    """
    requests = []
    for item in proxies if isinstance(proxies, Iterable) and not isinstance(proxies, str) else [proxies]:
        if not isinstance(item, str):
            found = find_proxy(item)
            requests.append(ProxyRequest(found) if plain else ProxyRequest.of(found))
        else:
            refuse_ensemble(item)
            for text in filter(None, map(str.strip, item.split(","))):
                requests += _everyone() if text == ALL else [ProxyRequest.parse(text)]
    if not requests:
        raise SettingError(f"No proxy was named. Known: {', '.join(PROXIES)}.")
    return requests


def _everyone() -> list[ProxyRequest]:
    return [ProxyRequest(entry, name=name) for name, entry in PROXIES.items()]


def read_requests(proxies: Proxies, warmed: str | None = None, space: str = "") -> list[ProxyRequest]:
    """Read proxies as `parse_requests` does, and add those that are reported beside them.

    Args:
        proxies: The proxies.
        warmed: The kind of data, if networks are scored after a warm-up.
        space: The name of the space of the networks, if they are of one.
    """
    requests = [entry.for_space(space) for entry in parse_requests(proxies)]
    return with_companions(requests if warmed is None else [entry.after_warm_up(warmed) for entry in requests])


def with_companions(requests: Iterable[ProxyRequest]) -> list[ProxyRequest]:
    """Return the requests and those that are reported beside them, each once."""
    asked = list(requests)
    beside = [
        replace(ProxyRequest.parse(text), brought_by=str(request)) for request in asked for text in request.proxy.beside
    ]
    return list(dict.fromkeys([*asked, *beside]))


def explain_companions(requests: Iterable[ProxyRequest]) -> str:
    """Say which proxies nobody asked for, and why they are there; "" if there are none."""
    brought: dict[str, list[str]] = {}
    for request in requests:
        if request.brought_by:
            brought.setdefault(request.brought_by, []).append(str(request))
    return " ".join(
        f"{enumerated(names)} {'is' if len(names) == 1 else 'are'} always reported with {main}."
        for main, names in brought.items()
    )


def refuse_ensemble(name: str) -> None:
    """Raise an error if a name is that of an ensemble, where a score of a single network is wanted."""
    from firstlight.proxies.ensembles import AGGREGATIONS, NAMED

    if any(f"{known}(" in name or known == name.strip() for known in (*AGGREGATIONS, *NAMED)):
        raise SettingError(
            f"{name!r} is an ensemble, which ranks networks relative to each other and has no score for a single one; "
            "only proxies are taken here. Rank by it with `firstlight rank --by`, find the best network with "
            "`firstlight search --proxy`, or choose and test an ensemble with `firstlight correlate --ensemble`."
        )
