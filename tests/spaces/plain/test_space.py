"""Plain spaces: sizes of samples, scaling, mutation, textbook networks and drawings."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import pytest

from firstlight.core.errors import SettingError
from firstlight.spaces import SPACES
from firstlight.spaces.plain.space import LARGEST, SMALLEST

NAMES = ("plain-resnet", "plain-bottleneck", "plain-mobile", "plain-convnext", "plain-vit")
every_space = pytest.mark.parametrize("name", NAMES)


@every_space
def test_sizes_of_samples_cover_the_range(name: str) -> None:
    space = SPACES[name]
    rng = random.Random(0)
    sizes = [space.cost(space.sample(rng)).params for _ in range(300)]
    bins = [0, 0, 0]
    for size in sizes:
        share = math.log(size / SMALLEST) / math.log(LARGEST / SMALLEST)
        bins[min(max(int(3 * share), 0), 2)] += 1
    assert min(bins) > 60
    assert max(sizes) < 1.1 * LARGEST
    assert min(sizes) > 0.5 * SMALLEST


@every_space
@pytest.mark.parametrize("params", [20_000, 100_000, 300_000, 3_000_000])
def test_scaling_keeps_the_shape_and_reaches_the_size(name: str, params: int) -> None:
    space: Any = SPACES[name]
    skeleton = space.skeleton(input_shape=(1, 16, 16))
    rng = random.Random(params)
    ratios = []
    for _ in range(30):
        shape = space.sample(rng)
        scaled = space.scaled(shape, params, skeleton)
        assert [replace(s, width=4) for s in scaled.stages] == [replace(s, width=4) for s in shape.stages]
        assert replace(scaled.stem, width=4) == replace(shape.stem, width=4)
        ratios.append(abs(math.log(space.cost(scaled, skeleton).params / params)))
    assert sorted(ratios)[15] < (0.3 if params == 20_000 else 0.1)  # widths are multiples of 4
    with pytest.raises(SettingError, match="params is 0"):
        space.scaled(shape, 0)


@every_space
def test_mutations_change_every_choice(name: str) -> None:
    """From one parent, each number changes in some child, and nothing else in that child."""
    space: Any = SPACES[name]
    parent = space.read("textbook")
    rng = random.Random(0)
    changed = set()
    for _ in range(600):
        child = space.mutate(parent, rng)
        assert space.canonical(child) != space.canonical(parent)
        if len(child.stages) != len(parent.stages):
            changed.add("stages")
            continue
        before, after = ([a.stem, *a.stages, a.head] for a in (parent, child))
        (place,) = (i for i, (one, other) in enumerate(zip(before, after, strict=True)) if one != other)
        if before[place] is parent.head:
            changed.add("head")
            continue
        (field,) = (key for key in vars(before[place]) if getattr(before[place], key) != getattr(after[place], key))
        changed.add(f"{'stem' if place == 0 else 'stage'} {field}")
    family = space.family
    expected = {"stages", "stem width", "stem size", "stage depth", "stage width", "stage size", "stage stride"}
    expected |= {"stem stride"} if family.stem == "k" else set()
    expected |= {"stage expansion"} if family.expansions else set()
    expected |= {"stage gated"} if family.can_gate else set()
    assert changed == expected | ({"head"} if family.has_head else set())


# Known parameters for 10 classes: ResNet-20 and MobileNetV2 as published for CIFAR
@pytest.mark.parametrize(("name", "params"), [("plain-resnet", 272_474), ("plain-mobile", 2_236_682)])
def test_textbook_networks_of_cifar(name: str, params: int) -> None:
    assert SPACES[name].cost(SPACES[name].read("textbook")).params == params


@every_space
def test_textbook_is_a_name_for_readers_only(name: str) -> None:
    space = SPACES[name]
    assert str(space.read(" textbook ")) == space.textbook == str(space.canonical(space.parse(space.textbook)))
    assert space.build("textbook", space.skeleton(classes=3)) is not None
    assert space.cost(space.parse(space.initial)).params < 6_000


def test_spaces_without_a_textbook_network_do_not_read_the_name() -> None:
    from firstlight.core.errors import ParseError

    with pytest.raises(ParseError, match="looks like"):
        SPACES["nasbench201"].read("textbook")


def test_a_drawing_shows_channels_resolutions_and_parameters() -> None:
    space = SPACES["plain-resnet"]
    architecture = space.parse("16k3s1/3x16k3s1/2x32k5s2se")
    drawing = space.drawing(architecture)
    assert drawing is not None
    assert drawing.nodes == ("3 @ 32x32", "16 @ 32x32", "16 @ 32x32", "32 @ 16x16", "10 classes")
    assert [label for *_, label in drawing.edges] == [
        "stem k3, 464 parameters",
        "3 x basic k3, 14,016 parameters",
        "2 x basic k5 se /2, 91,536 parameters",  # 39,656 with the projection, and 51,880
        "pool, linear, 330 parameters",
    ]
    small = space.drawing(architecture, space.skeleton(input_shape=(1, 9, 9), classes=2))
    assert small is not None
    assert small.nodes == ("1 @ 9x9", "16 @ 9x9", "16 @ 9x9", "32 @ 5x5", "2 classes")
