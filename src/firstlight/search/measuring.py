"""What proxies say of many networks, beside a search that is itself about what trained networks reach."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from firstlight.execution.executor import Executor
from firstlight.proxies.base import NetworkScore
from firstlight.proxies.ensembles import Criterion, after_warm_up, members, utilities
from firstlight.proxies.requests import ProxyRequest
from firstlight.scoring.service import ScoreService, Setting, source_for
from firstlight.storage.store import Store

# Better judged, and for much less, on the narrow twin
OF_THE_TWIN = "ntk_condition"

WatchMeasured = Callable[[int, int], None]


@dataclass(frozen=True)
class Twin:
    """The same architecture with so few channels, shown images of so few pixels; its depth is that of the network."""

    channels: int = 4
    side: int = 16

    def of(self, setting: Setting) -> Setting:
        """Where a space has no `channels` to set, or fewer anyway, the width stays as it is."""
        asked = dict(setting.skeleton_settings)
        usual = asdict(setting.space.skeleton(**asked)).get("channels")
        if isinstance(usual, int) and usual > self.channels:
            asked["channels"] = self.channels
        if len(shape := asked.get("input_shape", ())) == 3:
            asked["input_shape"] = (shape[0], *(min(self.side, side) for side in shape[1:]))
        source = replace(setting.source, side=self.side)
        return replace(setting, source=source, skeleton_settings=tuple(sorted(asked.items())))


class Measuring:
    """Asks proxies on the same workers, and keeps what they say in the same store, as a search by them would.

    `batch_size` is that of the batches which they are shown, unless they take a single image; `ntk_condition` is that
    of the `twin`, if there is one, and of a batch as large as it takes. Batches are smaller where the data have too few
    samples, and `remarks` say so.
    """

    def __init__(
        self,
        setting: Setting,
        executor: Executor,
        store: Store,
        watch: WatchMeasured = lambda done, total: None,
    ) -> None:
        self._setting, self._executor, self._store, self._watch = setting, executor, store, watch
        self.judged: set[str] = set()
        self.remarks: list[str] = []
        self.seconds = 0.0  # of scoring, by the clock, now or earlier
        self.reused_seconds = 0.0  # earlier

    def utilities(
        self, by: Criterion, networks: Sequence[str], batch_size: int | None = None, twin: Twin | None = None
    ) -> NDArray[np.float64]:
        """How good each network is: higher is better, NaN without a score. An ensemble ranks these and no others."""
        if self._setting.warm_up is not None:
            by = after_warm_up(by, self._setting.space.data_kind)
        requests = members(by)
        narrow = [request for request in requests if twin is not None and request.proxy.name == OF_THE_TWIN]
        wide = [request for request in requests if request not in narrow]
        found = {text: NetworkScore(text, {}, None) for text in networks}
        for network in self._measured(wide, self._setting, networks, batch_size):
            found[network.architecture].scores.update(network.scores)
        if twin is not None:
            for network in self._measured(narrow, twin.of(self._setting), networks, None):
                found[network.architecture].scores.update(network.scores)
        values = utilities(by, list(found.values()))
        return np.array([math.nan if value is None else value for value in values], dtype=float)

    def _measured(
        self, requests: list[ProxyRequest], setting: Setting, networks: Sequence[str], batch_size: int | None
    ) -> Iterator[NetworkScore]:
        if not requests:
            return
        asked = setting.source
        source = source_for(requests, asked.name, batch_size, labels=asked.labels).fitting()
        if source.remark and source.remark not in self.remarks:
            self.remarks.append(source.remark)
        service = ScoreService(
            replace(setting, source=replace(source, side=asked.side)), requests, self._executor, self._store
        )
        for number, network in enumerate(service.scores(networks), start=1):
            self.judged.add(network.architecture)
            self.seconds += network.seconds
            self.reused_seconds += network.seconds * network.reused
            if not network.reused or number == len(networks):  # else the rate would be that of reading a file
                self._watch(number, len(networks))
            yield network
