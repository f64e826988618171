"""What a person sees in the terminal: tables, progress, and the result of a search."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from firstlight.algorithms.ensembles import members
from firstlight.algorithms.result import SearchResult
from firstlight.data.inputs import TRUE_LABELS
from firstlight.drawing.terminal import NODE, text_graph
from firstlight.proxies import ProxyRequest, Score
from firstlight.ranking import FEWEST_TO_COMPARE, Agreement, Ranking
from firstlight.run.costs import written
from firstlight.run.scoring import NetworkScore
from firstlight.spaces import Drawing

if TYPE_CHECKING:
    from firstlight.export import Export

console = Console(highlight=False)
# progress and remarks go here, so that standard output holds only what was asked for
notices = Console(stderr=True, highlight=False)


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:.1f}/s" if task.speed else "-/s", style="cyan")


class _Scoring(Progress):
    """A bar, and below it the architecture that a search leads to so far, as much of it as fits into one line."""

    leading = ""

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from super().get_renderables()
        if self.leading:
            yield Text(f"now {self.leading}", no_wrap=True, overflow="ellipsis", style="dim")


class Watcher:
    """Counts networks as they are scored and shows the best value so far."""

    def __init__(self, progress: _Scoring, total: int) -> None:
        self._progress = progress
        self._task = progress.add_task(
            "scoring", total=total, best="", visible=False
        )  # until there is something to see
        self._best: float | None = None
        self._counts_states = False

    def saw(self, value: float | None) -> None:
        if self._counts_states:
            return
        if value is not None and (self._best is None or value > self._best):
            self._best = value
        best = "" if self._best is None else f"best {self._best:.4f}"
        self._progress.update(self._task, advance=1, best=best, visible=True)

    def states(self, count: int, total: int | None, note: str, leading: str) -> None:
        """States of a supernet; where their number is known, they are what is counted, and networks are not."""
        if total is None:
            self._progress.update(self._task, description=f"scoring, {count:,} states", visible=True)
        else:
            self._counts_states = True
            self._progress.leading = leading
            self._progress.update(
                self._task, description="steps", completed=count, total=total, best=note, visible=True
            )


@contextmanager
def watching(total: int) -> Iterator[Watcher]:
    """A live line on standard error: done/total, rate, time left, best so far."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
        TextColumn("left  {task.fields[best]}"),
    )
    with _Scoring(*columns, console=notices, disable=total < 2) as progress:
        try:
            yield Watcher(progress, total)
        finally:
            progress.leading = ""  # what was found is told with the result


@contextmanager
def phases() -> Iterator[Callable[[str], Callable[[int, int], None]]]:
    """Live lines on standard error, one for each phase of the work, which show once it has begun."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=notices) as progress:

        def phase(what: str) -> Callable[[int, int], None]:
            task = progress.add_task(what, total=None, visible=False)
            return lambda done, total: progress.update(task, completed=done, total=total, visible=True)

        yield phase


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None]]:
    """One such line, moved on by calls with how much is done, and of how much."""
    with phases() as phase:
        yield phase(what)


def show_table(headers: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, header in enumerate(headers):
        table.add_column(header, overflow="fold", no_wrap=place == 0)  # names stay in one piece
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)


def show_facts(name: str, summary: str, blocks: Iterable[RenderableType], rows: Mapping[str, str]) -> None:
    """All about one thing: a headline, paragraphs, and labelled lines."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for label, text in rows.items():
        table.add_row(Text(label, style="bold"), Text(text))
    console.print(Text(name, style="bold"))
    console.print(Text(summary))
    for block in (*(Text(block) if isinstance(block, str) else block for block in blocks), table):
        console.print()
        console.print(block)


def show_graph(drawing: Drawing) -> None:
    """Nodes stand out; nothing is wrapped."""
    for line in text_graph(drawing):
        console.print(Text(line, style="bold" if NODE in line else "", no_wrap=True), soft_wrap=True)


