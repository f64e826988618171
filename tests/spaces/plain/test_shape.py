"""Texts of plain networks: what is read, what is refused, and which are one network."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.core.errors import ParseError
from firstlight.spaces.plain.shape import MOST_BLOCKS, MOST_STAGES, Plain, Stage, Stem, joined, read_shape, widened
from firstlight.spaces.plain.space import PlainConvNeXt, PlainMobile, PlainResNet, PlainSpace, PlainViT

RESNET, MOBILE, CONVNEXT, VIT = PlainResNet(), PlainMobile(), PlainConvNeXt(), PlainViT()


@st.composite
def shapes(draw: st.DrawFn) -> tuple[PlainSpace, Plain]:
    space = draw(st.sampled_from((RESNET, MOBILE, CONVNEXT, VIT)))
    family = space.family
    widths = st.integers(1, 512).map(lambda n: 4 * n)
    stride = st.sampled_from((1, 2))
    stem = Stem(draw(widths), draw(st.sampled_from(family.stems)), draw(stride) if family.stem == "k" else 1)
    stages = []
    for _ in range(draw(st.integers(1, MOST_STAGES))):
        size = draw(st.sampled_from(family.sizes))
        expansion = draw(st.sampled_from(family.expansions)) if family.expansions else 1
        gated = family.can_gate and draw(st.booleans())
        stage = Stage(draw(st.integers(1, 8)), 4, size, draw(stride), expansion, gated)
        step = family.width_step(stage)
        stages.append(replace(stage, width=draw(st.integers(1, 2048 // step)) * step))
    return space, Plain(family, stem, tuple(stages), draw(widths) if family.has_head else 0)


@settings(max_examples=300, deadline=None)
@given(shapes())
def test_every_shape_reads_back(drawn: tuple[PlainSpace, Plain]) -> None:
    space, shape = drawn
    assert shape.valid
    assert read_shape(str(shape), space.family) == shape


def test_a_text_says_what_the_network_has() -> None:
    shape = MOBILE.parse("8k5s2/2x24k3s1e6/1x32k7s2e1se/c64")
    assert shape.stem == Stem(8, 5, 2)
    assert shape.stages == (Stage(2, 24, 3, 1, 6), Stage(1, 32, 7, 2, 1, gated=True))
    assert shape.head == 64
    assert VIT.parse("24g8/5x48h6s2e3") == Plain(VIT.family, Stem(24, 8), (Stage(5, 48, 6, 2, 3),))


@pytest.mark.parametrize(
    ("space", "text", "message"),
    [
        (RESNET, "16k3s1", "expected '/' at character 7"),
        (RESNET, "18k3s1/1x16k3s1", "4 to 2048 in steps of 4 at character 1"),
        (RESNET, "16k4s1/1x16k3s1", "a kernel of 3, 5, 7 at character 4"),
        (RESNET, "16k3s1/1x16k3s3", "a stride of 1, 2"),
        (RESNET, "16k3s1/1x16k3s1e4", "expected '/'"),
        (RESNET, "16k3s1/65x16k3s1", "a number of blocks of 1 to 64"),
        (RESNET, "16k3s1/" + "/".join(["1x16k3s1"] * (MOST_STAGES + 1)), f"at most {MOST_STAGES} stages"),
        (RESNET, f"16k3s1/{MOST_BLOCKS}x16k3s1/1x16k3s2", f"at most .* {MOST_BLOCKS} blocks"),
        (MOBILE, "8k3s1/1x8k3s1e2", "expected '/'"),
        (MOBILE, "8k3s1/c64", "a number of blocks"),
        (VIT, "24g8/1x20h3s1e4", "a multiple of 12, because it has 3 heads at character 8"),
        (VIT, "24g8/1x24h3s1e4se", "expected '/'"),
    ],
)
def test_other_texts_are_refused_with_the_place(space: PlainSpace, text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        space.parse(text)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("8k3s1/2x8k3s1/1x8k3s1", "8k3s1/3x8k3s1"),
        ("8k3s1/2x8k3s2/1x8k3s1/1x8k3s1", "8k3s1/4x8k3s2"),
        ("8k3s1/2x8k3s1/1x8k3s2", "8k3s1/2x8k3s1/1x8k3s2"),
        ("8k3s1/2x8k3s1/1x8k5s1", "8k3s1/2x8k3s1/1x8k5s1"),
        ("8k3s1/2x8k3s1se/1x8k3s1", "8k3s1/2x8k3s1se/1x8k3s1"),
        ("8k3s1/2x8k3s1se/1x8k3s1se", "8k3s1/3x8k3s1se"),
    ],
)
def test_stages_that_only_go_on_are_joined(text: str, canonical: str) -> None:
    assert str(joined(RESNET.parse(text))) == canonical


@settings(max_examples=100, deadline=None)
@given(shapes(), st.floats(0.01, 100))
def test_widened_shapes_stay_valid(drawn: tuple[PlainSpace, Plain], factor: float) -> None:
    shape = widened(drawn[1], factor)
    assert shape.valid
    assert [replace(stage, width=4) for stage in shape.stages] == [replace(s, width=4) for s in drawn[1].stages]
