"""Scores of all classes of NAS-Bench-201, measured once: what the tables of HNAS are computed from.

`python -m benchmarks.hnas_classes` measures them part by part and writes the file. Networks of one class compute the
same function and share the score of the canonical network.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from firstlight.core.errors import MissingFileError, StoreError, UnknownNameError
from firstlight.core.seeds import python_generator
from firstlight.core.settings import Settings
from firstlight.core.statistics import Numbers
from firstlight.execution.executor import Executor
from firstlight.papers.benchmarks import DataFolder
from firstlight.papers.hnas_bounds import KAPPA, METRICS, PROXY_OF
from firstlight.proxies.base import NetworkScore
from firstlight.proxies.requests import ProxyRequest, parse_requests
from firstlight.scoring.service import ScoreService, Setting, source_for
from firstlight.search.measuring import Twin
from firstlight.spaces import SPACES
from firstlight.storage.environment import versions
from firstlight.storage.store import Store

SPACE = "nasbench201"
CLASSES = 6466
FILE = f"{SPACE}.parquet"
ARCHITECTURE, MEASURED, ABOUT = "architecture", "measured", b"firstlight"
# The two readings of Eq. 2 and Eq. 3
OTHER_READINGS = ("grad_norm:form=whole", "snip:form=product")
ALL = (*PROXY_OF.values(), *OTHER_READINGS, KAPPA)
FEW = (*METRICS.values(), KAPPA)


@dataclass(frozen=True)
class Part:
    """What is measured with one setting.

    Attributes:
        proxies: The proxies.
        batch_size: The number of images in a batch.
        channels: The channels of the network; those of the benchmark unless given.
        initialization: How weights are drawn.
        images: The images that networks are shown.
        twin: Whether the network is the narrow twin, with small images.
    """

    proxies: tuple[str, ...]
    batch_size: int
    channels: int | None = None
    initialization: str = "default"
    images: str = "cifar10"
    twin: bool = False

    @property
    def requests(self) -> list[ProxyRequest]:
        return parse_requests(list(self.proxies))

    def setting(self, data: DataFolder) -> Setting:
        """Return how networks are built and measured.

        Raises:
            MissingFileError: If the data folder lacks the images.
        """
        images = data.images(self.images)
        if images is None:
            raise MissingFileError(
                f"The scores need images named {self.images}: put {self.images}*.npz into the folder."
            )
        skeleton: Settings = () if self.channels is None else (("channels", self.channels),)
        source = source_for(self.requests, images, self.batch_size)
        found = Setting(SPACE, source, 0, skeleton, initialization=self.initialization)
        return Twin().of(found) if self.twin else found


# In the order in which they are worth measuring; the published batches have 64 images
PARTS: Mapping[str, Part] = {
    "twin": Part((KAPPA, METRICS["Trace"]), 64, twin=True),
    "batch16": Part(ALL, 16),
    "batch64": Part(FEW, 64),
    "imagenet16": Part(ALL, 16, images="tinyimagenet16"),
    "batch4": Part(FEW, 4),
    "batch8": Part(FEW, 8),
    "channels4": Part(FEW, 16, channels=4),
    "channels8": Part(FEW, 16, channels=8),
    "xavier": Part(FEW, 16, initialization="xavier"),
    "he": Part(FEW, 16, initialization="he"),
    "batch32": Part(FEW, 32),
    "channels32": Part(FEW, 16, channels=32),
}


@cache
def ordered() -> tuple[str, ...]:
    """Return the canonical text of each class, in a random order that is always the same: any beginning is a sample."""
    space = SPACES[SPACE]
    texts = sorted({str(space.canonical(architecture)) for architecture in space})
    python_generator(0, "classes of NAS-Bench-201").shuffle(texts)
    return tuple(texts)


def find_part(name: str) -> Part:
    """Return a part by its name.

    Raises:
        UnknownNameError: If there is no such part.
    """
    if name not in PARTS:
        raise UnknownNameError("part", name, PARTS)
    return PARTS[name]


def measure(
    part: Part, data: DataFolder, executor: Executor, store: Store, texts: Sequence[str]
) -> Iterator[NetworkScore]:
    """Yield the scores of networks; those in the store are not measured again."""
    return ScoreService(part.setting(data), part.requests, executor, store).scores(texts)


def describe(part: Part, data: DataFolder) -> dict[str, Any]:
    """Return what decides the scores of a part."""
    setting = part.setting(data)
    return {
        "proxies": {str(request): request.proxy.revision for request in part.requests},
        "batch_size": part.batch_size,
        "skeleton": setting.described,
        "images": setting.inputs.fingerprint,
        "seed": setting.seed,
    }


def collect(data: DataFolder, store: Store, parts: Sequence[str], command: str) -> ClassScores:
    """Return what the store has of the parts. Nothing is measured."""
    columns: dict[str, Any] = {ARCHITECTURE: sorted(ordered())}
    about: dict[str, Any] = {
        "command": command,
        "date": datetime.now(UTC).date().isoformat(),
        "versions": versions(),
        "parts": {},
    }
    for name in parts:
        part = find_part(name)
        setting = part.setting(data)
        columns |= _stored(
            columns[ARCHITECTURE], name, part, lambda text, request, s=setting: store.find_score(s.key(text, request))
        )
        about["parts"][name] = describe(part, data) | {"measured": int(np.sum(columns[f"{name}.{MEASURED}"]))}
    return ClassScores(pd.DataFrame(columns).set_index(ARCHITECTURE), about)


def _stored(texts: Sequence[str], name: str, part: Part, find: Callable[..., Any]) -> dict[str, Any]:
    """Return a column for each proxy, NaN without a value, and whether all of them were asked about each network."""
    found = {f"{name}.{request}": [find(text, request) for text in texts] for request in part.requests}
    measured = np.all([[score is not None for score in scores] for scores in found.values()], axis=0)
    values = {
        column: np.array(
            [np.nan if score is None or not score.ok else score.value for score in scores], dtype=np.float32
        )
        for column, scores in found.items()
    }
    return values | {f"{name}.{MEASURED}": measured}


@dataclass(frozen=True)
class ClassScores:
    """The scores of the classes.

    Attributes:
        frame: A row for each class, by its text: a column `part.proxy` for each score, NaN without one, and
            `part.measured`.
        about: How they were measured.
    """

    frame: pd.DataFrame
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def parts(self) -> dict[str, int]:
        """The number of measured classes of each part."""
        return {name: int(entry["measured"]) for name, entry in self.about.get("parts", {}).items()}

    def has(self, part: str, proxies: Sequence[str]) -> bool:
        """Return whether some networks were scored by all these proxies."""
        return bool(self.parts.get(part)) and all(f"{part}.{proxy}" in self.frame.columns for proxy in proxies)

    def values(self, part: str, proxy: str, texts: Sequence[str] | pd.Series[str]) -> Numbers:
        """Return the scores of networks by their canonical texts; NaN without one."""
        found: Numbers = self.frame[f"{part}.{proxy}"].reindex(list(texts)).to_numpy(dtype=float)
        return found

    def measured(self, part: str, texts: Sequence[str] | pd.Series[str]) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return which networks were measured."""
        return self.frame[f"{part}.{MEASURED}"].reindex(list(texts)).fillna(False).to_numpy(dtype=bool)

    def covers(self, name: str, described: Mapping[str, Any]) -> bool:
        """Return whether there are scores of a part, measured just as described."""
        entry = self.about.get("parts", {}).get(name, {})
        return bool(entry) and all(entry.get(key) == value for key, value in _plain(described).items())

    def joined(self, earlier: ClassScores) -> ClassScores:
        """Return these scores, and for classes without any those of an earlier file that were measured alike."""
        frame, parts = self.frame.copy(), dict(self.about["parts"])
        for name, entry in earlier.about.get("parts", {}).items():
            own = [column for column in earlier.frame.columns if column.partition(".")[0] == name]
            if name not in parts:
                frame, parts[name] = frame.join(earlier.frame[own]), entry
            elif earlier.covers(name, {key: value for key, value in parts[name].items() if key != "measured"}):
                missing = frame.index[~frame[f"{name}.{MEASURED}"]]
                frame.loc[missing, own] = earlier.frame.loc[missing, own]
                parts[name] = parts[name] | {"measured": int(frame[f"{name}.{MEASURED}"].sum())}
        return ClassScores(frame, {**self.about, "parts": parts})

    def write(self, path: Path) -> None:
        """Write the file.

        Raises:
            StoreError: If it cannot be written.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.Table.from_pandas(self.frame)
        table = table.replace_schema_metadata({**(table.schema.metadata or {}), ABOUT: json.dumps(self.about)})
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(table, path, compression="zstd")
        except OSError as error:
            raise StoreError(f"{path} cannot be written: {error}. Name another file.") from error

    @classmethod
    def read(cls, path: Path) -> ClassScores:
        """Read a file that `write` wrote."""
        import pyarrow.parquet as pq

        table = pq.read_table(path)
        return cls(table.to_pandas(), json.loads(table.schema.metadata[ABOUT]))


def _plain(described: Mapping[str, Any]) -> dict[str, Any]:
    """Return a description as a file has it."""
    plain: dict[str, Any] = json.loads(json.dumps(described))
    return plain


@cache
def load_class_scores() -> ClassScores:
    """Return the scores that come with Firstlight; without any row if the file is missing."""
    with resources.as_file(resources.files(__package__) / "scores" / FILE) as path:
        return ClassScores.read(path) if path.is_file() else ClassScores(pd.DataFrame())
