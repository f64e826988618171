"""All benchmarks of scores and searches in one table: `make bench`. See README.md beside this file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import torch
from benchmarks.rows import Row, print_rows, write_rows

from firstlight.execution.memory import keep_freed_memory

# Each module has a function `rows(networks)`; the numbers of networks are those by default
PARTS = {
    "dextr": 20,
    "proxies": 10,
    "spaces": 5,
    "device": 5,
    "startup": 1,
    "search_overhead": 1,
    "memory": 1,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART", help=f"default: {', '.join(PARTS)}")
    parser.add_argument("--networks", type=int, help="networks of each part, in place of its own number")
    parser.add_argument("--json", type=Path, default=Path("runs/bench.json"), help="default: %(default)s")
    given = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    found: list[Row] = []
    for part in given.parts or PARTS:
        print(f"{part} ...", file=sys.stderr, flush=True)
        rows: Callable[[int], list[Row]] = import_module(f"benchmarks.{part}").rows
        found += rows(given.networks or PARTS[part])
        write_rows(found, given.json)
    print_rows(found)


if __name__ == "__main__":
    main()
