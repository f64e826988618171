"""`make chaos`: strike many searches with every fault, and print what was lost."""

from __future__ import annotations

import argparse
import random
import signal
import tempfile
from pathlib import Path

from tests.chaos.disturbed import disturbed, left_alone
from tests.chaos.faults import FAULTS, why_not


def main() -> None:
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--runs", type=int, default=6, help="searches for each fault")
    parser.add_argument("--fault", default="", help="only those whose name has this in it")
    parser.add_argument("--seed", type=int, default=0, help="decides the moments at which faults strike")
    asked = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which shells have their background jobs ignore
    print(f"{'fault':33} {'runs':>5} {'stored before':>14} {'lost':>5} {'written twice':>14} {'equal':>6}", flush=True)
    all_well = True
    with tempfile.TemporaryDirectory() as temporary:
        expected = left_alone(Path(temporary) / "left alone")
        for fault in (fault for fault in FAULTS if asked.fault in fault.name):
            if reason := why_not(fault):
                print(f"{fault.name:33} not run: {reason}")
                continue
            folders = [Path(temporary) / f"{fault.name} {number}" for number in range(asked.runs)]
            found = [disturbed(fault, f, random.Random(f"{asked.seed} {f.name}"), expected) for f in folders]
            lost, equal = sum(each.lost for each in found), sum(each.equal for each in found)
            stored, twice = sum(each.stored for each in found), sum(each.twice for each in found)
            print(f"{fault.name:33} {asked.runs:5} {stored:14} {lost:5} {twice:14} {equal:6}", flush=True)
            all_well &= lost == 0 and equal == asked.runs
    raise SystemExit(not all_well)


if __name__ == "__main__":
    main()
