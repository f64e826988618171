"""Sources of images: the digits of scikit-learn, arrays in an `.npz` file, or a folder of image files.

The name of a source is `digits`, `npz:PATH`, `folder:PATH`, or a bare name such as `cifar10`, which is looked up in the
folder that the environment variable FIRSTLIGHT_DATA names (`cifar10.npz` or `cifar10_*.npz`). It may end in a side in
pixels: `digits@16`, `folder:PATH@64`, `cifar10@16`. Without one, digits and images of a folder have 32x32 pixels, and
arrays keep their size. Arrays can only be reduced.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import torch
import torch.nn.functional as F

from firstlight.core.errors import DataError, MissingFileError
from firstlight.data.folders import find_test_folder, read_folder
from firstlight.data.samples import Array, Samples
from firstlight.data.sources import data_kind
from firstlight.options import SKIP_DAMAGED

DATA_FOLDER = "FIRSTLIGHT_DATA"
USUAL_SIDE = 32
LARGEST_SIDE = 1024


def read_samples(name: str) -> Samples:
    """Read a source of images, without its test set.

    Raises:
        DataError: If it cannot be read, or holds data of another kind.
        MissingFileError: If there is no such file or folder.
    """
    kind = data_kind(name)
    if kind is not None and kind.name != "images":
        raise DataError(
            f"{name!r} holds {kind.name}, but images are needed here: digits, npz:PATH, folder:PATH, or a name in "
            f"${DATA_FOLDER}."
        )
    stem, side = split_side(name)
    skip = name.endswith(SKIP_DAMAGED)
    if stem == "digits":
        images, labels = _digits(side or USUAL_SIDE)
        return Samples(name, name, labels, images.__getitem__)
    if stem.startswith("folder:"):
        return read_folder(name, stem.removeprefix("folder:"), side or USUAL_SIDE, skip_damaged=skip)
    images, labels = _from_npz(_find(stem))
    title = Path(stem.removeprefix("npz:")).stem + (f"@{side}" if side else "")
    return Samples(name, title, labels, _reader(images, side))


def open_source(name: str) -> Samples:
    """Open a source of images; see `firstlight.data.sources`."""
    return read_samples(name)


def has_test_part(name: str) -> bool:
    """Return whether a source has a test set, without reading it."""
    stem, _ = split_side(name)
    if stem == "digits":
        return False
    if stem.startswith("folder:"):
        return find_test_folder(stem.removeprefix("folder:")) is not None
    with _find(stem).open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        return "x_test" in arrays


def read_test_samples(name: str) -> Samples | None:
    """Read the test set of a source; None if it has none."""
    if not has_test_part(name):
        return None
    stem, side = split_side(name)
    if stem.startswith("folder:"):
        folder = str(find_test_folder(stem.removeprefix("folder:")))
        return read_folder(name, folder, side or USUAL_SIDE, skip_damaged=name.endswith(SKIP_DAMAGED))
    images, labels = _from_npz(_find(stem), "_test")
    return Samples(name, "test", labels, _reader(images, side))


def path_of(name: str) -> Path | None:
    """Return the file or folder of a source; None for the digits, which are part of scikit-learn."""
    stem, _ = split_side(name)
    if stem == "digits":
        return None
    return Path(stem.removeprefix("folder:")).expanduser() if stem.startswith("folder:") else _find(stem)


def split_side(name: str) -> tuple[str, int | None]:
    """Split `@SIDE` off the name of a source. A path that itself ends like this needs a second one.

    The suffix that leaves out damaged images is dropped.
    """
    name = name.removesuffix(SKIP_DAMAGED)
    match = re.fullmatch(r"(?P<stem>.+)@(?P<side>[0-9]{1,9})", name, re.DOTALL)
    if match is None:
        return name, None
    side = int(match["side"])
    if not 1 <= side <= LARGEST_SIDE:
        raise DataError(f"{name!r} asks for images of {side}x{side} pixels; the side must be 1 to {LARGEST_SIDE}.")
    return match["stem"], side


def with_side(name: str, side: int) -> str:
    """Return the name of a source with another side.

    >>> with_side("folder:photos@64?skip-damaged", 16)
    'folder:photos@16?skip-damaged'
    """
    stem, _ = split_side(name)
    return f"{stem}@{side}{SKIP_DAMAGED * name.endswith(SKIP_DAMAGED)}"


def _reader(images: Array, side: int | None) -> Callable[[Array], Array]:
    """Return a function that reads images, reduced to `side` pixels by averaging if it is given."""
    if side is None:
        return images.__getitem__
    if side > min(images.shape[-2:]):
        height, width = images.shape[-2:]
        raise DataError(
            f"@{side} asks for images of {side}x{side} pixels, but they have {height}x{width} and can only be "
            "downscaled."
        )
    size = (side, side)
    return lambda numbers: F.adaptive_avg_pool2d(torch.from_numpy(images[numbers]).float(), size).numpy()


def _digits(side: int) -> tuple[Array, Array]:
    """Return the 1,797 handwritten digits of 8x8 pixels, enlarged."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    enlarged = F.interpolate(
        torch.from_numpy(images).view(-1, 1, 8, 8), size=(side, side), mode="bilinear", align_corners=False
    )
    return enlarged.mul_(255 / 16).round_().to(torch.uint8).numpy(), labels


