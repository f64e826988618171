"""Finds what a package offers by looking into its folder, so that adding a file is all it takes to add an entry."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Generic, TypeVar

from firstlight.errors import FirstlightError, UnknownNameError

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """The entries of all modules in `package`, by name; the modules are imported when first asked for."""

    def __init__(self, kind: str, package: str, collect: Callable[[ModuleType], Mapping[str, T]]) -> None:
        self.kind = kind
        self._package = package
        self._collect = collect
        self._entries: dict[str, T] | None = None

    def _load(self) -> dict[str, T]:
        if self._entries is None:
            folder = importlib.import_module(self._package).__path__
            entries: dict[str, T] = {}
            for info in pkgutil.iter_modules(folder):
                module = importlib.import_module(f"{self._package}.{info.name}")
                found = self._collect(module)
                twice = sorted(found.keys() & entries.keys())
                if twice:
                    raise FirstlightError(f"Two modules of {self._package} offer the {self.kind} {twice[0]!r}.")
                entries.update(found)
            self._entries = dict(sorted(entries.items()))
        return self._entries

    def __getitem__(self, name: str) -> T:
        try:
            return self._load()[name]
        except KeyError:
            raise UnknownNameError(self.kind, name, self._load()) from None

    def __contains__(self, name: object) -> bool:
        return name in self._load()

    def __iter__(self) -> Iterator[str]:
        return iter(self._load())

    def __len__(self) -> int:
        return len(self._load())
