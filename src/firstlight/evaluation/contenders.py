"""Training of networks that predict clicks on an executor: found, random and hand-made ones, to be compared.

Each result is a small file of its own, so that a comparison that was interrupted can be resumed.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from torch import nn

from firstlight.core.errors import FirstlightError
from firstlight.data.clicks import ClickData, open_clicks
from firstlight.execution.executor import Executor, Lost
from firstlight.spaces.in_space import InSpace
from firstlight.spaces.nasrec.baselines import build_baseline
from firstlight.spaces.nasrec.network import NasRecSkeleton
from firstlight.storage.tensor_files import write_tensors, write_whole
from firstlight.training.clicks import ClickResult, click_recipe, train_clicks
from firstlight.training.recipes import RecipeRequest
from firstlight.training.retrained import Kind

# Raise it when the same recipe leads to other numbers than before, so that results in a folder are not reused
REVISION = 1


@dataclass(frozen=True)
class Contender:
    """A network to train.

    Args:
        name: The text of the architecture, or the name of a hand-made network.
        kind: Where the network comes from.
        seed: Seed of its weights and of the order of rows.
    """

    name: str
    kind: Kind
    seed: int


@dataclass(frozen=True)
class ClickSetting(InSpace):
    """What all trainings have in common.

    Args:
        source_name: The click data.
        recipe: How to train.
        skeleton_settings: Settings of the skeleton that differ from what the data ask for.
        device: Where to train.
    """

    source_name: str = ""
    recipe: RecipeRequest = field(default_factory=click_recipe)
    skeleton_settings: tuple[tuple[str, Any], ...] = ()
    device: str | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the data: each worker process opens them itself."""
        super().__getstate__()
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}

    def load(self) -> None:
        """Open the data now."""
        self.data  # noqa: B018

    @functools.cached_property
    def data(self) -> ClickData:
        """The click data."""
        return open_clicks(self.source_name)

    @functools.cached_property
    def skeleton(self) -> NasRecSkeleton:
        """The skeleton for the data."""
        asked = dict(self.skeleton_settings) | self.data.skeleton
        found = self.space.skeleton(
            **asked | {"input_shape": self.data.input_shape, "layer_norm": self.recipe.recipe.layer_norm}
        )
        assert isinstance(found, NasRecSkeleton)
        return found

    def build(self, contender: Contender) -> nn.Module:
        """Build the network with its seeded weights."""
        if contender.kind == "by hand":
            return build_baseline(contender.name, self.skeleton, seed=contender.seed)
        return self.space.build(contender.name, self.skeleton, seed=contender.seed)

    def key(self, contender: Contender) -> dict[str, Any]:
        """Return everything that decides the result."""
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
    """Builds, trains and evaluates a network: the job that executors run. If one fails, only its own result is lost.

    Args:
        setting: What all trainings have in common.
        folder: Where to write the weights of found networks.
    """

    setting: ClickSetting
    folder: Path | None = None

    @property
    def files(self) -> list[Path]:
        """The files that every machine must see."""
        return [] if self.folder is None else [self.folder]

    def __call__(self, contender: Contender) -> ClickResult:
        setting = self.setting
        try:
            network = setting.build(contender)
            result = train_clicks(
                network, setting.data, setting.recipe.recipe, seed=contender.seed, device=setting.device
            )
            if self.folder is not None and contender.kind == "found" and result.status == "ok":
                key = setting.key(contender)
                write_tensors(path_of(self.folder, key, "safetensors"), network.state_dict(), key)
            return result
        except FirstlightError:  # every other network would fail as well
            raise
        except Exception as error:
            return ClickResult.of_error(error)


def click_results(
    setting: ClickSetting, contenders: Iterable[Contender], executor: Executor, folder: Path | None
) -> Iterator[tuple[Contender, ClickResult]]:
    """Yield the known results first, then others as they arrive. Each is kept in the folder."""
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
    """Return the file for a key."""
    name = hashlib.blake2b(json.dumps(key, sort_keys=True).encode(), digest_size=12).hexdigest()
    return folder / f"{name}.{ending}"


def _known(folder: Path, key: dict[str, Any]) -> ClickResult | None:
    """Return a known result, if training again would lead to the same."""
    try:
        content = json.loads(path_of(folder, key).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # missing or incomplete: it is computed again
        return None
    if not isinstance(content, dict) or content.get("key") != key:
        return None
    result = ClickResult.from_dict(content["result"])
    return result if result.status in ("ok", "diverged") else None
