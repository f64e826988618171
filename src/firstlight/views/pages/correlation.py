"""The report of a correlation: who ranks best and how surely, what it looks like, and who agrees with whom."""

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
    "precision_10": "top 10 % found",
    "best_of_top_10": "best of top 10",
}
# What the columns of the table mean, for the terminal and the page
LEGEND = {
    "Spearman": "how far the proxy orders the networks as the truth does: 1 is the same order, 0 none, -1 the reverse. "
    "In brackets, here and in all columns: where 95 % of resampled networks fall",
    "Kendall": "the same, by counting pairs of networks in the right order",
    "top 10 % found": "the share of the truly best tenth that is in the proxy's best tenth",
    "best of top 10": "the best true value among the ten networks that the proxy ranks first",
    "behind the best": "how much lower its Spearman correlation is than that of the proxy in the first row",
    "networks": "how many have a true value; all statistics are of these",
    "no score": "how many of them the proxy cannot score; they rank last, since none of them would be chosen",
}
# With a tenth of fewer networks, one found more or less changes everything
FEWEST_OF_A_TENTH = 5
# Each dot takes its place in the page: so many of a proxy, and of all together
MOST_DOTS, ALL_DOTS = 1_500, 12_000
# The share of networks that may be too far below the others to be drawn
MOST_LEFT_OUT = 0.1


def write_correlation(study: Study, settings: Mapping[str, Any], directory: Path, *, ensemble: bool) -> Path:
    """The page, the statistics as JSON, and the scores of all networks as a table, in the study's folder."""
    content = {"settings": dict(settings), "version": __version__, **study.to_dict(ensemble=ensemble)}
    return write_files(study, content, correlation_page(study, settings, ensemble=ensemble), directory)


def write_files(study: Study, content: Mapping[str, Any], page: str, directory: Path) -> Path:
    """What `trust` leaves behind, too."""
    path = directory / "report.html"
    try:
        (directory / "result.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        study.table().to_csv(directory / "scores.csv", index=False)
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"The folder {directory} cannot be written to: {error}. Name another with --out.") from error
    return path


def correlation_page(study: Study, settings: Mapping[str, Any], *, ensemble: bool = False) -> str:
    target = study.sample.targets[0]
    best = study.best(target)
    space, count = settings["space"], f"{len(study.sample.rows):,} trained networks"
    asked = f"Asked which proxy ranks {count} of {space} as their {target} does"
    if best is None:
        found = "none, no correlation is defined"
    else:
        leader = study.quality[target][best].estimates["spearman"]
        found = f"{best} does best, with a Spearman correlation of {leader.value:.3f} ({_interval(leader)})"
    return render_page(
        "correlation.html",
        headline=f"{asked}: {found}.",
        commands_given=[f"firstlight search {shlex.quote(space)} --proxy {shlex.quote(best)}"] if best else [],
        **study_content(study, settings, ensemble=ensemble),
    )


def study_content(study: Study, settings: Mapping[str, Any], *, ensemble: bool = False) -> dict[str, Any]:
    """What the pages of `correlate` and `trust` have in common."""
    target = study.sample.targets[0]
    shown = _drawn(study)
    return {
        "settings": settings,
        "versions": versions(),
        "target": target,
        "count": len(study.sample.rows),
        "classes": len(study.sample.classes),
        "headers": list(COLUMNS.values()),
        "legend": LEGEND,
        "targets": [_target(study, name, study.ensembles[name] if ensemble else None) for name in study.sample.targets],
        "scatters": _scatters(study, target, shown),
        "networks": _networks(study, shown),
        "agreement": _agreement(study) if len(study.names) > 1 else "",
    }


def _interval(estimate: Estimate) -> str:
    return f"95 % between {estimate.low:.3f} and {estimate.high:.3f}"


def describe(judged: JudgedEnsemble) -> str:
    """What the choice of an ensemble came to, in a sentence or two."""
    together, single = judged.quality.estimates["spearman"], judged.single.estimates["spearman"]
    gain = judged.gain
    lead = f" The difference is {gain.value:+.3f}, 95 % between {gain.low:+.3f} and {gain.high:+.3f}." if gain else ""
    everyone = judged.all_members.estimates.get("spearman")
    all_together = f" All proxies together, by their mean rank: {everyone}." if everyone else ""
    return (
        f"Chosen on one half of the networks: {judged.text}. On the other {judged.networks:,} it reaches a Spearman "
        f"correlation of {together}; the best proxy alone, {judged.best_single}, {single}.{lead}{all_together}"
    )


def cells(found: RankQuality) -> list[str]:
    """The statistics under `COLUMNS`, in words where there is nothing to tell."""
    if not found.estimates:
        return ["-"] * len(COLUMNS)
    too_few = {"precision_10": "too few to tell"} if round(found.networks / 10) < FEWEST_OF_A_TENTH else {}
    return [too_few.get(column, str(found.estimates[column])) for column in COLUMNS]


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
        "has_notes": any(row["note"] for row in rows),
        "ensemble": describe(ensemble) if ensemble else "",
    }


def _note(study: Study, target: str, proxy: str, found: RankQuality) -> str:
    spread = study.over_seeds(target, proxy)
    seeds = f"over {len(study.seeds)} seeds: Spearman {spread[0]:.3f} ± {spread[1]:.3f}" if spread else ""
    return "; ".join(filter(None, (found.note, study.without_score(target, proxy), seeds)))


def _drawn(study: Study) -> Groups:
    """The places of the networks that are drawn, the best first: all, or as many as the page can bear, at random."""
    most = min(MOST_DOTS, ALL_DOTS // len(study.names))
    generator = np.random.default_rng(derive(study.seeds[0], "dots"))
    drawn = generator.permutation(len(study.sample.rows))[:most]
    return drawn[np.argsort(-study.truth(study.sample.targets[0])[drawn], kind="stable")]


def _networks(study: Study, shown: Groups) -> Networks:
    """Those that are drawn: true values, what the proxies say, and the text."""
    table = study.table().iloc[shown]
    figures = table.drop(columns="architecture")
    digits = [digits_for(figures[name].to_numpy(dtype=float)) for name in figures]
    columns = [*(Column(str(name), count) for name, count in zip(figures, digits, strict=True)), Column("architecture")]
    return Networks(columns, table[[*figures, "architecture"]].to_numpy(dtype=object).tolist())


def _scatters(study: Study, target: str, shown: Groups) -> list[tuple[str, Markup, int]]:
    """In the order of the proxies' quality, with the number of networks too far below the others to be drawn.

    Each dot tells the target, the score and the text.
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
