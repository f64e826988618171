"""Search spaces, one folder or file for each family. `SPACES` is the registry of all of them."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, cast

from firstlight.core.registry import Kind, Registry

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
    "plain.perceptron": "plain-mlp",
    "plain.space": "plain-bottleneck plain-convnext plain-mobile plain-resnet plain-vit",
    "plainnet.space": "mobilenetv2 plainnet-resnet",
    "transnas.space": "transnas-macro transnas-micro",
}


def is_space(entry: object) -> bool:
    """Return whether `entry` is a space or a class of spaces."""
    from firstlight.spaces.base import Space

    return isinstance(entry, Space) or (inspect.isclass(entry) and issubclass(entry, Space))


def _read_space(entry: object) -> Space[Any] | None:
    """Return the space, or the one that a class makes. A class without a name is what several spaces have in common."""
    if not is_space(entry):
        return None
    if not inspect.isclass(entry):
        return cast("Space[Any]", entry)
    if inspect.isabstract(entry) or not hasattr(entry, "name"):
        return None
    return cast("Space[Any]", entry())


SPACES: Registry[Space[Any]] = Registry(
    Kind(
        "search space",
        _read_space,
        "firstlight.spaces",
        "Make one with firstlight.ChoiceSpace or @firstlight.choices, or write a class with a name and all methods of "
        f"firstlight.Space; or name one of {', '.join(sorted(' '.join(_NAMES.values()).split()))}.",
    ),
    {name: f"{__name__}.{module}" for module, names in _NAMES.items() for name in names.split()},
)
"""All search spaces by name: the built-in ones, those of installed packages, and those added in this process.

>>> len(firstlight.SPACES["nasbench201"])
15625
"""

__all__ = ["SPACES", "is_space"]
