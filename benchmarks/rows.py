"""Rows of the table of benchmarks, and how CPU time is taken for them."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch


@dataclass(frozen=True)
class Row:
    """One figure.

    Attributes:
        part: The benchmark that it comes from.
        what: What was measured.
        value: The figure.
        unit: Its unit; ratios are of CPU time in the same run.
        floor: What cannot be undercut without computing something else, in the same unit, if it was measured.
        floor_is: What the floor consists of.
    """

    part: str
    what: str
    value: float
    unit: str
    floor: float | None = None
    floor_is: str = ""


def cpu_seconds(function: Callable[[], object]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def least(pieces: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """CPU seconds of each piece: the least of several rounds in turns, since a busy machine only ever adds."""
    found = [{name: cpu_seconds(piece) for name, piece in pieces.items()} for _ in range(rounds)]
    return {name: min(seconds[name] for seconds in found) for name in pieces}


def print_rows(rows: Sequence[Row]) -> None:
    width = max(len(row.what) for row in rows)
    part = ""
    for row in rows:
        if row.part != part:
            part = row.part
            print(f"\n{part:{width + 2}}{'measured':>12}{'floor':>12}  unit")
        floor = "" if row.floor is None else f"{row.floor:12.4g}"
        beside = f"; floor: {row.floor_is}" if row.floor_is else ""
        print(f"  {row.what:{width}}{row.value:12.4g}{floor:>12}  {row.unit}{beside}")


def write_rows(rows: Sequence[Row], path: Path) -> None:
    """Write the rows as JSON, with what they depend on."""
    machine = {
        "machine": platform.machine(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**machine, "rows": [asdict(row) for row in rows]}, indent=1) + "\n", encoding="utf-8")
