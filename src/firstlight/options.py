"""Option groups: the options of calls and commands, each declared once.

A call such as `firstlight.search` takes the groups as keywords (`limits=Limits(max_params="1.0M")`), and every field of
its groups as a plain keyword too (`max_params="1.0M"`). The command line has a flag for each field, with the field's
docstring as its help. Settings files and the record of a run hold the same fields.
"""

from __future__ import annotations

import functools
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from firstlight.core.amounts import in_question, parse_amount
from firstlight.core.errors import LimitError, SettingError, UnknownNameError
from firstlight.core.groups import Group

# The unit of each cost, the cheapest to compute first.
UNITS = {
    "params": "parameters",
    "macs": "MACs",
    "activations": "activations",
    "memory": "bytes of memory",
    "flash": "bytes of flash",
    "ram": "bytes of RAM",
    "latency": "ms of latency",
}
# Known of every network without building it.
CHEAP = ("params", "macs")
# The numbers that a network computes with on a device
PRECISIONS = FLOAT32, INT8 = ("float32", "int8")
LABELS = TRUE_LABELS, RANDOM_LABELS = ("true", "random")
LOCAL = "local"
AUTO = "auto"
# At the end of the name of a folder: leave out images that cannot be read
SKIP_DAMAGED = "?skip-damaged"
# A whole number in a text. Python refuses to read numbers of thousands of digits.
_WHOLE, _POSITIVE = "[0-9]{1,9}", "[1-9][0-9]{0,8}"


@dataclass(frozen=True)
class Inputs(Group):
    """What networks are shown.

    Example:
        >>> import firstlight
        >>> firstlight.Inputs(input="digits", batch_size=16).batch_size
        16
    """

    title = "Inputs"

    input: Any = None
    """What proxies see: synthetic (noise), circle, digits, npz:PATH, folder:PATH, or a name in $FIRSTLIGHT_DATA.
    Default: the data, if there is any, or else synthetic."""
    labels: str = TRUE_LABELS
    """Labels of the inputs: `true` or `random`."""
    batch_size: int | None = None
    """Inputs per batch. Default: what the proxies need."""
    num_batches: int | None = None
    """Number of batches. Default: what the proxies need."""
    warmup: str | float | None = None
    """Train each network on a fraction of the input's training data before it is scored: 10%, or 10%:epochs=3,
    10%:recipe=official. With 1%:weights=shared, all networks inherit the weights of one supernet. See
    docs/warm-up.md."""

    def __post_init__(self) -> None:
        if self.labels not in LABELS:
            raise UnknownNameError("kind of labels", self.labels, LABELS)
        self._check_at_least(1, "batch_size", "num_batches")


@dataclass(frozen=True)
class Network(Group):
    """How networks are built.

    Example:
        >>> import firstlight
        >>> firstlight.Network(skeleton="channels=8,cells=2", seed="0,1").seeds
        [0, 1]
    """

    title = "Network"

    skeleton: str | Mapping[str, Any] = ""
    """Settings of the network around the searched part, such as channels=8,cells=2. See `firstlight spaces NAME`."""
    seed: int | str | Sequence[int] = 0
    """Random seed for weights, inputs and samples. `correlate` and `reproduce` accept several, such as 0,1,2."""
    repeats: int = 1
    """Average the scores of N initializations and inputs."""
    device: str | None = None
    """Device to score networks on, such as cpu or cuda:0."""

    def __post_init__(self) -> None:
        self._set("skeleton", read_skeleton(self.skeleton))
        self._set("seed", _read_seeds(self.seed))
        self._check_at_least(1, "repeats")

    @property
    def seeds(self) -> list[int]:
        """All seeds."""
        return [self.seed] if isinstance(self.seed, int) else [int(seed) for seed in self.seed]

    @property
    def only_seed(self) -> int:
        """The seed, where a call takes one."""
        if not isinstance(self.seed, int):
            raise SettingError(
                f"{in_question('seed')}{self.seed!r} is more than one seed, but this call takes only one."
            )
        return self.seed

    @property
    def skeleton_settings(self) -> dict[str, Any]:
        """The settings of the skeleton by name."""
        return dict(cast(Mapping[str, Any], self.skeleton))


