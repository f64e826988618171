"""Warm-up: networks are trained briefly, from their seeded weights, before they are scored."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import nn

from firstlight.core.errors import DivergedError, SettingError, StoreError
from firstlight.core.events import Callback, ignore
from firstlight.core.seeds import derive, torch_generator
from firstlight.core.settings import Settings, read_settings, write_settings
from firstlight.data import InputSource
from firstlight.data.shares import DataShare, Share, load_share
from firstlight.spaces.base import Skeleton, Space
from firstlight.storage.tensor_files import read_tensors, write_tensors
from firstlight.training.fitting import channels_last
from firstlight.training.loop import Batch, learn
from firstlight.training.recipe import TrainingRecipe
from firstlight.training.recipes import PLAIN, WARM_UP, parameters_of

if TYPE_CHECKING:
    from firstlight.training.shared_warm_up import SharedWarmUp

# Raise it when the same warm-up leads to other weights than before, so that stored ones are not reused
REVISION = 1
# As many as proxies that take several batches look at
FEWEST_BATCHES = 4
# The folder beside a store where warmed weights are kept; it takes no more files when it holds more bytes than this
FOLDER = "warmed"
LARGEST = 2 * 1024**3


class LearnedFrom(Protocol):
    """The data of a warm-up."""

    @property
    def fingerprint(self) -> str:
        """A text that stands for exactly these data."""


class WarmUpSetting(Protocol):
    """What a warm-up needs to know of a run; `Setting` of the scoring service is one."""

    @property
    def space(self) -> Space[Any]: ...

    @property
    def space_key(self) -> str: ...

    @property
    def skeleton(self) -> Skeleton: ...

    @property
    def described(self) -> str: ...

    @property
    def seed(self) -> int: ...

    @property
    def device(self) -> str | None: ...

    @property
    def learned_from(self) -> LearnedFrom: ...

    def build(self, architecture: str) -> nn.Module: ...


@dataclass(frozen=True)
class WarmUp:
    """Train each network by itself, with plain SGD on a share of the training data.

    Text form: `10%`, with settings behind it: `10%:epochs=3:recipe=official:batch_size=64`.

    Args:
        share: Share of the training data, above 0 and at most 1.
        recipe: How to train. Only the settings in `WARM_UP.settings` differ from the recipes in `WARM_UPS`.
    """

    share: float
    recipe: TrainingRecipe = WARM_UP.recipes[PLAIN]

    def __post_init__(self) -> None:
        if type(self.share) not in (int, float) or not 0 < self.share <= 1:
            raise SettingError(f"The share of a warm-up is {self.share!r}; it must be above 0% and at most 100%.")
        usual = WARM_UP.recipes[PLAIN]
        written = {name: getattr(self.recipe, name) for name in WARM_UP.settings}
        if self.recipe != replace(usual, **written):  # its text would not tell all that decides the weights
            raise SettingError(
                f"A warm-up is plain SGD. Only {', '.join(WARM_UP.settings)} can be changed in its recipe."
            )

    @classmethod
    def parse(cls, text: str) -> WarmUp:
        """Read the text form."""
        share, *pairs = text.strip().split(":")
        names = [pair.removeprefix("recipe=") for pair in pairs if pair.startswith("recipe=")] or [PLAIN]
        usual = WARM_UP.find(names[0])
        others = [pair for pair in pairs if pair != "weights=own" and not pair.startswith("recipe=")]
        settings = read_settings("warm-up", share, parameters_of(usual, WARM_UP.settings), others)
        return cls(read_share(share), replace(usual, **dict(settings)))

    def __str__(self) -> str:
        """Return all settings, each number exactly: the store knows scores after this warm-up by this text."""
        return write_settings(write_share(self.share), settings_of(self.recipe, WARM_UP.settings))

    def load(self, source: InputSource, seed: int) -> Share:
        """Load the data.

        Raises:
            SettingError: If the share is too small.
        """
        share = load_share(source, self.share, seed=seed)
        batches, size = self.recipe.num_batches(len(share)), self.recipe.batch_size
        if batches < FEWEST_BATCHES:
            raise too_few(self, source, share, batches, least=(FEWEST_BATCHES - 1) * size + 1)
        return share

    def batches(self, share: Share, seed: int) -> Iterator[Batch]:
        """Yield the batches of all epochs, each in another order."""
        for epoch in range(self.recipe.epochs):
            order = torch.randperm(len(share), generator=torch_generator(seed, "warm-up", str(epoch)))
            for chosen in order.tensor_split(self.recipe.num_batches(len(share))):
                yield share.x[chosen], share.y[chosen]

    def prepare(self, setting: WarmUpSetting, folder: Path | None, callback: Callback = ignore) -> None:
        """Do nothing: networks have no weights in common."""

    def network(self, setting: WarmUpSetting, architecture: str, folder: Path | None) -> nn.Module:
        """Build a network and train it, unless the folder holds its weights.

        Raises:
            DivergedError: If the loss or the weights are not finite.
        """
        found = setting.build(architecture)
        about = "\n".join((setting.space_key, architecture, setting.described, f"seed {setting.seed}"))
        kept = None if folder is None else Kept(folder, about)
        if kept is None or not kept.load_into(found):
            share = setting.learned_from
            assert isinstance(share, Share)
            with channels_last(found, setting.space):
                self.train(found, share, setting.seed)
            if kept is not None:
                kept.save(found)
        return found

    def train(self, network: nn.Module, share: Share, seed: int) -> None:
        """Train a network in place and leave it in the mode that it was in.

        Raises:
            DivergedError: If the loss or the weights are not finite.
        """
        mode, steps = network.training, self.recipe.epochs * self.recipe.num_batches(len(share))
        try:
            with torch.random.fork_rng():
                torch.manual_seed(derive(seed, "warm-up", "dropout"))
                learn(network, self.batches(share, seed), self.recipe, steps)
        except DivergedError as error:
            raise DivergedError(f"the warm-up diverged: {error}") from error
        network.train(mode)
        network.zero_grad()
        if not all(bool(parameter.isfinite().all()) for parameter in network.parameters()):
            raise DivergedError("the warm-up diverged: some weights are infinite or NaN after the last step")


WARMED_BY_OWNER = (
    "A warm-up is for networks of a space, which are trained from their seeded weights. Your own model is scored "
    "with the weights that it has: train it yourself before you score it."
)


def read_warm_up(given: str | float | WarmUp | SharedWarmUp | None, space: Space[Any]) -> WarmUp | SharedWarmUp | None:
    """Read a warm-up as users write it.

    Args:
        given: 0.1, "10%", "10%:epochs=3" or "1%:weights=shared". None, 0 and "0%" are no warm-up.
        space: The space, which says whether networks inherit shared weights unless told otherwise.
    """
    from firstlight.training.shared_warm_up import SharedWarmUp, asks_for_shared

    if given is None or isinstance(given, (WarmUp, SharedWarmUp)):
        return given
    text = str(given).strip()
    if asks_for_shared(text, space):
        return SharedWarmUp.parse(text, space)
    return None if is_nothing(text) else WarmUp.parse(text)


def is_nothing(text: str) -> bool:
    """Return whether a text is a share of 0."""
    return bool(re.fullmatch(r"0*\.?0*%?", text.strip()) and text.strip())


@dataclass(frozen=True)
class Kept:
    """A file with warmed weights, so that no network is trained twice.

    Its name is derived from everything that decides the weights. Files may be deleted at any time, and one that cannot
    be read is ignored.

    Args:
        folder: Where the files are.
        about: Everything that decides the weights, as text.
    """

    folder: Path
    about: str

    @property
    def path(self) -> Path:
        """The file."""
        name = hashlib.blake2b(f"{REVISION}\n{self.about}".encode(), digest_size=16).hexdigest()
        return self.folder / f"{name}.safetensors"

    def load_into(self, network: nn.Module) -> bool:
        """Load the weights, and return whether there were any that fit the network."""
        try:
            weights = read_tensors(self.path)
        except StoreError:  # missing or damaged
            return False
        wanted = network.state_dict()
        fits = {name: t.shape for name, t in weights.items()} == {name: t.shape for name, t in wanted.items()}
        if fits:
            network.load_state_dict(weights)
        return fits

    def save(self, network: nn.Module) -> None:
        """Write the weights unless the folder is full. A full disk only means that they are trained again later."""
        with suppress(StoreError, OSError):
            if not self.folder.is_dir() or sum(file.stat().st_size for file in self.folder.iterdir()) <= LARGEST:
                write_tensors(self.path, network.state_dict(), {"about": self.about})


def too_few(
    warm_up: WarmUp | SharedWarmUp, source: InputSource, share: DataShare, batches: int, *, least: int
) -> SettingError:
    """Return the error for a share of too few batches, which says what to do; `least` samples would be enough."""
    samples, of = len(share), share.of
    enough = f"use {math.ceil(100 * least / of)}% or more" if least <= of else "use more data"
    number = "1 batch" if batches == 1 else f"{batches} batches"
    return SettingError(
        f"{100 * warm_up.share:g}% of the {of:,} training samples of {source.name!r} are {samples:,} samples, in "
        f"{number} of {warm_up.recipe.batch_size}. A warm-up needs at least {FEWEST_BATCHES} batches: {enough}, or "
        f"smaller batches (such as :batch_size={max(2, samples // 8)})."
    )


def settings_of(recipe: TrainingRecipe, names: tuple[str, ...]) -> Settings:
    """Return some settings of a recipe, in the order of their names."""
    return tuple((name, getattr(recipe, name)) for name in sorted(names))


def read_share(text: str) -> float:
    """Read a share such as 10% or 0.1."""
    match = re.fullmatch(r"(\d+\.?\d*|\.\d+)\s*(%?)", text.strip())
    if not match:
        raise SettingError(
            f"{text!r} is not a share of the training data. Write 10% or 0.1, followed by any settings, as in "
            "10%:epochs=3:recipe=official."
        )
    # 99.9% is the number 0.999 exactly, which is not what floating-point numbers divide to
    return float(Decimal(match[1]) / 100) if match[2] else float(match[1])


def write_share(share: float) -> str:
    """Return the text of a share; `read_share` reads it back to the last digit."""
    return f"{(Decimal(repr(share)) * 100).normalize():f}%"
