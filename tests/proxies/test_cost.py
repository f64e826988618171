"""Size and work as proxies."""

from __future__ import annotations

import torch
from torch import nn

import firstlight


def test_counts() -> None:
    scores = firstlight.score(nn.Linear(4, 3), torch.zeros(2, 4), ("params", "macs"))
    assert (scores["params"].value, scores["macs"].value) == (15.0, 12.0)
