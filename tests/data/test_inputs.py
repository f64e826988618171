"""Sources of batches."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.data.clicks import logs

from firstlight.core.errors import DataError
from firstlight.data import InputSource, load_dataset, load_inputs
from firstlight.data.clicks.prepare import prepare_clicks


def write(path: Path, **arrays: np.ndarray) -> str:
    np.savez(path, **arrays)
    return f"npz:{path}"


@pytest.fixture
def images() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {"x": rng.integers(0, 256, (50, 3, 8, 8), dtype=np.uint8), "y": rng.integers(0, 4, 50)}


def test_noise_has_the_asked_shape_and_follows_the_seed() -> None:
    source = InputSource("synthetic", batch_size=3, batches=2)
    first, again, other = (load_inputs(source, seed=seed, input_shape=(1, 5, 5), classes=4) for seed in (0, 0, 1))
    assert [x.shape for x, _ in first.batches] == [(3, 1, 5, 5)] * 2
    assert all(torch.equal(a[0], b[0]) for a, b in zip(first.batches, again.batches, strict=True))
    assert first.fingerprint == again.fingerprint != other.fingerprint
    assert not torch.equal(first.batches[0][0], first.batches[1][0])
    assert (first.input_shape, first.classes) == ((1, 5, 5), 4)


def test_points_of_a_circle_are_as_far_from_0_as_noise() -> None:
    few, many = (load_inputs(InputSource("circle", count), seed=2, input_shape=(1, 4, 4)) for count in (5, 40))
    x = many.batches[0][0].flatten(1)
    assert torch.equal(few.batches[0][0], many.batches[0][0][:5])
    torch.testing.assert_close(x.norm(dim=1), torch.full((40,), 4.0))
    assert torch.linalg.matrix_rank(x, atol=1e-4) == 2
    assert few.fingerprint.startswith("circle:1x5:")


def test_digits_are_three_channels_of_32() -> None:
    inputs = load_inputs(InputSource("digits", batch_size=500))
    x, y = inputs.batches[0]
    assert x.shape == (500, 3, 32, 32)
    assert torch.equal(x[:, 0], x[:, 2])
    assert abs(float(x.mean())) < 0.05
    assert abs(float(x.std()) - 1) < 0.05
    assert y is not None
    assert set(y.tolist()) == set(range(10))
    assert inputs.classes == 10


def test_arrays_are_normalized_by_channel(tmp_path: Path, images: dict[str, np.ndarray]) -> None:
    inputs = load_inputs(InputSource(write(tmp_path / "a.npz", **images), batch_size=50))
    x, y = inputs.batches[0]
    assert y is not None
    torch.testing.assert_close(x.mean((0, 2, 3)), torch.zeros(3), atol=1e-5, rtol=0)
    torch.testing.assert_close(x.std((0, 2, 3), correction=0), torch.ones(3), atol=1e-4, rtol=0)
    assert sorted(y.tolist()) == sorted(images["y"].tolist())
    assert (inputs.input_shape, inputs.classes) == ((3, 8, 8), 4)


def test_the_fingerprint_tells_different_numbers_apart(
    tmp_path: Path, images: dict[str, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = InputSource(write(tmp_path / "a.npz", **images))
    before = load_inputs(source).fingerprint
    assert load_inputs(source).fingerprint == before
    monkeypatch.chdir(tmp_path)
    assert load_inputs(InputSource("npz:a.npz")).fingerprint == before
    changed = images | {"x": images["x"] // 2 * 2}
    assert load_inputs(InputSource(write(tmp_path / "a.npz", **changed))).fingerprint != before


def test_bare_names_are_looked_up(
    tmp_path: Path, images: dict[str, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "shapes_50.npz", x_train=images["x"][:, 0], y_train=images["y"])
    monkeypatch.setenv("FIRSTLIGHT_DATA", str(tmp_path))
    assert load_inputs(InputSource("shapes")).input_shape == (3, 8, 8)
    with pytest.raises(DataError, match=r"0 files for 'shape'.*shapes_50.npz"):
        load_inputs(InputSource("shape"))
    for name in (str(tmp_path / "shapes_50.npz"), "**", "../shapes"):
        with pytest.raises(DataError, match=r"npz:PATH|is a path: write npz:/.*shapes_50\.npz"):
            load_inputs(InputSource(name))
    monkeypatch.delenv("FIRSTLIGHT_DATA")
    with pytest.raises(DataError, match="synthetic, circle, digits, npz:PATH"):
        load_inputs(InputSource("shapes"))


def test_bad_files_are_explained(tmp_path: Path, images: dict[str, np.ndarray]) -> None:
    cases = {
        "there is no file": f"npz:{tmp_path / 'missing.npz'}",
        "arrays x and y": write(tmp_path / "b.npz", a=images["x"]),
        "images": write(tmp_path / "c.npz", x=images["x"], y=images["y"][:-1]),
        "integers": write(tmp_path / "d.npz", x=images["x"], y=images["y"] - 9.5),
        "y holds text; use integers that start at 0": write(
            tmp_path / "t.npz", x=images["x"], y=images["y"].astype(str)
        ),
        "y holds python objects, and pickles are not read; use integers": write(
            tmp_path / "o.npz", x=images["x"], y=images["y"].astype(object)
        ),
        "without pickles": f"npz:{tmp_path / 'e.npz'}",
        "plain arrays": f"npz:{tmp_path / 'empty.npz'}",
        "single array": f"npz:{tmp_path / 'single.npy'}",
        "real numbers": write(tmp_path / "g.npz", x=images["x"].astype(str), y=images["y"]),
        "NaN or infinite": write(tmp_path / "h.npz", x=images["x"] * np.nan, y=images["y"]),
        "channels first": write(tmp_path / "f.npz", x=images["x"].transpose(0, 2, 3, 1), y=images["y"]),
    }
    (tmp_path / "e.npz").write_bytes(pickle.dumps({"x": 1}))
    (tmp_path / "empty.npz").touch()
    np.save(tmp_path / "single.npy", images["x"])
    for message, name in cases.items():
        with pytest.raises(DataError, match=f"(?i){message}"):
            load_inputs(InputSource(name))


def test_pickled_arrays_are_refused(tmp_path: Path, images: dict[str, np.ndarray]) -> None:
    name = write(tmp_path / "f.npz", x=images["x"], y=np.array([{}] * 50, dtype=object))
    with pytest.raises(DataError, match="pickles are not read"):
        load_inputs(InputSource(name))


def test_more_samples_than_there_are(tmp_path: Path, images: dict[str, np.ndarray]) -> None:
    with pytest.raises(DataError, match="has 50 samples; 2 batches of 26"):
        load_inputs(InputSource(write(tmp_path / "a.npz", **images), batch_size=26, batches=2))
    with pytest.raises(DataError, match="at least one sample"):
        InputSource(batch_size=0)


def test_real_images(benchmark_data: Path) -> None:
    inputs = load_inputs(InputSource("cifar10", batch_size=64))
    assert inputs.input_shape == (3, 32, 32)
    assert inputs.classes == 10


def test_clicks_are_drawn_from_the_training_part(tmp_path: Path) -> None:
    log = logs.write(tmp_path / "log.csv", logs.USUAL)
    data = prepare_clicks(logs.LAYOUT, log, tmp_path / "clicks.parquet")
    few, many, other = (
        load_inputs(InputSource(f"clicks:{data.path}", size, 3), seed=seed) for size, seed in ((4, 0), (8, 0), (4, 1))
    )
    x_few, x_many = (torch.cat([x for x, _ in inputs.batches]) for inputs in (few, many))
    assert torch.equal(x_few, x_many[:12])  # what is drawn first does not change with the number
    assert few.fingerprint.startswith("clicks:3x4:")
    assert few.fingerprint != other.fingerprint
    assert (few.input_shape, few.classes, few.skeleton) == ((4,), 2, data.skeleton)
    training = {tuple(row.tolist()) for x, _ in data.batches("train", 50) for row in x}
    assert {tuple(row.tolist()) for row in x_many} <= training
    random = load_inputs(InputSource(f"clicks:{data.path}", 8, 3, labels="random"))
    assert torch.equal(random.batches[0][0], many.batches[0][0])
    assert "random labels" in random.fingerprint
    with pytest.raises(DataError, match=rf"has {data.rows['train']} samples; 9 batches of 9 were requested"):
        load_inputs(InputSource(f"clicks:{data.path}", 9, 9))


def test_clicks_are_no_images() -> None:
    with pytest.raises(DataError, match="holds clicks, but images are needed here"):
        load_dataset("criteo:clicks.parquet")


def test_what_a_source_is_read_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "photos.npz").touch()
    monkeypatch.setenv("FIRSTLIGHT_DATA", str(tmp_path))
    assert [InputSource(name).files for name in ("synthetic", "circle", "digits", "digits@16")] == [[]] * 4
    assert InputSource("photos@8").files == InputSource(f"npz:{tmp_path}/photos.npz").files == [tmp_path / "photos.npz"]
    assert InputSource(f"folder:{tmp_path}@8").files == [tmp_path]


@pytest.fixture
def thirty(tmp_path: Path) -> str:
    np.savez(tmp_path / "few.npz", x=np.random.default_rng(0).random((30, 3, 8, 8)), y=np.arange(30) % 3)
    return f"npz:{tmp_path / 'few.npz'}"


def test_batches_nobody_asked_for_are_as_large_as_the_data_allow(thirty: str) -> None:
    usual = InputSource(thirty, 64)
    fitted = usual.fitting()
    assert (fitted.batch_size, fitted.usual_batch_size) == (30, 64)
    assert "has too few samples for batches of 64, so proxies used batches of 30." in fitted.remark
    assert load_inputs(fitted).batches[0][0].shape[0] == 30
    assert InputSource(thirty, 64, 4).fitting().batch_size == 7
    for enough in (InputSource(thirty, 30), InputSource(thirty, 1), InputSource("synthetic", 64)):
        assert enough.fitting() is enough
        assert enough.remark == ""


@pytest.mark.parametrize(
    ("size", "batches", "message"),
    [
        (64, 1, "has 30 samples; 1 batch of 64 was requested. Use --batch-size 30"),
        (16, 2, "has 30 samples; 2 batches of 16 were requested. Use --batch-size 15"),
        (1, 31, "31 batches of 1 were requested. Use --num-batches 30, or in Python num_batches=30."),
    ],
)
def test_batches_that_were_asked_for_and_cannot_be_had(thirty: str, size: int, batches: int, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        load_inputs(InputSource(thirty, size, batches))
