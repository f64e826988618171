"""Registries: names that stand for built-in objects, objects of other packages, and objects of the running process."""

from __future__ import annotations

import warnings
from collections.abc import Callable, ItemsView, Iterator, Mapping, ValuesView
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, Protocol, TypeVar

from firstlight.core.errors import PluginError, SettingError, UnknownNameError
from firstlight.core.importing import import_named


class Named(Protocol):
    """An object that knows its name."""

    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=Named)


class PluginWarning(UserWarning):
    """An entry point of another package that is ignored."""


@dataclass(frozen=True)
class Kind(Generic[T]):
    """What the entries of a registry are.

    Attributes:
        name: What error messages call an entry, such as "proxy".
        read: Returns the entry that an object is or makes; None if it is none.
        group: The entry-point group in which other packages offer theirs, such as "firstlight.proxies"; "" for none.
        advice: What to do instead of giving something that is not an entry.
    """

    name: str
    read: Callable[[object], T | None]
    group: str = ""
    advice: str = ""


class Registry(Mapping[str, T], Generic[T]):
    """A mapping from names to objects, each imported when it is first used.

    Besides the built-in entries it knows those that were added in this process and those of other packages. It finds
    entries that are in no registry by `module:name`.

    Args:
        kind: What the entries are.
        modules: The module of each built-in entry, by name. No module is imported to list or check names.
    """

    def __init__(self, kind: Kind[T], modules: Mapping[str, str]) -> None:
        self.kind = kind
        self._modules = dict(modules)
        self._loaded: dict[str, T] = {}
        self._plugins: dict[str, EntryPoint] | None = None

    def add(self, name: str, entry: T) -> None:
        """Register an object under a name in this process.

        Args:
            name: The name. It replaces an entry that was added before, and one of another package.
            entry: The object.

        Raises:
            SettingError: If a built-in entry has this name.
        """
        if self.is_built_in(name):
            raise SettingError(f"There is already a built-in {self.kind.name} {name!r}. Give yours another name.")
        self._loaded[name] = entry

    def is_built_in(self, name: str) -> bool:
        """Return whether Firstlight itself has an entry of this name."""
        return name in self._modules

    def find(self, given: object) -> T:
        """Return the entry that a user means.

        Args:
            given: A name in the registry, `module:name`, or an object.

        Raises:
            UnknownNameError: If the registry does not know the name.
            ModelError: If `module:name` cannot be imported.
            PluginError: If the name is that of another package, which cannot be loaded.
            SettingError: If it is not an entry of this registry.
        """
        if isinstance(given, str) and (":" not in given or given in self):
            return self[given]
        entry = self.kind.read(import_named(given) if isinstance(given, str) else given)
        if entry is None:
            raise SettingError(f"{given!r} is not a {self.kind.name}. {self.kind.advice}".strip())
        return entry

    def split(self, text: str) -> tuple[str, str]:
        """Split `name:setting=value` into the name, which may be `module:name`, and what follows its colon.

        The second text is "" without settings, and starts with a colon otherwise.
        """
        text = text.strip()
        name, _, rest = text.partition(":")
        second = rest.partition(":")[0]
        if name and second and "=" not in second and name not in self:
            name = f"{name}:{second}"
        return name, text[len(name) :]

    def name_of(self, entry: T) -> str | None:
        """Return the name under which the registry has this very object; None if it has none."""
        return entry.name if entry.name in self and self._is_at(entry.name, entry) else None

    def _is_at(self, name: str, entry: T) -> bool:
        try:
            return self[name] is entry
        except PluginError:
            return False

    def __getitem__(self, name: str) -> T:
        if name not in self._loaded:
            if name in self._modules:
                self._load_module(self._modules[name])
            elif name in self._offered():
                self._loaded[name] = self._load_plugin(self._offered()[name])
            else:
                raise UnknownNameError(self.kind.name, name, self)
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._modules or name in self._loaded or name in self._offered()

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*self._modules, *self._loaded, *self._offered()}))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def items(self) -> ItemsView[str, T]:
        """Return names and entries. Those of other packages that cannot be loaded are left out, with a warning."""
        return self._usable().items()

    def values(self) -> ValuesView[T]:
        """Return the entries. Those of other packages that cannot be loaded are left out, with a warning."""
        return self._usable().values()

    def _usable(self) -> dict[str, T]:
        found = {}
        for name in self:
            try:
                found[name] = self[name]
            except PluginError as error:
                warnings.warn(f"The {self.kind.name} {name!r} is skipped. {error}", PluginWarning, stacklevel=3)
        return found

    def _load_module(self, module: str) -> None:
        for value in vars(import_module(module)).values():
            entry = self.kind.read(value)
            if entry is not None and self._modules.get(entry.name) == module:  # and not one that it imports
                self._loaded.setdefault(entry.name, entry)

    def _offered(self) -> dict[str, EntryPoint]:
        """Return the entry points of installed packages. Built-in names are taken, and the first of equals counts."""
        if self._plugins is None:
            self._plugins = {}
            for point in entry_points(group=self.kind.group) if self.kind.group else ():
                if point.name in self._modules or point.name in self._plugins:
                    taken = "Firstlight" if point.name in self._modules else self._plugins[point.name].value
                    warnings.warn(
                        f"The entry point {point.value!r} (group {self.kind.group!r}) is ignored: the name "
                        f"{point.name!r} is taken by {taken}. Use it as {point.value}, or give it another name.",
                        PluginWarning,
                        stacklevel=3,
                    )
                else:
                    self._plugins[point.name] = point
        return self._plugins

    def _load_plugin(self, point: EntryPoint) -> T:
        origin = f"The entry point {point.value!r} (group {self.kind.group!r})"
        try:
            given = point.load()
            entry = self.kind.read(given)
        except Exception as error:  # whatever the other package does
            raise PluginError(f"{origin} cannot be loaded: {type(error).__name__}: {error}.") from error
        if entry is None:
            raise PluginError(f"{origin} is not a usable {self.kind.name}: {given!r}. {self.kind.advice}".strip())
        if entry.name != point.name:
            raise PluginError(
                f"{origin} goes by the name {point.name!r}, and the {self.kind.name} itself by {entry.name!r}. Use one "
                "name for both."
            )
        return entry
