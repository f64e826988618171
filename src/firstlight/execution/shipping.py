"""Send jobs to other machines: packed once with the data they need, unpacked once by each worker process."""

from __future__ import annotations

import io
import os
import pickle
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ray import cloudpickle

from firstlight.core.errors import DataError, WorkerError
from firstlight.data.sources import FileBacked
from firstlight.spaces.in_space import InSpace
from firstlight.storage.environment import Environment, this_environment

Job = Callable[[Any], Any]


@dataclass(frozen=True)
class Parcel:
    """A packed job.

    Attributes:
        packed: The pickled job, with the data that its settings have loaded.
        folder: The working directory of the driver.
        search_path: The `sys.path` of the driver.
        files: Files that the job needs and that are not sent along.
        environment: The environment of the driver, which the store records for all results.
    """

    packed: bytes
    folder: Path
    search_path: tuple[str, ...]
    files: tuple[Path, ...]
    environment: Environment

    def unpack(self) -> Job:
        """Return the job. Relative paths and imports work if this machine has the same folders as the driver."""
        here = this_environment()
        if here.may_differ(self.environment):
            raise WorkerError(
                f"The node {platform.node()} has {here}, but the driver has {self.environment}: results may differ in "
                "the last digits, and a run does not mix them. Use nodes and a driver of the same kind; or run each "
                "kind separately, and combine the stores with `firstlight store merge`. See docs/cluster.md."
            )
        if self.folder.is_dir():
            os.chdir(self.folder)
        sys.path.extend(folder for folder in self.search_path if folder not in sys.path)
        missing = [str(path) for path in self.files if not path.exists()]
        if missing:
            raise DataError(
                f"The node {platform.node()} does not have {', '.join(missing)}. Large data sets, shared weights and "
                "images for one-shot steps are read from files: put them, and the run's folder (--out), where all "
                "nodes find them under the same path. See docs/cluster.md."
            )
        try:
            job: Job = pickle.loads(self.packed)
        except ImportError as error:
            raise WorkerError(
                f"The node {platform.node()} cannot load the job: {error}. Install the dependencies of Firstlight and "
                "the modules of your own spaces there. See docs/cluster.md."
            ) from error
        return job


def pack(job: Job) -> Parcel:
    """Pack a job for another machine."""
    content = io.BytesIO()
    packer = _Packer(content)
    packer.dump(job)  # type: ignore[no-untyped-call]
    files = [*getattr(job, "files", ()), *packer.files]
    return Parcel(
        content.getvalue(), Path.cwd(), tuple(sys.path), tuple(path.absolute() for path in files), this_environment()
    )


class _Packer(cloudpickle.CloudPickler):
    """Settings take along what they have loaded, unlike on the way to local workers; but not data read from a file."""

    def __init__(self, content: io.BytesIO) -> None:
        super().__init__(content)  # type: ignore[no-untyped-call]
        self.files: list[Path] = []

    def reducer_override(self, thing: Any) -> Any:
        if isinstance(thing, InSpace):
            thing.load()
            return object.__new__, (type(thing),), InSpace.__getstate__(thing)
        if isinstance(thing, FileBacked):
            self.files.append(thing.path)
        return super().reducer_override(thing)  # type: ignore[no-untyped-call]
