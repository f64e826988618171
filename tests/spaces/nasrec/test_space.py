"""NASRec: the grammar, what is idle, sampling and mutation, records of others."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import fields

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import pattern
from tests.spaces.records import records

import firstlight
from firstlight.core.errors import ParseError, SettingError
from firstlight.spaces.base import Space
from firstlight.spaces.nasrec.blocks import Block
from firstlight.spaces.nasrec.network import NasRecSkeleton
from firstlight.spaces.nasrec.space import NasRec, NasRecFull, NasRecSmall
from firstlight.testing.spaces import runs_everywhere

SMALL, FULL = NasRecSmall(), NasRecFull()


# ---------------------------------------- what is idle

SEEDS = st.integers(min_value=0, max_value=2**32)
SMALL_TABLES = NasRecSkeleton((10,), classes=1, dense=6, rows=5)


@pytest.mark.parametrize("space", [SMALL, FULL], ids=lambda space: space.name)
@settings(max_examples=15)
@given(seed=SEEDS)
def test_the_canonical_form_computes_the_same(space: NasRec, seed: int) -> None:
    """With the same weights, where the two have weights of the same shape."""
    architecture = space.sample(random.Random(seed))
    canonical = space.canonical(architecture)
    one = space.build(architecture, SMALL_TABLES)
    other = space.build(canonical, SMALL_TABLES, seed=1)
    weights, own = one.state_dict(), other.state_dict()
    shared = {name: weights[name] for name in own if name in weights and weights[name].shape == own[name].shape}
    other.load_state_dict(own | shared)
    x = torch.cat([pattern(3, 6).float(), torch.arange(12).view(3, 4)], 1)
    torch.testing.assert_close(one(x), other(x))


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        # the first block is read by none
        (
            "dot:64~0~0+0;linear3d:32~0;fm|fc:32~0~1+1;linear3d:16~0",
            "fc:16~0~0+0;linear3d:16~0|fc:32~0~0+0;linear3d:16~0",
        ),
        # its sparse output alone is read: the factorization machine goes to the dense one
        (
            "fc:64~0~0+0;linear3d:32~0;fm|fc:32~0~0+0;linear3d:16~1",
            "fc:16~0~0+0;linear3d:32~0|fc:32~0~0+0;linear3d:16~1",
        ),
        # through the interaction, its dense output is read as well; and at 128 the factorization machine with it
        (
            "fc:64~0~0+0;linear3d:32~0;interaction;fm|fc:32~0~0+0;linear3d:16~1",
            "fc:64~0~0+0;linear3d:32~0;interaction|fc:32~0~0+0;linear3d:16~1",
        ),
        (
            "fc:128~0~0+0;linear3d:32~0;interaction;fm|fc:32~0~0+0;linear3d:16~1",
            "fc:128~0~0+0;linear3d:32~0;interaction;fm|fc:32~0~0+0;linear3d:16~1",
        ),
        # its dense output alone is read, by a product that reads sparse rows besides
        (
            "dot:64~0~0+0;transformer:32~0;interaction|gating:32~0~1+0;linear3d:16~0",
            "dot:64~0~0+0;linear3d:16~0|gating:32~0~1+0;linear3d:16~0",
        ),
        # a sum does not tell left from right, and reads nothing else
        (
            "fc:32~0~0+0;linear3d:16~0|sum:32~0,1~1+0;linear3d:16~1",
            "fc:32~0~0+0;linear3d:16~0|sum:32~0~0+1;linear3d:16~1",
        ),
    ],
)
def test_what_nobody_reads_is_left_out(text: str, canonical: str) -> None:
    assert str(FULL.canonical(FULL.parse(text))) == canonical


# ---------------------------------------- text, records, sampling and mutation


@pytest.mark.parametrize(
    ("text", "position", "expected"),
    [
        ("", 0, "one of fc, dot, gating, sum"),
        ("fc", 2, "':'"),
        ("fc:48", 3, "one of 16, 32, 64"),
        ("fc:16~1~0+0;linear3d:16~0", 6, "a source, in ascending order, of 0"),
        ("fc:16~0,0~0+0;linear3d:16~0", 8, "no further source"),
        ("fc:16~0~0;linear3d:16~0", 9, r"'\+'"),
        ("fc:16~0~0+0;fc:16~0", 12, "transformer, linear3d"),
        ("fc:16~0~0+0;linear3d:16~0;fm;interaction", 28, r"'\|'"),
        ("|".join(["fc:16~0~0+0;linear3d:16~0"] * 8), 7 * 26 - 1, "there are 7 blocks"),
    ],
)
def test_errors_point_at_the_place(text: str, position: int, expected: str) -> None:
    with pytest.raises(ParseError, match=expected) as caught:
        FULL.parse(text)
    assert caught.value.position == position


def test_the_small_space_has_fewer_operators() -> None:
    with pytest.raises(ParseError, match="one of fc, dot"):
        SMALL.parse("sum:16~0~0+0;linear3d:16~0")


@settings(max_examples=30)
@given(seed=SEEDS)
def test_searches_tell_networks_apart_as_the_published_hash_does(seed: int) -> None:
    rng = random.Random(seed)
    one = FULL.sample(rng)
    for other in (FULL.canonical(one), FULL.mutate(one, rng), FULL.sample(rng)):
        same = FULL.identity(one) == FULL.identity(other)
        assert same == (FULL.published_hash(one) == FULL.published_hash(other))
    assert FULL.identity(one) == one


def test_records_with_several_operators_are_refused() -> None:
    record = records("nasrec_full")[0]["choice"]
    record["micro"][0]["active_nodes"] = [0, 1, 4]
    with pytest.raises(SettingError, match="fc, dot, transformer"):
        FULL.from_record(record)


def test_networks_of_fewer_blocks() -> None:
    architecture = NasRecSmall(blocks=3).sample(random.Random(0))
    assert len(architecture.blocks) == 3
    assert SMALL.parse(str(architecture)) == architecture
    assert NasRecSmall(3).customary(architecture)
    assert not SMALL.customary(architecture)
    found = firstlight.search(NasRecSmall(3), samples=2, proxy="params", workers=0)
    assert len(found.best.architecture.split("|")) == 3
    for blocks in (0, 8):
        with pytest.raises(SettingError, match="1 to 7"):
            NasRecSmall(blocks=blocks)


def test_searches_admit_four_inputs() -> None:
    recorded = [SMALL.from_record(record["choice"]) for record in records("nasrec_small")]
    assert [SMALL.customary(architecture) for architecture in recorded] == [True, False, *[True] * 12]


def test_half_of_the_mutations_are_of_connections() -> None:
    """Each of its kinds equally often; a choice of several sources or sizes that is drawn anew may stay what it was."""
    rng = random.Random(0)
    changed: Counter[str] = Counter()
    blocks: Counter[int] = Counter()
    for _ in range(4000):
        parent = FULL.sample(rng).blocks[6]
        child = FULL._redrawn(parent, 6, rng)
        changed.update(
            field.name for field in fields(Block) if getattr(parent, field.name) != getattr(child, field.name)
        )
    for _ in range(1000):
        architecture = FULL.sample(rng)
        mutant = FULL.mutate(architecture, rng)
        (number,) = (n for n in range(7) if mutant.blocks[n] != architecture.blocks[n])
        blocks[number] += 1
    expected = {
        "left": 1 / 8 * 6 / 7,
        "right": 1 / 8 * 6 / 7,
        "width": 1 / 10 * 7 / 8,
        "rows": 1 / 10 * 3 / 4,
        "interaction": 1 / 10 / 2,
        "fm": 1 / 10 / 2,
        "dense_operator": 1 / 10 * 3 / 4,  # both are drawn at once
        "sparse_operator": 1 / 10 / 2,
    }
    for name, share in expected.items():
        assert changed[name] / 4000 == pytest.approx(share, abs=0.02), name
    assert set(blocks) == set(range(7))
    assert blocks[0] < min(blocks[number] for number in range(1, 7))  # it has nothing to be connected to


def test_several_mutations_may_undo_each_other_but_not_all() -> None:
    rng = random.Random(0)
    parent = FULL.sample(rng)
    children = [FULL.mutate_often(parent, rng, 6) for _ in range(200)]
    changes = Counter(sum(one != other for one, other in zip(c.blocks, parent.blocks, strict=True)) for c in children)
    assert 0 not in changes
    assert max(changes) <= 6
    assert len(changes) > 3


@pytest.mark.parametrize("space", [SMALL, FULL], ids=lambda space: space.name)
@pytest.mark.parametrize("count", [2, pytest.param(500, marks=pytest.mark.slow)])
def test_random_networks_run(space: NasRec, count: int) -> None:
    rng = random.Random(0)
    for number in range(count):
        skeleton = NasRecSkeleton((10,), classes=2 + number % 3, dense=6, rows=5, layer_norm=number % 2)
        architecture = space.sample(rng)
        runs_everywhere(space, architecture, skeleton, every_parameter=False)


@pytest.mark.parametrize("space", [SMALL, FULL], ids=lambda space: space.name)
@pytest.mark.parametrize("setting", [{}, {"layer_norm": 0}, {"classes": 1}, {"classes": 5}, {"dense": 16}])
def test_the_cost_is_that_of_any_skeleton(space: NasRec, setting: dict[str, int]) -> None:
    architecture, skeleton = space.sample(random.Random(str(setting))), space.skeleton(**setting)
    assert space.cost(architecture, skeleton) == Space.cost(space, architecture, skeleton)


def test_the_drawing_shows_what_is_read() -> None:
    text = "fc:32~0~0+0;linear3d:16~0;interaction;fm|sum:64~0,1~1+0;linear3d:16~0"
    drawing = FULL.drawing(FULL.parse(text))
    assert drawing.nodes == ("input", "fc 32, linear3d 16, interaction, fm", "sum 64, linear3d 16")
    assert drawing.edges == ((0, 1, "dense, sparse"), (0, 2, "dense, sparse"), (1, 2, "dense"))
