"""The report of a correlation: which proxy ranks best and how certain that is, and which proxies agree."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from firstlight._version import __version__
from firstlight.core.errors import StoreError
from firstlight.core.seeds import derive
from firstlight.core.statistics import Estimate, Groups, RankQuality
from firstlight.core.wording import counted
from firstlight.evaluation.correlate import Study
from firstlight.evaluation.selection import JudgedEnsemble
from firstlight.storage.environment import versions
from firstlight.tables.targets import Target
from firstlight.views.charts.description import Bar
from firstlight.views.charts.studies import agreement_map, correlation_bars, proxy_scatter
from firstlight.views.charts.svg import draw_svg
from firstlight.views.pages.networks import Column, Networks, digits_for
from firstlight.views.pages.search_charts import lowest_drawn
from firstlight.views.pages.template import render_page

COLUMNS = {
    "spearman": "Spearman",
    "kendall": "Kendall",
    "equal_cost": "at equal cost",
    "ndcg": "nDCG",
    "precision_10": "top 10% found",
    "best_of_top_10": "best of top 10",
    "regret_1": "regret",
}
# Meaning of the columns, for the console and the page
LEGEND = {
    "Spearman": "rank correlation with true performance: 1 is the same order, 0 is no relation, -1 is the reverse "
    "order. The 95% interval over resampled networks is in brackets, in this and all other columns",
    "Kendall": "the same, counting pairs of networks in the right order",
    "at equal cost": "the Spearman correlation of what parameters and MACs do not explain, in the score and in the "
    "true performance; near 0 for a proxy that only counts",
    "nDCG": "how good the networks are that the proxy ranks first, from 0 to 1; a point of accuracy doubles the weight "
    "of a network, so that only the very best count",
    "top 10% found": "the fraction of the truly best tenth that is in the proxy's best tenth",
    "best of top 10": "the best true value among the ten networks that the proxy ranks first",
    "regret": "the best true value of all networks minus that of the network that the proxy ranks first",
    "behind the best": "how much lower the Spearman correlation is than that of the proxy in the first row",
    "networks": "networks with a true value, on which all statistics are computed",
    "no score": "how many of these networks the proxy cannot score; they rank last, since it would choose none of them",
}
# With fewer networks in a tenth, a single one would change the share too much
FEWEST_OF_A_TENTH = 5
# Most dots for one proxy, and for all together; each dot makes the page larger
MOST_DOTS, ALL_DOTS = 1_500, 12_000
# With at most this many proxies, their agreement fits beside their correlations
FEW = 10
# Largest share of networks that may be left out for being far below the others
MOST_LEFT_OUT = 0.1


def write_correlation(study: Study, settings: Mapping[str, Any], directory: Path, *, ensemble: bool) -> Path:
    """Write the page, the statistics as JSON, and all scores as a table; return the path of the page."""
    content = {"settings": dict(settings), "version": __version__, **study.to_dict(ensemble=ensemble)}
    return write_files(study, content, correlation_page(study, settings, ensemble=ensemble), directory)


def write_files(study: Study, content: Mapping[str, Any], page: str, directory: Path) -> Path:
    """Write the files of a study, for `correlate` and `trust`."""
    path = directory / "report.html"
    try:
        (directory / "result.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        study.table().to_csv(directory / "scores.csv", index=False)
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"The folder {directory} cannot be written to: {error}. Name another with --out.") from error
    return path


def correlation_page(study: Study, settings: Mapping[str, Any], *, ensemble: bool = False) -> str:
    """Render the page of a correlation."""
    target, space = study.sample.targets[0], settings["space"]
    best = study.best(target)
    headline, interval = "No proxy has a defined correlation", ""
    if best is not None:
        leader = study.quality[target][best].estimates["spearman"]
        headline = f"Best proxy: {best}, Spearman {leader.value:.3f}"
        interval = f", {_interval(leader)}"
    table = f" of {settings['table']}" if settings.get("table") else ""
    networks = f"{counted(len(study.sample.rows), 'trained network')}{table}"
    return render_page(
        "correlation.html",
        headline=headline,
        subtitle=f"{space}, {networks}, compared with {target}, no training{interval}",
        commands_given=[f"firstlight search {shlex.quote(space)} --proxy {shlex.quote(best)}"] if best else [],
        **study_content(study, settings, ensemble=ensemble),
    )


def study_content(study: Study, settings: Mapping[str, Any], *, ensemble: bool = False) -> dict[str, Any]:
    """Return what the pages of `correlate` and `trust` have in common."""
    target = study.sample.targets[0]
    shown = _drawn(study)
    return {
        "settings": settings,
        "versions": versions(),
        "target": target,
        "count": len(study.sample.rows),
        "classes": len(study.sample.classes),
        "headers": list(COLUMNS.values()),
        "ahead": ahead_header(study),
        "legend": legend(study),
        "targets": [_target(study, name, study.ensembles[name] if ensemble else None) for name in study.sample.targets],
        "scatters": _scatters(study, target, shown),
        "networks": _networks(study, shown),
        "agreement": _agreement(study) if len(study.names) > 1 else "",
        "few": len(study.names) <= FEW,
    }


def _interval(estimate: Estimate) -> str:
    return f"95% interval {estimate.low:.3f} to {estimate.high:.3f}"


def describe(judged: JudgedEnsemble) -> str:
    """Describe a chosen ensemble in a few sentences."""
    together, single = judged.quality.estimates["spearman"], judged.single.estimates["spearman"]
    gain = judged.gain
    lead = f" Difference: {gain.value:+.3f} (95% interval {gain.low:+.3f} to {gain.high:+.3f})." if gain else ""
    everyone = judged.all_members.estimates.get("spearman")
    all_together = f" Mean rank of all proxies: {everyone}." if everyone else ""
    return (
        f"Chosen on one half of the networks: {judged.text}. Spearman correlation on the other {judged.networks:,}: "
        f"{together}; best single proxy, {judged.best_single}: {single}.{lead}{all_together}"
    )


def cells(found: RankQuality) -> list[str]:
    """Return the statistics of `COLUMNS` as text."""
    if not found.estimates:
        return ["-"] * len(COLUMNS)
    too_few = {"precision_10": "too few networks"} if round(found.networks / 10) < FEWEST_OF_A_TENTH else {}
    return [too_few.get(column, str(found.estimates.get(column, "-"))) for column in COLUMNS]


def ahead_header(study: Study) -> str:
    """Return the header of the differences to the proxy that others are compared with; "" for none."""
    return f"ahead of {study.against}" if study.against else ""


def ahead_cell(study: Study, target: str, name: str) -> str:
    """Return how far a proxy is ahead of the one that others are compared with, as text."""
    return str(study.ahead[target].get(name, {}).get("spearman", "-"))


def legend(study: Study) -> dict[str, str]:
    """Return the meaning of all columns."""
    ahead = f"the Spearman correlation minus that of {study.against}, on the same networks"
    return LEGEND | ({ahead_header(study): ahead} if study.against else {})


def _target(study: Study, name: str, ensemble: JudgedEnsemble | None) -> dict[str, Any]:
    behind = study.behind_best[name]
    rows, drawn = [], []
    for proxy, found in study.ordered(name):
        estimates = found.estimates
        if estimates:
            value = estimates["spearman"]
            drawn.append(Bar(proxy, value.value, value.low, value.high))
        rows.append(
            {
                "name": proxy,
                "cells": cells(found),
                "behind": behind.get(proxy, "-"),
                "ahead": ahead_cell(study, name, proxy),
                "networks": f"{found.networks:,}",
                "unscored": f"{found.unscored:,}",
                "note": _note(study, name, proxy, found),
            }
        )
    return {
        "name": name,
        "meaning": Target.of_column(name),
        "bars": draw_svg(correlation_bars(name, drawn)) if drawn else "",
        "rows": rows,
        "counts": len({(row["networks"], row["unscored"]) for row in rows}) > 1 or rows[0]["unscored"] != "0",
        "has_notes": any(row["note"] for row in rows),
        "ensemble": describe(ensemble) if ensemble else "",
    }


def _note(study: Study, target: str, proxy: str, found: RankQuality) -> str:
    spread = study.over_seeds(target, proxy)
    seeds = f"over {len(study.seeds)} seeds: Spearman {spread[0]:.3f} ± {spread[1]:.3f}" if spread else ""
    return "; ".join(filter(None, (found.note, study.without_score(target, proxy), seeds)))


def _drawn(study: Study) -> Groups:
    """Choose the networks to draw, best first: all, or a random part if there are too many for a page."""
    most = min(MOST_DOTS, ALL_DOTS // len(study.names))
    generator = np.random.default_rng(derive(study.seeds[0], "dots"))
    drawn = generator.permutation(len(study.sample.rows))[:most]
    return drawn[np.argsort(-study.truth(study.sample.targets[0])[drawn], kind="stable")]


def _networks(study: Study, shown: Groups) -> Networks:
    """Return the table of the networks drawn: true values, scores and architecture."""
    table = study.table().iloc[shown]
    figures = table.drop(columns="architecture")
    digits = [digits_for(figures[name].to_numpy(dtype=float)) for name in figures]
    columns = [*(Column(str(name), count) for name, count in zip(figures, digits, strict=True)), Column("architecture")]
    return Networks(columns, table[[*figures, "architecture"]].to_numpy(dtype=object).tolist())


def _scatters(study: Study, target: str, shown: Groups) -> list[tuple[str, Markup, int]]:
    """Draw a scatter plot for each proxy, best first, with the number of networks left out far below the others.

    Tooltips show the true value, the score and the architecture.
    """
    truth, count = study.truth(target), len(study.sample.targets)
    last = count + len(study.names)
    figures = []
    for name, _ in study.ordered(target):
        scores = study.utilities[0][name]
        known = [(row, i) for row, i in enumerate(shown) if np.isfinite(scores[i]) and np.isfinite(truth[i])]
        heights = [scores[i] for _, i in known]
        floor = min(lowest_drawn(heights), np.quantile(heights, MOST_LEFT_OUT)) if known else -np.inf
        kept = [(row, i) for row, i in known if scores[i] >= floor]
        if kept:
            rows, places = zip(*kept, strict=True)
            columns = (study.sample.targets.index(target), count + study.names.index(name), last)
            picked = np.array(places)
            chart = proxy_scatter(name, target, scores[picked], truth[picked], rows=rows, columns=columns)
            figures.append((name, draw_svg(chart), len(known) - len(kept)))
    return figures


def _agreement(study: Study) -> Markup:
    return draw_svg(agreement_map(study.names, study.agreement().to_numpy(dtype=float)))
