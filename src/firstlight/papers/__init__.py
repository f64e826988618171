"""Published tables and figures, and the experiments that measure them again: `EXPERIMENTS`, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firstlight.core.registry import Kind, Registry

if TYPE_CHECKING:
    from firstlight.papers.experiment import Experiment

_NAMES = {
    "darts_small": "darts-small",
    "dextr_curves": "dextr-figure1 dextr-stability",
    "dextr_layers": "dextr-layers dextr-table5",
    "dextr_rounding": "dextr-a8",
    "dextr_scatter": "dextr-figure1a dextr-figure5",
    "dextr_search": "dextr-searches",
    "dextr_sizes": "dextr-table6",
    "dextr_tables": "dextr-table1 dextr-table4",
    "graf": "graf-few-labels graf-figure",
    "hnas": "hnas-table1 hnas-table1-nb101 hnas-table13 hnas-table4 hnas-table6",
    "hnas_ablations": "hnas-tables10-12",
    "hnas_cells": "hnas-table2",
    "hnas_figures": "hnas-figure2 hnas-figure4 hnas-figure5",
    "hnas_search": "hnas-table15 hnas-table16 hnas-table3",
    "hnas_topology": "hnas-theorem3",
    "nasi": "nasi-figure1 nasi-table7",
    "nasi_bounds": "nasi-bounds",
    "nasi_darts": "nasi-darts",
    "nasi_ranks": "nasi-figure3 nasi-table3",
    "nasi_search": "nasi-figure2 nasi-figure6 nasi-table2 nasi-table4 nasi-table6 nasi-table8",
    "plain_proxies": "plain-proxies plain-remedies",
    "prior": "prior-spaces",
    "robot": "robot-searches robot-searches-50 robot-searches-100",
    "robot_transnas": "robot-transnas",
    "sigeo": "sigeo-table2",
    "sigeo_click_ranks": "sigeo-click-ranks",
    "sigeo_clicks": "sigeo-table5",
    "sigeo_figure2": "sigeo-figure2",
    "sigeo_figure4": "sigeo-figure4",
    "sigeo_plainnet": "sigeo-table4",
    "sigeo_published_warm_up": "sigeo-published-warm-up",
    "sigeo_warm": "sigeo-ablation sigeo-table3",
}


def _read_experiment(entry: object) -> Experiment | None:
    from firstlight.papers.experiment import Experiment

    return entry if isinstance(entry, Experiment) else None


EXPERIMENTS: Registry[Experiment] = Registry(
    Kind("experiment", _read_experiment),
    {name: f"{__name__}.{module}" for module, names in _NAMES.items() for name in names.split()},
)

__all__ = ["EXPERIMENTS"]
