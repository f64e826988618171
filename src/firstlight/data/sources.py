"""Sources of data: a name, such as `digits` or `npz:PATH`, and the kind of data that it stands for.

`KINDS` is the index of all kinds. The modules of a kind are imported when one of its sources is first opened.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from torch import Tensor

# Inputs that are generated, in any shape that a network takes: they are of no kind
GENERATED = ("synthetic", "circle")


class Source(Protocol):
    """Labeled samples. Its length is the number of samples that can be drawn."""

    @property
    def title(self) -> str:
        """A short name that does not depend on where the data is stored."""

    @property
    def classes(self) -> int:
        """The number of classes."""

    @property
    def skeleton(self) -> dict[str, Any]:
        """Settings of a skeleton, besides shape and classes, that follow from the data."""

    def __len__(self) -> int: ...

    def draw(self, count: int, *, seed: int) -> tuple[Tensor, Tensor]:
        """Return `count` random samples, as networks take them, and their labels. A larger count only adds samples."""


class FileBacked:
    """Data that is read from a file when it is needed, because it may not fit into memory.

    A job for another machine does not carry such data along: every machine must have the file.
    """

    path: Path


@dataclass(frozen=True)
class DataKind:
    """A kind of data. Networks of a space take one kind, `Space.data_kind`.

    Attributes:
        name: Name of the kind, such as "images".
        forms: How its sources are written, such as "npz:PATH".
        module: Module with `open_source(name)` and `path_of(name)`.
        shares: Module with `load_share(source, share, seed=...)`.
        batch_size: The default batch of proxies that need several samples is at least this large.
        retrains: True if networks are not trained on this data during a search, as an evaluation, but after it. The
            data is then shown to the proxies, and `retrain` trains the best networks on it.
    """

    name: str
    forms: tuple[str, ...]
    module: str
    shares: str
    batch_size: int = 1
    retrains: bool = False

    @property
    def prefixes(self) -> tuple[str, ...]:
        """The texts before the colon in the names of its sources."""
        return tuple(prefix for prefix, colon, _ in (form.partition(":") for form in self.forms) if colon)


_IMAGES = DataKind("images", ("digits", "npz:PATH", "folder:PATH"), "firstlight.data.images", "firstlight.data.shares")
_CLICKS = DataKind(
    "clicks",
    ("criteo:FILE", "avazu:FILE", "kdd:FILE", "clicks:FILE"),
    "firstlight.data.clicks.prepared",
    "firstlight.data.clicks.shares",
    # as in the published searches: with 64 rows, Jacobian covariance ranks networks upside down
    batch_size=512,
    retrains=True,
)
KINDS = {kind.name: kind for kind in (_IMAGES, _CLICKS)}


def data_kind(name: str) -> DataKind | None:
    """Return the kind of data that a source holds.

    Args:
        name: Name of a source. A name without a prefix is a set of images in the data folder.

    Returns:
        The kind, or None for generated inputs ("synthetic", "circle"), which suit every network.

    Example:
        >>> data_kind("folder:photos@64").name
        'images'
    """
    if name in GENERATED:
        return None
    prefix, colon, _ = name.partition(":")
    return next((kind for kind in KINDS.values() if colon and prefix in kind.prefixes), _IMAGES)


def open_source(name: str) -> Source | None:
    """Open a source by its name; None for generated inputs."""
    kind = data_kind(name)
    if kind is None:
        return None
    found: Source = import_module(kind.module).open_source(name)
    return found


def path_of(name: str) -> Path | None:
    """Return the file or folder that a source is read from, or None if there is none."""
    kind = data_kind(name)
    if kind is None:
        return None
    found: Path | None = import_module(kind.module).path_of(name)
    return found
