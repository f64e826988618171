"""Where batches come from: Gaussian noise, scikit-learn's bundled digits, or arrays in an `.npz` file.

A source is named by a text: `synthetic`, `digits`, `npz:PATH`, or a bare name such as `cifar10`, which is looked up in
the folder that the environment variable FIRSTLIGHT_DATA names (`cifar10.npz` or `cifar10_*.npz`).
"""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from firstlight.errors import DataError
from firstlight.seeds import torch_generator

Array = np.ndarray[Any, np.dtype[Any]]
DATA_FOLDER = "FIRSTLIGHT_DATA"


@dataclass(frozen=True)
class InputSource:
    """Which samples to draw: `batches` batches of `batch_size` from the named source, picked by the run's seed."""

    name: str = "synthetic"
    batch_size: int = 1
    batches: int = 1

    def __post_init__(self) -> None:
        if self.batch_size < 1 or self.batches < 1:
            raise DataError(f"Batches must hold at least one sample; got {self.batches} batches of {self.batch_size}.")


@dataclass(frozen=True)
class Inputs:
    """Batches ready for a network, and a text that stands for exactly these numbers in the keys of scores."""

    batches: list[tuple[Tensor, Tensor | None]]
    fingerprint: str
    input_shape: tuple[int, ...]
    classes: int


def load_inputs(
    source: InputSource, *, seed: int = 0, input_shape: tuple[int, ...] = (3, 32, 32), classes: int = 10
) -> Inputs:
    """Draw the batches. Data sets bring their own shape and number of classes; noise takes those that are given."""
    count = source.batch_size * source.batches
    if source.name == "synthetic":
        generator = torch_generator(seed, "synthetic input")
        try:  # one by one, so that the first are the same however many there are
            x = torch.stack([torch.randn(input_shape, generator=generator) for _ in range(count)])
        except RuntimeError as error:
            raise DataError(f"{count} inputs of {input_shape} do not fit into memory.") from error
        y = torch.randint(classes, (count,), generator=torch_generator(seed, "synthetic labels"))
    else:
        images, labels = _digits() if source.name == "digits" else _from_npz(_find(source.name))
        if count > len(images):
            raise DataError(
                f"{source.name!r} has {len(images)} samples; "
                f"{source.batches} batches of {source.batch_size} were asked for."
            )
        picked = torch.randperm(len(images), generator=torch_generator(seed, "choice of samples"))[:count].numpy()
        x = _normalised(images, picked)
        if not bool(x.isfinite().all()):
            raise DataError(f"{source.name!r} holds values that are NaN or infinite; clean the data first.")
        y = torch.from_numpy(labels[picked].astype(np.int64))
        classes = int(labels.max()) + 1
    batches = [
        (x[start : start + source.batch_size], y[start : start + source.batch_size])
        for start in range(0, count, source.batch_size)
    ]
    name, digest = Path(source.name.removeprefix("npz:")).stem, _digest(x.numpy(), y.numpy())
    fingerprint = f"{name}:{source.batches}x{source.batch_size}:{digest}"
    return Inputs([*batches], fingerprint, tuple(x.shape[1:]), classes)


def _digits() -> tuple[Array, Array]:
    """1,797 handwritten digits of 8x8 pixels, enlarged to 32x32."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    enlarged = F.interpolate(
        torch.from_numpy(images).view(-1, 1, 8, 8), size=(32, 32), mode="bilinear", align_corners=False
    )
    return enlarged.mul_(255 / 16).round_().to(torch.uint8).numpy(), labels


def _from_npz(path: Path) -> tuple[Array, Array]:
    """The images and labels; a file that is asked for again and has not changed is not unpacked again."""
    try:
        changed = path.stat()
    except OSError:
        raise DataError(f"There is no file {path}.") from None
    return _unpacked(path, changed.st_mtime_ns, changed.st_size)


@lru_cache(maxsize=1)
def _unpacked(path: Path, _changed: int, _size: int) -> tuple[Array, Array]:
    try:
        arrays = np.load(path, allow_pickle=False)
        if not isinstance(arrays, np.lib.npyio.NpzFile):
            raise DataError(f"{path} holds a single array; save x and y together with numpy.savez.")
        with arrays:
            suffix = "_train" if "x_train" in arrays else ""
            if f"x{suffix}" not in arrays or f"y{suffix}" not in arrays:
                raise DataError(
                    f"{path} must hold arrays x and y (or x_train and y_train); "
                    f"it holds: {', '.join(arrays) or 'none'}."
                )
            images, labels = arrays[f"x{suffix}"], arrays[f"y{suffix}"]
    except (OSError, EOFError, ValueError, BadZipFile, zlib.error) as error:
        kind = type(error).__name__
        raise DataError(f"{path} is not an .npz file of plain arrays without pickles ({kind}).") from error
    if not (np.issubdtype(images.dtype, np.integer) or np.issubdtype(images.dtype, np.floating)):
        raise DataError(f"{path}: x must hold real numbers; got {images.dtype}.")
    if images.ndim == 3:
        images = images[:, None]
    if images.ndim != 4 or labels.shape != images.shape[:1] or not len(images):
        raise DataError(
            f"{path}: x must be images (N, C, H, W) or (N, H, W), channels first, and y their N labels; "
            f"got {images.shape} and {labels.shape}."
        )
    if images.shape[-1] in (1, 3) and images.shape[1] > 4:
        raise DataError(f"{path}: x looks like (N, H, W, C), {images.shape}; put the channels first: (N, C, H, W).")
    if not np.issubdtype(labels.dtype, np.integer) or labels.min() < 0:
        raise DataError(f"{path}: y must hold whole numbers from 0 on; got {labels.dtype} from {labels.min()}.")
    return images, labels


def _find(name: str) -> Path:
    if name.startswith("npz:"):
        return Path(name.removeprefix("npz:")).expanduser()
    folder = os.environ.get(DATA_FOLDER)
    if not folder:
        raise DataError(
            f"There is no built-in input {name!r}. Built in: synthetic, digits, npz:PATH. "
            f"Other names are looked up in the folder that {DATA_FOLDER} names, and it is not set."
        )
    return find_images(name, Path(folder))


def find_images(name: str, folder: Path) -> Path:
    """The one file of images of this name in a folder of data."""
    if not re.fullmatch(r"[\w.-]+", name):
        raise DataError(f"{name!r} is not a name to look up. For a file, write npz:PATH.")
    found = sorted([*folder.glob(f"{name}.npz"), *folder.glob(f"{name}_*.npz")])
    if len(found) != 1:
        there = ", ".join(sorted(path.name for path in folder.glob("*.npz"))) or "no .npz file"
        raise DataError(
            f"The data folder {folder} has {len(found)} files for {name!r}; "
            f"expected one {name}.npz or {name}_*.npz. It has: {there}."
        )
    return found[0]


def _normalised(images: Array, picked: Array) -> Tensor:
    """The picked images, each channel of the whole set at mean 0 and deviation 1; grey becomes three channels."""
    sample = images[:: max(1, len(images) // 10_000)].astype(np.float32)
    mean, deviation = sample.mean((0, 2, 3), keepdims=True), sample.std((0, 2, 3), keepdims=True)
    chosen = torch.from_numpy((images[picked].astype(np.float32) - mean) / np.maximum(deviation, 1e-6))
    return chosen.repeat(1, 3, 1, 1) if chosen.shape[1] == 1 else chosen


def _digest(*arrays: Array) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for array in arrays:
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
