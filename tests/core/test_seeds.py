"""Seeds depend on everything they are given and on nothing else."""

from __future__ import annotations

import torch

from firstlight.core.seeds import derive, python_generator, torch_generator


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
