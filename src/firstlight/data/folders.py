"""Image files in a folder that has one sub-folder for each class."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from firstlight.core.errors import DataError, MissingFileError
from firstlight.data.samples import Array, Samples

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm", ".pbm")
_PARTS = {"train", "training", "val", "valid", "validation", "test", "testing"}


def read_folder(name: str, path: str, side: int) -> Samples:
    """All images below the sub-folders, in the order of their paths; a file is opened when it is asked for.

    Classes are numbered in the order of their names. What is hidden or not named like an image is counted and ignored.
    """
    folder = Path(path).expanduser()
    entries = _entries(folder, path)
    classes = _classes(folder, entries)
    found: list[Path] = []
    labels: list[int] = []
    ignored = sum(entry.is_file() for entry in entries)
    for label, subfolder in enumerate(classes):
        files = sorted(file for file in subfolder.rglob("*") if file.is_file())
        images = [file for file in files if _is_image(file.relative_to(folder))]
        if not images:
            raise DataError(
                f"The class {subfolder.name!r} of {folder} has no image (other files: {len(files)}). "
                f"Images end in {', '.join(SUFFIXES)}. Add some, or move this sub-folder away."
            )
        found += images
        labels += [label] * len(images)
        ignored += len(files) - len(images)

    def read(numbers: Array) -> Array:
        return np.stack([_image(found[number], side) for number in numbers])

    # photographs take milliseconds to open: fewer must do
    title, names = f"{folder.resolve().name}@{side}", tuple(subfolder.name for subfolder in classes)
    return Samples(name, title, np.array(labels), read, ignored, representative=1_000, class_names=names)


def find_test_folder(path: str) -> Path | None:
    """`test` beside a folder `train`, if there is one; it must have the same classes."""
    folder = Path(path).expanduser()
    if not folder.name.lower().startswith("train"):
        return None
    beside = next((entry for entry in _entries(folder.parent, path) if entry.name.lower() in ("test", "testing")), None)
    if beside is None or not beside.is_dir():
        return None
    known, found = ([entry.name for entry in _classes(part, _entries(part, path))] for part in (folder, beside))
    if known != found:
        different = sorted(set(known) ^ set(found))
        raise DataError(
            f"{beside} is taken for the test part of {folder}, but these classes are in one of them only: "
            f"{', '.join(different)}. Make them the same, or give the folder to learn from another name."
        )
    return beside


def _entries(folder: Path, path: str) -> list[Path]:
    try:
        if path:
            return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise DataError(f"The folder {folder} cannot be read: {error.strerror}.") from error
    raise MissingFileError(
        f"There is no folder {path!r}. Write folder:PATH, or folder:PATH@64 for images of 64x64 pixels."
    )


def _classes(folder: Path, entries: list[Path]) -> list[Path]:
    classes = [entry for entry in entries if entry.is_dir() and not entry.name.startswith(".")]
    names = [entry.name for entry in classes]
    if len(classes) < 2:
        raise DataError(
            "A folder of images has one sub-folder for each class, and at least two of them; "
            f"{folder} has {f'only {names[0]!r}' if names else 'none'}."
        )
    if _PARTS.issuperset(name.lower() for name in names):
        training = next((entry for entry in classes if entry.name.lower().startswith("train")), classes[0])
        raise DataError(
            f"The sub-folders of {folder} are no classes but parts of a data set: {', '.join(names)}. "
            f"Name the part to learn from, such as folder:{training}."
        )
    return classes


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and not any(part.startswith(".") for part in path.parts)


def _image(path: Path, side: int) -> Array:
    """Three channels of `side` times `side` pixels; what is transparent becomes white."""
    from PIL import Image, ImageOps

    try:
        with Image.open(path) as file:
            if file.mode[0] in "IF":
                raise DataError(
                    f"{path} has more than 8 bits for each pixel, and how to shorten them is not for us to say. "
                    "Convert the images, or save them as arrays and write npz:PATH."
                )
            file.draft(None, (2 * side, 2 * side))  # JPEG: decoded no larger than needed, which is much faster
            image: Image.Image = ImageOps.exif_transpose(file)
            if image.has_transparency_data:
                image = image.convert("RGBA")
                image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
            small = image.convert("RGB").resize((side, side), Image.Resampling.BILINEAR)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DataError(
            f"The image {path} cannot be read ({type(error).__name__}: {error}). Replace it, or move it away."
        ) from error
    return np.asarray(small).transpose(2, 0, 1)
