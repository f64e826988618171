"""Where a problem gets its scores from: proxies, a table of trained networks, or training."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from firstlight.execution.executor import Executor
from firstlight.proxies.base import NetworkScore
from firstlight.spaces.base import Skeleton
from firstlight.spaces.in_space import Surroundings
from firstlight.storage.store import Store


class Source(Protocol):
    """A source of scores."""

    @property
    def setting(self) -> Surroundings:
        """The space and the skeleton."""
        ...

    def scores(self, architectures: Iterable[str]) -> Iterator[NetworkScore]:
        """Yield the scores of each different architecture as they become known, in any order."""
        ...


class TruthRequest(Protocol):
    """A description of where true performance comes from."""

    def open(self, executor: Executor, store: Store) -> Truth:
        """Return the source."""
        ...

    @property
    def measure(self) -> str:
        """What performance is, such as "validation accuracy after 3 epochs"."""
        ...

    @property
    def skeleton(self) -> Skeleton:
        """The skeleton of the networks that are evaluated."""
        ...

    @property
    def data(self) -> str | None:
        """What they are trained on, if known."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return everything that performance depends on."""
        ...

    def remarks(self, truth: Truth, architecture: str) -> list[str]:
        """Return what else is known of a network that was chosen."""
        ...


class Truth(Source, Protocol):
    """A source of true performance."""

    @property
    def fidelities(self) -> tuple[int, ...]:
        """The numbers of epochs that can be chosen, fewest first."""
        ...

    def at(self, epochs: int) -> Source:
        """Return the source of performance after another number of epochs."""
        ...

    def knows(self, architecture: str) -> bool:
        """Return whether a network can be evaluated: a table may hold only a part of the space."""
        ...
