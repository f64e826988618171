"""Finds what a package offers by looking into its folder, so that adding a file is all it takes to add an entry."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Generic, TypeVar

from firstlight.errors import SettingError, UnknownNameError

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """The entries of all modules in `package`, by name; the modules are imported when first asked for."""

    def __init__(self, kind: str, package: str, collect: Callable[[ModuleType], Mapping[str, T]]) -> None:
        self.kind = kind
        self._package = package
        self._collect = collect
        self._entries: dict[str, T] | None = None
        self._added: dict[str, T] = {}

    def add(self, name: str, entry: T) -> None:
        """An entry of the user's own; it takes the place of one that was added before, but of none of the package."""
        if self.is_built_in(name):
            raise SettingError(f"There is a {self.kind} {name!r} already. Give yours another name.")
        self._added[name] = entry

    def is_built_in(self, name: str) -> bool:
        return name in self._load()

    def _all(self) -> dict[str, T]:
        return {**self._load(), **self._added}

    def _load(self) -> dict[str, T]:
        if self._entries is None:
            folder = importlib.import_module(self._package).__path__
            entries: dict[str, T] = {}
            for info in pkgutil.iter_modules(folder):
                module = importlib.import_module(f"{self._package}.{info.name}")
                found = self._collect(module)
                twice = sorted(found.keys() & entries.keys())
                if twice:
                    raise SettingError(f"Two modules of {self._package} offer the {self.kind} {twice[0]!r}.")
                entries.update(found)
            self._entries = dict(sorted(entries.items()))
        return self._entries

    def __getitem__(self, name: str) -> T:
        try:
            return self._all()[name]
        except KeyError:
            raise UnknownNameError(self.kind, name, self._all()) from None

    def __contains__(self, name: object) -> bool:
        return name in self._all()

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())
