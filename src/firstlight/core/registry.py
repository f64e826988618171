"""Registries: names that stand for built-in objects, objects of other packages, and objects of the running process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Generic, TypeVar

from firstlight.core.errors import PluginError, SettingError, UnknownNameError

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """A mapping from names to objects, each imported when it is first asked for.

    Args:
        kind: What the entries are, for error messages, such as "proxy".
        modules: The module of each built-in entry, by name. No module is imported to list or check names.
        collect: Returns the entries of a module by name.
        group: The entry-point group in which other packages offer theirs, such as "firstlight.proxies".
        is_entry: Tells whether an object of another package is an entry.
    """

    def __init__(
        self,
        kind: str,
        modules: Mapping[str, str],
        collect: Callable[[ModuleType], Mapping[str, T]],
        group: str = "",
        is_entry: Callable[[object], bool] = lambda entry: True,
    ) -> None:
        self.kind = kind
        self._modules = dict(modules)
        self._collect = collect
        self._group = group
        self._is_entry = is_entry
        self._loaded: dict[str, T] = {}
        self._plugins: dict[str, EntryPoint] | None = None

    def add(self, name: str, entry: T) -> None:
        """Register an object under a name in this process. It may replace an added one, but no built-in one."""
        if self.is_built_in(name):
            raise SettingError(f"There is a built-in {self.kind} {name!r} already. Give yours another name.")
        self._loaded[name] = entry

    def is_built_in(self, name: str) -> bool:
        return name in self._modules

    def __getitem__(self, name: str) -> T:
        if name not in self._loaded:
            if name in self._modules:
                self._loaded |= self._collect(import_module(self._modules[name]))
            elif name in self._offered():
                self._loaded[name] = self._load_plugin(name)
            else:
                raise UnknownNameError(self.kind, name, self)
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._modules or name in self._loaded or name in self._offered()

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*self._modules, *self._loaded, *self._offered()}))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def _offered(self) -> dict[str, EntryPoint]:
        """The entries that installed packages offer; a built-in name cannot be taken by one."""
        if self._plugins is None:
            found = entry_points(group=self._group) if self._group else ()
            self._plugins = {point.name: point for point in found if point.name not in self._modules}
        return self._plugins

    def _load_plugin(self, name: str) -> T:
        point = self._offered()[name]
        origin = f"The entry point {point.value!r} (group {self._group!r})"
        try:
            entry = point.load()
        except Exception as error:  # whatever the other package does when it is imported
            raise PluginError(f"{origin} cannot be imported: {type(error).__name__}: {error}.") from error
        if not self._is_entry(entry):
            raise PluginError(f"{origin} is a {type(entry).__name__}, not a {self.kind}.")
        loaded: T = entry
        return loaded
