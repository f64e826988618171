"""Registries with nothing but what a test puts there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from firstlight.core.registry import Registry


def holds_only(registry: Registry[Any], entries: Mapping[str, Any], patch: pytest.MonkeyPatch) -> None:
    """For the duration of a patch, the registry has these entries and no others."""
    patch.setattr(registry, "_modules", {})
    patch.setattr(registry, "_plugins", {})
    patch.setattr(registry, "_loaded", dict(entries))
