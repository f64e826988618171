"""Warm-up: a network is trained a little, from its seeded weights, before proxies look at it."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from firstlight.core.errors import DivergedError, SettingError, StoreError, UnknownNameError
from firstlight.core.seeds import derive, torch_generator
from firstlight.core.settings import check_settings, read_settings, write_settings
from firstlight.data import InputSource
from firstlight.data.shares import DataShare, Share, load_share
from firstlight.storage.tensor_files import read_tensors, write_tensors

if TYPE_CHECKING:
    from firstlight.scoring.service import Setting
    from firstlight.spaces.base import Space
    from firstlight.training.shared_warm_up import SharedWarmUp

# Raise it when the same warm-up leads to other weights than before, so that stored ones are not reused
REVISION = 1
# As many as proxies of several batches look at
FEWEST_BATCHES = 4
# Of a store's folder, where warmed weights are kept; when it holds more bytes than this, no more are put into it
FOLDER = "warmed"
LARGEST = 2 * 1024**3


@dataclass(frozen=True)
class WarmUp:
    """So many epochs of plain SGD on a share of the training data. The defaults are the recipe `plain`.

    Text form: `10%`, with settings behind it: `10%:epochs=3:recipe=official:batch_size=64`.
    """

    share: float
    epochs: int = 1
    batch_size: int = 128
    learning_rate: float = 0.1
    momentum: float = 0.9

    def __post_init__(self) -> None:
        if type(self.share) not in (int, float) or not 0 < self.share <= 1:
            raise SettingError(f"The share of a warm-up is {self.share!r}; it must be above 0 % and at most 100 %.")
        check_settings("warm-up", self._settings, {"batch_size": 2})  # BatchNorm learns nothing from one image
        if not self.learning_rate > 0 or not 0 <= self.momentum < 1:
            raise SettingError(
                f"The warm-up has learning_rate={self.learning_rate} and momentum={self.momentum}; the rate must be "
                "above 0, the momentum from 0 to below 1."
            )

    @classmethod
    def parse(cls, text: str) -> WarmUp:
        share, *pairs = text.strip().split(":")
        pairs = [pair for pair in pairs if pair != "weights=own"]
        names = [pair.removeprefix("recipe=") for pair in pairs if pair.startswith("recipe=")] or [PLAIN]
        if names[0] not in RECIPES:
            raise UnknownNameError("recipe of a warm-up", names[0], RECIPES)
        usual = replace(RECIPES[names[0]], share=read_share(share))
        known = {
            name: parameter.replace(default=getattr(usual, name))
            for name, parameter in inspect.signature(cls, eval_str=True).parameters.items()
            if name != "share"
        }
        others = [pair for pair in pairs if not pair.startswith("recipe=")]
        return replace(usual, **dict(read_settings("warm-up", share, known, others)))

    @property
    def _settings(self) -> tuple[tuple[str, Any], ...]:
        return tuple(sorted((name, value) for name, value in dataclasses.asdict(self).items() if name != "share"))

    def __str__(self) -> str:
        """All settings, each number exactly: what scores after this warm-up are known by."""
        return write_settings(write_share(self.share), self._settings)

    def load(self, source: InputSource, seed: int) -> Share:
        """What is learned from; a share that is too small is refused, before there is any work."""
        share = load_share(source, self.share, seed=seed)
        if self.steps(len(share)) < FEWEST_BATCHES:
            raise too_few(self, source, share, self.steps(len(share)), least=(FEWEST_BATCHES - 1) * self.batch_size + 1)
        return share

    def steps(self, images: int) -> int:
        """Of one epoch; batches differ by one image at most, and none has a single one."""
        return max(1, min(math.ceil(images / self.batch_size), images // 2))

    def batches(self, share: Share, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Of all epochs, each in another order."""
        for epoch in range(self.epochs):
            order = torch.randperm(len(share), generator=torch_generator(seed, "warm-up", str(epoch)))
            for chosen in order.tensor_split(self.steps(len(share))):
                yield share.x[chosen], share.y[chosen]

    def prepare(self, setting: Setting, kept_in: Path | None, watch: Callable[[int, int], None]) -> None:
        """Nothing that networks have in common."""

    def network(self, setting: Setting, architecture: str, kept_in: Path | None) -> nn.Module:
        """Built and trained, unless its weights were kept; raises `DivergedError` if they are no numbers then."""
        found = setting.build(architecture)
        about = "\n".join((setting.space_key, architecture, setting.described, f"seed {setting.seed}"))
        kept = None if kept_in is None else Kept(kept_in, about)
        if kept is None or not kept.load_into(found):
            share = setting.learned_from
            assert isinstance(share, Share)
            self.train(found, share, setting.seed)
            if kept is not None:
                kept.save(found)
        return found

    def train(self, network: nn.Module, share: Share, seed: int) -> None:
        """Change the network's weights; what is drawn (dropout) depends on the seed alone."""
        optimiser = torch.optim.SGD(network.parameters(), lr=self.learning_rate, momentum=self.momentum)
        with torch.random.fork_rng():
            torch.manual_seed(derive(seed, "warm-up", "dropout"))
            learn(network, self.batches(share, seed), optimiser)


