"""Folders of image files with one subfolder for each class."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from firstlight.core.errors import DataError, MissingFileError
from firstlight.data.samples import Array, Samples

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm", ".pbm")
# How many damaged images an error names, and the size at which images are decoded to find them
MOST_NAMED, SMALL = 50, 8
_PARTS = {"train", "training", "val", "valid", "validation", "test", "testing"}


def read_folder(name: str, path: str, side: int, *, skip_damaged: bool = False) -> Samples:
    """List all images in the subfolders, in the order of their paths. A file is opened only when it is needed.

    Classes are numbered in the order of their names. Hidden files and files that are not images are ignored and
    counted.

    Args:
        name: Name of the source as the user wrote it.
        path: Path of the folder.
        side: Height and width that images are resized to, in pixels.
        skip_damaged: Leave out images that cannot be read, and count them as ignored files. This opens every image.

    Raises:
        MissingFileError: If there is no such folder.
        DataError: If the folder does not have at least two classes with images.
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
        if skip_damaged:
            images = [file for file in images if not _damage_of(file)]
        if not images:
            raise DataError(
                f"The class {subfolder.name!r} of {folder} has no images (other files: {len(files)}). "
                f"Image files end in {', '.join(SUFFIXES)}. Add some, or move this subfolder elsewhere."
            )
        found += images
        labels += [label] * len(images)
        ignored += len(files) - len(images)

    def read(numbers: Array) -> Array:
        try:
            return np.stack([_image(found[number], side) for number in numbers])
        except DataError as error:
            raise _with_all_damaged(found, error) from error

    # fewer than usual, because photographs take milliseconds to open
    title, names = f"{folder.resolve().name}@{side}", tuple(subfolder.name for subfolder in classes)
    return Samples(name, title, np.array(labels), read, ignored, representative=1_000, class_names=names)


def find_test_folder(path: str) -> Path | None:
    """Return the folder `test` beside a folder `train`, or None if there is none.

    Raises:
        DataError: If it does not have the same classes.
    """
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
            f"{beside} is used as the test set of {folder}, but some classes are in only one of them: "
            f"{', '.join(different)}. Use the same classes in both, or rename the training folder."
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
            "A folder of images needs one subfolder for each class, and at least two classes; "
            f"{folder} has {f'only {names[0]!r}' if names else 'none'}."
        )
    if _PARTS.issuperset(name.lower() for name in names):
        training = next((entry for entry in classes if entry.name.lower().startswith("train")), classes[0])
        raise DataError(
            f"The subfolders of {folder} are splits of a data set, not classes: {', '.join(names)}. "
            f"Name the training split, such as folder:{training}."
        )
    return classes


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and not any(part.startswith(".") for part in path.parts)


def _with_all_damaged(files: list[Path], first: DataError) -> DataError:
    """Return an error that names all images that cannot be read; the first error if there is no other."""
    damaged = [file for file in files if _damage_of(file)]
    if len(damaged) < 2:
        return DataError(f"{first} Or leave it out: --skip-damaged.")
    named = "".join(f"\n  {file}: {_damage_of(file)}" for file in damaged[:MOST_NAMED])
    more = f"\n  and {len(damaged) - MOST_NAMED:,} more" if len(damaged) > MOST_NAMED else ""
    return DataError(
        f"{len(damaged):,} of {len(files):,} images cannot be read. Replace them, move them elsewhere, or leave them "
        f"out with --skip-damaged:{named}{more}"
    )


def _damage_of(path: Path) -> str:
    """Return why an image cannot be read; nothing for a good one."""
    changed = path.stat()
    return _damage(path, changed.st_mtime_ns, changed.st_size)


@lru_cache(maxsize=100_000)
def _damage(path: Path, _changed: int, _size: int) -> str:
    try:
        _image(path, SMALL)
    except DataError as error:
        return str(error.__cause__ or "more than 8 bits per channel").splitlines()[0]
    return ""


def _image(path: Path, side: int) -> Array:
    """Read an image as (3, side, side). Transparent pixels become white."""
    from PIL import Image, ImageOps

    try:
        with Image.open(path) as file:
            if file.mode[0] in "IF":
                raise DataError(
                    f"{path} has more than 8 bits per channel, and there is no single right way to reduce them. "
                    "Convert the images, or save them as arrays and use npz:PATH."
                )
            file.draft(None, (2 * side, 2 * side))  # JPEG: decode no larger than needed, which is much faster
            image: Image.Image = ImageOps.exif_transpose(file)
            if image.has_transparency_data:
                image = image.convert("RGBA")
                image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
            small = image.convert("RGB").resize((side, side), Image.Resampling.BILINEAR)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DataError(
            f"The image {path} cannot be read ({type(error).__name__}: {error}). Replace it, or move it elsewhere."
        ) from error
    return np.asarray(small).transpose(2, 0, 1)
