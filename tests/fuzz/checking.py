"""A property that holds for any input: a value, or an error that says something; and how many inputs were tried."""

from __future__ import annotations

import faulthandler
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, given, seed, settings
from hypothesis.errors import HypothesisWarning
from hypothesis.strategies import SearchStrategy
from tests.fuzz.cases import SEED

from firstlight.core.errors import FirstlightError

HANGS = 120  # seconds for one case; the slowest takes a fraction of one


@dataclass(frozen=True)
class Target:
    """What is fuzzed: a function of one hostile value, which may raise a FirstlightError and no other."""

    read: Callable[[Any], Any]
    values: SearchStrategy[Any]

    def check(self, value: Any) -> None:
        faulthandler.dump_traceback_later(HANGS, exit=True)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.read(value)
        except FirstlightError as error:
            if not str(error).strip():
                raise AssertionError(f"{type(error).__name__} says nothing") from error
        finally:
            faulthandler.cancel_dump_traceback_later()

    def try_out(self, cases: int) -> int:
        """How many cases were tried."""
        tried = []

        @seed(SEED)
        @settings(
            max_examples=cases, deadline=None, database=None, suppress_health_check=list(HealthCheck), print_blob=False
        )
        @given(self.values)
        def holds(value: Any) -> None:
            tried.append(1)
            self.check(value)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HypothesisWarning)  # about the length of files
            holds()
        return len(tried)


def reads_back(parse: Callable[[str], Any]) -> Callable[[str], None]:
    """The parser as a check: what it took is written as a text that it reads as the same."""

    def check(text: str) -> None:
        value = parse(text)
        assert parse(str(value)) == value

    return check
