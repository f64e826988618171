"""Proxies: formulas that score an untrained network. `PROXIES` knows where each one lives."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from firstlight.core.registry import Registry

if TYPE_CHECKING:
    from firstlight.proxies.base import Proxy

# Importing this package imports no proxy, and no PyTorch.
_NAMES = {
    "az": "az_expressivity az_progressivity az_trainability",
    "cost": "macs params",
    "dextr": "curvature dextr dextr_opt independence",
    "dss": "dss",
    "gradients": "fisher grad_norm gradsign grasp l2_norm plain snip",
    "jacobian": "epe_nas jacov",
    "kernel": "knas ntk_condition ntk_trace ntk_trace_batch ntk_trace_exact te_ntk",
    "meco": "meco meco_opt",
    "rectifiers": "linear_regions naswot swap swap_reg",
    "sigeo": "fr_norm loss sigeo zico",
    "synflow": "synflow",
    "zen": "zen",
}

# How ranks are aggregated, and the ensembles that have a name; `ensembles` has the formulas.
ENSEMBLES = ("log_rank", "rank_mean", "az_nas", "sigeo_rank", "sigeo_loss_rank")


def _is_proxy(entry: object) -> bool:
    from firstlight.proxies.base import Proxy

    return isinstance(entry, Proxy)


def _proxies_of(module: ModuleType) -> dict[str, Proxy]:
    return {entry.name: entry for entry in vars(module).values() if _is_proxy(entry)}


PROXIES: Registry[Proxy] = Registry(
    "proxy",
    {name: f"{__name__}.{module}" for module, names in _NAMES.items() for name in names.split()},
    _proxies_of,
    "firstlight.proxies",
    _is_proxy,
)

__all__ = ["ENSEMBLES", "PROXIES"]
