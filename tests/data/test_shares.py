"""Shares of the training data: which images they hold, and that those for final tests are never among them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from firstlight.core.errors import DataError
from firstlight.data import InputSource, load_dataset, load_inputs
from firstlight.data.shares import load_share, load_test_share


def rows(x: torch.Tensor) -> set[bytes]:
    return {image.numpy().tobytes() for image in x}


@pytest.fixture
def npz(tmp_path: Path) -> str:
    """Every image has a number of its own, from 0 on in the training part and from 1000 on in the test part."""
    numbers = np.arange(60, dtype=np.float32)
    x = np.broadcast_to(numbers[:, None, None, None], (60, 3, 4, 4))
    path = tmp_path / "numbered.npz"
    np.savez(path, x_train=x, y_train=np.arange(60) % 3, x_test=x[:9] + 1000, y_test=np.arange(9) % 3)
    return f"npz:{path}"


def test_a_small_share_is_in_every_larger_one_and_begins_with_what_proxies_are_shown(npz: str) -> None:
    source = InputSource(npz, batch_size=2, batches=2)
    small, large = (load_share(source, share, seed=3) for share in (0.1, 0.5))
    assert (len(small), len(large), small.of) == (6, 30, 60)
    assert torch.equal(small.x, large.x[:6])
    assert torch.equal(small.y, large.y[:6])
    shown = torch.cat([x for x, _ in load_inputs(source, seed=3).batches])
    assert torch.equal(shown, small.x[:4])
    assert small.fingerprint.startswith("numbered:6:")
    assert small.fingerprint != load_share(source, 0.1, seed=4).fingerprint


def test_the_test_part_of_a_file_is_never_among_them(npz: str) -> None:
    everything, tested = load_share(InputSource(npz), 1.0), load_test_share(InputSource(npz))
    assert len(rows(everything.x)) == 60
    assert len(tested) == 9
    assert tested.x.min() > everything.x.max()


def test_what_is_held_out_of_data_without_a_test_part_is_not_learned_from() -> None:
    source = InputSource("digits@8")
    everything, tested = load_share(source, 1.0), load_test_share(source)
    assert (len(everything), everything.of, len(tested)) == (1438, 1438, 359)
    assert not rows(everything.x) & rows(tested.x)
    held_out = load_dataset("digits@8", test=True)
    assert held_out.y_test is not None
    assert sorted(held_out.y_test.tolist()) == sorted(tested.y.tolist())


def test_images_are_reduced_as_those_that_proxies_are_shown(npz: str) -> None:
    source = InputSource(npz, batch_size=3, side=2)
    found = load_share(source, 0.2)
    assert found.x.shape == (12, 3, 2, 2)
    assert torch.equal(found.x[:3], load_inputs(source).batches[0][0])
    assert found.fingerprint.startswith("numbered@2:12:")


@pytest.mark.parametrize("name", ["synthetic", "circle"])
def test_there_is_nothing_to_learn_from_noise(name: str) -> None:
    with pytest.raises(DataError, match=f"nothing can be learned from '{name}'.*--input digits"):
        load_share(InputSource(name), 0.5)


def test_nor_from_random_labels_nor_from_nothing(npz: str) -> None:
    with pytest.raises(DataError, match="learned from random labels"):
        load_share(InputSource(npz, labels="random"), 0.5)
    with pytest.raises(DataError, match="60 training images, and the requested share contains none"):
        load_share(InputSource(npz), 0.001)
