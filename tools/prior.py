"""Fit the ensemble `predicted` on the benchmarks at hand, and write its file.

    python -m tools.prior --data FOLDER --store runs/prior
    python -m tools.prior --data FOLDER --store runs/prior --samples 200 --prior src/firstlight/proxies/predicted.json

Networks of NAS-Bench-101, 201 and 301, TransNAS-Bench-101 and of the plain spaces are scored by all proxies; what the
store holds is not scored again, so that the command can be stopped and started again. What the plain benchmark has
too few networks of is left out, until it has more. `firstlight reproduce prior-spaces` judges the same prior on spaces
that are left out, with the same store.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import firstlight
from firstlight.core.errors import FirstlightError
from firstlight.execution.executor import make_executor
from firstlight.papers.lab import Lab
from firstlight.papers.pools import SKELETONS, pools_of
from firstlight.papers.prior import PRIOR, names_for
from firstlight.papers.runner import open_data_folder
from firstlight.predict.prior import Pool, fit_prior
from firstlight.proxies.ensembles import PREDICTED_FILE, Ensemble
from firstlight.storage.environment import versions
from firstlight.storage.store import open_store

USUAL = Path(firstlight.__file__).parent / "proxies" / PREDICTED_FILE
DIGITS = 3


def prior_of(pools: Sequence[Pool]) -> dict[str, Any]:
    """Return the content of the file: the ensemble, and what it was fitted on."""
    names = names_for(pools)[PRIOR]
    weights = {name: round(weight, DIGITS) for name, weight in fit_prior(pools, names).items()}
    text = f"normal_mean({','.join(f'{name}*{weight:g}' for name, weight in weights.items() if weight)})"
    Ensemble.parse(text)  # what cannot be read is not written
    return {
        "ensemble": text,
        "fitted_on": [
            {"networks": len(pool), "of": pool.title, "left_out_with": pool.group, "results": list(pool.truths)}
            for pool in pools
        ],
        "chosen_among": names,
        "judged_by": "firstlight reproduce prior-spaces",
        "command": "python -m tools.prior",
        "date": datetime.now(UTC).date().isoformat(),
        "versions": versions(),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder of tables and images; default: $FIRSTLIGHT_DATA")
    parser.add_argument("--store", type=Path, required=True, help="folder of the store")
    parser.add_argument("--samples", type=int, default=100, help="networks of each benchmark")
    parser.add_argument("--workers", type=int, default=0, help="worker processes")
    parser.add_argument("--prior", type=Path, default=USUAL, help="file to write; default: the one of the package")
    given = parser.parse_args(arguments)
    try:
        executor = make_executor(given.workers)
        with open_store(given.store) as store, executor.staying():
            data = open_data_folder(given.data)
            lab = Lab(data, executor, store, given.samples, skeletons=SKELETONS, callback=_show)
            content = prior_of(pools_of(lab))
    except FirstlightError as error:
        parser.error(str(error))
    given.prior.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    print(f"{given.prior}: {content['ensemble']}")


def _show(event: Any) -> None:
    print(event.kind, event.done, "of", event.total, flush=True)


if __name__ == "__main__":
    main()
