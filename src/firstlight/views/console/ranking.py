"""Networks in ranked order, and how well proxies agree."""

from __future__ import annotations

from collections.abc import Sequence

from firstlight.core.wording import figure
from firstlight.search.ranking import FEWEST_TO_COMPARE, Agreement, Ranking
from firstlight.views.console.terminal import console, show_figures


def show_ranking(ranking: Ranking, top: int | None = None) -> None:
    """The best networks, why some have no value, and how well the proxies agree."""
    rows = ranking.table()[:top]
    headers = [name for name in rows[0] if name not in ("rank", "network", "remarks")]
    cells = []
    for row, ranked in zip(rows, ranking.rows, strict=False):
        statuses = {name: score.status for name, score in ranked.network.scores.items() if not score.ok}
        figures = (statuses.get(name, figure(row[name])) for name in headers)
        cells.append([figure(row["rank"]), *figures, row["network"]])
    show_figures(["rank", *headers, "network"], cells, "network")
    if len(rows) < len(ranking.rows):
        console.print(f"The best {len(rows)} of {len(ranking.rows)} networks, by {ranking.by}.", markup=False)
    for line in (*ranking.missing(), *ranking.remarks):
        console.print(line, markup=False, soft_wrap=True)
    _show_agreement(ranking)


def _show_agreement(ranking: Ranking) -> None:
    names = ranking.proxies
    known = {(pair.first, pair.second): pair for pair in ranking.agreement}
    if not known:
        return
    if len(ranking.rows) < FEWEST_TO_COMPARE:
        console.print(f"\nThe agreement between proxies needs at least {FEWEST_TO_COMPARE} networks.")
        return
    for title, statistic in (("Spearman's rho", "spearman"), ("Kendall's tau", "kendall")):
        console.print(f"\nAgreement between proxies, {title}:")
        cells = []
        for one in names:
            pairs = (known.get((one, other)) or known.get((other, one)) for other in names)
            values = (1.0 if pair is None else getattr(pair, statistic) for pair in pairs)
            cells.append([one, *("-" if value is None else f"{value:.2f}" for value in values)])
        show_figures(["", *names], cells, "")
    few = [pair for pair in ranking.agreement if pair.networks < FEWEST_TO_COMPARE]
    constant = [pair for pair in ranking.agreement if pair.spearman is None and pair not in few]
    _explain_dashes(few, f"fewer than {FEWEST_TO_COMPARE} networks have a score by both")
    _explain_dashes(constant, "all networks have the same score by one of the two")


def _explain_dashes(pairs: Sequence[Agreement], reason: str) -> None:
    if pairs:
        names = ", ".join(f"{pair.first} and {pair.second}" for pair in pairs)
        console.print(f"No agreement where {reason}: {names}.", markup=False, soft_wrap=True)
