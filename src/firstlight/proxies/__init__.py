"""Every proxy, found by looking into this folder: a module's `Proxy` objects are its entries."""

from firstlight.importing import import_named
from firstlight.proxies.base import Parts, Proxies, Proxy, Score, proxy
from firstlight.proxies.requests import ProxyRequest, measure_all, not_a_proxy, parse_requests
from firstlight.registry import Registry

PROXIES: Registry[Proxy] = Registry(
    "proxy",
    __name__,
    lambda module: {entry.name: entry for entry in vars(module).values() if isinstance(entry, Proxy)},
)


def find_proxy(name: str) -> Proxy:
    """The proxy of this name, or one of your own by `module:name`."""
    if ":" not in name or name in PROXIES:
        return PROXIES[name]
    entry = import_named(name)
    if not isinstance(entry, Proxy):
        raise not_a_proxy(name)
    return entry


__all__ = [
    "PROXIES",
    "Parts",
    "Proxies",
    "Proxy",
    "ProxyRequest",
    "Score",
    "find_proxy",
    "measure_all",
    "parse_requests",
    "proxy",
]