@dataclass(frozen=True)
class Model(Group):
    """Your own models.

    Example:
        >>> import firstlight
        >>> firstlight.Model(input_shape="3,32,32").input_shape
        (3, 32, 32)
    """

    title = "Your own models"

    input_shape: str | Sequence[int] | None = None
    """Shape of one synthetic input, such as 3,32,32 (the default)."""
    logits: int | str | Mapping[str, int | str] | None = None
    """Position of the logits in the output of a model that returns a dictionary (a key) or a tuple (an index). For
    models that differ, one for each: small=0,large=logits."""
    loss: Callable[..., Any] | None = None
    """The loss as a function of logits and targets. Default: cross-entropy."""

    def __post_init__(self) -> None:
        self._set("input_shape", read_shape(self.input_shape))
        self._set("logits", read_logits(self.logits))

    def check_names(self, models: Mapping[str, Any]) -> None:
        """Raise an error if logits are named for a model that is not there."""
        for name in self.logits if isinstance(self.logits, Mapping) else ():
            if name not in models:
                raise UnknownNameError("model", name, models)


@dataclass(frozen=True)
class Limits(Group):
    """What a network may cost, for one input.

    Example:
        >>> import firstlight
        >>> str(firstlight.Limits(max_params="1.0M"))
        'at most 1,000,000 parameters'
    """

    title = "Limits"

    max_params: str | float | None = None
    """Maximum number of parameters, such as 1.0M."""
    max_macs: str | float | None = None
    """Maximum number of multiply-accumulates, such as 120M."""
    min_params: str | float | None = None
    """Minimum number of parameters."""
    min_macs: str | float | None = None
    """Minimum number of multiply-accumulates."""
    max_activations: str | float | None = None
    """Maximum outputs of convolutions and matrix products."""
    max_memory: str | float | None = None
    """Maximum peak memory with weights, such as 20MB."""
    max_flash: str | float | None = None
    """Maximum bytes of the network as a LiteRT file, such as 256K (256,000) or 256KiB (262,144); see `precision`."""
    max_ram: str | float | None = None
    """Maximum bytes of activations on a device at any time, such as 64KiB; see `precision`."""
    precision: str = FLOAT32
    """Numbers on the device, for flash and RAM: float32 or int8."""
    max_latency: str | float | None = None
    """Maximum milliseconds for one input; see `latency`."""
    latency: str = "measured"
    """Source of latencies: measured (on this machine, with one thread), measured:threads=2, onnx (with ONNX Runtime),
    device:NAME (an estimate; see `firstlight device list`), or table:FILE:COLUMN."""

    def __post_init__(self) -> None:
        for name in ("max_params", "max_macs", "min_params", "min_macs", "max_activations"):
            self._set(name, parse_amount(getattr(self, name), name=name))
        for name in ("max_memory", "max_flash", "max_ram"):
            self._set(name, parse_amount(getattr(self, name), unit="B", name=name))
        if self.precision not in PRECISIONS:
            raise UnknownNameError("precision", self.precision, PRECISIONS)
        self._set("max_latency", _milliseconds(self.max_latency))
        for name, (least, most) in self.bounds.items():
            if least is not None and most is not None and least > most:
                raise LimitError(f"No network has at least {least:,} and at most {most:,} {UNITS[name]}.")

    @functools.cached_property
    def bounds(self) -> dict[str, tuple[float | None, float | None]]:
        """The lower and upper bound of each limited cost, the cheapest to compute first."""
        found = {name: (getattr(self, f"min_{name}", None), getattr(self, f"max_{name}")) for name in UNITS}
        return {name: bounds for name, bounds in found.items() if bounds != (None, None)}

    def excess(self, amount: Callable[[str], float]) -> float:
        """Return by which share of its limit the worst cost is out of bounds; 0 for a network within the limits.

        Args:
            amount: Returns the amount of a cost by its name. Expensive costs are asked for one by one, as long as
                everything before them is within bounds.
        """
        worst = max((self._excess(name, amount) for name in CHEAP if name in self.bounds), default=0.0)
        for name in self.bounds:
            if worst or name in CHEAP:
                continue
            worst = self._excess(name, amount)
        return worst

    def _excess(self, name: str, amount: Callable[[str], float]) -> float:
        least, most = self.bounds[name]
        found = amount(name)
        if found == math.inf:  # it cannot be built or run, or its cost is unknown
            return math.inf
        if most is not None and found > most:
            return (found - most) / max(most, 1e-9)
        return (least - found) / least if least is not None and found < least else 0.0

    def recorded(self) -> dict[str, float]:
        """Return the limits by name, as the record of a run holds them."""
        return {name: limit for name, limit in self.to_dict().items() if name not in ("latency", "precision")}

    def __str__(self) -> str:
        words = [
            f"{word} {limit:,} {UNITS[name]}"
            for name, bounds in self.bounds.items()
            for word, limit in zip(("at least", "at most"), bounds, strict=True)
            if limit is not None
        ]
        return " and ".join(words) or "no limits"


