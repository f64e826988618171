"""Networks that are trained from scratch to be compared: found ones, some at random, and some made by hand.

Each result is a small file of its own, so that a comparison which was cut off goes on where it was.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from torch import nn

from firstlight.core.errors import FirstlightError
from firstlight.data.clicks import ClickData, open_clicks
from firstlight.execution.executor import Executor, Lost
from firstlight.spaces.in_space import InSpace
from firstlight.spaces.nasrec.baselines import build_baseline
from firstlight.spaces.nasrec.network import NasRecSkeleton
from firstlight.storage.tensor_files import write_tensors, write_whole
from firstlight.training.clicks import ClickRecipe, ClickResult, failed, train_clicks

# Raise it when the same recipe leads to other numbers than before, so that results in a folder are not reused
REVISION = 1

Kind = Literal["found", "random", "by hand"]


@dataclass(frozen=True)
class Contender:
    """A network of the space, or the name of one made by hand, and the seed of its weights and of the order of rows."""

    name: str
    kind: Kind
    seed: int


@dataclass(frozen=True)
class ClickSetting(InSpace):
    """What all trainings have in common."""

    source_name: str = ""
    recipe: ClickRecipe = ClickRecipe()
    skeleton_settings: tuple[tuple[str, Any], ...] = ()
    device: str | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Each worker process opens the data itself."""
        super().__getstate__()
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def load(self) -> None:
        self.data  # noqa: B018

    @functools.cached_property
    def data(self) -> ClickData:
        return open_clicks(self.source_name)

    @functools.cached_property
    def skeleton(self) -> NasRecSkeleton:
        asked = dict(self.skeleton_settings) | self.data.skeleton
        found = self.space.skeleton(
            **asked | {"input_shape": self.data.input_shape, "layer_norm": self.recipe.layer_norm}
        )
        assert isinstance(found, NasRecSkeleton)
        return found

    def build(self, contender: Contender) -> nn.Module:
        if contender.kind == "by hand":
            return build_baseline(contender.name, self.skeleton, seed=contender.seed)
        return self.space.build(contender.name, self.skeleton, seed=contender.seed)

    def key(self, contender: Contender) -> dict[str, Any]:
        """All that decides what comes out."""
        return {
            "space": "" if contender.kind == "by hand" else self.space_key,
            "network": contender.name,
            "skeleton": str(self.skeleton),
            "data": self.data.fingerprint,
            "recipe": str(self.recipe),
            "seed": contender.seed,
            "revision": REVISION,
        }


@dataclass(frozen=True)
class ClickJob:
    """Build, train, judge: the job that executors run. A network that fails costs only its own result.

    Weights of networks that were found are written into the folder, if there is one.
    """

    setting: ClickSetting
    folder: Path | None = None

    @property
    def files(self) -> list[Path]:
        """What every machine must find."""
        return [] if self.folder is None else [self.folder]

    def __call__(self, contender: Contender) -> ClickResult:
        setting = self.setting
        try:
            network = setting.build(contender)
            result = train_clicks(network, setting.data, setting.recipe, seed=contender.seed, device=setting.device)
            if self.folder is not None and contender.kind == "found" and result.status == "ok":
                key = setting.key(contender)
                write_tensors(path_of(self.folder, key, "safetensors"), network.state_dict(), key)
            return result
        except FirstlightError:  # which would meet every network
            raise
        except Exception as error:
            return failed(error)


def click_results(
    setting: ClickSetting, contenders: Iterable[Contender], executor: Executor, folder: Path | None
) -> Iterator[tuple[Contender, ClickResult]]:
    """First those that are known, then the others as they come in, each of which is kept in the folder."""
    missing = []
    for contender in contenders:
        known = None if folder is None else _known(folder, setting.key(contender))
        if known is None:
            missing.append(contender)
        else:
            yield contender, known
    if folder is not None and missing:
        folder.mkdir(parents=True, exist_ok=True)
    for contender, result in executor.map(ClickJob(setting, folder), missing):
        if isinstance(result, Lost):
            result = ClickResult(0, status=result.status, note=result.reason)
        if folder is not None:
            content = {"key": setting.key(contender), "result": result.to_dict()}
            write_whole(path_of(folder, content["key"]), json.dumps(content, indent=2).encode())
        yield contender, result


def path_of(folder: Path, key: dict[str, Any], ending: str = "json") -> Path:
    name = hashlib.blake2b(json.dumps(key, sort_keys=True).encode(), digest_size=12).hexdigest()
    return folder / f"{name}.{ending}"


def _known(folder: Path, key: dict[str, Any]) -> ClickResult | None:
    """A result of the kind that would be the same again."""
    try:
        content = json.loads(path_of(folder, key).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # not there, or cut off: it is computed again
        return None
    if not isinstance(content, dict) or content.get("key") != key:
        return None
    result = ClickResult.from_json(content["result"])
    return result if result.status in ("ok", "diverged") else None
