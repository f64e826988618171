"""How the store bears a million rows: adding and finding scores as it fills, then check, compact, export and merge."""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from firstlight.proxies.base import Score
from firstlight.spaces import SPACES
from firstlight.storage.export import export_rows
from firstlight.storage.merge import merge_stores
from firstlight.storage.records import ScoreKey
from firstlight.storage.store import STORE_NAME, Store
from firstlight.storage.upkeep import check_store, compact_store

ASKED = 2000


def key(text: str, number: int) -> ScoreKey:
    """Texts as long as those of `mobilenetv2`, all of them different."""
    return ScoreKey("mobilenetv2", "classes=1000,input_shape=3x224x224", f"{text}{number}", "dextr", 3, "synthetic", 0)


def fill(path: Path, numbers: list[int], rng: random.Random) -> None:
    text = str(SPACES["mobilenetv2"].sample(random.Random(0)))
    score = Score(1.5, {"independence": 2.0, "curvature": 3.0}, seconds=0.1)
    rows = len(numbers)
    with Store(path) as store:
        for step in range(1, 11):
            part = numbers[rows * (step - 1) // 10 : rows * step // 10]
            start, wall = time.process_time(), time.perf_counter()
            for number in part:
                store.add_score(key(text, number), score)
            added = (time.process_time() - start) / len(part) * 1e6
            rate = len(part) / (time.perf_counter() - wall)
            start = time.process_time()
            for number in rng.choices(numbers[: rows * step // 10], k=ASKED):
                assert store.find_score(key(text, number)) is not None
            found = (time.process_time() - start) / ASKED * 1e6
            size = sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*")) / 1e6
            print(
                f"{rows * step // 10:>9,} rows: {added:.0f} us to add ({rate:,.0f} a second by the clock), "
                f"{found:.0f} us to find, {size:.0f} MB",
                flush=True,
            )


def timed(what: str, task: Callable[[], object]) -> None:
    cpu, wall = time.process_time(), time.perf_counter()
    result = task()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    print(f"{what}: {cpu:.1f} s of computing, {wall:.1f} s by the clock; {result}", flush=True)


def size_of(path: Path) -> str:
    return f"{path.stat().st_size / 1e6:.0f} MB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    rng = random.Random(0)
    numbers = rng.sample(range(10 * rows), rows)  # not in order: new rows come anywhere in the index
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path, other, new = folder / STORE_NAME, folder / "other.sqlite", folder / "new.sqlite"
        fill(path, numbers, rng)
        timed("check", lambda: f"damage: {check_store(path).problems or 'none'}")
        timed("compact", lambda: "{} to {} bytes".format(*compact_store(path)))
        for out in (folder / "rows.parquet", folder / "rows.csv"):
            timed(f"export to {out.suffix}", lambda out=out: f"{export_rows(path, out):,} rows, {size_of(out)}")
        timed("merge into a new store", lambda: f"{merge_stores(new, [path])[0].scores:,} rows, {size_of(new)}")
        print("another store, half of whose rows the first one has:")
        fill(other, [*numbers[: rows // 20], *range(10 * rows, 10 * rows + rows // 20)], rng)
        timed("merge it", lambda: f"{merge_stores(path, [other])[0].scores:,} rows of {rows // 10:,} added")


if __name__ == "__main__":
    main()