PLAIN = "plain"
# The share is to be replaced
RECIPES = {
    PLAIN: WarmUp(1.0),
    # as the published code of SiGeo does it
    "official": WarmUp(1.0, epochs=10, learning_rate=1.0, momentum=0.0),
}


WARMED_BY_OWNER = (
    "A warm-up is for networks of a space, which are trained from their seeded weights. A model of your own is scored "
    "with the weights that it has: train it as you like before."
)


def read_warm_up(given: str | float | WarmUp | SharedWarmUp | None, space: Space[Any]) -> WarmUp | SharedWarmUp | None:
    """In the words of the library's calls: 0.1, "10%", "10%:epochs=3" or "1%:weights=shared".

    None, 0 and "0%" stand for no warm-up. Whose weights are trained, if not said, is for the space to say.
    """
    from firstlight.training.shared_warm_up import SharedWarmUp, asks_for_shared

    if given is None or isinstance(given, (WarmUp, SharedWarmUp)):
        return given
    text = str(given).strip()
    if asks_for_shared(text, space):
        return SharedWarmUp.parse(text, space)
    return None if is_nothing(text) else WarmUp.parse(text)


def is_nothing(text: str) -> bool:
    return bool(re.fullmatch(r"0*\.?0*%?", text.strip()) and text.strip())


def learn(network: nn.Module, batches: Iterable[tuple[Tensor, Tensor]], optimiser: torch.optim.Optimizer) -> None:
    """One step for each batch, wherever they come from; the network is left in the mode that it was in."""
    device, before = next(network.parameters()).device, network.training
    network.train()
    step = 0
    for step, (x, y) in enumerate(batches, start=1):
        loss = F.cross_entropy(network(x.to(device)), y.to(device))
        if not math.isfinite(float(loss.detach())):
            raise DivergedError(f"the warm-up diverged: the loss was {float(loss.detach())} at step {step}")
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    network.train(before)
    optimiser.zero_grad()
    if not all(bool(parameter.isfinite().all()) for parameter in network.parameters()):
        raise DivergedError(f"the warm-up diverged: weights are infinite or no numbers after step {step}")


@dataclass(frozen=True)
class Kept:
    """The file that warmed weights are kept in: a network that is asked about again is not trained again.

    It is named by all that decides the weights. Files may be deleted at any time, and one that cannot be read is
    as good as none.
    """

    folder: Path
    about: str

    @property
    def path(self) -> Path:
        name = hashlib.blake2b(f"{REVISION}\n{self.about}".encode(), digest_size=16).hexdigest()
        return self.folder / f"{name}.safetensors"

    def load_into(self, network: nn.Module) -> bool:
        """Whether there was something to load."""
        try:
            weights = read_tensors(self.path)
        except StoreError:  # there is none, or it is damaged
            return False
        wanted = network.state_dict()
        fits = {name: t.shape for name, t in weights.items()} == {name: t.shape for name, t in wanted.items()}
        if fits:
            network.load_state_dict(weights)
        return fits

    def save(self, network: nn.Module) -> None:
        """Unless the folder is full; and a disk that is costs no more than another training later."""
        with suppress(StoreError, OSError):
            if not self.folder.is_dir() or sum(file.stat().st_size for file in self.folder.iterdir()) <= LARGEST:
                write_tensors(self.path, network.state_dict(), {"about": self.about})


def too_few(
    warm_up: WarmUp | SharedWarmUp, source: InputSource, share: DataShare, batches: int, *, least: int
) -> SettingError:
    """What to do about a share that yields fewer batches than a warm-up needs, for which `least` samples would do."""
    enough = f"take {math.ceil(100 * least / share.of)}% or more" if least <= share.of else "take more data"
    return SettingError(
        f"{100 * warm_up.share:g}% of the {share.of:,} samples of {source.name!r} to learn from are {len(share):,}, in "
        f"{batches} batches of {warm_up.batch_size}; a warm-up needs {FEWEST_BATCHES}: {enough}, or smaller batches "
        f"(such as :batch_size={max(2, len(share) // 8)})."
    )


def read_share(text: str) -> float:
    match = re.fullmatch(r"(\d+\.?\d*|\.\d+)\s*(%?)", text.strip())
    if not match:
        raise SettingError(
            f"{text!r} is not a share of the training data. Write 10% or 0.1, with settings behind it as in "
            "10%:epochs=3:recipe=official."
        )
    # 99.9% is the number 0.999 exactly, which is not what floating-point numbers divide to
    return float(Decimal(match[1]) / 100) if match[2] else float(match[1])


def write_share(share: float) -> str:
    """The inverse of `read_share`, to the last digit."""
    return f"{(Decimal(repr(share)) * 100).normalize():f}%"