@dataclass(frozen=True)
class Truth(Group):
    """Where the results of trained networks are looked up.

    Example:
        >>> import firstlight
        >>> firstlight.Truth(table="nb201.parquet", target="cifar10_test_200").target
        'cifar10_test_200'
    """

    title = "Trained networks"

    table: Any = None
    """Table of trained networks: FILE.parquet or FILE.csv; or plain, the benchmark of the plain spaces (plain:100k for
    one of its sizes)."""
    target: str | Sequence[str] | None = None
    """Column of the table; `correlate` needs it. Default elsewhere: validation accuracy after the fewest epochs."""


@dataclass(frozen=True)
class Training(Group):
    """How networks are trained.

    Example:
        >>> import firstlight
        >>> firstlight.Training(data="digits", recipe="quick:batch_size=32").to_dict()
        {'data': 'digits', 'recipe': 'quick:batch_size=32'}
    """

    title = "Training"

    data: str | None = None
    """Data to train on: digits, npz:PATH, folder:PATH, or a name in $FIRSTLIGHT_DATA."""
    epochs: int | None = None
    """Number of epochs. Default: 3, or that of the recipe."""
    recipe: Any = None
    """How to train: short, quick, hnas, nb201-200, darts-cifar, darts-imagenet, sigeo-cifar, hnas-cifar100 or
    hnas-imagenet. Settings follow the name: quick:batch_size=32:learning_rate=0.05."""
    data_samples: int | None = None
    """Use at most N samples for training and validation."""
    skip_damaged: bool = False
    """Leave out images of a folder that cannot be read, instead of listing them in an error."""

    def __post_init__(self) -> None:
        self._set("data", skipping_damaged(self.data, self.skip_damaged))
        self._check_at_least(1, "epochs")
        self._check_at_least(4, "data_samples")


@dataclass(frozen=True)
class Reporting(Group):
    """How the networks found by search methods are compared.

    Example:
        >>> import firstlight
        >>> firstlight.Reporting(within=3600).to_dict()
        {'within': 3600}
    """

    title = "Reporting"

    report: str | Sequence[str] | None = None
    """Columns to report for the best network of each method. Default: test accuracies after the most epochs."""
    fidelities: str | Sequence[Any] | None = None
    """Fidelities for multi-fidelity methods: columns (default: those that differ from the target only in their epochs),
    or with data, numbers of epochs such as 1,3."""
    seconds: str | None = None
    """Column with the training time in seconds. Default: found by its name. COLUMN*0.5 uses half of the value."""
    within: float | None = None
    """Also report the result after this many seconds of training."""


@dataclass(frozen=True)
class Judging(Group):
    """What proxies or search methods are compared with.

    Example:
        >>> import firstlight
        >>> firstlight.Judging(against="params").against
        'params'
    """

    title = "Judging"

    against: str = ""
    """Compare all others with this proxy (in `compare`, with this method), such as params: paired differences with
    intervals."""


@dataclass(frozen=True)
class Retraining(Group):
    """Training the best networks from scratch after a search.

    Example:
        >>> import firstlight
        >>> firstlight.Retraining(retrain=5, retrain_times=3).retrain_times
        3
    """

    title = "Retraining"

    retrain: int | None = None
    """Retrain the N best networks from scratch and compare them with handcrafted baselines. See docs/ctr.md."""
    retrain_times: int = 1
    """Seeds to retrain each network with."""
    retrain_random: int = 0
    """Also retrain N random networks."""

    def __post_init__(self) -> None:
        self._check_at_least(1, "retrain", "retrain_times")
        self._check_at_least(0, "retrain_random")


