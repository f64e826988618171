"""Fits find the times that measurements are made of, and say how far off they are."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

import numpy as np
import pytest

from firstlight.core.errors import TooFewError
from firstlight.scoring.devices.features import FEATURES
from firstlight.scoring.devices.fitting import coefficients_of, fit_device, relative_error
from firstlight.scoring.devices.model import DeviceModel, find_device

TIMES = np.array([0.1, 0.05, 0.04, 0.02, 0.3, 0.1, 0.0, 0.5, 0.2, 1.0])


def networks(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(1, 50, (count, len(FEATURES)))


def fitted(noise: float, count: int = 200, seed: int = 0) -> DeviceModel:
    features = networks(count, seed)
    milliseconds = features @ TIMES * np.exp(noise * np.random.default_rng(seed + 1).standard_normal(count))
    return fit_device(
        "mine", "A device", "measured", networks(count, seed + 9), features, milliseconds, kinds=["conv", "add"]
    )


def test_times_are_found_exactly_without_noise() -> None:
    features = networks(60)
    assert coefficients_of(features, features @ TIMES) == pytest.approx(TIMES, abs=1e-9)
    model = fitted(0.0)
    assert model.kinds == ("add", "conv")
    assert not model.simplified  # the other features are those of other networks
    assert list(model.coefficients.values()) == pytest.approx(TIMES, abs=1e-5)
    assert model.error == pytest.approx(0, abs=1e-6)
    assert model.spearman == pytest.approx(1)


def test_no_time_is_negative() -> None:
    features = networks(60)
    assert (coefficients_of(features, np.random.default_rng(3).uniform(1, 2, 60)) >= 0).all()


def test_the_interval_covers_networks_that_were_not_seen() -> None:
    model = fitted(0.1)
    unseen = networks(2000, seed=77)
    truth = unseen @ TIMES * np.exp(0.1 * np.random.default_rng(78).standard_normal(2000))
    estimates = unseen @ np.array(list(model.coefficients.values()))
    covered = np.mean((truth >= model.low * estimates) & (truth <= model.high * estimates))
    assert 0.9 <= covered <= 0.99
    assert model.error == pytest.approx(relative_error(estimates, truth), rel=0.2)


def test_a_few_networks_are_not_enough() -> None:
    with pytest.raises(TooFewError, match=r"at least 20 measured networks; there are 19"):
        fitted(0.0, count=19)


@pytest.mark.skipif("FIRSTLIGHT_DATA" not in os.environ, reason="needs nb201_hardware.parquet in $FIRSTLIGHT_DATA")
def test_a_model_that_comes_with_firstlight_agrees_with_measurements(tmp_path: Path) -> None:
    """On networks that are drawn anew: the error is about the one that the model claims."""
    import pandas as pd

    from firstlight.scoring.devices.features import features_of
    from firstlight.spaces import SPACES

    data, space = Path(os.environ["FIRSTLIGHT_DATA"]), SPACES["nasbench201"]
    rows = pd.read_parquet(data / "nb201.parquet", columns=["index", "arch_str"]).sample(12, random_state=5)
    measured = pd.read_parquet(data / "nb201_hardware.parquet").set_index("index").loc[rows["index"], "help_gold_6226"]
    model = find_device("gold6226")
    graphs = [space.graph(space.parse(text), simplified=model.simplified) for text in rows["arch_str"]]
    estimates = np.array([model.estimate(graph).milliseconds for graph in graphs])
    assert relative_error(estimates, measured.to_numpy(float)) < 2 * model.error
    assert not any(model.estimate(graph).milliseconds == 0 for graph in graphs)
    path = tmp_path / "again.json"
    path.write_text(json.dumps(model.to_dict()))
    assert dataclasses.replace(find_device(str(path))) == model
    assert features_of(graphs[0]).keys() == model.coefficients.keys()
