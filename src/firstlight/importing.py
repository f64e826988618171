"""Finding what a user wrote: `package.module:name`."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import sys
from typing import Any

from firstlight.errors import ModelError


def import_named(target: str) -> Any:
    """What `package.module:name` stands for."""
    module_name, _, name = target.partition(":")
    try:
        return getattr(importlib.import_module(module_name), name)
    except Exception as error:  # whatever the user's module does when it is imported
        kind = type(error).__name__
        raise ModelError(f"{target!r} cannot be imported: {kind}: {error}. Write package.module:function.") from error


def source_digest(code: Any) -> str:
    """Changes with the source of a function or class; what they call is not looked at."""
    try:
        text = inspect.getsource(code)
    except (OSError, TypeError):  # written into a session, or made by other code
        compiled = getattr(code, "__code__", None)
        text = repr((compiled.co_code, compiled.co_consts, compiled.co_names)) if compiled else repr(code)
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


def name_of(entry: object) -> str | None:
    """The `package.module:name` by which another process can import the very same object; None if there is none."""
    for module_name, module in sorted(sys.modules.items(), key=lambda item: item[0] == "__main__"):
        session = module_name == "__main__" and getattr(module, "__file__", None) is None
        if session or module_name == "builtins":  # which also holds what a session printed last
            continue
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if value is entry:
                return f"{module_name}:{name}"
    return None
