"""Which paths are trained: how often the whole network is, and what is drawn else."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from torch import nn

import firstlight
from firstlight.core.errors import UnknownNameError
from firstlight.spaces.nasbench201.space import OPERATIONS
from firstlight.spaces.nasrec.space import NasRecFull
from firstlight.spaces.nasrec.supernet import Path
from firstlight.spaces.supernets.mixed import MixedEdge
from firstlight.spaces.supernets.paths import CellPaths, NasRecPaths, chance_of_all
from firstlight.spaces.supernets.shared import SharedCells

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


def edges(network: nn.Module) -> list[MixedEdge]:
    return [module for module in network.modules() if isinstance(module, MixedEdge)]


def test_cells_have_one_operation_on_each_edge_or_all() -> None:
    skeleton = firstlight.space("nasbench201").skeleton(channels=4, cells=2)
    network = SharedCells().network(skeleton)
    rng, chosen = random.Random(0), Counter[str]()
    for step in range(60):
        CellPaths("single-path").take(network, step, rng)
        by_place: dict[object, set[str]] = {}
        for edge in edges(network):
            on = [name for name, weight in edge.weights.items() if weight]
            assert [edge.weights[name] for name in on] == [1.0]
            by_place.setdefault(edge.place, set()).update(on)
            chosen.update(on)
        assert all(len(names) == 1 for names in by_place.values())  # the same in all cells
    assert set(chosen) == set(OPERATIONS)
    CellPaths("full").take(network, 0, rng)
    assert all(set(edge.weights.values()) == {0.2} for edge in edges(network))
    with pytest.raises(UnknownNameError, match="full, single-path"):
        CellPaths("any-path")
