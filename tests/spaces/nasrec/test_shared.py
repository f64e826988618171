"""Weights that NASRec networks share: which paths are trained, and what a network inherits."""

from __future__ import annotations

import random
from collections import Counter

import pytest
import torch

from firstlight.core.errors import UnknownNameError
from firstlight.spaces.nasrec.network import NasRecSkeleton
from firstlight.spaces.nasrec.shared import NasRecPaths, chance_of_all
from firstlight.spaces.nasrec.space import NasRecFull, NasRecSmall
from firstlight.spaces.nasrec.supernet import Path

SPACE = NasRecFull()
KINDS = ("dense", "sparse", "left", "right")


def drawn(name: str, steps: range) -> list[list[Path]]:
    rng = random.Random(0)
    policy = NasRecPaths.named(SPACE, name)
    return [policy.draw(step, rng) for step in steps]


def all_sources(paths: list[Path]) -> list[bool]:
    """For each block whether everything is read; the first has nothing else."""
    return [all(len(path.sources[kind]) == number + 1 for kind in KINDS) for number, path in enumerate(paths)]


def all_operators(path: Path) -> bool:
    return (len(path.operators), path.width, path.rows, path.interaction, path.fm) == (6, 1024, 64, True, True)


def test_the_chance_of_the_whole_network() -> None:
    assert [chance_of_all(passes) for passes in (0, 15_000, 20_000)] == [0, 0, 0]
    assert [chance_of_all(passes) for passes in (1, 7_500, 14_999)] == pytest.approx([1 - 1 / 15e3, 0.5, 1 / 15e3])


def test_as_published_connections_are_decided_at_once_and_operators_block_by_block() -> None:
    found = drawn("published", range(7_499, 7_899))
    whole = [all_sources(paths)[1:] for paths in found]
    assert all(len(set(blocks)) == 1 for blocks in whole)
    assert sum(blocks[0] for blocks in whole) / 400 == pytest.approx(0.49, abs=0.08)
    operators = [[all_operators(path) for path in paths] for paths in found]
    assert 0.45 < sum(map(sum, operators)) / 2_800 < 0.53
    assert len({tuple(blocks) for blocks in operators}) > 60  # of the 128 that there are
    assert any(all(one) and not all(other) for one, other in zip(whole, operators, strict=True))


def test_operators_lag_by_one_step() -> None:
    """In the first step the connections are nearly always all, and the operators never."""
    first = [NasRecPaths.named(SPACE, "published").draw(0, random.Random(seed)) for seed in range(40)]
    assert sum(all(all_sources(paths)) for paths in first) >= 39
    assert not any(all_operators(path) for paths in first for path in paths)
    late = drawn("published", range(15_000, 15_040))
    assert not any(all(all_sources(paths)) or all_operators(path) for paths in late for path in paths)


def test_any_path_tosses_a_coin_for_each_of_three_more_inputs() -> None:
    found = drawn("any-path", range(3_000))
    for kind in ("dense", "sparse"):
        counts = Counter(len(paths[-1].sources[kind]) for paths in found)
        assert [counts[count] / 3_000 for count in (1, 2, 3, 4)] == pytest.approx(
            [1 / 8, 3 / 8, 3 / 8, 1 / 8], abs=0.03
        )
        assert {len(paths[1].sources[kind]) for paths in found} == {1, 2}
        sources = Counter(source for paths in found for source in paths[-1].sources[kind])
        assert all(sources[source] / 3_000 == pytest.approx(2.5 / 7, abs=0.04) for source in range(7))
    assert {len(paths[-1].sources[kind]) for paths in found for kind in ("left", "right")} == {1}
    assert any(paths[-1].sources["dense"] != paths[-1].sources["sparse"] for paths in found)
    assert {len(path.operators) for paths in found for path in paths} == {2}
    assert {path.width for paths in found for path in paths} == {16, 32, 64, 128, 256, 512, 768, 1024}


def test_single_paths_and_the_whole_network() -> None:
    for paths in drawn("single-path", range(20)):
        assert all(len(path.sources[kind]) == 1 for path in paths for kind in KINDS)
        assert all(len(path.operators) == 2 for path in paths)
    for paths in drawn("full", range(3)):
        assert all(all_sources(paths))
        assert all(map(all_operators, paths))
    with pytest.raises(UnknownNameError, match="any-path, full, published, single-path"):
        NasRecPaths.named(SPACE, "two-path")


def test_networks_for_clicks_follow_from_the_seed_and_may_be_frozen() -> None:
    space, skeleton = NasRecSmall(1), NasRecSkeleton((8,), dense=5, rows=6)
    shared = space.shared()
    one, same, other = (shared.network(skeleton, seed=seed).state_dict() for seed in (0, 0, 1))
    assert all(torch.equal(value, same[name]) for name, value in one.items())
    assert not torch.equal(one["final.weight"], other["final.weight"])
    network, architecture = shared.network(skeleton), space.sample(random.Random(0))
    assert len(list(shared.subnet(network, architecture, frozen=True).parameters())) == 2
    assert len(list(shared.subnet(network, architecture).parameters())) > 2
