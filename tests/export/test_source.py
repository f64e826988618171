"""The written file computes what the network computes, without Firstlight."""

from __future__ import annotations

import copy
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.spaces.own import perceptron
from torch import Tensor, nn

from firstlight.core.errors import UnsupportedError
from firstlight.export.source import write_source
from firstlight.export.weights import save_weights
from firstlight.spaces import SPACES
from firstlight.spaces.base import Space

IMAGE = {"input_shape": (3, 32, 32), "classes": 5}
# What makes the networks quick
SMALL: dict[str, dict[str, Any]] = {
    "nasbench201": {"channels": 4, "cells": 1},
    "nasbench101": {"channels": 8, "cells": 1},
    **{f"nasbench1shot1-s{number}": {"channels": 8, "cells": 1} for number in (1, 2, 3)},
    "darts": {"channels": 4, "cells": 3},
    "transnas-micro": {"channels": 4, **IMAGE},
    "transnas-macro": {"channels": 4, **IMAGE},
    "mobilenetv2": IMAGE,
    "plainnet-resnet": IMAGE,
    **{f"plain-{kind}": IMAGE for kind in ("resnet", "bottleneck", "mobile", "convnext", "vit")},
    **{f"autoformer-{size}": IMAGE for size in ("tiny", "small", "base")},
    "nasrec-small": {"rows": 5},
    "nasrec-full": {"rows": 5},
}


def network_of(space: Space[Any], seed: int = 0, **settings: Any) -> tuple[nn.Module, Tensor]:
    skeleton = space.skeleton(**settings)
    network = space.build(space.sample(random.Random(seed)), skeleton, seed=seed)
    return network, torch.randn(3, *skeleton.input_shape, generator=torch.Generator().manual_seed(seed))


def built(text: str) -> nn.Module:
    names: dict[str, Any] = {"__name__": "network"}
    exec(text, names)
    made: nn.Module = names["build"]()
    return made


def check(network: nn.Module, inputs: Tensor) -> str:
    """Strictly the same names of weights, and the same outputs to the last bit."""
    before = copy.deepcopy(network.state_dict())
    text = write_source(network, inputs, "A title.", ["A fact."], "1")
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    assert "firstlight" not in text
    assert max(map(len, text.splitlines())) <= 120
    other = built(text)
    other.load_state_dict(network.state_dict())
    twin = copy.deepcopy(network)
    for training, size in ((False, 1), (True, 2)):
        with torch.no_grad():
            expected, given = twin.train(training)(inputs[:size]), other.train(training)(inputs[:size])
        torch.testing.assert_close(given, expected, rtol=0, atol=0)
    return text


# larger siblings of another space, written by the same code
SIBLINGS = ("autoformer-small", "autoformer-base", "nasbench1shot1-s2", "nasbench1shot1-s3")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SIBLINGS else ()) for name in SPACES]
)
def test_every_space(name: str) -> None:
    check(*network_of(SPACES[name], **SMALL.get(name, {})))


def test_the_file_needs_nothing_but_torch(tmp_path: Path) -> None:
    network, inputs = network_of(SPACES["nasbench201"], 1, channels=4, cells=1)
    (tmp_path / "network.py").write_text(check(network, inputs))
    save_weights(network, tmp_path / "weights.safetensors", {})
    torch.save(inputs, tmp_path / "inputs.pt")
    code = """
import sys
for name in ("firstlight", "safetensors", "onnx", "pandas", "scipy"):
    sys.modules[name] = None  # importing it fails
import network, torch
net = network.build().eval()
net.load_state_dict(network.load_weights("weights.safetensors"))
print(repr(net(torch.load("inputs.pt", weights_only=True)).double().tolist()))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    with torch.no_grad():
        assert eval(done.stdout) == network.eval()(inputs).double().tolist()
    main = subprocess.run(
        [sys.executable, "-I", "network.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert main.stdout == "inputs (1, 3, 32, 32) outputs (1, 10)\n"


def test_cells_of_different_width_share_a_class() -> None:
    text = check(*network_of(SPACES["nasbench201"], channels=4, cells=3))
    assert text.count("class FourNodeCell") == 1
    assert "*(FourNodeCell(4) for _ in range(3))," in text
    assert "*(FourNodeCell(16) for _ in range(3))," in text


def test_a_head_that_is_there_in_training_only() -> None:
    text = check(*network_of(SPACES["darts"], channels=2, cells=3, auxiliary=1))
    assert "        if self.training:\n" in text


def test_tiles_go_through_the_same_weights() -> None:
    text = check(*network_of(SPACES["transnas-macro"], channels=2, input_shape=(2, 3, 32, 32)))
    assert "self.stem(" in text


def test_a_space_of_ones_own() -> None:
    assert "nn.Sequential(" in check(*network_of(perceptron, input_shape=(3, 4, 4)))


class Everything(nn.Module):
    """What spaces of Firstlight do not have: dropout, in-place sums, recurrence, attention, bare functions."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.rand(6))
        self.register_buffer("shift", torch.rand(6))
        self.register_buffer("table", torch.arange(200) % 6, persistent=False)
        self.drop = nn.Dropout(0.5)
        self.memory = nn.LSTM(6, 6, batch_first=True)
        self.attention = nn.MultiheadAttention(6, 2, batch_first=True)
        self.out = nn.Sequential()
        self.out.add_module("norm", nn.LayerNorm((5, 6)))
        self.out.add_module("flat", nn.Flatten())

    def forward(self, x: Tensor) -> Tensor:
        samples, steps, width = x.shape
        x = self.drop(x.reshape(samples * steps, width)).view(samples, steps, width)
        x = x * (self.scale - 2) + self.shift
        x += self.memory(x)[0]
        x = x + self.attention(x, x, x, need_weights=False)[0]
        x = torch.nn.functional.gelu(-x, approximate="tanh") / 2**0.5
        x = x.index_select(2, self.table)[..., :6]
        if x.ndim == 3 and width > 2:
            x = self.out(x)
        return x


def test_much_that_a_user_may_write() -> None:
    torch.manual_seed(0)
    network, inputs = Everything(), torch.randn(3, 5, 6)
    text = write_source(network, inputs, "A title.", ["A fact."], "1")  # compares by itself, also dropout
    other = built(text)
    other.load_state_dict(network.state_dict())
    with torch.no_grad():
        assert torch.equal(other.eval()(inputs), network.eval()(inputs))


class Deciding(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x if x.sum() > 0 else -x


class Counting(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.reshape(len(x), -1)


class Drawn(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + torch.ones(())


def shared() -> nn.Module:
    layer = nn.Linear(3, 3)
    return nn.Sequential(layer, nn.ReLU(), layer)


def hooked() -> nn.Module:
    layer = nn.Linear(3, 3)
    layer.register_forward_hook(lambda module, given, output: output * 2)
    return layer


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (Deciding, "depends on the values of tensors"),
        (Counting, r"x\.shape\[0\]"),
        (Drawn, "neither a parameter, nor a buffer"),
        (shared, "share one weight"),
        (hooked, "gives different outputs"),
    ],
)
def test_what_cannot_be_written_is_refused(make: Callable[[], nn.Module], reason: str) -> None:
    with pytest.raises(UnsupportedError, match=rf"{reason}.*other formats still work"):
        write_source(make(), torch.randn(3, 3), "A title.", [], "1")