def _from_npz(path: Path, suffix: str = "_train") -> tuple[Array, Array]:
    """Return images and labels. The last file is kept in memory until it changes."""
    try:
        changed = path.stat()
    except OSError:
        raise MissingFileError(f"There is no file {path}.") from None
    return _unpacked(path, suffix, changed.st_mtime_ns, changed.st_size)


@lru_cache(maxsize=1)
def _unpacked(path: Path, suffix: str, _changed: int, _size: int) -> tuple[Array, Array]:
    try:
        with path.open("rb") as file:  # numpy would leave it open if it is not an .npz file
            arrays = np.load(file, allow_pickle=False)
            if not isinstance(arrays, np.lib.npyio.NpzFile):
                raise DataError(f"{path} holds a single array; save x and y together with numpy.savez.")
            if suffix == "_train" and "x_train" not in arrays:
                suffix = ""
            if f"x{suffix}" not in arrays or f"y{suffix}" not in arrays:
                wanted = "x_test and y_test" if suffix == "_test" else "x and y (or x_train and y_train)"
                raise DataError(f"{path} must hold arrays {wanted}; it holds: {', '.join(arrays) or 'none'}.")
            labels = _labels(path, arrays, f"y{suffix}")
            images = arrays[f"x{suffix}"]
    except (OSError, EOFError, ValueError, BadZipFile, zlib.error) as error:
        kind = type(error).__name__
        raise DataError(
            f"{path} is not an .npz file of plain arrays without pickles ({kind}). Images of different sizes do not "
            "form such an array: resize them to the same size, or save them as files and use folder:PATH."
        ) from error
    if not (np.issubdtype(images.dtype, np.integer) or np.issubdtype(images.dtype, np.floating)):
        raise DataError(f"{path}: x{suffix} must hold real numbers; got {images.dtype}.")
    if images.ndim == 3:
        images = images[:, None]
    if images.ndim != 4 or labels.shape != images.shape[:1] or not len(images):
        raise DataError(
            f"{path}: x{suffix} must be images of shape (N, C, H, W) or (N, H, W), and y their N labels; "
            f"got {images.shape} and {labels.shape}."
        )
    if images.shape[-1] in (1, 3) and images.shape[1] > 4:
        raise DataError(
            f"{path}: x{suffix} looks like (N, H, W, C), {images.shape}; put the channels first: (N, C, H, W)."
        )
    if not np.issubdtype(labels.dtype, np.integer) or labels.min() < 0:
        raise DataError(
            f"{path}: y{suffix} must hold integers that start at 0; got {labels.dtype} with the minimum {labels.min()}."
        )
    return images, labels


def _labels(path: Path, arrays: Mapping[str, Array], name: str) -> Array:
    advice = "use integers that start at 0, one for each class"
    try:
        labels: Array = arrays[name]
    except ValueError as error:
        if "Object arrays" not in str(error):  # the file is damaged
            raise
        raise DataError(f"{path}: {name} holds Python objects, and pickles are not read; {advice}.") from error
    if labels.dtype.kind in "US":
        raise DataError(f"{path}: {name} holds text; {advice}.")
    return labels


def _find(name: str) -> Path:
    if name.startswith("npz:"):
        return Path(name.removeprefix("npz:")).expanduser()
    folder = os.environ.get(DATA_FOLDER)
    path = Path(name).expanduser()
    if (not folder or path.name != name) and (path.is_dir() or path.is_file()):
        raise MissingFileError(f"{name!r} is a path: write {'folder' if path.is_dir() else 'npz'}:{name}.")
    if not folder:
        raise MissingFileError(
            f"There is no built-in input {name!r}. Built in: synthetic, circle, digits, npz:PATH, folder:PATH. "
            f"Other names are looked up in the folder named by the environment variable {DATA_FOLDER}, which is not "
            "set."
        )
    return find_images(name, Path(folder))


def find_images(name: str, folder: Path) -> Path:
    """Return the `.npz` file for a name in a data folder."""
    if not re.fullmatch(r"[\w.-]+", name):
        raise DataError(
            f"{name!r} is not a valid name of a data set. Use npz:PATH for a file, or folder:PATH for images."
        )
    found = sorted([*folder.glob(f"{name}.npz"), *folder.glob(f"{name}_*.npz")])
    if len(found) != 1:
        there = ", ".join(sorted(path.name for path in folder.glob("*.npz"))) or "no .npz file"
        raise MissingFileError(
            f"The data folder {folder} has {len(found)} files for {name!r}; "
            f"expected one {name}.npz or {name}_*.npz. It has: {there}."
        )
    return found[0]
