"""Score all 6,466 classes of NAS-Bench-201 with what HNAS needs, part by part, and write them to one file.

    FIRSTLIGHT_DATA=... python -m benchmarks.hnas_classes score FOLDER [--parts twin,batch16] [--most 500]
    FIRSTLIGHT_DATA=... python -m benchmarks.hnas_classes write FOLDER [-o FILE]

`score` keeps all scores in FOLDER; a run that was cut off goes on where it was. Classes come in a random order, so that
any beginning is a sample of them. What the file that comes with Firstlight has is not measured again. `write` measures
nothing: it adds what FOLDER has to that file. A class takes about 0.7 s on one core for the parts `twin` and `batch16`.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from firstlight.execution.executor import make_executor
from firstlight.papers import class_scores
from firstlight.papers.class_scores import (
    FILE,
    MEASURED,
    PARTS,
    collect,
    describe,
    find_part,
    load_class_scores,
    measure,
    ordered,
)
from firstlight.papers.runner import open_data_folder
from firstlight.storage.store import open_store

USUAL_FILE = Path(class_scores.__file__).parent / "scores" / FILE


def score(folder: Path, parts: list[str], most: int | None, workers: int) -> None:
    data, known = open_data_folder(None), load_class_scores()
    executor = make_executor(workers)
    with open_store(folder) as store, executor.staying():
        for name in parts:
            texts, start, new = ordered()[:most], time.monotonic(), 0
            if known.covers(name, describe(find_part(name), data)):
                done_before = set(known.frame.index[known.frame[f"{name}.{MEASURED}"]])
                texts = tuple(text for text in texts if text not in done_before)
            for done, network in enumerate(measure(find_part(name), data, executor, store, texts), start=1):
                new += not network.reused
                if done == len(texts) or (new and new % 50 == 0):
                    print(f"{name}: {done} of {len(texts)}, {new} new in {time.monotonic() - start:.0f} s", flush=True)


def write(folder: Path, parts: list[str], out: Path) -> None:
    command = f"python -m benchmarks.hnas_classes score FOLDER --parts {','.join(parts)}"
    with open_store(folder) as store:
        found = collect(open_data_folder(None), store, parts, command).joined(load_class_scores())
    found.write(out)
    print(f"{out}: {', '.join(f'{name} {count}' for name, count in found.parts.items())} of {len(found.frame)} classes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("do", choices=["score", "write"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--parts", default=",".join(PARTS), help="separated by commas, in this order")
    parser.add_argument("--most", type=int, help="only this many classes")
    parser.add_argument("--workers", type=int, default=0, help="0: in this process")
    parser.add_argument("-o", "--out", type=Path, default=USUAL_FILE)
    given = parser.parse_args()
    parts = given.parts.split(",")
    for name in parts:
        find_part(name)
    if given.do == "score":
        score(given.folder, parts, given.most, given.workers)
    else:
        write(given.folder, parts, given.out)


if __name__ == "__main__":
    main()
