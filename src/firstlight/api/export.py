"""`firstlight.export`: a network as files for use elsewhere."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firstlight.api.common import check_names
from firstlight.core.errors import SettingError
from firstlight.core.groups import Options, takes
from firstlight.options import Files, read_list, read_skeleton

if TYPE_CHECKING:
    from collections.abc import Mapping

    from firstlight.export.exporter import Export
    from firstlight.search.result import SearchResult
    from firstlight.spaces.base import Architecture, Space
    from firstlight.training.trained import Trained


@takes(Files)
def export(
    options: Options,
    source: str | os.PathLike[str] | Space[Any] | SearchResult | Trained,
    architecture: str | Architecture | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    skeleton: str | Mapping[str, Any] = "",
    seed: int | None = None,
) -> Export:
    """Write a network to a folder: a description, PyTorch source that does not need Firstlight, weights, and ONNX.

    Args:
        source: The folder of a search or training, a result of `search` or `train`; or a search space (a name,
            `module:name`, or the object), followed by an architecture.
        architecture: An architecture of the space, as its text or as the object.
        out: The folder for the files; required.
        skeleton: Settings of the network around the searched part, such as channels=8,cells=2. Default: those of the
            run.
        seed: Seed of the initial weights. Default: that of the run, or 0.

    Returns:
        The files that were written, and how much ONNX Runtime differs from PyTorch.

    Raises:
        SettingError: Options that do not exist or contradict each other, or a folder that is not empty.
        DataError: A run or weights that cannot be read.

    Example:
        >>> import firstlight, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     done = firstlight.export("nats-sss", "8:8:8:8:8", out=f"{folder}/exported", format="json")
        >>> done.files
        ('architecture.json',)
    """
    if out is None:
        raise SettingError("Name the folder for the files: out=FOLDER (-o FOLDER).")
    if architecture is not None:
        check_names(space=source)
    from firstlight.export.exporter import export as write
    from firstlight.export.exporter import read_formats

    files = options[Files]
    space, network = (None, source) if architecture is None else (source, architecture)
    return write(
        network,  # type: ignore[arg-type]
        Path(out),
        space=space,  # type: ignore[arg-type]
        skeleton=dict(read_skeleton(skeleton)) or None,
        seed=seed,
        weights=None if files.weights is None else Path(files.weights),
        formats=read_formats(",".join(read_list(files.format)), onnx=files.onnx),
        overwrite=files.overwrite,
    )
