"""A share of the training set of click data, read as it is needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor

from firstlight.data.clicks.prepared import ClickData, open_clicks
from firstlight.data.inputs import InputSource


@dataclass(frozen=True)
class ClickShare:
    """Some rows of the training set; `seed` selects them."""

    data: ClickData
    share: float
    seed: int

    def __len__(self) -> int:
        return self.data.count("train", self.share)

    @property
    def of(self) -> int:
        return self.data.rows["train"]

    @property
    def fingerprint(self) -> str:
        return f"{self.data.fingerprint}:{len(self)} rows:{self.seed}"

    def batches(self, size: int, *, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the rows in random order, in batches of exactly `size`; a smaller rest is left out."""
        return self.data.batches("train", size, seed=seed, share=self.share, share_seed=self.seed, whole=True)


def load_share(source: InputSource, share: float, *, seed: int = 0) -> ClickShare:
    """Open a share of the training set; see `firstlight.data.shares.open_share`."""
    return ClickShare(open_clicks(source.name), share, seed)
