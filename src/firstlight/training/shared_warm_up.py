"""Warm-up of shared weights: a weight-sharing network is trained once, and each network inherits its part of it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import nn

from firstlight.core.errors import SettingError, UnknownNameError
from firstlight.core.events import Callback, ignore
from firstlight.core.seeds import derive
from firstlight.core.settings import read_settings, write_settings
from firstlight.data import InputSource
from firstlight.data.shares import DataShare, open_share
from firstlight.spaces.base import Space
from firstlight.training.loop import Batch
from firstlight.training.recipe import TrainingRecipe
from firstlight.training.recipes import parameters_of
from firstlight.training.shared_weights import recipe_for, train_shared
from firstlight.training.warm_up import (
    FEWEST_BATCHES,
    Kept,
    WarmUpSetting,
    is_nothing,
    read_share,
    settings_of,
    too_few,
    write_share,
)

# The settings of the recipe that can be changed
SETTINGS = ("batch_size", "learning_rate", "epochs")
# The shared network that this process used last, by everything that decides its weights: it may fill a gigabyte
_last: dict[str, nn.Module] = {}


@dataclass(frozen=True)
class NoData:
    """Instead of data, for shared weights that are not trained."""

    fingerprint: str = "nothing"


@dataclass(frozen=True)
class SharedWarmUp:
    """Train the weight-sharing network of the space, along paths that a policy draws.

    Text form: `1%:weights=shared`, with settings behind it: `1%:weights=shared:batch_size=64`.

    Args:
        share: Share of the training data. With 0 the network keeps its initial weights.
        policy: The name of the policy.
        recipe: How to train. Only the settings in `SETTINGS` differ from what is usual for the space.
        frozen: Let proxies see the final layer of a network only.
    """

    share: float
    policy: str
    recipe: TrainingRecipe
    frozen: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise SettingError(f"The share of a warm-up is {self.share!r}; it must be from 0% to 100%.")

    @classmethod
    def parse(cls, text: str, space: Space[Any]) -> SharedWarmUp:
        """Read the text form. The space says what is usual."""
        shared = space.shared()
        share, *pairs = text.strip().split(":")
        usual = cls(read_share(share), shared.policies[0], recipe_for(shared), shared.frozen)
        parameters = inspect.signature(cls, eval_str=True).parameters
        own = {name: parameters[name].replace(default=getattr(usual, name)) for name in ("policy", "frozen")}
        known = own | parameters_of(usual.recipe, SETTINGS)
        others = [pair for pair in pairs if pair != "weights=shared"]
        written = dict(read_settings("warm-up", share, known, others))
        changes = {name: written.pop(name) for name in own if name in written}
        found = replace(usual, recipe=replace(usual.recipe, **written), **changes)
        if found.policy not in shared.policies:
            raise UnknownNameError(f"policy for paths through {space.name}", found.policy, shared.policies)
        return found

    def __str__(self) -> str:
        """Return all settings, each number exactly: the store knows scores after this warm-up by this text."""
        own = (("policy", self.policy), ("frozen", self.frozen))
        settings = sorted((*settings_of(self.recipe, SETTINGS), *own))
        return write_settings(write_share(self.share), (*settings, ("weights", "shared")))

    def load(self, source: InputSource, seed: int) -> NoData | DataShare:
        """Load the data.

        Raises:
            SettingError: If the share is too small.
        """
        if not self.share:
            return NoData()
        found = open_share(source, self.share, seed=seed)
        batches = self.num_batches(found)
        if batches < FEWEST_BATCHES:
            raise too_few(self, source, found, batches, least=FEWEST_BATCHES * self.recipe.batch_size)
        return found

    def num_batches(self, learned_from: DataShare) -> int:
        """Return the number of batches in an epoch, without an incomplete last one."""
        return len(learned_from) // self.recipe.batch_size

    def prepare(self, setting: WarmUpSetting, folder: Path | None, callback: Callback = ignore) -> None:
        """Train the network that others inherit from, unless that was done before."""
        self._whole(setting, folder, callback)

    def network(self, setting: WarmUpSetting, architecture: str, folder: Path | None) -> nn.Module:
        """Return the network with the weights that it inherits; nothing is copied."""
        whole = self._whole(setting, folder)
        return setting.space.shared().subnet(whole, setting.space.parse(architecture), frozen=self.frozen)

    def _whole(self, setting: WarmUpSetting, folder: Path | None, callback: Callback = ignore) -> nn.Module:
        shared = setting.space.shared()
        # what proxies see of a network does not change the training: it is named as the usual one
        described = setting.described.replace(str(self), str(replace(self, frozen=shared.frozen)))
        about = "\n".join((setting.space_key, "all weights", described, f"seed {setting.seed}"))
        if about not in _last:
            if self.recipe != replace(recipe_for(shared), **dict(settings_of(self.recipe, SETTINGS))):
                # the text of the warm-up would not tell all that decides the weights
                raise SettingError(
                    f"Only {', '.join(SETTINGS)} can be changed in the recipe for shared weights of {shared.name!r}."
                )
            _last.clear()
            whole = shared.network(setting.skeleton, seed=setting.seed).to(setting.device)
            kept = None if folder is None else Kept(folder, about)
            if self.share and (kept is None or not kept.load_into(whole)):
                self._train(whole, setting, callback)
                if kept is not None:
                    kept.save(whole)
            _last[about] = whole
        return _last[about]

    def _train(self, whole: nn.Module, setting: WarmUpSetting, callback: Callback) -> None:
        learned_from, policy = setting.learned_from, setting.space.shared().policy(self.policy)
        assert isinstance(learned_from, DataShare)
        steps = self.recipe.epochs * self.num_batches(learned_from)
        batches = self.batches(learned_from, setting.seed)
        train_shared(whole, batches, steps, policy, self.recipe, seed=setting.seed, callback=callback)

    def batches(self, learned_from: DataShare, seed: int) -> Iterator[Batch]:
        """Yield the batches of all epochs, each in another order."""
        for epoch in range(self.recipe.epochs):
            order = derive(seed, "shared warm-up", str(epoch))
            yield from learned_from.batches(self.recipe.batch_size, seed=order)


def asks_for_shared(text: str, space: Space[Any]) -> bool:
    """Return whether a warm-up, as written, trains shared weights; by default, that is for the space to say."""
    written = dict(pair.partition("=")[::2] for pair in text.split(":")[1:])
    weights = written.get("weights", "own" if is_nothing(text) else space.warm_up_weights)
    if weights not in ("own", "shared"):
        raise UnknownNameError("kind of weights for a warm-up", weights, ("own", "shared"))
    return weights == "shared"
