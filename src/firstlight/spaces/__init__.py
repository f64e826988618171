"""Search spaces, one folder or file for each family. `SPACES` is the registry of all of them."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import TYPE_CHECKING, Any

from firstlight.core.registry import Registry

if TYPE_CHECKING:
    from firstlight.spaces.base import Space

# Importing this package imports no space, and no PyTorch.
_NAMES = {
    "autoformer.space": "autoformer-base autoformer-small autoformer-tiny",
    "darts.space": "darts",
    "nasbench101.space": "nasbench101",
    "nasbench1shot1.space": "nasbench1shot1-s1 nasbench1shot1-s2 nasbench1shot1-s3",
    "nasbench201.space": "nasbench201",
    "nasrec.space": "nasrec-full nasrec-small",
    "nats_sss": "nats-sss",
    "plainnet.space": "mobilenetv2 plainnet-resnet",
    "transnas.space": "transnas-macro transnas-micro",
}


def is_space(entry: object) -> bool:
    """Return whether `entry` is a space or a class of spaces."""
    from firstlight.spaces.base import Space

    return isinstance(entry, Space) or (inspect.isclass(entry) and issubclass(entry, Space))


def _spaces_of(module: ModuleType) -> dict[str, Space[Any]]:
    classes: list[Any] = [entry for entry in vars(module).values() if inspect.isclass(entry) and is_space(entry)]
    # a class without a name is the base of several spaces
    return {entry.name: entry() for entry in classes if not inspect.isabstract(entry) and hasattr(entry, "name")}


SPACES: Registry[Space[Any]] = Registry(
    "search space",
    {name: f"{__name__}.{module}" for module, names in _NAMES.items() for name in names.split()},
    _spaces_of,
    "firstlight.spaces",
    is_space,
)

__all__ = ["SPACES", "is_space"]
