"""The report of a correlation: who ranks best and how surely, what it looks like, and who agrees with whom."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from firstlight._version import __version__
from firstlight.errors import StoreError
from firstlight.evaluate.correlate import Study
from firstlight.evaluate.selection import JudgedEnsemble
from firstlight.evaluate.statistics import RankQuality
from firstlight.evaluate.targets import Target
from firstlight.evaluate.trust import Trust
from firstlight.report.charts.bars import Bar, bars
from firstlight.report.charts.heat_map import heat_map
from firstlight.report.charts.scatter import Point, scatter
from firstlight.report.template import render_page
from firstlight.seeds import derive

COLUMNS = {
    "spearman": "Spearman",
    "kendall": "Kendall",
    "precision_10": "top 10 % found",
    "best_of_top_10": "best of top 10",
}
# Each dot takes its place in the page
MOST_DOTS = 1_500


def write_correlation(study: Study, settings: Mapping[str, Any], directory: Path, *, ensemble: bool) -> Path:
    """The page, the statistics as JSON, and the scores of all networks as a table, in the study's folder."""
    content = {"settings": dict(settings), "version": __version__, **study.as_json(ensemble=ensemble)}
    return _write(study, content, correlation_page(study, settings, ensemble=ensemble), directory)


def _write(study: Study, content: Mapping[str, Any], page: str, directory: Path) -> Path:
    path = directory / "report.html"
    try:
        (directory / "result.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        study.table().to_csv(directory / "scores.csv", index=False)
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"The folder {directory} cannot be written to: {error}. Name another with --out.") from error
    return path


def write_trust(found: Trust, settings: Mapping[str, Any], directory: Path) -> Path:
    """The same for networks that were trained to find out, with the advice that follows."""
    content = {"settings": dict(settings), "version": __version__, **found.as_json()}
    page = correlation_page(found.study, settings, advice=advise(found))
    return _write(found.study, content, page, directory)


def advise(found: Trust) -> list[str]:
    """What to do with the outcome, a sentence or two each."""
    advice = found.advice
    if advice is None:
        return ["No proxy tells these networks apart; train more of them, or others.", *_unfinished(found)]
    expected = advice.expected
    if not found.have_learned:
        use = (
            f"Nothing can be said yet: the best network reached {max(found.accuracies):.1%}, which is no better than "
            f"guessing among {found.classes} classes. Train for more epochs, or on more data."
        )
    elif expected.value <= 0:
        use = "No proxy can be recommended: on networks a choice was not made by, it is no better than chance."
    else:
        use = f"Use {advice.choice}."
    alike = "Half of the networks or more reached the same accuracy: make it harder, with fewer epochs or less data."
    return [
        use,
        f"A choice made like this has, on networks it was not made by, a Spearman correlation of about "
        f"{expected.value:.2f} (95 % between {expected.low:.2f} and {expected.high:.2f}).",
        *advice.warnings,
        *([alike] if found.have_learned and found.are_alike else []),
        *_unfinished(found),
    ]


def _unfinished(found: Trust) -> list[str]:
    without = [entry for entry in found.evaluations if not entry.result.ok]
    if not without:
        return []
    first = without[0]
    return [
        f"{len(without)} of {len(found.evaluations)} networks were not trained to the end and are left out, such as "
        f"{first.architecture}: {first.result.status} ({first.result.note})"
    ]


def correlation_page(
    study: Study, settings: Mapping[str, Any], *, ensemble: bool = False, advice: Sequence[str] = ()
) -> str:
    target = study.sample.targets[0]
    best = study.best(target)
    return render_page(
        "correlation.html",
        settings=settings,
        advice=advice,
        target=target,
        best=best,
        leader=study.quality[target][best].estimates["spearman"] if best else None,
        networks=len(study.sample.rows),
        classes=len(study.sample.classes),
        columns=list(COLUMNS.values()),
        targets=[_target(study, name, study.ensembles[name] if ensemble else None) for name in study.sample.targets],
        scatters=_scatters(study, target),
        shown=min(MOST_DOTS, len(study.sample.rows)),
        agreement=_agreement(study) if len(study.names) > 1 else "",
    )


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
                "cells": [estimates[column] if estimates else "-" for column in COLUMNS],
                "behind": behind.get(proxy, "-"),
                "networks": f"{found.networks:,}",
                "note": _note(study, name, proxy, found),
            }
        )
    return {
        "name": name,
        "meaning": Target.of_column(name),
        "bars": bars(drawn, f"Spearman correlation with {name}") if drawn else "",
        "rows": rows,
        "ensemble": describe(ensemble) if ensemble else "",
    }


def _note(study: Study, target: str, proxy: str, found: RankQuality) -> str:
    spread = study.over_seeds(target, proxy)
    seeds = f"over {len(study.seeds)} seeds: Spearman {spread[0]:.3f} ± {spread[1]:.3f}" if spread else ""
    return "; ".join(filter(None, (found.note, seeds)))


def _scatters(study: Study, target: str) -> dict[str, Markup]:
    rows, truth = study.sample.rows, study.truth(target)
    generator = np.random.default_rng(derive(study.seeds[0], "dots"))
    shown = np.sort(generator.permutation(len(rows))[:MOST_DOTS])
    figures = {}
    for name, _ in study.ordered(target):
        values = study.utilities[0][name]
        known = [i for i in shown if np.isfinite(values[i]) and np.isfinite(truth[i])]
        points = [
            Point(values[i], truth[i], f"{rows['architecture'][i]}\n{name} {values[i]:.4g}, {target} {truth[i]:.4g}")
            for i in known
        ]
        if points:
            figures[name] = scatter(points, f"{name} (higher is better)", target)
    return figures


def _agreement(study: Study) -> Markup:
    table = study.agreement()
    return heat_map(study.names, study.names, table.to_numpy().tolist(), "Spearman correlation between proxies")
