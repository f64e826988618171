"""One search from beginning to end: open the store, let the algorithm search, write the result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from firstlight.core.events import Callback, Event, ignore
from firstlight.core.seeds import python_generator
from firstlight.execution.executor import Executor
from firstlight.options import CHEAP
from firstlight.proxies.ensembles import Ensemble, asked_for
from firstlight.scoring.latency import LatencyRequest
from firstlight.scoring.service import ScoreService
from firstlight.search.ledger import Ledger
from firstlight.search.measuring import Measuring
from firstlight.search.problem import Problem
from firstlight.search.queries import Queries
from firstlight.search.result import SearchInterrupted, SearchResult
from firstlight.search.run_folder import (
    NOT_KEPT,
    RunStore,
    begin_run,
    replaced_result,
    write_architecture,
    write_result,
)
from firstlight.search.setting import SearchSetting
from firstlight.search.suiting import look_at_limits, worth_saying
from firstlight.storage.store import Store


def run_search(
    search: SearchSetting,
    executor: Executor,
    storage: RunStore = NOT_KEPT,
    *,
    callback: Callback = ignore,
    afterwards: Callable[[SearchResult], SearchResult] = lambda result: result,
) -> SearchResult:
    """Run or resume a search.

    Args:
        search: What is asked for.
        executor: Where networks are scored.
        storage: Where scores and the result are kept.
        callback: Called with an event for each network that is scored, and for other progress.
        afterwards: May add to the result before it is written.

    Returns:
        The result.

    Raises:
        SearchInterrupted: On Ctrl-C, with the result so far.
        FirstlightError: If the search makes no sense, or if no network was scored.
    """
    search.check()
    advice = _limits_in_words(search)
    if advice:
        callback(Event("message", note=advice))
    directory = storage.directory
    with storage.open() as store:
        run = begin_run(store, search, storage)
        ledger = Ledger(search, store, run, callback)
        problem = ledger.problem = _problem(search, executor, store, ledger)
        problem.notes += [advice] if advice else []
        try:
            with executor.staying(), _ranked_at_last(ledger):
                search.algorithm.run(problem)
        except KeyboardInterrupt:
            if not any(utility is not None for utility in problem.pool.utilities().values()):
                raise
            so_far = ledger.result(directory, finished=False)
            store.keep_result(run, so_far.to_dict())
            if directory is not None:
                write_architecture(directory, so_far)
            raise SearchInterrupted(so_far) from None
        result = ledger.result(directory)
        result = afterwards(replace(result, notes=(*result.notes, *replaced_result(search, directory))))
        store.finish_run(run, result.to_dict())
    if directory is not None:
        write_result(directory, result, storage.shared)
    return result


def _limits_in_words(search: SearchSetting) -> str:
    """Return what the limits exclude, and which skeleton would suit them; nothing if they leave enough."""
    if not any(name in search.limits.bounds for name in CHEAP):
        return ""
    advice = look_at_limits(search.setting.space, search.skeleton, search.limits)
    return advice.text if worth_saying(advice) else ""


def _problem(search: SearchSetting, executor: Executor, store: Store, ledger: Ledger) -> Problem:
    """Return the problem that the algorithm sees: by proxies, or by true performance."""
    if search.asks_for_latency:
        _, limit = search.limits.bounds.get("latency", (None, None))
        ledger.latency = LatencyRequest(search.latency).source(search.setting, store, limit)
    rng = python_generator(search.setting.seed, "search", search.algorithm.written)

    if search.truth is None:
        service = ScoreService(search.setting, asked_for(search.by), executor, store, ledger)
        return Problem(
            service,
            search.objective,
            rng,
            search.samples,
            latency=ledger.latency,
            callback=ledger,
            keep=ledger.keep,
        )
    return Queries(
        search.truth.open(executor, store),
        search.objective,
        rng,
        search.samples,
        measuring=Measuring(search.setting, executor, store, ledger),
        latency=ledger.latency,
        callback=ledger,
        keep=ledger.keep,
    )


@contextmanager
def _ranked_at_last(ledger: Ledger) -> Iterator[None]:
    """Store the utilities by an ensemble at the end: it ranks all networks, or those scored when a run is cut off."""
    try:
        yield
    finally:
        pool = ledger.problem.pool
        if isinstance(pool.by, Ensemble) and len(pool):
            ledger.store.set_utilities(ledger.run, pool.utilities())
