"""Seeds depend on everything they are given and on nothing else."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from firstlight.core.errors import SettingError
from firstlight.core.seeds import as_generator, derive, python_generator, torch_generator


def test_purposes_are_kept_apart() -> None:
    seeds = {
        derive(0),
        derive(1),
        derive(0, "a"),
        derive(0, "b"),
        derive(0, "a", "b"),
        derive(0, "ab"),
        derive(0, "b", "a"),
    }
    assert len(seeds) == 7
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_the_values_never_change() -> None:
    """Stored scores depend on them."""
    assert derive(0, "weights") == 8499703138442296907
    assert python_generator(0, "x").random() == python_generator(0, "x").random()
    assert torch.equal(
        torch.rand(3, generator=torch_generator(1, "x")), torch.rand(3, generator=torch_generator(1, "x"))
    )


def test_generators_of_numpy_and_seeds_serve_as_well() -> None:
    own = random.Random(3)
    assert as_generator(own) is own
    assert as_generator(3).random() == as_generator(np.int64(3)).random() == random.Random(3).random()
    theirs = np.random.default_rng(0)
    assert as_generator(theirs).random() != as_generator(theirs).random()  # theirs moves on
    assert as_generator(np.random.default_rng(0)).random() == as_generator(np.random.default_rng(0)).random()


@pytest.mark.parametrize("wrong", [True, "3", None, np.random])
def test_anything_else_is_refused(wrong: object) -> None:
    with pytest.raises(SettingError, match=r"Give a random\.Random, a generator of NumPy"):
        as_generator(wrong)
