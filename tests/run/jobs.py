"""Jobs for the executor's tests; workers import them by name."""

from __future__ import annotations

import os
import signal
import time

import torch


def square(number: int) -> int:
    return number * number


def threads(_: int) -> int:
    return torch.get_num_threads()


def die_on_three(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def own_process(_: int) -> int:
    time.sleep(0.05)
    return os.getpid()


class Unloadable:
    """A job that cannot be loaded in a worker."""

    def __reduce__(self) -> tuple[object, tuple[str, ...]]:
        return os._exit, (3,)  # type: ignore[return-value]

    def __call__(self, number: int) -> int:
        return number
