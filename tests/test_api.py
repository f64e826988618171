"""The public face of the library."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from tests import nets
from torch import nn

import firstlight


def test_every_public_name_is_there() -> None:
    for name in firstlight.__all__:
        assert getattr(firstlight, name) is not None
    assert set(firstlight.__all__) <= set(dir(firstlight))
    with pytest.raises(AttributeError, match="no attribute 'serch'"):
        firstlight.serch  # noqa: B018


def test_importing_the_package_is_cheap() -> None:
    code = "import firstlight, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_scoring_a_model() -> None:
    model = nets.build("residual").float()
    scores = firstlight.score(model, torch.randn(1, 3, 8, 8), proxies=("dextr", "params"))
    assert list(scores) == ["dextr", "params"]
    assert scores["params"].value == sum(p.numel() for p in model.parameters())
    assert list(firstlight.score(model, torch.randn(1, 3, 8, 8), "macs")) == ["macs"]


def test_a_model_that_fails_raises_its_own_error() -> None:
    with pytest.raises(firstlight.FirstlightError, match="RuntimeError"):
        firstlight.score(nn.Linear(3, 2), torch.randn(1, 4))


def test_spaces_by_name() -> None:
    assert len(firstlight.space("nasbench201")) == 15_625
    with pytest.raises(firstlight.FirstlightError, match="nasbench201"):
        firstlight.space("nasbench")
