"""Who looks on at a search, such as a display: told what happens, with no say in it."""

from __future__ import annotations

from firstlight.search.objective import Candidate


class Onlooker:
    """Takes no notice of anything; override what is of interest."""

    def scored(self, candidate: Candidate) -> None:
        """A network was scored, or asked about."""

    def states(self, count: int, total: int | None, note: str, leading: str) -> None:
        """So many states of supernets were looked at, of how many if that is known; what there is to say about them,
        and which architecture they lead to."""

    def measured(self, done: int, total: int) -> None:
        """Proxies have judged so many networks of a pool."""

    def warms_up(self, done: int, total: int) -> None:
        """Weights that all networks share are trained: so many steps of all."""

    def retrained(self, done: int, total: int) -> None:
        """So many of the networks that were found have been trained from scratch, and of those beside them."""

    def asks(self, note: str, architecture: str) -> None:
        """How an architecture came to be asked about."""
