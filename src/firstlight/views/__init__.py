"""Charts for pages and for print, drawings of architectures, report pages, and the console.

The functions named here are public; the module of each is imported when it is first used, since most need matplotlib.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from firstlight.views.charts.style import save_figure
    from firstlight.views.pages.search import write_report
    from firstlight.views.plots import (
        plot_agreement,
        plot_bars,
        plot_curve,
        plot_curves,
        plot_front,
        plot_layers,
        plot_outputs,
        plot_scatter,
        plot_surface,
    )

__all__ = [
    "plot_agreement",
    "plot_bars",
    "plot_curve",
    "plot_curves",
    "plot_front",
    "plot_layers",
    "plot_outputs",
    "plot_scatter",
    "plot_surface",
    "save_figure",
    "write_report",
]

_MODULES = {"save_figure": "charts.style", "write_report": "pages.search"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES.get(name, 'plots')}"), name)


def __dir__() -> list[str]:
    return __all__
