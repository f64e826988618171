"""What a search found, what it cost, and the next steps."""

from __future__ import annotations

from dataclasses import replace

from firstlight.core.wording import figure
from firstlight.evaluation.asking import AskTraining
from firstlight.proxies.requests import ProxyRequest
from firstlight.search.result import SearchResult
from firstlight.search.summary import building, effort, next_steps
from firstlight.views.console.retraining import show_retraining
from firstlight.views.console.scores import show_network
from firstlight.views.console.terminal import console, program, show_figures
from firstlight.views.console.verdict import QUESTION, show_verdict

# Number of networks of a front that are shown; the files of the run have all of them
SHOWN_OF_FRONT = 12


def show_result(result: SearchResult) -> None:
    console.print(f"\n{_headline(result)}:")
    if result.setting.truth is None:
        show_network(result.best)
    else:
        _show_trained(result)
    for amount in result.written_costs().values():
        console.print(f"  {amount}", markup=False)
    _show_front(result)
    if result.retrained is not None:
        show_retraining(result.retrained)
    if result.compared is not None:
        show_verdict(result.compared)
    elif isinstance(result.setting.truth, AskTraining):
        console.print(QUESTION)
    console.print(effort(result), markup=False, soft_wrap=True)
    for note in result.notes:
        console.print(note, markup=False, soft_wrap=True)
    if result.directory is not None:
        console.print(f"Files of this run: {result.directory}", markup=False, soft_wrap=True)
        console.print("Next steps:")
        for words in next_steps(result):
            console.print(f"  {program()} {words}", markup=False, soft_wrap=True)
    if result.setting.setting.own_space is None:
        console.print("In Python:")
        console.print(f"  {building(result)}", markup=False, soft_wrap=True)


def _show_trained(result: SearchResult) -> None:
    """Show the accuracy of the network instead of the score of a proxy."""
    truth, value = result.setting.truth, result.score.value
    assert truth is not None
    show_network(replace(result.best, scores={}))
    console.print(f"  {truth.measure}: {value:.2f}{' %' if value > 1 else ''}", markup=False)


def _headline(result: SearchResult) -> str:
    if result.finished:
        return "The chosen network"
    if result.setting.algorithm.algorithm.takes_steps:
        return f"The network after {result.states:,} steps so far"
    return f"The best network so far ({result.scored + result.reused} of {result.setting.samples} scored)"


def _show_front(result: SearchResult) -> None:
    if not result.front:
        return
    costs = result.setting.wanted_costs
    shown = result.front[:SHOWN_OF_FRONT]
    console.print(f"\nThe Pareto front, {len(result.front)} networks:")
    by = result.setting.by
    sign = -1 if isinstance(by, ProxyRequest) and not by.proxy.higher_is_better else 1
    rows = [
        [figure(sign * (trial.utility or 0.0)), *(figure(trial.amount(name)) for name in costs), trial.architecture]
        for trial in shown
    ]
    show_figures([str(by), *costs, "network"], rows, "network")
    if len(shown) < len(result.front):
        console.print(f"... and {len(result.front) - len(shown)} more.")
