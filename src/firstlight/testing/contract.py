"""What a contract is, and how it reports that it is broken."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import torch

C = TypeVar("C")


class ContractError(AssertionError):
    """A proxy, space or algorithm that breaks a contract.

    Attributes:
        contract: The name of the contract.
    """

    def __init__(self, subject: str, contract: str, promise: str, problem: str) -> None:
        super().__init__(f"{subject} breaks the contract {contract!r}: {problem}\nThe contract: {promise}")
        self.contract = contract


class BrokenError(Exception):
    """Raised by a contract, with what was found."""


def expect(condition: bool, problem: str) -> None:
    """Raise `BrokenError` unless a condition holds."""
    if not condition:
        raise BrokenError(problem)


@dataclass(frozen=True)
class Contract(Generic[C]):
    """One contract, ready to be checked by calling it.

    Attributes:
        subject: What is checked, such as "The proxy 'mine'".
        case: What the test is called with.
        test: The test. Its name is that of the contract, and its docstring says what is promised.
    """

    subject: str
    case: C
    test: Callable[[C], None]

    @property
    def name(self) -> str:
        """The name of the contract."""
        return self.test.__name__

    def __str__(self) -> str:
        return self.name

    def __call__(self) -> None:
        """Check the contract.

        Raises:
            ContractError: If it is broken.
        """
        promise = " ".join((inspect.getdoc(self.test) or "").split())
        try:
            self.test(self.case)
        except BrokenError as error:
            raise ContractError(self.subject, self.name, promise, str(error)) from None
        except Exception as error:  # whatever the author's code does
            raise ContractError(self.subject, self.name, promise, f"{type(error).__name__}: {error}") from error


@contextmanager
def global_seed(seed: int) -> Iterator[None]:
    """Seed the global random numbers, which nothing may depend on, and restore them afterwards."""
    before = random.getstate(), np.random.get_state(), torch.get_rng_state()
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    try:
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])
        torch.set_rng_state(before[2])
