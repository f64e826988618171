"""Jobs for the executor's tests; workers import them by name."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import tempfile
import threading
import time
import weakref
from dataclasses import dataclass
from pathlib import Path

import torch

from firstlight.core.errors import WorkerError


def square(number: int) -> int:
    return number * number


def threads(_: int) -> int:
    return torch.get_num_threads()


def die_on_three(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


@dataclass(frozen=True)
class DieOnce:
    """Its first item kills the worker, at the first attempt."""

    mark: Path

    def __call__(self, number: int) -> int:
        if not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number


def own_process(_: int) -> int:
    time.sleep(0.05)
    return os.getpid()


def own_process_and_its_parent(_: int) -> tuple[int, int]:
    return os.getpid(), os.getppid()


def fail_on_three(number: int) -> int:
    if number == 3:
        raise FileNotFoundError("three")
    return number


def cannot_work(_: int) -> int:
    raise WorkerError("not here")


def lock(_: int) -> object:
    return threading.Lock()  # which does not travel


def slow_first(number: int) -> int:
    if number == 0:
        time.sleep(4)
    return number


@dataclass(frozen=True)
class AtATime:
    """How many are at work at the same time: each waits until so many have started, and then for some more to come."""

    folder: str
    awaited: int

    def __call__(self, _: int) -> int:
        tempfile.mkstemp(dir=self.folder, prefix="started")
        while self._count("started") < self.awaited:  # for ever, if they never meet
            time.sleep(0.02)
        time.sleep(0.5)
        most = self._count("started") - self._count("ended")
        time.sleep(0.5)  # so that the others have counted as well
        tempfile.mkstemp(dir=self.folder, prefix="ended")
        return most

    def _count(self, what: str) -> int:
        return sum(name.startswith(what) for name in os.listdir(self.folder))


def misbehave(item: str) -> str:
    """What networks may do to a worker; each is done by the item of that name."""
    if item == "crash":
        ctypes.string_at(0)
    if item == "exit":
        os._exit(7)
    if item == "hang":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            pass
    if item == "print":
        while True:
            print("x" * 10_000)
            sys.stderr.write("y" * 10_000)
            os.write(1, b"z" * 10_000)
    if item == "hog":
        kept = []
        while True:
            kept.append(torch.ones(2**24))
    return item


class Hangs:
    """A job that says in which process it is, and never ends."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __call__(self, number: int) -> int:
        with open(self.path, "w") as file:
            file.write(str(os.getpid()))
        while True:
            pass


class UnloadableOnce:
    """A job that kills its worker, and the worker that replaces it while it starts."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __setstate__(self, state: dict[str, str]) -> None:
        self.__dict__.update(state)
        loads = len(os.listdir(self.folder))
        open(os.path.join(self.folder, str(loads)), "w").close()
        if loads == 1:
            os._exit(3)

    def __call__(self, number: int) -> int:
        return die_on_three(number)


class Unloadable:
    """A job that cannot be loaded in a worker."""

    def __reduce__(self) -> tuple[object, tuple[str, ...]]:
        return os._exit, (3,)  # type: ignore[return-value]

    def __call__(self, number: int) -> int:
        return number


@dataclass(frozen=True)
class MarkAndDieOnThree:
    """A job that leaves a file behind at each attempt, and kills its worker on three."""

    folder: str

    def __call__(self, number: int) -> int:
        tempfile.mkstemp(dir=self.folder)
        return die_on_three(number)


@dataclass(frozen=True)
class Unpacked:
    """A job that leaves a file behind whenever it is unpacked."""

    folder: str

    def __setstate__(self, state: dict[str, str]) -> None:
        self.__dict__.update(state)
        tempfile.mkstemp(dir=self.folder)

    def __call__(self, number: int) -> int:
        return number


@dataclass(frozen=True)
class Kept:
    """A job that says how many of its kind are kept where it runs."""

    number: int

    def __setstate__(self, state: dict[str, int]) -> None:
        self.__dict__.update(state)
        _kept.add(self)

    def __call__(self, _: int) -> int:
        return len(_kept)


_kept: weakref.WeakSet[Kept] = weakref.WeakSet()


@dataclass(frozen=True)
class NeedsFile:
    """A job that reads a file which it does not take along."""

    path: Path

    @property
    def files(self) -> list[Path]:
        return [self.path]

    def __call__(self, number: int) -> int:
        return number


def package_folder(_: int) -> str:
    import firstlight

    return os.path.dirname(firstlight.__file__)
