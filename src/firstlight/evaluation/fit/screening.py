"""Screening: proxies look at many networks of a family, and the best are trained."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from torch import Tensor

from firstlight.data import Dataset, Inputs, InputSource
from firstlight.evaluation.fit.candidates import Family
from firstlight.evaluation.fit.notebook import Notebook
from firstlight.execution.executor import Executor
from firstlight.probe import Probe
from firstlight.proxies.requests import ProxyRequest, measure_all
from firstlight.scoring.service import ScoreService, Setting, source_for
from firstlight.search.objective import Objective
from firstlight.storage.store import Store

TIMED = 3


@dataclass(frozen=True)
class Screened:
    """What proxies found.

    Attributes:
        chosen: The networks that are trained.
        looked: The number of networks that were scored.
    """

    chosen: tuple[str, ...]
    looked: int


def scoring_of(family: Family) -> tuple[Setting, ProxyRequest]:
    """Return how networks of a family are scored: by the proxy that suits its space, on training samples alone."""
    setting = family.setting
    request = ProxyRequest.parse(setting.space.proxy).for_space(setting.space_name)
    data = setting.dataset
    source = source_for([request], setting.source_name).fitting(len(data.y_train) + len(data.y_val))
    scoring = Setting(
        setting.space_name,
        source=source,
        seed=setting.seed,
        skeleton_settings=setting.skeleton_settings,
        device=setting.device,
    )
    vars(scoring)["inputs"] = _training_samples(data, source)  # as `cached_property` does
    return scoring, request


def _training_samples(data: Dataset, source: InputSource) -> Inputs:
    """Return batches of the first training samples: those of a source may be test samples."""
    size = min(source.batch_size, len(data.x_train) // source.batches)
    places = range(0, size * source.batches, size)
    batches: list[tuple[Tensor, Tensor | None]] = [
        (data.x_train[place : place + size].contiguous(), data.y_train[place : place + size]) for place in places
    ]
    fingerprint = f"{data.fingerprint}:first:{size}x{source.batches}"
    return Inputs(batches, fingerprint, data.input_shape, data.classes)


def score_seconds(family: Family) -> float:
    """Measure how long a proxy takes to look at a network."""
    scoring, request = scoring_of(family)
    space = family.setting.space
    assert family.baseline is not None
    text, times = family.baseline.architecture, []
    for _ in range(TIMED):
        begin = time.perf_counter()
        network = space.build(text, scoring.skeleton)
        measure_all([request], Probe(network, scoring.inputs.batches, cost=space.cost(space.parse(text))))
        times.append(time.perf_counter() - begin)
    return sorted(times)[len(times) // 2]


def screened(
    family: Family,
    texts: Sequence[str],
    count: int,
    executor: Executor,
    store: Store,
    notebook: Notebook,
    until: float,
    callback: Callable[[int], None],
) -> Screened:
    """Score networks until the time is over, and return the best.

    Args:
        family: The family.
        texts: The networks.
        count: How many to choose.
        executor: Where to score.
        store: Where scores are kept.
        notebook: The decisions of the fit.
        until: The share of the time after which no further network is scored; a few always are.
        callback: Called with the number of networks scored so far.
    """
    scoring, request = scoring_of(family)
    service, objective = ScoreService(scoring, [request], executor, store), Objective(request)
    name = f"{family.name} screened"
    most = notebook.schedule(name, lambda: None) if notebook.scheduled(name) else None
    asked = itertools.islice(texts, most)
    utilities: dict[str, float] = {}
    looked = 0

    def while_there_is_time() -> Iterator[str]:
        for number, text in enumerate(asked):
            if most is None and number >= 4 * count and notebook.left(until) < 0:
                return
            yield text

    for network in service.scores(while_there_is_time()):
        looked += 1
        utility = objective.utility(network)
        if utility is not None and math.isfinite(utility):
            utilities[network.architecture] = utility
        callback(looked)
    notebook.schedule(name, lambda: looked)
    best = sorted(utilities, key=lambda text: (-utilities[text], text))[:count]
    return Screened(tuple(best), looked)