@dataclass(frozen=True)
class Baselines(Group):
    """Plain networks to compare with, trained alike and scaled to the same limits.

    Example:
        >>> import firstlight
        >>> firstlight.Baselines(baseline="resnet,logistic").names_or_models
        ['resnet', 'logistic']
    """

    title = "Baselines"

    baseline: Any = None
    """Compare with plain networks of the same size: resnet, bottleneck, mobile, convnext, vit, mlp, logistic, all, or
    your own model as module:name; several separated by commas. See docs/baselines.md."""
    baseline_seeds: int = 3
    """Number of seeds to train the network and each baseline with."""

    def __post_init__(self) -> None:
        self._check_at_least(1, "baseline_seeds")

    @property
    def names_or_models(self) -> list[Any]:
        """The baselines, one by one."""
        if self.baseline is None or isinstance(self.baseline, str):
            return read_list(self.baseline)
        return list(self.baseline) if isinstance(self.baseline, (list, tuple)) else [self.baseline]


@dataclass(frozen=True)
class Compute(Group):
    """Where the work runs. Results do not depend on it.

    Example:
        >>> import firstlight
        >>> firstlight.Compute(workers=4, timeout=60).to_dict()
        {'workers': 4, 'timeout': 60}
    """

    title = "Compute"

    workers: int | None = None
    """Worker processes; 0 for none. Default: one per core, or 0 for a few networks."""
    executor: Any = LOCAL
    """Where to run the work: local, or ray for a Ray cluster, followed by the resources of each task:
    ray:cpus=2:gpus=0.5:memory=4G:retries=5. See docs/cluster.md."""
    address: str | None = None
    """With the executor ray: auto (the cluster that this machine belongs to), or HOST:PORT. Default: start Ray on this
    machine."""
    timeout: float | None = None
    """Stop a network after this many seconds; it has then failed."""
    max_worker_memory: str | float | None = None
    """Stop a network that uses more memory than this, such as 4G, in addition to what a worker uses at startup (about
    0.2G). Linux only."""

    def __post_init__(self) -> None:
        self._check_at_least(0, "workers")


@dataclass(frozen=True)
class Storage(Group):
    """Where results are stored.

    Example:
        >>> import firstlight
        >>> firstlight.Storage(out="runs/mine").to_dict()
        {'out': 'runs/mine'}
    """

    title = "Storage"

    out: str | os.PathLike[str] | None = None
    """Run folder; repeat the same call or command to resume. `auto`: a folder under runs/, named after the settings."""
    store: str | os.PathLike[str] | None = None
    """Store scores and runs in this file, which several searches can share. Default: one in the run folder."""
    same_versions: bool = False
    """Recompute results of another PyTorch version or processor."""


@dataclass(frozen=True)
class Files(Group):
    """Which files are exported.

    Example:
        >>> import firstlight
        >>> firstlight.Files(format="json,source").format
        'json,source'
    """

    title = "Files"

    format: str | Sequence[str] = ""
    """Formats, separated by commas: json, source, safetensors, onnx. Default: all but onnx."""
    onnx: bool = False
    """Also write network.onnx, checked with ONNX Runtime."""
    weights: str | os.PathLike[str] | None = None
    """A safetensors file. Default: the trained weights of the run, if there are any (the best on the validation set);
    otherwise the initial weights."""
    overwrite: bool = False
    """Replace an earlier export in the folder."""


GROUPS: tuple[type[Group], ...] = (
    Inputs,
    Network,
    Model,
    Limits,
    Truth,
    Training,
    Reporting,
    Judging,
    Retraining,
    Baselines,
    Compute,
    Storage,
)


def skipping_damaged(data: str | None, skip: bool) -> str | None:
    """Return the name of the data without the images that cannot be read.

    >>> skipping_damaged("folder:photos@32", True)
    'folder:photos@32?skip-damaged'
    """
    if not skip or data is None or data.endswith(SKIP_DAMAGED):
        return data
    if not data.startswith("folder:"):
        raise SettingError(f"skip_damaged is for folders of images (folder:PATH), not for {data!r}. Leave it out.")
    return data + SKIP_DAMAGED


