"""Data sets to train on: split by the seed, in proportion, and normalized by what may be known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from firstlight.core.errors import DataError, SettingError
from firstlight.data import Dataset, load_dataset
from firstlight.data.datasets import _divided


def write(path: Path, **arrays: np.ndarray) -> str:
    np.savez(path, **arrays)
    return f"npz:{path}"


@pytest.fixture
def source(tmp_path: Path) -> str:
    """Forty images, each filled with its own number, ten of class 0 and thirty of class 2."""
    x = np.arange(40, dtype=np.float32).repeat(3 * 4 * 4).reshape(40, 3, 4, 4)
    return write(tmp_path / "numbers.npz", x_train=x, y_train=np.array([0] * 10 + [2] * 30), x_test=x[:0], y_test=x[:0])


def numbers(data: Dataset, x: torch.Tensor) -> list[int]:
    """Which images these are: normalizing keeps their order."""
    everything = torch.cat([data.x_train, data.x_val])[:, 0, 0, 0].sort().values
    return torch.searchsorted(everything, x[:, 0, 0, 0].contiguous()).tolist()


def test_the_parts_are_apart_and_have_all_classes_in_proportion(source: str) -> None:
    data = load_dataset(source, validation=0.2)
    train, val = numbers(data, data.x_train), numbers(data, data.x_val)
    assert sorted(train + val) == list(range(40))
    assert (data.classes, data.input_shape) == (3, (3, 4, 4))
    assert data.y_val.bincount().tolist() == [2, 0, 6]
    assert [number >= 10 for number in train] == (data.y_train == 2).tolist()
    assert train != sorted(train)  # classes are mixed
    assert data.y_train.dtype == torch.int64


def test_the_seed_decides_the_split(source: str) -> None:
    first, again, other = (load_dataset(source, seed=seed) for seed in (0, 0, 1))
    assert torch.equal(first.x_val, again.x_val)
    assert first.fingerprint == again.fingerprint != other.fingerprint
    assert not torch.equal(first.y_val, other.y_val) or not torch.equal(first.x_val, other.x_val)
    assert first.fingerprint.startswith("numbers:30+10:")


def test_some_of_the_samples_only(source: str) -> None:
    data = load_dataset(source, samples=20)
    assert (len(data.x_train), len(data.x_val)) == (15, 5)
    assert torch.cat([data.y_train, data.y_val]).bincount().tolist() == [5, 0, 15]
    assert data.fingerprint != load_dataset(source).fingerprint


def test_channels_are_normalized_by_the_training_part(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (60, 3, 4, 4), dtype=np.uint8)
    data = load_dataset(write(tmp_path / "a.npz", x=x, y=np.arange(60) % 2))
    torch.testing.assert_close(data.x_train.mean((0, 2, 3)), torch.zeros(3), atol=1e-5, rtol=0)
    torch.testing.assert_close(data.x_train.std((0, 2, 3), correction=0), torch.ones(3), atol=1e-4, rtol=0)
    assert float(data.x_val.mean().abs()) > 1e-4


def test_digits() -> None:
    data = load_dataset("digits@8")
    assert (len(data.x_train), len(data.x_val), data.classes, data.input_shape) == (1348, 449, 10, (3, 8, 8))
    assert int(data.y_val.bincount().min()) >= 43


def test_a_folder(tmp_path: Path) -> None:
    for name, color in (("dark", 20), ("light", 220)):
        (tmp_path / name).mkdir()
        for number in range(4):
            Image.new("L", (6, 6), color + number).save(tmp_path / name / f"{number}.png")
    (tmp_path / "readme.txt").touch()
    data = load_dataset(f"folder:{tmp_path}@8")
    assert (data.input_shape, data.classes, data.ignored) == ((3, 8, 8), 2, 1)
    assert (data.x_train[:, 0, 0, 0] > 0).long().tolist() == data.y_train.tolist()
    assert sorted(data.y_val.tolist()) == [0, 1]


def test_a_test_part_of_its_own_is_used(tmp_path: Path) -> None:
    x = np.random.default_rng(0).integers(0, 256, (40, 3, 4, 4), dtype=np.uint8)
    y = np.arange(40) % 2
    source = write(tmp_path / "a.npz", x_train=x[:32], y_train=y[:32], x_test=x[32:], y_test=y[32:])
    plain, tested = load_dataset(source), load_dataset(source, test=True)
    assert plain.x_test is None
    assert torch.equal(plain.x_train, tested.x_train)  # the split that stored results depend on stays
    assert tested.x_test is not None
    mean, deviation = x[:32].mean(), x[:32].std()  # about those of the part to learn from
    torch.testing.assert_close(tested.x_test, (torch.tensor(x[32:]) - mean) / deviation, atol=0.2, rtol=0.1)
    assert tested.y_test.tolist() == y[32:].tolist()
    assert tested.fingerprint.startswith("a:24+8+8:")
    assert tested.fingerprint != plain.fingerprint


def test_else_a_fifth_is_held_out_whatever_the_seed(source: str) -> None:
    numbers = np.arange(40, dtype=np.float32).repeat(48).reshape(40, 3, 4, 4)
    path = Path(source.removeprefix("npz:")).with_name("plain.npz")
    name = write(path, x=numbers, y=np.array([0] * 10 + [2] * 30))
    found = [load_dataset(name, seed=seed, test=True) for seed in (0, 1)]
    held_out = []
    for data in found:
        everything = torch.cat([data.x_train, data.x_val, data.x_test])[:, 0, 0, 0]
        assert len(everything.unique()) == 40  # nothing is in two parts
        assert (len(data.x_train), len(data.x_val), len(data.x_test)) == (24, 8, 8)
        assert data.y_test.bincount().tolist() == [2, 0, 6]
        held_out.append(torch.searchsorted(everything.sort().values, data.x_test[:, 0, 0, 0].contiguous()).tolist())
    assert held_out[0] == held_out[1]
    assert not torch.equal(found[0].x_val, found[1].x_val)


def test_a_folder_beside(tmp_path: Path) -> None:
    for part, names in (("train", "ab"), ("test", "ab")):
        for name in names:
            (tmp_path / part / name).mkdir(parents=True)
            for number in range(4 if part == "train" else 3):
                Image.new("L", (6, 6), 40 * number).save(tmp_path / part / name / f"{number}.png")
    data = load_dataset(f"folder:{tmp_path}/train@8", test=True)
    assert (len(data.x_train), len(data.x_val), len(data.x_test)) == (6, 2, 6)
    assert data.y_test.tolist() == [0, 0, 0, 1, 1, 1]
    (tmp_path / "test" / "b").rename(tmp_path / "test" / "c")
    with pytest.raises(DataError, match="in only one of them: b, c"):
        load_dataset(f"folder:{tmp_path}/train@8", test=True)


def test_test_parts_that_do_not_fit(tmp_path: Path) -> None:
    x, y = np.random.default_rng(0).normal(size=(12, 8, 8)), np.arange(12) % 2
    for arrays, message in (
        ({"x_test": x[:, :4], "y_test": y}, r"\(1, 8, 8\), test images \(1, 4, 8\)"),
        ({"x_test": x, "y_test": y + 1}, "has the label 2, but the largest label of the training set is 1"),
        ({"x_test": x}, "must hold arrays x_test and y_test"),
        (
            {"x_test": x, "y_test": y.astype(str)},
            "y_test holds text; use integers that start at 0, one for each class",
        ),
    ):
        with pytest.raises(DataError, match=message):
            load_dataset(write(tmp_path / "a.npz", x_train=x, y_train=y, **arrays), test=True)
    with pytest.raises(DataError, match="too few to hold out a fifth"):
        load_dataset(write(tmp_path / "b.npz", x=x[:2], y=y[:2]), test=True)


def test_images_of_different_sizes(tmp_path: Path) -> None:
    images = np.empty(2, dtype=object)
    images[:] = [np.zeros((8, 8)), np.zeros((9, 9))]
    with pytest.raises(DataError, match="Images of different sizes"):
        load_dataset(write(tmp_path / "a.npz", x=images, y=np.arange(2)))


@settings(deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.data())
def test_every_part_is_in_proportion(labels: list[int], data: st.DataObject) -> None:
    count = data.draw(st.integers(0, len(labels)))
    known = np.array(labels)
    order = np.random.default_rng(0).permutation(len(labels))
    picked, rest = _divided(order, known, count)
    assert len(picked) == count
    assert sorted([*picked, *rest]) == list(range(len(labels)))
    for label in range(5):
        assert abs((known[picked] == label).sum() - (known == label).sum() * count / len(labels)) < 1
    assert [n for n in order if n in set(picked)] == picked.tolist()


def test_what_cannot_be_learned_from(tmp_path: Path, source: str) -> None:
    with pytest.raises(DataError, match="Nothing can be learned from noise"):
        load_dataset("synthetic")
    with pytest.raises(DataError, match="belong to one class"):
        load_dataset(write(tmp_path / "b.npz", x=np.zeros((9, 8, 8)), y=np.ones(9, dtype=int)))
    with pytest.raises(DataError, match="NaN or infinite"):
        load_dataset(write(tmp_path / "c.npz", x=np.full((9, 8, 8), np.nan), y=np.arange(9)))
    for samples in (0, 2, 41):
        with pytest.raises(DataError, match=rf"has 40 samples\. {samples} were requested"):
            load_dataset(source, samples=samples)
    for share in (0.0, 1.0, -1.0):
        with pytest.raises(SettingError, match="between 0 and 1"):
            load_dataset(source, validation=share)
