"""Mode and precision of a model under observation; the full contract is in test_probe.py."""

from __future__ import annotations

import torch
from torch import nn

from firstlight.probe.observe import device_of, dtype_of, undisturbed


def test_modes_are_set_for_the_time_of_the_measurement() -> None:
    model = nn.Sequential(nn.ReLU(), nn.Sequential(nn.ReLU()).eval())
    with undisturbed(model, training=False, seed=0):
        assert not any(module.training for module in model.modules())
    with undisturbed(model, training=True, seed=0):
        assert all(module.training for module in model.modules())
    assert [module.training for module in model.modules()] == [True, True, False, False]


def test_random_streams_start_from_the_seed() -> None:
    draws = []
    for seed in (1, 1, 2):
        with undisturbed(nn.Identity(), training=True, seed=seed):
            draws.append(torch.rand(3).tolist())
    assert draws[0] == draws[1] != draws[2]


def test_where_and_in_which_precision_a_model_lives() -> None:
    assert device_of(nn.Linear(2, 2)) == torch.device("cpu")
    assert device_of(nn.Linear(2, 2, device="meta")) == torch.device("meta")
    assert device_of(nn.Identity()) == torch.device("cpu")
    assert dtype_of(nn.Linear(2, 2).half()) == torch.float16
    assert dtype_of(nn.Identity()) is None