def show_figures(headers: Sequence[str], rows: Iterable[Iterable[str]], *text: str) -> None:
    """A table of numbers, but for the columns headed `text`; it stays in one piece however narrow the terminal is."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for header in headers:
        table.add_column(Text(header), justify="left" if header in text else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    table.width = console.measure(table, options=console.options.update(width=100_000)).maximum
    console.print(table, soft_wrap=True)


def show_network(network: NetworkScore) -> None:
    console.print(network.architecture, style="bold", markup=False, soft_wrap=True)
    for name, score in network.scores.items():
        console.print(f"  {name}: {describe(score)}", markup=False, soft_wrap=True)
    if network.cost is not None:
        console.print(f"  {network.cost.params:,} parameters, {network.cost.macs:,} MACs", markup=False)


def describe(score: Score) -> str:
    """A score in one line: value and parts, or what came instead."""
    if not score.ok:
        return f"{score.status} ({score.note})"
    parts = ", ".join(f"{name} {value:.4f}" for name, value in score.parts.items())
    details = "; ".join(text for text in (parts, score.note) if text)
    return _figure(score.value) + (f"  ({details})" if details else "")


def show_ranking(ranking: Ranking, top: int | None = None) -> None:
    """The best networks, why some have no value, and how far the proxies agree."""
    rows = ranking.table()[:top]
    headers = [name for name in rows[0] if name not in ("rank", "network", "remarks")]
    cells = []
    for row, ranked in zip(rows, ranking.rows, strict=False):
        statuses = {name: score.status for name, score in ranked.network.scores.items() if not score.ok}
        figures = (statuses.get(name, _figure_or_dash(row[name])) for name in headers)
        cells.append([_figure_or_dash(row["rank"]), *figures, row["network"]])
    show_figures(["rank", *headers, "network"], cells, "network")
    if len(rows) < len(ranking.rows):
        console.print(f"The best {len(rows)} of {len(ranking.rows)} networks, by {ranking.by}.", markup=False)
    _explain_missing(ranking)
    _show_agreement(ranking)


def _explain_missing(ranking: Ranking) -> None:
    """One line for all proxies that have no value for the same networks and reason."""
    networks: dict[tuple[str, str], list[str]] = {}
    for row in ranking.rows:
        for name, score in row.network.scores.items():
            if not score.ok:
                networks.setdefault((name, describe(score)), []).append(row.network.architecture)
    proxies: dict[tuple[str, ...], list[str]] = {}
    for (name, reason), without in networks.items():
        proxies.setdefault((reason, *without), []).append(name)
    for (reason, *without), names in proxies.items():
        subject = f"{', '.join(names)} {'has' if len(names) == 1 else 'have'} no value"
        which = f"{len(without)} of {len(ranking.rows)} networks" + (f" ({without[0]})" if len(without) == 1 else "")
        console.print(f"{subject} for {which}: {reason}", markup=False, soft_wrap=True)


def _show_agreement(ranking: Ranking) -> None:
    names = ranking.proxies
    known = {(pair.first, pair.second): pair for pair in ranking.agreement}
    if not known:
        return
    if len(ranking.rows) < FEWEST_TO_COMPARE:
        console.print(f"\nHow far the proxies agree can be said of {FEWEST_TO_COMPARE} networks or more.")
        return
    for title, statistic in (("Spearman's rho", "spearman"), ("Kendall's tau", "kendall")):
        console.print(f"\nAgreement of the proxies, {title}:")
        cells = []
        for one in names:
            pairs = (known.get((one, other)) or known.get((other, one)) for other in names)
            values = (1.0 if pair is None else getattr(pair, statistic) for pair in pairs)
            cells.append([one, *("-" if value is None else f"{value:.2f}" for value in values)])
        show_figures(["", *names], cells, "")
    few = [pair for pair in ranking.agreement if pair.networks < FEWEST_TO_COMPARE]
    constant = [pair for pair in ranking.agreement if pair.spearman is None and pair not in few]
    _explain_dashes(few, f"fewer than {FEWEST_TO_COMPARE} networks have values by both")
    _explain_dashes(constant, "one of the two is the same for all networks")


def _explain_dashes(pairs: Sequence[Agreement], reason: str) -> None:
    if pairs:
        names = ", ".join(f"{pair.first} and {pair.second}" for pair in pairs)
        console.print(f"No agreement where {reason}: {names}.", markup=False, soft_wrap=True)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.6g}"


def _figure_or_dash(value: float | None) -> str:
    return "-" if value is None else _figure(value)


def show_result(result: SearchResult) -> None:
    console.print(f"\n{_headline(result)}:")
    show_network(result.best)
    for name, amount in result.dear_costs.items():
        source = f" ({result.setting.latency})" if name == "latency" else ""
        console.print(f"  {written(name, amount)}{source}", markup=False)
    _show_front(result)
    console.print(_effort(result), markup=False, soft_wrap=True)
    for note in result.notes:
        console.print(note, markup=False, soft_wrap=True)
    if result.directory is not None:
        folder = shlex.quote(str(result.directory))
        console.print(f"Files of this run: {result.directory}", markup=False, soft_wrap=True)
        console.print("Go on with:")
        console.print(f"  {_command()} report {folder}", markup=False, soft_wrap=True)
        console.print(f"  {_command()} score {_arguments(result)}", markup=False, soft_wrap=True)
    if result.setting.setting.own_space is None:
        console.print("In Python, to train it:")
        console.print(f"  {_building(result)}", markup=False, soft_wrap=True)


def show_export(export: Export) -> None:
    console.print(export.architecture, markup=False, soft_wrap=True, style="bold")
    console.print(f"{export.cost.params:,} parameters, {export.cost.macs:,} MACs for one input")
    console.print(f"Weights: {export.weights}", markup=False, soft_wrap=True)
    if export.difference is not None:
        console.print(f"ONNX Runtime differs from PyTorch by {export.difference:.1e} of the largest output")
    for name in export.files:
        console.print(f"  {export.directory / name}", markup=False, soft_wrap=True)


def _headline(result: SearchResult) -> str:
    if result.finished:
        return "The chosen network"
    if _goes_in_steps(result):
        return f"What {result.states:,} steps lead to so far"
    return f"The best so far, of {result.scored + result.reused} of {result.setting.samples}"


def _goes_in_steps(result: SearchResult) -> bool:
    return "one_shot" in result.setting.request.algorithm.needs


def _building(result: SearchResult) -> str:
    """The call that makes the chosen network."""
    setting = result.setting.setting
    skeleton, usual = asdict(setting.skeleton), asdict(setting.space.skeleton())
    changed = ", ".join(f"{name}={value!r}" for name, value in skeleton.items() if value != usual[name])
    words = f"space = firstlight.space({setting.space_name!r}); model = space.build({result.best.architecture!r}"
    seed = f", seed={setting.seed}" if setting.seed else ""
    return f"{words}, space.skeleton({changed}){seed})" if changed else f"{words}{seed})"


# So many networks of a front are shown; all are in the files of the run
SHOWN_OF_FRONT = 12


def _show_front(result: SearchResult) -> None:
    if not result.front:
        return
    costs = result.setting.wanted_costs
    shown = result.front[:SHOWN_OF_FRONT]
    console.print(f"\nThe front of {len(result.front)} networks, none of which is beaten in everything:")
    by = result.setting.by
    sign = -1 if isinstance(by, ProxyRequest) and not by.proxy.higher_is_better else 1
    rows = [
        [_figure(sign * (trial.utility or 0.0)), *(_figure(trial.amount(name)) for name in costs), trial.architecture]
        for trial in shown
    ]
    show_figures([str(by), *costs, "network"], rows, "network")
    if len(shown) < len(result.front):
        console.print(f"... and {len(result.front) - len(shown)} more.")


def _effort(result: SearchResult) -> str:
    """What the search took."""
    plural = "" if result.scored == 1 else "s"
    words = f"{result.scored} network{plural} scored and {result.reused} reused in {result.seconds:.1f} s"
    if result.states:
        what = "steps through the one-shot network" if _goes_in_steps(result) else "states of the supernet"
        words += f", and {result.states:,} {what}"
    if result.rejected:
        words += f"; {result.rejected:,} beyond the limits were not scored"
    if result.forward_passes > 1:
        words += (
            f". All scores together took {result.score_seconds:,.1f} s of computing, as much as "
            f"{float(f'{result.forward_passes:.2g}'):,.0f} forward passes of the chosen network with one input"
        )
    return words + "."


def _arguments(result: SearchResult) -> str:
    """What `score` must be told to see the chosen network exactly as the search did."""
    setting = result.setting.setting
    proxies = dict.fromkeys([*map(str, members(result.setting.by)), "params"])
    words = [setting.space_name, result.best.architecture, "--proxy", ",".join(proxies)]
    words += [
        "--input",
        setting.source.name,
        "--batch-size",
        str(setting.source.batch_size),
        "--batches",
        str(setting.source.batches),
        "--seed",
        str(setting.seed),
    ]
    if setting.source.labels != TRUE_LABELS:
        words += ["--labels", setting.source.labels]
    if setting.repeats > 1:
        words += ["--repeats", str(setting.repeats)]
    if setting.skeleton_settings:
        pairs = (f"{n}={'x'.join(map(str, v)) if isinstance(v, tuple) else v}" for n, v in setting.skeleton_settings)
        words += ["--skeleton", ",".join(pairs)]
    return shlex.join(words)


def _command() -> str:
    """How to call this program again from the same shell: by its name if that is found, else by its path."""
    path = Path(sys.argv[0])
    if path.name == "__main__.py":
        return "python -m firstlight"
    return path.name if shutil.which(path.name) else str(path)
