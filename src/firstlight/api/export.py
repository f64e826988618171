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
    from firstlight.spaces.base import Architecture, Space


@takes(Files)
def export(
    options: Options,
    space: str | os.PathLike[str] | Space[Any],
    architecture: str | Architecture | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    skeleton: str | Mapping[str, Any] = "",
    seed: int | None = None,
) -> Export:
    """Write a network into a folder: a description, PyTorch source that needs no Firstlight, weights, and ONNX.

    Args:
        space: The search space: a name, `module:name`, or the object; or the folder of a search or training alone.
        architecture: An architecture of the space, as its text or as the object. Default: that of the run.
        out: The folder for the files; required.
        skeleton: Settings of the network around the searched part, such as channels=8,cells=2. Default: those of the
            run.
        seed: Seed of the initial weights. Default: that of the run, or 0.

    Returns:
        What was written where, and how far ONNX Runtime differs from PyTorch.

    Raises:
        SettingError: Options that do not exist or contradict each other.

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
        check_names(space=space)
    from firstlight.export.exporter import export_network, export_run, read_formats
    from firstlight.export.runs import is_run

    files = options[Files]
    formats = read_formats(",".join(read_list(files.format)), onnx=files.onnx)
    settings: dict[str, Any] = {
        "skeleton": dict(read_skeleton(skeleton)),
        "weights": files.weights,
        "formats": formats,
        "overwrite": files.overwrite,
    }
    named, run = (None, space) if architecture is None else (space, architecture)
    if isinstance(run, (str, os.PathLike)) and is_run(str(run)):
        return export_run(Path(run), Path(out), space=named, seed=seed, **settings)  # type: ignore[arg-type]
    if named is None:
        raise SettingError(
            f"{str(run)!r} is not the folder of a run. Give one, or a space and an architecture of it: "
            "firstlight export SPACE ARCHITECTURE -o FOLDER."
        )
    return export_network(named, run, Path(out), seed=seed or 0, **settings)  # type: ignore[arg-type]
