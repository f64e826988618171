"""What a search costs besides scoring: milliseconds of CPU for a network that is rejected, and for one that is scored.

Scores are made up here, so that nothing but the search itself is measured: mutation, limits, bookkeeping and store, in
`mobilenetv2` under 450 M MACs as the published searches of 100,000 networks have it.
"""

from __future__ import annotations

import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from benchmarks.rows import Row

from firstlight.core.events import Event
from firstlight.options import Limits
from firstlight.probe.cost import Cost
from firstlight.proxies.base import NetworkScore, Score
from firstlight.proxies.ensembles import members, parse_criterion
from firstlight.scoring.service import Setting
from firstlight.search.algorithm import AlgorithmRequest
from firstlight.search.run_folder import RunStore
from firstlight.search.runner import run_search
from firstlight.search.setting import SearchSetting
from firstlight.storage.store import STORE_NAME

NETWORKS = 20_000


class MadeUp:
    """An executor that answers at once with random scores."""

    def __init__(self) -> None:
        self._rng = random.Random(0)

    def map(self, job: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        for text, names in items:
            scores = {name: Score(self._rng.random(), {"a": 1.0, "b": 2.0}, seconds=0.1) for name in names}
            yield (text, names), NetworkScore(text, scores, Cost(3_000_000, 400_000_000))

    def staying(self) -> AbstractContextManager[None]:
        return nullcontext()


def overhead(by: str, networks: int) -> list[Row]:
    criterion = parse_criterion(by)
    setting = SearchSetting(
        Setting("mobilenetv2"),
        criterion,
        AlgorithmRequest.parse("evolution-budget"),
        networks,
        Limits(max_macs=450_000_000),
    )
    started = time.process_time()
    marks: list[tuple[float, float]] = []

    def mark(event: Event) -> None:
        marks.append((time.process_time() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))

    with tempfile.TemporaryDirectory() as folder:
        result = run_search(setting, MadeUp(), RunStore(Path(folder)), callback=mark)
        size = sum(file.stat().st_size for file in Path(folder).glob(f"{STORE_NAME}*")) / 1e6
    tenth = networks // 10
    first, last = marks[tenth], marks[-1]
    slowest = (last[0] - marks[-tenth][0]) / tenth * 1e3
    part = f"Search by {by} ({len(members(criterion))} proxies), {networks:,} networks, {result.rejected:,} rejected"
    return [
        Row(part, "each scored network, those rejected on the way included", last[0] / networks * 1e3, "CPU ms"),
        Row(part, "each of the last tenth", slowest, "CPU ms"),
        Row(part, "memory after a tenth", first[1], "MiB"),
        Row(part, "memory at the end", last[1], "MiB", first[1]),
        Row(part, "store", size, "MB"),
    ]


def rows(networks: int, count: int = NETWORKS) -> list[Row]:
    return [row for by in ("dextr", "az_nas") for row in overhead(by, count)]
