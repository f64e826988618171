"""Latency models of devices: from the operations of a network to milliseconds, with an interval."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from firstlight.core.errors import DataError, MissingFileError, SettingError, UnknownNameError
from firstlight.probe.graph import Graph
from firstlight.scoring.devices.features import FEATURES, features_of

SUFFIX = ".json"


@dataclass(frozen=True)
class Estimate:
    """An estimated latency.

    Attributes:
        milliseconds: The estimate.
        low: The lower end of its 95% interval.
        high: The upper end.
        extrapolated: True if the network has more of something than all networks that the model was fitted on, or
            operations that none of them has.
    """

    milliseconds: float
    low: float
    high: float
    extrapolated: bool


@dataclass(frozen=True)
class DeviceModel:
    """A latency model: each operation, multiply-accumulate and element takes its time, and these times add up.

    Attributes:
        name: Name of the device.
        title: What it is, and what runs networks on it.
        source: Where the measurements come from.
        simplified: Whether the device runs networks as formats simplify them, or as PyTorch does.
        coefficients: Milliseconds for one unit of each feature.
        low: 95% of latencies are at least this many times the estimate.
        high: 95% of latencies are at most this many times the estimate; `low` and `high` together cover 95%.
        largest: The largest value of each feature among the networks of the fit.
        kinds: The kinds of operations in these networks.
        networks: Their number.
        spearman: Rank correlation of estimates and measurements, in cross-validation.
        error: Mean of |estimate / measurement - 1|, in cross-validation.
    """

    name: str
    title: str
    source: str
    simplified: bool
    coefficients: Mapping[str, float]
    low: float
    high: float
    largest: Mapping[str, float]
    kinds: tuple[str, ...]
    networks: int
    spearman: float
    error: float

    def estimate(self, graph: Graph) -> Estimate:
        """Estimate the latency of a network, recorded with the model's `simplified`."""
        found = features_of(graph)
        milliseconds = sum(self.coefficients[name] * found[name] for name in FEATURES)
        larger = any(found[name] > self.largest[name] for name in FEATURES)
        extrapolated = larger or not {operation.kind for operation in graph.operations} <= set(self.kinds)
        return Estimate(milliseconds, milliseconds * self.low, milliseconds * self.high, extrapolated)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as values that JSON can hold."""
        return asdict(self) | {"kinds": list(self.kinds)}


def write_model(model: DeviceModel, path: Path) -> None:
    """Write a model to a file that `find_device` reads."""
    if path.suffix != SUFFIX:
        raise SettingError(f"out (--out): {str(path)!r} does not end with {SUFFIX}. Write {path.stem}{SUFFIX}.")
    try:
        path.write_text(json.dumps(model.to_dict(), indent=2) + "\n", encoding="utf-8")
    except (OSError, ValueError) as error:
        raise SettingError(f"The model cannot be written to {str(path)!r}: {error}.") from error


def device_names() -> list[str]:
    """Return the names of the devices that come with Firstlight."""
    return sorted(entry.name.removesuffix(SUFFIX) for entry in _folder().iterdir() if entry.name.endswith(SUFFIX))


def find_device(name: str) -> DeviceModel:
    """Return a model by the name of a device, or from a file of `firstlight device fit`.

    Raises:
        UnknownNameError: If there is no such device.
        DataError: If the file does not hold a latency model.
    """
    if name.endswith(SUFFIX):
        path = Path(name)
        if not path.is_file():
            raise MissingFileError(f"There is no file {name!r}. Fit a model: firstlight device fit RESULTS.csv.")
        return _read(path.read_bytes(), name)
    if name not in device_names():
        raise UnknownNameError("device", name, device_names())
    return _read((_folder() / f"{name}{SUFFIX}").read_bytes(), name)


def _folder() -> Any:
    return files("firstlight.scoring.devices") / "models"


def _read(content: bytes, name: str) -> DeviceModel:
    try:
        found = json.loads(content)
        numbers: dict[str, Any] = {key: float(found[key]) for key in ("low", "high", "spearman", "error")}
        maps: dict[str, Any] = {
            key: {feature: float(found[key][feature]) for feature in FEATURES} for key in ("coefficients", "largest")
        }
        if not all(map(math.isfinite, (*numbers.values(), *maps["coefficients"].values(), *maps["largest"].values()))):
            raise ValueError("it has numbers that are not finite")
        others: dict[str, Any] = {key: str(found[key]) for key in ("name", "title", "source")}
        others |= {"simplified": bool(found["simplified"]), "networks": int(found["networks"])}
        return DeviceModel(**others, **numbers, **maps, kinds=tuple(map(str, found["kinds"])))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise DataError(
            f"{name} does not hold a latency model ({type(error).__name__}: {error}). Write one with "
            "`firstlight device fit`."
        ) from error
