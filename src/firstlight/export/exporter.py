"""A network of a space as files that others can use."""

from __future__ import annotations

import dataclasses
import json
import math
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_leaves

from firstlight._version import __version__
from firstlight.core.errors import FirstlightError, SettingError, UnknownNameError, UnsupportedError
from firstlight.core.seeds import torch_generator
from firstlight.export.runs import read_run, read_skeleton
from firstlight.export.source import write_source
from firstlight.export.weights import WEIGHTS_NAME, load_weights, save_weights
from firstlight.probe.cost import Cost
from firstlight.scoring.onnx import onnx_program, onnx_session
from firstlight.spaces.base import Skeleton, Space
from firstlight.spaces.checks import check_seed
from firstlight.spaces.finding import find_space

FORMATS = {
    "json": "architecture.json",
    "source": "network.py",
    "safetensors": WEIGHTS_NAME,
    "onnx": "network.onnx",
}
USUAL = ("json", "source", "safetensors")
CHECKED_BATCHES = (1, 3)
# Of the difference between ONNX Runtime and PyTorch, as a part of the largest output
MOST_DIFFERENCE = 1e-4


@dataclass(frozen=True)
class Export:
    """What was written where. `difference` is that of ONNX Runtime, as a part of the largest output."""

    directory: Path
    files: tuple[str, ...]
    space: str
    architecture: str
    skeleton: str
    seed: int
    weights: str
    cost: Cost
    difference: float | None = None
    inputs: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        known: dict[str, Any] = dataclasses.asdict(self)
        known |= known.pop("cost")
        return known | {"directory": str(self.directory), "files": list(self.files)}


def read_formats(text: str, *, onnx: bool = False) -> tuple[str, ...]:
    """Names that commas part; nothing stands for the usual ones."""
    names = [name.strip() for name in text.split(",") if name.strip()] or list(USUAL)
    return check_formats([*names, *["onnx"] * onnx])


def check_formats(names: Iterable[str]) -> tuple[str, ...]:
    names = list(names)
    for name in names:
        if name not in FORMATS:
            raise UnknownNameError("export format", name, FORMATS)
    return tuple(name for name in FORMATS if name in names)


def export_run(
    run: Path | str,
    out: Path | str,
    *,
    space: str | Space[Any] | None = None,
    skeleton: Mapping[str, Any] | None = None,
    seed: int | None = None,
    weights: Path | str | None = None,
    formats: Iterable[str] = USUAL,
    overwrite: bool = False,
) -> Export:
    """The network that a search found or a training trained, by the folder of the run.

    Settings of the skeleton replace those of the run. The trained weights of the run are taken, unless others are
    named, or the skeleton or the seed is another one. Of a search that has trained the best from scratch, the network
    is the one of these that did best on the validation part.
    """
    known = read_run(Path(run))
    named = space if space is None or isinstance(space, str) else space.name
    if named not in (None, known.space):
        raise SettingError(f"The run in {run} is one of the space {known.space!r}, not of {named!r}. Leave it out.")
    found = space if isinstance(space, Space) else find_space(known.space)
    built = read_skeleton(found, known.skeleton)
    if skeleton:
        built = found.skeleton(**(built.settings() | dict(skeleton)))
    elif seed is None and weights is None:
        weights = known.weights
    return export_network(
        found,
        known.architecture,
        out,
        skeleton=built.settings(),
        seed=known.seed if seed is None else seed,
        weights=weights,
        formats=formats,
        overwrite=overwrite,
        space_name=known.space,
        inputs=known.inputs if weights == known.weights else {},
        origin=known.origin if weights == known.weights else "",
    )


def export_network(
    space: str | Space[Any],
    architecture: object,
    out: Path | str,
    *,
    skeleton: Mapping[str, Any] | None = None,
    seed: int = 0,
    weights: Path | str | None = None,
    formats: Iterable[str] = USUAL,
    overwrite: bool = False,
    space_name: str | None = None,
    inputs: Mapping[str, Any] | None = None,
    origin: str = "",
) -> Export:
    """Write a network into the folder `out`: `json`, `source`, `safetensors` and `onnx`, as asked for.

    Its weights are those in the file `weights`, or else those that the seed gives. The folder appears when everything
    is written, and not at all if something fails. `space_name` is how the files call a space that has another name
    where it can be imported; `inputs` how images were prepared in training and `origin` how the weights came about, for
    the reader.
    """
    wanted, directory = check_formats(formats), Path(out)
    check_seed(seed)
    found = find_space(space) if isinstance(space, str) else space
    name = space_name or (space if isinstance(space, str) else found.name)
    parsed = found.read(str(architecture))
    built = found.skeleton(**dict(skeleton or {}))
    _check_free(directory, overwrite)
    network = found.build(parsed, built, seed=seed)
    if weights is not None:
        load_weights(network, Path(weights))
    cost = found.cost(parsed, built)
    read = "" if weights is None else f"read from {Path(weights).name}{f', {origin}' if origin else ''}"
    told = read or f"initialised with the seed {seed}"
    files = tuple(FORMATS[each] for each in wanted)
    export = Export(directory, files, name, str(parsed), str(built), seed, told, cost, inputs=dict(inputs or {}))
    with _appearing(directory) as folder:
        if "onnx" in wanted:
            difference = _write_onnx(network, built, folder / FORMATS["onnx"])
            export = dataclasses.replace(export, difference=difference)
        if "source" in wanted:
            (folder / FORMATS["source"]).write_text(_source(network, built, export), encoding="utf-8")
        if "safetensors" in wanted:
            facts = {"space": name, "architecture": str(parsed), "skeleton": str(built), "weights": told}
            save_weights(network, folder / FORMATS["safetensors"], facts)
        if "json" in wanted:
            content = json.dumps(_description(export, built), indent=2) + "\n"
            (folder / FORMATS["json"]).write_text(content, encoding="utf-8")
    return export


