"""Figures for publications, drawn by matplotlib.

Each function takes a result or the folder of its run, and returns a figure that can be changed and saved with
`save_figure`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from firstlight.core.errors import SettingError
from firstlight.evaluation.compare import Comparison
from firstlight.evaluation.correlate import Study
from firstlight.evaluation.trust import Trust
from firstlight.probe import Probe
from firstlight.search.curves import AGAINST, Against
from firstlight.search.result import SearchResult
from firstlight.views.charts.matplotlib import draw_figure
from firstlight.views.charts.networks import layer_lines, output_loops
from firstlight.views.charts.searches import QUERY_LABELS, SEARCH_LABELS, hnas_surface, progress_lines
from firstlight.views.charts.studies import agreement_map, correlation_bars, proxy_scatter
from firstlight.views.sources import ComparisonData, Folder, SearchData, StudyData, queries_file, search_curves

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Points of an output curve; as many as the published code of Dextr can take
POINTS = 128


def plot_scatter(
    study: Study | Trust | Folder,
    proxy: str | None = None,
    target: str | None = None,
    *,
    ranks: bool = False,
    width: str | float = "column",
) -> Figure:
    """Plot a proxy's scores against the truth, a dot for each network, brighter where there are many.

    Args:
        study: A result of `correlate` or `trust`, or its folder.
        proxy: Name of the proxy. Default: the best.
        target: Column of the truth. Default: the first of the study.
        ranks: Plot ranks instead of values, for scores of very different sizes.
        width: `column` (3.35 inches), `page` (6.9), or a number of inches.

    Returns:
        The figure.

    Raises:
        SettingError: If the proxy, the target or the width is unknown, or fewer than two networks have both values.
        StoreError: If the folder holds no study.

    Example:
        >>> figure = plot_scatter("runs/study", "dextr", ranks=True)  # doctest: +SKIP
    """
    data = StudyData.of(study)
    target = data.target(target)
    proxy = data.proxy(proxy, target)
    known = data.correlation(proxy, target)
    chart = proxy_scatter(proxy, target, data.scores(proxy), data.truth(target), correlation=known, ranks=ranks)
    if len(chart.points) < 2:
        raise SettingError(
            f"{len(chart.points)} networks have both {proxy} and {target}; a scatter plot needs at least 2."
        )
    return draw_figure(chart, width=width)


def plot_bars(study: Study | Trust | Folder, target: str | None = None, *, width: str | float = "column") -> Figure:
    """Plot how well each proxy ranks, with 95% intervals.

    Args:
        study: A result of `correlate` or `trust`, or its folder.
        target: Column of the truth. Default: the first of the study.
        width: `column` (3.35 inches), `page` (6.9), or a number of inches.

    Returns:
        The figure.

    Raises:
        SettingError: If the target or the width is unknown, or no proxy has a correlation.
        StoreError: If the folder holds no study.

    Example:
        >>> figure = plot_bars("runs/study")  # doctest: +SKIP
    """
    data = StudyData.of(study)
    target = data.target(target)
    return draw_figure(correlation_bars(target, data.bars(target)), width=width)


def plot_agreement(study: Study | Trust | Folder, *, width: str | float = "page") -> Figure:
    """Plot which proxies rank networks alike, as a heat map.

    Args:
        study: A result of `correlate` or `trust`, or its folder.
        width: `column` (3.35 inches), `page` (6.9), or a number of inches.

    Returns:
        The figure.

    Raises:
        SettingError: If the width is unknown.
        StoreError: If the folder holds no study.

    Example:
        >>> figure = plot_agreement("runs/study", width=5)  # doctest: +SKIP
    """
    return draw_figure(agreement_map(*StudyData.of(study).agreement()), width=width)


def plot_curves(
    comparison: Comparison | Folder,
    target: str | None = None,
    against: str = "queries",
    *,
    width: str | float = "column",
) -> Figure:
    """Plot what the best network of each method reaches, with a band of one standard deviation over the seeds.

    Args:
        comparison: A result of `compare`, or its folder.
        target: The reported column. Default: the first.
        against: `queries` or `seconds`.
        width: `column` (3.35 inches), `page` (6.9), or a number of inches.

    Returns:
        The figure.

    Raises:
        SettingError: If an argument is unknown, or seconds are asked for and not known.
        StoreError: If the folder holds no comparison.

    Example:
        >>> figure = plot_curves("runs/compared", against="seconds")  # doctest: +SKIP
    """
    data, axis = ComparisonData.of(comparison), _read_against(against)
    column = data.column(target)
    return draw_figure(progress_lines(data.curves(column, axis), QUERY_LABELS[axis], column), width=width)


def plot_curve(
    searches: SearchResult | Folder | Sequence[SearchResult | Folder],
    against: str = "queries",
    *,
    width: str | float = "column",
) -> Figure:
    """Plot the best score so far of one or more searches.

    Searches that differ only in their seed are one line, with a band of one standard deviation.

    Args:
        searches: Results of `search`, or their folders; one, or a list.
        against: `queries` (networks scored) or `seconds`.
        width: `column` (3.35 inches), `page` (6.9), or a number of inches.

    Returns:
        The figure.

    Raises:
        SettingError: If an argument is unknown, a search is given twice, or the scores are not comparable.
        StoreError: If a folder holds no search.

    Example:
        >>> figure = plot_curve(["runs/seed0", "runs/seed1"])  # doctest: +SKIP
    """
    axis = _read_against(against)
    several = searches if isinstance(searches, Sequence) and not isinstance(searches, str) else [searches]
    found = [SearchData.of(search) for search in several]
    curves = search_curves(found, axis)
    return draw_figure(progress_lines(curves, SEARCH_LABELS[axis], f"best {found[0].utility_label}"), width=width)


def plot_front(search: SearchResult | Folder, cost: str | None = None, *, width: str | float = "column") -> Figure:
    """Plot score against cost for all networks of a search, and the front: networks that no other one beats.

    Args:
        search: A result of `search`, or its folder.
        cost: `params`, `macs`, or another cost of the search. Default: its first objective, or `params`.
        width: `column` (3.35 inches), `page` (6.9), or a number of inches.

    Returns:
        The figure. For a search without objectives, the chosen network stands out instead of a front.

    Raises:
        SettingError: If the cost or the width is unknown, or no network has both values.
        StoreError: If the folder holds no search.

    Example:
        >>> figure = plot_front("runs/pareto", "latency")  # doctest: +SKIP
    """
    return draw_figure(SearchData.of(search).against(cost), width=width)


def plot_surface(search: SearchResult | Folder, *, width: str | float = "column") -> Figure:
    """Plot the accuracy that HNAS expects for each pair of its two numbers, and what it tried.

    Args:
        search: A result of `search` with the algorithm `hnas`, or its folder.
        width: `column` (3.35 inches), `page` (6.9), or a number of inches.

    Returns:
        The figure, with a ring around the best query.

    Raises:
        SettingError: If another algorithm was used, the search has not finished, or the width is unknown.
        StoreError: If the folder holds no search, or a damaged one.

    Example:
        >>> figure = plot_surface("runs/hnas")  # doctest: +SKIP
    """
    findings = SearchData.of(search).findings
    if "hnas" not in findings:
        raise SettingError("This search did not use hnas, so it has no surface. Search with --algorithm hnas.")
    if "surface" not in findings["hnas"]:
        raise SettingError(
            "This search has not finished, so it has no surface yet. Run the same command again to finish it."
        )
    return draw_figure(hnas_surface(findings["hnas"]), width=width)


def plot_layers(networks: Mapping[str, Probe], *, width: str | float = "column") -> Figure:
    """Plot how independent the channels of each layer are (Dextr, Figure 3).

    Args:
        networks: Probes by the names that the legend shows.
        width: `column` (3.35 inches), `page` (6.9), or a number of inches.

    Returns:
        The figure: sigma_min / sigma_max of each layer, 1 where no channel repeats others.

    Raises:
        SettingError: If there is no network, or the width is unknown.

    Example:
        >>> import torch
        >>> from firstlight import Probe
        >>> model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Conv2d(8, 8, 3))
        >>> figure = plot_layers({"mine": Probe(model, torch.randn(1, 3, 8, 8))})
    """
    return draw_figure(layer_lines(networks), width=width)


def plot_outputs(networks: Mapping[str, Probe], *, points: int = POINTS, width: str | float = "page") -> Figure:
    """Plot how the output moves as the input goes around a circle (Dextr, Figure 1).

    Args:
        networks: Probes by the names that the titles show.
        points: Points on the circle.
        width: `column` (3.35 inches), `page` (6.9), or a number of inches.

    Returns:
        The figure: a panel for each network, in its first two principal components.

    Raises:
        SettingError: If there is no network, or the width is unknown.
        UnsupportedError: If the output of a network does not change with its input.

    Example:
        >>> import torch
        >>> from firstlight import Probe
        >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 16), torch.nn.Tanh())
        >>> figure = plot_outputs({"mine": Probe(model, torch.randn(1, 3, 8, 8))}, points=16)
    """
    return draw_figure(output_loops(networks, points), width=width)


def is_comparison(folder: Folder) -> bool:
    """Whether `plot_curves` can read a folder; otherwise it may be that of a search."""
    return queries_file(folder).is_file()


def _read_against(text: str) -> Against:
    for known in AGAINST:
        if text == known:
            return known
    raise SettingError(f"against (--against) is {text!r}; write {' or '.join(AGAINST)}.")