def read_skeleton(given: str | Mapping[str, Any] | tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
    """Read settings of a skeleton: `channels=8,cells=2`, `input_shape=3x32x32`, or a mapping."""
    if isinstance(given, Mapping):
        return tuple(sorted(given.items()))
    if isinstance(given, tuple):
        return given
    if not isinstance(given, str):
        raise SettingError(f'skeleton is {given!r}; write a dictionary such as {{"channels": 8, "cells": 2}}.')
    pairs = {}
    for item in filter(None, given.split(",")):
        name, equals, value = item.partition("=")
        if not equals or not re.fullmatch(rf"{_WHOLE}(x{_WHOLE})*", value.strip()):
            raise SettingError(
                f"{item!r} cannot be read as a setting of the skeleton. Write name=NUMBER, such as channels=8,cells=2 "
                "or input_shape=3x32x32."
            )
        numbers = tuple(int(number) for number in value.strip().split("x"))
        pairs[name.strip()] = numbers if len(numbers) > 1 else numbers[0]
    return tuple(sorted(pairs.items()))


def read_shape(given: str | Sequence[int] | None) -> tuple[int, ...] | None:
    """Read a shape: `3,32,32`, `3x32x32`, or a sequence of numbers."""
    if given is None:
        return None
    text = given if isinstance(given, str) else ",".join(map(str, given))
    if not re.fullmatch(rf"{_POSITIVE}([,x]{_POSITIVE})*", text):
        raise SettingError(f"{given!r} is not a shape. Write positive numbers such as 3,32,32.")
    return tuple(int(number) for number in re.split("[,x]", text))


def read_logits(given: int | str | Mapping[str, int | str] | None) -> int | str | dict[str, int | str] | None:
    """Read where logits are: an index, a key, or one of them for each model, as a mapping or as `small=0,large=logits`.

    >>> read_logits("1"), read_logits("small=0,large=logits")
    (1, {'small': 0, 'large': 'logits'})
    """
    if isinstance(given, Mapping):
        return dict(given)
    if not isinstance(given, str):
        return given
    items = [item.partition("=") for item in given.split(",")]
    if all(name.strip() and equals and place for name, equals, place in items):
        return {name.strip(): _index_or_key(place.strip()) for name, _, place in items}
    return _index_or_key(given)


def _index_or_key(text: str) -> int | str:
    return int(text) if re.fullmatch(r"-?[0-9]{1,9}", text) else text


def read_list(given: str | Sequence[str] | None) -> list[str]:
    """Read names separated by commas, or a sequence of them."""
    if given is None:
        return []
    names = given.split(",") if isinstance(given, str) else given
    return [name.strip() for name in names if name.strip()]


def read_numbers(name: str, given: str | int | Sequence[int]) -> list[int]:
    """Read whole numbers separated by commas, or a sequence of them."""
    if isinstance(given, int):
        return [given]
    try:
        return [int(part) for part in (given.split(",") if isinstance(given, str) else given)]
    except ValueError:
        raise SettingError(
            f"{in_question(name)}{given!r} is not a list of whole numbers. Write numbers such as 20,50,100."
        ) from None


def _read_seeds(given: int | str | Sequence[int]) -> int | tuple[int, ...]:
    if isinstance(given, int):
        return given
    try:
        seeds = tuple(int(part) for part in (given.split(",") if isinstance(given, str) else given))
    except (TypeError, ValueError):
        raise SettingError(
            f"{in_question('seed')}{given!r} is not a seed. Write a whole number, or several such as 0,1,2."
        ) from None
    if not seeds or len(set(seeds)) < len(seeds):
        raise SettingError(f"The seeds are {list(seeds)}; give one, or several different ones.")
    return seeds[0] if len(seeds) == 1 else seeds


def _milliseconds(given: str | float | None) -> float | None:
    if given is None:
        return None
    if isinstance(given, (int, float)) and math.isfinite(given) and given > 0:
        return float(given)
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(?:ms)?\s*", str(given))
    if not match or not float(match[1]):
        raise SettingError(
            f"{in_question('max_latency')}{given!r} is not a latency. Write milliseconds, such as 5 or 2.5ms."
        )
    return float(match[1])
