"""Warm-up of weights that all networks share: they are trained once, and each network inherits its part of them."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from firstlight.core.errors import SettingError, UnknownNameError
from firstlight.core.seeds import derive
from firstlight.core.settings import check_settings, read_settings, write_settings
from firstlight.data import InputSource
from firstlight.data.shares import DataShare, open_share
from firstlight.spaces.base import Space
from firstlight.training.shared_weights import recipe_for, train_steps
from firstlight.training.warm_up import FEWEST_BATCHES, Kept, is_nothing, read_share, too_few, write_share

if TYPE_CHECKING:
    from firstlight.scoring.service import Setting

WatchSteps = Callable[[int, int], None]
# The shared network that this process has used last, by all that decides its weights: it may fill a gigabyte
_last: dict[str, nn.Module] = {}


@dataclass(frozen=True)
class NoData:
    """Instead of data to learn from, for weights that are shared and not trained."""

    fingerprint: str = "nothing"


LearnedFrom = NoData | DataShare


@dataclass(frozen=True)
class SharedWarmUp:
    """The weight-sharing network of the space is trained on a `share` of the data, along paths that a `policy` draws.

    A share of 0 leaves it as it was initialised. If subnets are `frozen`, proxies see their final layer only. Its text
    is `1%:weights=shared`, with settings behind it as in `1%:weights=shared:batch_size=64`.
    """

    share: float
    policy: str
    batch_size: int
    learning_rate: float
    epochs: int = 1
    frozen: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise SettingError(f"The share of a warm-up is {self.share!r}; it must be from 0 % to 100 %.")
        check_settings("warm-up", self._settings)
        if not self.learning_rate > 0:
            raise SettingError(f"The warm-up has learning_rate={self.learning_rate}; it must be above 0.")

    @classmethod
    def parse(cls, text: str, space: Space[Any]) -> SharedWarmUp:
        """What is not written is usual for the space."""
        shared = space.shared()
        share, *pairs = text.strip().split(":")
        recipe = recipe_for(shared)
        usual = cls(
            read_share(share), shared.policies[0], recipe.batch_size, recipe.learning_rate, frozen=shared.frozen
        )
        known = {
            name: parameter.replace(default=getattr(usual, name))
            for name, parameter in inspect.signature(cls, eval_str=True).parameters.items()
            if name != "share"
        }
        others = [pair for pair in pairs if pair != "weights=shared"]
        found = replace(usual, **dict(read_settings("warm-up", share, known, others)))
        if found.policy not in shared.policies:
            raise UnknownNameError(f"policy for paths through {space.name}", found.policy, shared.policies)
        return found

    @property
    def _settings(self) -> tuple[tuple[str, Any], ...]:
        return tuple(sorted((name, value) for name, value in dataclasses.asdict(self).items() if name != "share"))

    def __str__(self) -> str:
        """All settings, each number exactly: what scores after this warm-up are known by."""
        return write_settings(write_share(self.share), (*self._settings, ("weights", "shared")))

    def load(self, source: InputSource, seed: int) -> LearnedFrom:
        """What is learned from; a share that is too small is refused, before there is any work."""
        if not self.share:
            return NoData()
        found = open_share(source, self.share, seed=seed)
        if self.steps(found) < FEWEST_BATCHES:
            raise too_few(self, source, found, self.steps(found), least=FEWEST_BATCHES * self.batch_size)
        return found

    def steps(self, learned_from: LearnedFrom) -> int:
        """Of one epoch."""
        return 0 if isinstance(learned_from, NoData) else len(learned_from) // self.batch_size

    def prepare(self, setting: Setting, kept_in: Path | None, watch: WatchSteps = lambda done, total: None) -> None:
        """Train now what networks are to inherit from, unless that was done before."""
        self._whole(setting, kept_in, watch)

    def network(self, setting: Setting, architecture: str, kept_in: Path | None) -> nn.Module:
        """The architecture with the weights that it inherits; nothing is copied."""
        whole = self._whole(setting, kept_in)
        return setting.space.shared().subnet(whole, setting.space.parse(architecture), frozen=self.frozen)

    def _whole(self, setting: Setting, kept_in: Path | None, watch: WatchSteps = lambda done, total: None) -> nn.Module:
        about = "\n".join((setting.space_key, "all weights", setting.described, f"seed {setting.seed}"))
        if about not in _last:
            _last.clear()
            whole = setting.space.shared().network(setting.skeleton, seed=setting.seed).to(setting.device)
            kept = None if kept_in is None else Kept(kept_in, about)
            if self.share and (kept is None or not kept.load_into(whole)):
                self._train(whole, setting, watch)
                if kept is not None:
                    kept.save(whole)
            _last[about] = whole
        return _last[about]

    def _train(self, whole: nn.Module, setting: Setting, watch: WatchSteps) -> None:
        shared = setting.space.shared()
        learned_from = setting.learned_from
        recipe = replace(recipe_for(shared), batch_size=self.batch_size, learning_rate=self.learning_rate)
        train_steps(
            whole,
            self._batches(learned_from, setting),
            self.epochs * self.steps(learned_from),
            shared.policy(self.policy),
            recipe,
            seed=setting.seed,
            watch=lambda done, total, loss: watch(done, total),
        )

    def _batches(self, learned_from: LearnedFrom, setting: Setting) -> Iterator[tuple[Tensor, Tensor]]:
        """Of all epochs, each in another order; without an incomplete last one."""
        assert not isinstance(learned_from, NoData)
        for epoch in range(self.epochs):
            seed = derive(setting.seed, "shared warm-up", str(epoch))
            for x, y in learned_from.batches(self.batch_size, seed=seed):
                yield x.to(setting.device), y.to(setting.device)


def asks_for_shared(text: str, space: Space[Any]) -> bool:
    """Return whether a warm-up, as written, trains shared weights; by default, that is for the space to say."""
    written = dict(pair.partition("=")[::2] for pair in text.split(":")[1:])
    weights = written.get("weights", "own" if is_nothing(text) else space.warm_up_weights)
    if weights not in ("own", "shared"):
        raise UnknownNameError("kind of weights for a warm-up", weights, ("own", "shared"))
    return weights == "shared"
