"""How well proxies rank the networks of a study, as tables."""

from __future__ import annotations

from firstlight.evaluation.correlate import Study
from firstlight.tables.targets import Target
from firstlight.views.console.terminal import console, show_figures
from firstlight.views.pages.correlation import COLUMNS, ahead_cell, ahead_header, cells, describe, legend


def show_study(study: Study, *, ensemble: bool = False) -> None:
    """Print a table for each target, the reasons for missing scores, and what the columns mean."""
    rows = study.sample.rows
    for target in study.sample.targets:
        counts = f"{len(rows):,} networks, {len(study.sample.classes):,} different functions"
        console.print(f"{target} ({Target.of_column(target)}): {counts}.", markup=False, soft_wrap=True)
        behind = study.behind_best[target]
        shown = []
        for name, found in study.ordered(target):
            spread = study.over_seeds(target, name)
            seeds = [f"{spread[0]:.3f} ± {spread[1]:.3f}" if spread else "-"] if len(study.seeds) > 1 else []
            counted = [f"{found.networks:,}", f"{found.unscored:,}"]
            ahead = [ahead_cell(study, target, name)] if study.against else []
            shown.append([name, *cells(found), *seeds, str(behind.get(name, "-")), *ahead, *counted])
        over = [f"over {len(study.seeds)} seeds"] if len(study.seeds) > 1 else []
        compared = ["behind the best", *filter(None, [ahead_header(study)])]
        show_figures(["proxy", *COLUMNS.values(), *over, *compared, "networks", "no score"], shown, "proxy")
        for name, found in study.ordered(target):
            for note in filter(None, (found.note, study.without_score(target, name))):
                console.print(f"{name}: {note}.", markup=False, soft_wrap=True)
        if ensemble:
            judged = study.ensembles[target]
            said = (
                describe(judged)
                if judged
                else "Too few networks to choose an ensemble on one half and evaluate it on the other."
            )
            console.print(said, markup=False, soft_wrap=True)
        console.print()
    for column, meaning in legend(study).items():
        console.print(f"{column}: {meaning}.", markup=False, soft_wrap=True, style="dim")
    for remark in study.remarks:
        console.print(remark, markup=False, soft_wrap=True)
