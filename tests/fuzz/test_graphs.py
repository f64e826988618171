"""Random networks through every proxy: a number or a status, never a crash, a hang or a changed model."""

from __future__ import annotations

import faulthandler
import math
import warnings
from collections import Counter

import pytest
from tests.fuzz.cases import CASES, SEED
from tests.fuzz.graphs import random_model
from tests.probe.test_probe import assert_unchanged, snapshot

import firstlight
from firstlight.core.errors import FirstlightError
from firstlight.proxies import PROXIES

HANGS = 300  # seconds for one network; the slowest takes a few
STATUSES = ("ok", "non_finite", "unsupported", "out_of_memory", "failed")


def outcomes(seed: int) -> Counter[str]:
    """The statuses of all proxies for one network, or the error that is wrong for all of them."""
    model, batches = random_model(seed)
    before = snapshot(model)
    faulthandler.dump_traceback_later(HANGS, exit=True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those of PyTorch are about the model
            scores = firstlight.score(model, batches, list(PROXIES), seed=seed)
    except FirstlightError as error:
        found = Counter([type(error).__name__])
    else:
        for name, score in scores.items():
            assert score.status in STATUSES
            assert math.isfinite(score.value) if score.ok else math.isnan(score.value) and score.note, (name, score)
        found = Counter(score.status for score in scores.values())
    finally:
        faulthandler.cancel_dump_traceback_later()
    assert_unchanged(before, snapshot(model))
    return found


@pytest.mark.parametrize("seed", range(16))
def test_random_networks(seed: int) -> None:
    assert outcomes(seed)


@pytest.mark.slow
def test_many_random_networks() -> None:
    found: Counter[str] = Counter()
    for seed in range(SEED + 1000, SEED + 1000 + CASES):
        try:
            found += outcomes(seed)
        except Exception as error:
            found["broken"] += 1
            print(f"random_model({seed}): {type(error).__name__}: {error}", flush=True)
    print(f"random networks: {CASES} cases of {len(PROXIES)} proxies:", dict(found))
    assert not found["broken"]
