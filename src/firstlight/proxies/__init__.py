"""Every proxy, found by looking into this folder: a module's `Proxy` objects are its entries."""

from firstlight.proxies.base import Parts, Proxy, ProxyRequest, Score, measure_all, parse_requests, proxy
from firstlight.registry import Registry

PROXIES: Registry[Proxy] = Registry(
    "proxy",
    __name__,
    lambda module: {entry.name: entry for entry in vars(module).values() if isinstance(entry, Proxy)},
)

__all__ = ["PROXIES", "Parts", "Proxy", "ProxyRequest", "Score", "measure_all", "parse_requests", "proxy"]
