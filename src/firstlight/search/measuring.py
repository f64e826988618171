"""Scores of many networks by proxies, within a search that is itself about true performance."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from firstlight.core.events import Callback, Event, ignore
from firstlight.execution.executor import Executor
from firstlight.proxies.base import NetworkScore
from firstlight.proxies.ensembles import Criterion, after_warm_up, for_space, members, utilities
from firstlight.proxies.requests import ProxyRequest
from firstlight.scoring.service import ScoreService, Setting, source_for
from firstlight.storage.store import Store

# Measured on the narrow twin: more telling there, and much cheaper.
OF_THE_TWIN = "ntk_condition"


@dataclass(frozen=True)
class Twin:
    """The same architecture with few channels and small images. Its depth is that of the network.

    Attributes:
        channels: The number of channels.
        side: The width and height of images, in pixels.
    """

    channels: int = 4
    side: int = 16

    def of(self, setting: Setting) -> Setting:
        """Return the setting of the twin. The width stays where a space has no `channels` to set, or fewer anyway."""
        asked = dict(setting.skeleton_settings)
        usual = asdict(setting.space.skeleton(**asked)).get("channels")
        if isinstance(usual, int) and usual > self.channels:
            asked["channels"] = self.channels
        if len(shape := asked.get("input_shape", ())) == 3:
            asked["input_shape"] = (shape[0], *(min(self.side, side) for side in shape[1:]))
        source = replace(setting.source, side=self.side)
        return replace(setting, source=source, skeleton_settings=tuple(sorted(asked.items())))


class Measuring:
    """Scores networks by proxies on the same workers and with the same store as a search by proxies.

    `ntk_condition` is measured on the twin, if there is one, with batches as large as it needs. Batches are smaller
    where the data have too few samples.

    Attributes:
        measured: The texts of all architectures that were scored.
        remarks: What the user should know about the batches.
        seconds: How long scoring took, now or earlier.
        reused_seconds: How long scores from the store had taken.
    """

    def __init__(
        self,
        setting: Setting,
        executor: Executor,
        store: Store,
        callback: Callback = ignore,
    ) -> None:
        self._setting, self._executor, self._store, self._callback = setting, executor, store, callback
        self.measured: set[str] = set()
        self.remarks: list[str] = []
        self.seconds = 0.0
        self.reused_seconds = 0.0

    def utilities(
        self, by: Criterion, networks: Sequence[str], batch_size: int | None = None, twin: Twin | None = None
    ) -> NDArray[np.float64]:
        """Return the utility of each network: higher is better, NaN without a score.

        Args:
            by: The proxy or ensemble. An ensemble ranks these networks and no others.
            networks: The texts of the architectures.
            batch_size: Inputs in a batch, for proxies that look at more than one input; by default what they need.
            twin: The narrow twin, if some proxies are to be measured on it.
        """
        if self._setting.warm_up is not None:
            by = after_warm_up(by, self._setting.space.data_kind)
        by = for_space(by, self._setting.space_name)
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
            self.measured.add(network.architecture)
            self.seconds += network.seconds
            self.reused_seconds += network.seconds * network.reused
            if not network.reused or number == len(networks):  # else the rate would be that of reading a file
                self._callback(Event("measuring", number, len(networks), network, architecture=network.architecture))
            yield network
