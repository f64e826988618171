"""Import what a user names as `package.module:name`, and find the name of what a user gives as an object."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

from firstlight.core.errors import ModelError


def import_named(target: str) -> Any:
    """Return the object that `package.module:name` stands for.

    Raises:
        ModelError: If it cannot be imported.
    """
    module_name, _, name = target.partition(":")
    try:
        return getattr(importlib.import_module(module_name), name)
    except Exception as error:  # whatever the user's module does when it is imported
        kind = type(error).__name__
        raise ModelError(f"{target!r} cannot be imported: {kind}: {error}. Write package.module:function.") from error


def module_of(code: Any) -> str:
    """Return the name by which others import the module of a function. A script goes by the name of its file."""
    name: str = code.__module__
    main = sys.modules[name] if name == "__main__" else None
    spec, file = getattr(main, "__spec__", None), getattr(main, "__file__", None)
    if spec is not None:  # as of `python -m`
        return str(spec.name)
    return name if file is None else Path(file).stem


def source_digest(code: Any) -> str:
    """Return a digest that changes with the source of a function or class, but not with the source of what it calls."""
    try:
        text = inspect.getsource(code)
    except (OSError, TypeError):  # typed into a session, or made by other code
        compiled = getattr(code, "__code__", None)
        text = repr((compiled.co_code, compiled.co_consts, compiled.co_names)) if compiled else repr(code)
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


def name_of(entry: object) -> str | None:
    """Return the `package.module:name` by which another process can import this very object; None if there is none."""
    for module_name, module in sorted(sys.modules.items(), key=lambda item: item[0] == "__main__"):
        session = module_name == "__main__" and getattr(module, "__file__", None) is None
        if session or module_name == "builtins":  # which also holds what a session printed last
            continue
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if value is entry:
                return f"{module_name}:{name}"
    return None
