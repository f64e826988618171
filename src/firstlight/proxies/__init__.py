"""Proxies: formulas that score an untrained network. `PROXIES` knows the module of each one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firstlight.core.registry import Kind, Registry

if TYPE_CHECKING:
    from firstlight.proxies.base import Proxy

# Importing this package imports no proxy, and no PyTorch.
_NAMES = {
    "az": "az_expressivity az_progressivity az_trainability",
    "cost": "decoder_params macs params",
    "dextr": "curvature dextr dextr_opt independence",
    "dss": "dss",
    "epsilon": "epsilon",
    "gradients": "fisher grad_norm gradsign grasp l2_norm plain snip",
    "jacobian": "epe_nas jacov",
    "kernel": "knas ntk_condition ntk_trace ntk_trace_batch ntk_trace_exact te_ntk",
    "l_swag": "l_swag",
    "meco": "meco meco_opt",
    "nasgraph": "nasgraph_degree",
    "rectifiers": "linear_regions naswot swap swap_reg",
    "sigeo": "fr_norm loss sigeo zico",
    "synflow": "synflow",
    "vkdnw": "vkdnw",
    "wrcor": "wrcor",
    "zen": "zen",
    "zerolm": "zerolm",
}

# How ranks are aggregated, and the ensembles that have a name; `ensembles` has the formulas.
ENSEMBLES = (
    "log_rank",
    "normal_mean",
    "rank_mean",
    "predicted",
    "az_nas",
    "vkdnw_agg",
    "sigeo_rank",
    "sigeo_loss_rank",
)


def _read_proxy(entry: object) -> Proxy | None:
    from firstlight.proxies.base import Proxy

    return entry if isinstance(entry, Proxy) else None


PROXIES: Registry[Proxy] = Registry(
    Kind(
        "proxy",
        _read_proxy,
        "firstlight.proxies",
        "Decorate your own function with @firstlight.proxy, and pass the object or its module:name; "
        f"or name one of {', '.join(sorted(' '.join(_NAMES.values()).split()))}.",
    ),
    {name: f"{__name__}.{module}" for module, names in _NAMES.items() for name in names.split()},
)
"""All proxies by name: the built-in ones, those of installed packages, and those added in this process.

>>> firstlight.PROXIES["dextr"].summary
'Independent channels, and an output of high curvature.'
"""

__all__ = ["ENSEMBLES", "PROXIES"]