def _description(export: Export, skeleton: Skeleton) -> dict[str, Any]:
    return {
        "space": export.space,
        "architecture": export.architecture,
        "skeleton": skeleton.settings(),
        "params": export.cost.params,
        "macs": export.cost.macs,
        "seed": export.seed,
        "weights": export.weights,
        **({"inputs": dict(export.inputs)} if export.inputs else {}),
        **({} if export.difference is None else {"onnx_difference": export.difference}),
        "firstlight": __version__,
    }


def _samples(skeleton: Skeleton, count: int) -> torch.Tensor:
    return torch.randn(count, *skeleton.input_shape, generator=torch_generator(0, "export", "inputs"))


def _source(network: nn.Module, skeleton: Skeleton, export: Export) -> str:
    facts = [
        f"Architecture: {export.architecture}",
        f"Skeleton: {export.skeleton.replace(',', ', ')}",
        f"{export.cost.params:,} parameters, {export.cost.macs:,} MACs for one input. Weights: {export.weights}.",
        *_preparation(export.inputs),
    ]
    return write_source(network, _samples(skeleton, 3), f"A network of the space {export.space}.", facts, __version__)


def _preparation(inputs: Mapping[str, Any]) -> Iterator[str]:
    """What the network was trained to be shown."""
    if "mean" in inputs:
        mean, deviation = (", ".join(f"{number:.6g}" for number in inputs[name]) for name in ("mean", "deviation"))
        yield (
            f"Inputs: (image - mean) / deviation in each channel, of pixels as they are read; mean {mean}, deviation "
            f"{deviation}."
        )
    if "class_names" in inputs:
        yield f"Classes: {', '.join(map(_harmless, inputs['class_names']))}."


def _harmless(name: str) -> str:
    """Names of folders end up in a comment of Python code, which they must not end."""
    return "".join(letter if letter.isprintable() and letter not in '"\\' else "?" for letter in name)


def _write_onnx(network: nn.Module, skeleton: Skeleton, path: Path) -> float:
    """The largest difference from PyTorch that ONNX Runtime has with it."""
    training = network.training
    network.eval()
    try:
        program = onnx_program(network, _samples(skeleton, 2), "the export to ONNX", any_batch=True)
        program.save(path, external_data=False)
        session = onnx_session(path.read_bytes())
        largest = max(
            (_difference(network, session, _samples(skeleton, count)) for count in CHECKED_BATCHES), key=_rank
        )
    except FirstlightError:
        raise
    except Exception as error:  # whatever the exporter makes of a network of the user's
        reason = str(error).partition("\n")[0]
        raise UnsupportedError(
            f"PyTorch cannot write this network as ONNX: {type(error).__name__}: {reason}. The other formats work all "
            "the same: leave out onnx."
        ) from error
    finally:
        network.train(training)
    if not largest <= MOST_DIFFERENCE:
        raise UnsupportedError(
            f"ONNX Runtime gives other outputs than PyTorch: they differ by {largest:.2g} of the largest output, where "
            f"{MOST_DIFFERENCE:g} is allowed. The other formats work all the same: leave out onnx."
        )
    return largest


@torch.no_grad()
def _difference(network: nn.Module, session: Any, inputs: torch.Tensor) -> float:
    expected = tree_leaves(network(inputs))
    given = session.run(None, {session.get_inputs()[0].name: inputs.numpy()})
    apart = [
        (torch.from_numpy(output) - wanted).abs().max() / wanted.abs().max().clamp(min=1e-12)
        for output, wanted in zip(given, expected, strict=True)
    ]
    return float(torch.stack(apart).max())


def _rank(difference: float) -> float:
    """What is not a number is worse than any."""
    return math.inf if math.isnan(difference) else difference


# ---------------------------------------- folders


def _check_free(directory: Path, overwrite: bool) -> None:
    """Only an export is ever replaced, and only if that is asked for."""
    if not directory.exists():
        return
    if not directory.is_dir():
        raise SettingError(f"{directory} is a file. Name a folder with -o.")
    present = sorted(path.name for path in directory.iterdir())
    strange = [name for name in present if name not in {*FORMATS.values(), "__pycache__"}]
    if present and not overwrite:
        raise SettingError(f"{directory} exists and holds {present[0]}. Name another folder, or add --overwrite.")
    if strange:
        raise SettingError(f"{directory} holds {strange[0]}, which is no part of an export. Name another folder.")


@contextmanager
def _appearing(directory: Path) -> Iterator[Path]:
    """A folder beside the wanted one, which takes its place at the end, or vanishes if something goes wrong."""
    directory = directory.resolve()
    directory.parent.mkdir(parents=True, exist_ok=True)
    mark = uuid.uuid4().hex[:8]
    new, old = (directory.with_name(f".{directory.name}-{mark}-{kind}") for kind in ("new", "old"))
    new.mkdir()
    try:
        yield new
        if directory.exists():
            directory.rename(old)
        new.rename(directory)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        if old.exists() and not directory.exists():
            old.rename(directory)
        shutil.rmtree(new, ignore_errors=True)
