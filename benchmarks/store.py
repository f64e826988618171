"""How the store bears a million rows: microseconds to add a score and to find one, as it fills."""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from pathlib import Path

from firstlight.proxies import Score
from firstlight.run.store import STORE_NAME, ScoreKey, Store
from firstlight.spaces import SPACES

ASKED = 2000


def key(text: str, number: int) -> ScoreKey:
    """Texts as long as those of `mobilenetv2`, all of them different."""
    return ScoreKey("mobilenetv2", "classes=1000,input_shape=3x224x224", f"{text}{number}", "dextr", 3, "synthetic", 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    rng = random.Random(0)
    text = str(SPACES["mobilenetv2"].sample(rng))
    score = Score(1.5, {"independence": 2.0, "curvature": 3.0}, seconds=0.1)
    numbers = rng.sample(range(10 * rows), rows)  # not in order: new rows come anywhere in the index
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / STORE_NAME) as store:
        for step in range(1, 11):
            part = numbers[rows * (step - 1) // 10 : rows * step // 10]
            start = time.process_time()
            for number in part:
                store.add_score(key(text, number), score)
            added = (time.process_time() - start) / len(part) * 1e6
            start = time.process_time()
            for number in rng.choices(numbers[: rows * step // 10], k=ASKED):
                assert store.find_score(key(text, number)) is not None
            found = (time.process_time() - start) / ASKED * 1e6
            size = sum(file.stat().st_size for file in Path(folder).glob(f"{STORE_NAME}*")) / 1e6
            print(
                f"{rows * step // 10:>9,} rows: {added:.0f} us to add, {found:.0f} us to find, {size:.0f} MB",
                flush=True,
            )


if __name__ == "__main__":
    main()
