"""Write a network of a space as files that need no Firstlight."""

from __future__ import annotations

import dataclasses
import json
import math
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_leaves

from firstlight._version import __version__
from firstlight.core.errors import FirstlightError, SettingError, UnknownNameError, UnsupportedError
from firstlight.core.seeds import torch_generator
from firstlight.export.runs import RunFacts, facts_of_training, is_run, read_run, read_skeleton
from firstlight.export.source import write_source
from firstlight.export.weights import WEIGHTS_NAME, load_weights, save_weights
from firstlight.probe.cost import Cost
from firstlight.scoring.onnx import onnx_program, onnx_session
from firstlight.search.result import SearchResult
from firstlight.spaces.base import Architecture, Skeleton, Space
from firstlight.spaces.checks import check_seed
from firstlight.spaces.finding import find_space
from firstlight.training.trained import Trained

FORMATS = {
    "json": "architecture.json",
    "source": "network.py",
    "safetensors": WEIGHTS_NAME,
    "onnx": "network.onnx",
}
DEFAULT_FORMATS = ("json", "source", "safetensors")
CHECKED_BATCHES = (1, 3)
# Largest allowed difference between ONNX Runtime and PyTorch, relative to the largest output
MOST_DIFFERENCE = 1e-4


@dataclass(frozen=True)
class Export:
    """What was written.

    Attributes:
        directory: The folder.
        files: Names of the files in it.
        space: Name of the space.
        architecture: Text of the architecture.
        skeleton: Text of the skeleton.
        seed: Seed of the initial weights.
        weights: Where the weights come from, in words.
        is_trained: Whether the weights were trained, or read from a file; else they are random.
        cost: Parameters and MACs.
        difference: Largest difference between ONNX Runtime and PyTorch, relative to the largest output; None without
            ONNX.
        inputs: How images were prepared in training; empty for initial weights.
    """

    directory: Path
    files: tuple[str, ...]
    space: str
    architecture: str
    skeleton: str
    seed: int
    weights: str
    is_trained: bool
    cost: Cost
    difference: float | None = None
    inputs: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as values that JSON can hold."""
        known: dict[str, Any] = dataclasses.asdict(self)
        known |= known.pop("cost")
        return known | {"directory": str(self.directory), "files": list(self.files)}


def read_formats(text: str, *, onnx: bool = False) -> tuple[str, ...]:
    """Read names of formats separated by commas; an empty text is the default."""
    names = [name.strip() for name in text.split(",") if name.strip()] or list(DEFAULT_FORMATS)
    return check_formats([*names, *["onnx"] * onnx])


def check_formats(names: Iterable[str]) -> tuple[str, ...]:
    """Return the formats in the order of `FORMATS`, each once."""
    names = list(names)
    for name in names:
        if name not in FORMATS:
            raise UnknownNameError("export format", name, FORMATS)
    return tuple(name for name in FORMATS if name in names)


def export(
    source: SearchResult | Trained | Architecture | Path | str,
    out: Path | str,
    *,
    space: str | Space[Any] | None = None,
    skeleton: Mapping[str, Any] | None = None,
    seed: int | None = None,
    weights: Path | str | None = None,
    formats: Iterable[str] = DEFAULT_FORMATS,
    overwrite: bool = False,
) -> Export:
    """Write a network into a folder, as files that need no Firstlight.

    The folder appears when all files are complete; if the export fails, nothing is left behind.

    Args:
        source: A result of `search` or `train`, the folder of a run, or an architecture of `space`. The folder of a
            search that retrained its best networks gives the best of these.
        out: The folder to write.
        space: The space of the architecture, by name or as an object. For a run, needed only if its space cannot be
            found by name.
        skeleton: Settings of the network around the searched part. For a run, they replace those of the run.
        seed: Seed of the initial weights. Default: that of the run, or 0.
        weights: A safetensors file to take the weights from. Default: the trained weights of the run, unless skeleton
            or seed is given; otherwise initial weights.
        formats: What to write: `json`, `source`, `safetensors`, `onnx`. Default: all but `onnx`.
        overwrite: Whether to replace an earlier export in the folder.

    Returns:
        What was written.

    Raises:
        SettingError: If the source is not the folder of a run and no space is given, if the space is not that of the
            run, or if the folder is not free.
        DataError: If the run or the weights cannot be read, or the weights belong to another network.
        UnsupportedError: If the network cannot be written in one of the formats.

    Example:
        >>> from firstlight.export import export
        >>> done = export("8:16:16:32:32", "sizes", space="nats-sss", formats=["source"])  # doctest: +SKIP
        >>> done.files  # doctest: +SKIP
        ('network.py',)
    """
    wanted, directory = check_formats(formats), Path(out)
    if seed is not None:
        check_seed(seed)
    network = _find(source, space)
    if skeleton:
        network = replace(network, skeleton=network.space.skeleton(**(network.skeleton.settings() | dict(skeleton))))
    if seed is not None:
        network = replace(network, seed=seed)
    if weights is not None:
        network = replace(network, weights=Path(weights), inputs={}, origin="")
    elif skeleton or seed is not None:
        network = replace(network, weights=None, inputs={}, origin="")
    _check_free(directory, overwrite)
    return _write(network, directory, wanted)


@dataclass(frozen=True)
class _Network:
    """A network to export.

    Attributes:
        space: Its space.
        space_name: How files name the space, so that it can be found again.
        architecture: Its text.
        skeleton: The network around the searched part.
        seed: Seed of the initial weights.
        weights: Trained weights, in a file or in memory; None for initial ones.
        inputs: How images were prepared in training.
        origin: More about the trained weights, in words.
    """

    space: Space[Any]
    space_name: str
    architecture: str
    skeleton: Skeleton
    seed: int
    weights: Path | Mapping[str, torch.Tensor] | None = None
    inputs: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    origin: str = ""

    @property
    def is_trained(self) -> bool:
        """Whether the weights were trained, or read from a file."""
        return self.weights is not None

    @property
    def weights_in_words(self) -> str:
        if self.weights is None:
            return f"initialized with seed {self.seed}"
        words = f"read from {self.weights.name}" if isinstance(self.weights, Path) else "trained"
        return f"{words}, {self.origin}" if self.origin else words

    def build(self) -> nn.Module:
        network = self.space.build(self.architecture, self.skeleton, seed=self.seed)
        if isinstance(self.weights, Path):
            load_weights(network, self.weights)
        elif self.weights is not None:
            network.load_state_dict(self.weights)
        return network


def _find(source: SearchResult | Trained | Architecture | Path | str, space: str | Space[Any] | None) -> _Network:
    """Return the network that a source stands for."""
    if isinstance(source, SearchResult):
        if space is not None:
            raise SettingError("The result of a search already has a space. Leave out `space`.")
        asked = source.setting.setting
        return _Network(asked.space, asked.space_name, source.best.architecture, source.setting.skeleton, asked.seed)
    if isinstance(source, Trained):
        return _of_run(facts_of_training(source), "this training", space)
    if isinstance(source, Path) or is_run(str(source)):
        return _of_run(read_run(Path(str(source))), f"the run in {source}", space)
    if space is None:
        raise SettingError(
            f"{str(source)!r} is not the folder of a run. Give one, or name the space of the architecture: "
            "firstlight export SPACE ARCHITECTURE -o FOLDER, or space=... in Python."
        )
    found = find_space(space)
    name = space if isinstance(space, str) else found.name
    return _Network(found, name, str(found.read(str(source))), found.skeleton(), 0)


def _of_run(facts: RunFacts, run: str, space: str | Space[Any] | None) -> _Network:
    if isinstance(space, str) and space != facts.space:
        raise SettingError(f"The space of {run} is {facts.space!r}, not {space!r}. Leave out the space.")
    found = space if isinstance(space, Space) else find_space(facts.space)
    return _Network(
        found,
        facts.space,
        str(found.read(facts.architecture)),
        read_skeleton(found, facts.skeleton),
        facts.seed,
        facts.weights,
        facts.inputs if facts.weights is not None else {},
        facts.origin,
    )


def _write(network: _Network, directory: Path, formats: tuple[str, ...]) -> Export:
    """Write the formats in the order of how likely they are to fail."""
    model = network.build()
    skeleton = network.skeleton
    export = Export(
        directory,
        tuple(FORMATS[name] for name in formats),
        network.space_name,
        network.architecture,
        str(skeleton),
        network.seed,
        network.weights_in_words,
        network.is_trained,
        network.space.cost(network.space.parse(network.architecture), skeleton),
        inputs=dict(network.inputs),
    )
    with _appearing(directory) as folder:
        if "onnx" in formats:
            export = replace(export, difference=_write_onnx(model, skeleton, folder / FORMATS["onnx"]))
        if "source" in formats:
            (folder / FORMATS["source"]).write_text(_source(model, skeleton, export), encoding="utf-8")
        if "safetensors" in formats:
            about = {name: getattr(export, name) for name in ("space", "architecture", "skeleton", "weights")}
            save_weights(model, folder / FORMATS["safetensors"], about)
        if "json" in formats:
            content = json.dumps(_description(export, skeleton), indent=2) + "\n"
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
    """How images were prepared in training, for the comment at the top of the source."""
    if "mean" in inputs:
        mean, deviation = (", ".join(f"{number:.6g}" for number in inputs[name]) for name in ("mean", "deviation"))
        yield (
            f"Inputs: (image - mean) / deviation for each channel, with pixels as read; mean {mean}, "
            f"deviation {deviation}."
        )
    if "class_names" in inputs:
        yield f"Classes: {', '.join(map(_harmless, inputs['class_names']))}."


def _harmless(name: str) -> str:
    """Replace what could end the docstring that the name appears in; it may be the name of any folder."""
    return "".join(letter if letter.isprintable() and letter not in '"\\' else "?" for letter in name)


def _write_onnx(network: nn.Module, skeleton: Skeleton, path: Path) -> float:
    """Write the file, run it with ONNX Runtime, and return the largest difference from PyTorch."""
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
    except Exception as error:  # the exporter may raise anything for a network of the user's
        reason = str(error).partition("\n")[0]
        raise UnsupportedError(
            f"PyTorch cannot write this network as ONNX: {type(error).__name__}: {reason}. Leave out onnx; the other "
            "formats still work."
        ) from error
    finally:
        network.train(training)
    if not largest <= MOST_DIFFERENCE:
        raise UnsupportedError(
            f"ONNX Runtime and PyTorch give different outputs: the difference is {largest:.2g} of the largest output; "
            f"at most {MOST_DIFFERENCE:g} is allowed. Leave out onnx; the other formats still work."
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
    """Rank NaN as the largest difference."""
    return math.inf if math.isnan(difference) else difference


# ---------------------------------------- folders


def _check_free(directory: Path, overwrite: bool) -> None:
    """Refuse a folder that holds anything but an earlier export, or that one without `overwrite`."""
    if not directory.exists():
        return
    if not directory.is_dir():
        raise SettingError(f"{directory} is a file. Name a folder with -o.")
    present = sorted(path.name for path in directory.iterdir())
    strange = [name for name in present if name not in {*FORMATS.values(), "__pycache__"}]
    if present and not overwrite:
        raise SettingError(f"{directory} already contains {present[0]}. Name another folder, or add --overwrite.")
    if strange:
        raise SettingError(f"{directory} contains {strange[0]}, which is not part of an export. Name another folder.")


@contextmanager
def _appearing(directory: Path) -> Iterator[Path]:
    """Yield a temporary folder that takes the place of `directory` at the end, or vanishes if something fails."""
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
