"""The names of sources, and folders of image files as one of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from firstlight import Training
from firstlight.core.errors import DataError, SettingError
from firstlight.data import InputSource, load_inputs
from firstlight.data.images import LARGEST_SIDE, USUAL_SIDE, read_samples, read_test_samples, split_side

COLORS = {"blue": (0, 0, 255), "green": (0, 255, 0), "red": (255, 0, 0)}


def write(path: Path, color: tuple[int, ...] = (10, 20, 30), size: tuple[int, int] = (9, 5), mode: str = "RGB") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size, color).save(path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, color in COLORS.items():
        for number in range(3):
            write(tmp_path / "shots" / name / f"{number}.png", color)
    return tmp_path / "shots"


@settings(deadline=None)
@given(st.text(), st.integers(1, LARGEST_SIDE))
def test_a_side_is_read_off_the_end_whatever_the_path(path: str, side: int) -> None:
    assert split_side(f"folder:{path}@{side}") == (f"folder:{path}", side)
    assert split_side(f"npz:{path}@{side}") == (f"npz:{path}", side)


def test_sides() -> None:
    assert split_side("digits") == ("digits", None)
    assert split_side("folder:me@home") == ("folder:me@home", None)
    for name in ("digits@0", "folder:a@5000"):
        with pytest.raises(DataError, match=f"{name}.*1 to 1024"):
            split_side(name)
    assert read_samples("digits@8").images(np.arange(2)).shape == (2, 1, 8, 8)
    assert read_samples("digits").images(np.arange(2)).shape == (2, 1, USUAL_SIDE, USUAL_SIDE)


def test_arrays_are_reduced_to_the_side_that_is_asked_for(tmp_path: Path) -> None:
    images = np.arange(2 * 16, dtype=np.uint8).reshape(2, 1, 4, 4)
    np.savez(tmp_path / "a.npz", x_train=images, y_train=[0, 1], x_test=images, y_test=[1, 0])
    name = f"npz:{tmp_path / 'a.npz'}@2"
    for samples in (read_samples(name), read_test_samples(name)):
        assert samples is not None
        assert samples.images(np.array([1])).tolist() == [[[[18.5, 20.5], [26.5, 28.5]]]]
    assert read_samples(name).title == "a@2"
    with pytest.raises(DataError, match=r"@8.*8x8.*they have 4x4"):
        read_samples(f"npz:{tmp_path / 'a.npz'}@8")


def test_one_class_for_each_sub_folder_in_the_order_of_names(folder: Path) -> None:
    samples = read_samples(f"folder:{folder}@4")
    assert samples.labels.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert (samples.classes, samples.ignored, samples.title) == (3, 0, "shots@4")
    images = samples.images(np.array([8, 0]))
    assert (images.dtype, images.shape) == (np.uint8, (2, 3, 4, 4))
    assert images[:, :, 0, 0].tolist() == [[255, 0, 0], [0, 0, 255]]
    assert read_samples(f"folder:{folder}").images(np.array([1])).shape == (1, 3, 32, 32)


def test_images_of_all_kinds_become_three_channels(folder: Path) -> None:
    write(folder / "red" / "a.JPG", (255, 0, 0), (300, 200))
    write(folder / "red" / "deeper" / "b.bmp", (255,), mode="L")
    write(folder / "red" / "c.png", (0, 0, 0, 0), mode="RGBA")
    palette = Image.new("P", (8, 8), 0)
    palette.putpalette([255, 0, 0])
    palette.save(folder / "red" / "d.png", transparency=b"\xff")
    corners = read_samples(f"folder:{folder}@8").images(np.arange(9, 13))[:, :, 0, 0].tolist()
    assert corners[0] == pytest.approx([255, 0, 0], abs=2)
    assert corners[1:] == [[255, 255, 255], [255, 0, 0], [255, 255, 255]]  # c, d, then deeper/b


def test_other_files_are_ignored_and_counted(folder: Path) -> None:
    before = read_samples(f"folder:{folder}")
    (folder / "notes.txt").touch()
    (folder / "red" / "labels.csv").touch()
    (folder / "red" / "._0.png").touch()
    (folder / ".cache").mkdir()
    after = read_samples(f"folder:{folder}")
    assert after.ignored == 3
    assert after.labels.tolist() == before.labels.tolist()


def test_networks_are_shown_images_of_a_folder(folder: Path) -> None:
    source = InputSource(f"folder:{folder}@8", batch_size=9)
    inputs = load_inputs(source)
    (x, y), *_ = inputs.batches
    assert (inputs.input_shape, inputs.classes) == ((3, 8, 8), 3)
    assert y is not None
    assert x[:, :, 0, 0].argmax(1).tolist() == (2 - y).tolist()  # blue, green and red are channels 2, 1 and 0
    assert float(x.mean()) == pytest.approx(0, abs=1e-5)
    assert inputs.fingerprint.startswith("shots@8:1x9:")
    folder.rename(folder.parent / "aside")
    (folder.parent / "elsewhere").mkdir()
    moved = (folder.parent / "aside").rename(folder.parent / "elsewhere" / "shots")
    assert load_inputs(InputSource(f"folder:{moved}@8", batch_size=9)).fingerprint == inputs.fingerprint


def test_a_damaged_image_is_named(folder: Path) -> None:
    broken = folder / "green" / "broken.jpeg"
    broken.write_bytes(b"no image at all")
    with pytest.raises(DataError, match=r"green/broken\.jpeg cannot be read \(UnidentifiedImageError"):
        read_samples(f"folder:{folder}").images(np.arange(10))
    broken.write_bytes((folder / "green" / "0.png").read_bytes()[:-30])
    with pytest.raises(DataError, match=r"green/broken\.jpeg cannot be read"):
        read_samples(f"folder:{folder}").images(np.arange(10))
    Image.new("I;16", (4, 4)).save(folder / "green" / "0.png")
    with pytest.raises(DataError, match=r"0\.png: more than 8 bits"):
        read_samples(f"folder:{folder}").images(np.array([3]))


def test_all_damaged_images_are_listed_or_left_out(folder: Path) -> None:
    good = len(read_samples(f"folder:{folder}"))
    (folder / "green" / "broken.jpeg").write_bytes(b"no image at all")
    cut = (folder / "red" / "0.png").read_bytes()[:-30]
    (folder / "red" / "cut.png").write_bytes(cut)
    Image.new("I;16", (4, 4)).save(folder / "red" / "deep.png")
    with pytest.raises(DataError, match=r"3 of \d+ images cannot be read") as caught:
        read_samples(f"folder:{folder}").images(np.arange(good + 3))
    lines = str(caught.value).splitlines()
    assert [line.partition(": ")[0].strip().rpartition("/")[2] for line in lines[1:]] == [
        "broken.jpeg",
        "cut.png",
        "deep.png",
    ]
    assert "--skip-damaged" in lines[0]
    left = read_samples(f"folder:{folder}@4?skip-damaged")
    assert len(left) == good
    assert left.ignored == 3
    assert left.images(np.arange(good)).shape == (good, 3, 4, 4)
    assert Training(data=f"folder:{folder}", skip_damaged=True).data == f"folder:{folder}?skip-damaged"
    with pytest.raises(SettingError, match="is for folders of images"):
        Training(data="digits", skip_damaged=True)


def test_an_image_that_is_repaired_is_read_again(folder: Path) -> None:
    broken = folder / "green" / "broken.png"
    broken.write_bytes(b"no image at all")
    good = len(read_samples(f"folder:{folder}?skip-damaged"))
    broken.write_bytes((folder / "green" / "0.png").read_bytes())
    assert len(read_samples(f"folder:{folder}?skip-damaged")) == good + 1


def test_bad_folders_are_explained(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    write(tmp_path / "flat" / "a.png")
    write(tmp_path / "single" / "cats" / "a.png")
    for part in ("train", "test"):
        write(tmp_path / "split" / part / "cats" / "a.png")
        write(tmp_path / "gaps" / part / "a.png")
    (tmp_path / "gaps" / "zebras").mkdir()
    (tmp_path / "gaps" / "zebras" / "a.txt").touch()
    cases = {
        "empty": "one subfolder for each class.*none",
        "file": "There is no folder",
        "missing": r"There is no folder.*missing.*folder:PATH@64",
        "flat": "one subfolder for each class.*none",
        "single": "at least two classes.*only 'cats'",
        "split": "splits of a data set, not classes: test, train.*folder:.*split/train",
        "gaps": r"'zebras'.*no images \(other files: 1\).*\.png",
    }
    for name, message in cases.items():
        with pytest.raises(DataError, match=message):
            read_samples(f"folder:{tmp_path / name}")
    with pytest.raises(DataError, match="There is no folder ''"):
        read_samples("folder:")
