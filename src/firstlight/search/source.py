"""Where a problem gets its scores from: proxies, a table of trained networks, or training itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from firstlight.execution.executor import Executor
from firstlight.proxies.base import NetworkScore
from firstlight.spaces.base import Skeleton
from firstlight.spaces.in_space import Surroundings
from firstlight.storage.store import Store


class Source(Protocol):
    @property
    def setting(self) -> Surroundings: ...

    def scores(self, architectures: Iterable[str]) -> Iterator[NetworkScore]:
        """One answer for each different architecture among these, as they become known; in any order."""
        ...


class TruthRequest(Protocol):
    """Where the truth is to come from, as a user says it."""

    def open(self, executor: Executor, store: Store) -> Truth: ...

    @property
    def merit(self) -> str:
        """In words, what a network is judged by."""
        ...

    @property
    def skeleton(self) -> Skeleton:
        """That of the networks which are judged."""
        ...

    @property
    def data(self) -> str | None:
        """What they are trained on, if that is known."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Everything that decides it."""
        ...

    def remarks(self, truth: Truth, architecture: str) -> list[str]:
        """What else is known of a network that was chosen by it."""
        ...


class Truth(Source, Protocol):
    """What trained networks reach. `fidelities` are the numbers of epochs that there is a choice of, fewest first."""

    @property
    def fidelities(self) -> tuple[int, ...]: ...

    def at(self, epochs: int) -> Source:
        """The same after another number of epochs."""
        ...

    def knows(self, architecture: str) -> bool:
        """Whether it can be asked about: a table may hold a part of the space only."""
        ...
