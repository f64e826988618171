"""Models of devices: what comes with Firstlight, what is read, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch import nn

from firstlight.core.errors import DataError, MissingFileError, UnknownNameError
from firstlight.probe.graph import record_graph
from firstlight.scoring.devices.features import FEATURES
from firstlight.scoring.devices.model import DeviceModel, device_names, find_device

ONES = dict.fromkeys(FEATURES, 1.0)
MODEL = DeviceModel(
    "mine",
    "Mine",
    "measured",
    True,
    ONES | {"count(others)": 100.0},
    0.5,
    2.0,
    ONES,
    ("activation", "linear"),
    20,
    0.9,
    0.1,
)


@pytest.mark.parametrize("name", device_names())
def test_every_model_is_sound(name: str) -> None:
    model = find_device(name)
    assert model.name == name
    assert model.title
    assert "license" in model.source
    assert min(model.coefficients.values()) >= 0 < max(model.coefficients.values())
    assert 0 < model.low < 1 < model.high
    assert model.networks >= 500
    assert 0.5 < model.spearman <= 1


def test_an_estimate_by_hand() -> None:
    graph = record_graph(nn.Sequential(nn.Linear(500, 1000, bias=False), nn.GELU()), torch.randn(1, 500))
    elements = (500 + 500_000 + 1000) / 1e6 + 2000 / 1e6
    expected = 1 + 0.5 + 100 + elements  # two operations, half a million multiply-accumulates
    found = MODEL.estimate(graph)
    assert found.milliseconds == pytest.approx(expected)
    assert (found.low, found.high) == pytest.approx((expected / 2, expected * 2))
    assert not found.extrapolated
    assert MODEL.estimate(record_graph(nn.Sigmoid(), torch.randn(1, 5))).extrapolated is False
    assert MODEL.estimate(record_graph(nn.Softmax(-1), torch.randn(1, 5))).extrapolated
    twice = nn.Sequential(nn.Linear(500, 1000), nn.GELU(), nn.GELU())
    assert MODEL.estimate(record_graph(twice, torch.randn(1, 500))).extrapolated


def test_unknown_devices() -> None:
    with pytest.raises(UnknownNameError, match=r"no device 'rasp4'. Did you mean 'raspi4'"):
        find_device("rasp4")
    with pytest.raises(MissingFileError, match=r"no file 'nowhere.json'"):
        find_device("nowhere.json")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        "nonsense",
        json.dumps(MODEL.to_dict() | {"low": "NaN"}),
        json.dumps(MODEL.to_dict() | {"largest": 3}),
    ],
)
def test_files_that_are_no_models(content: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text(content)
    with pytest.raises(DataError, match="does not hold a latency model"):
        find_device(str(path))


def test_a_file_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(MODEL.to_dict()))
    assert find_device(str(path)) == MODEL
