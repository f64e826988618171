"""Plain networks against published parameter counts, against counting, and at all sizes of images."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch

from firstlight.core.errors import SettingError
from firstlight.spaces import SPACES
from firstlight.spaces.base import Space
from firstlight.spaces.plain.network import parts_of
from firstlight.testing.spaces import runs_everywhere

NAMES = ("plain-resnet", "plain-bottleneck", "plain-mobile", "plain-convnext", "plain-vit")
every_space = pytest.mark.parametrize("name", NAMES)

# Parameters as published, for 1,000 classes and 224x224 images. Pooling after the stem of ResNets has no parameters.
PUBLISHED = {
    "ResNet-18": ("plain-resnet", "64k7s2/2x64k3s1/2x128k3s2/2x256k3s2/2x512k3s2", 11_689_512),
    "ResNet-34": ("plain-resnet", "64k7s2/3x64k3s1/4x128k3s2/6x256k3s2/3x512k3s2", 21_797_672),
    "ResNet-50": ("plain-bottleneck", "64k7s2/3x256k3s1e4/4x512k3s2e4/6x1024k3s2e4/3x2048k3s2e4", 25_557_032),
    "MobileNetV2": ("plain-mobile", "textbook", 3_504_872),
    # without layer scale, which has a parameter for each channel of each block
    "ConvNeXt-T": ("plain-convnext", "96p4/3x96k7s1e4/3x192k7s2e4/9x384k7s2e4/3x768k7s2e4", 28_589_128 - 6_624),
    # without the class token and its position
    "DeiT-Ti": ("plain-vit", "192g14/12x192h3s1e4", 5_717_416 - 2 * 192),
}


@pytest.mark.parametrize("title", PUBLISHED)
def test_published_networks_have_as_many_parameters(title: str) -> None:
    name, text, params = PUBLISHED[title]
    space = SPACES[name]
    skeleton = space.skeleton(input_shape=(3, 224, 224), classes=1000)
    architecture = space.read(text)
    assert space.cost(architecture, skeleton).params == params
    assert Space.cost(space, architecture, skeleton) == space.cost(architecture, skeleton)


@every_space
@pytest.mark.parametrize("shape", [(3, 8, 8), (1, 28, 28), (3, 33, 47), (1, 1, 1), (3, 224, 224)])
def test_the_formula_counts_what_is_built(name: str, shape: tuple[int, ...]) -> None:
    space: Space[Any] = SPACES[name]
    skeleton = space.skeleton(input_shape=shape, classes=7)
    rng = random.Random(sum(shape))
    for _ in range(4):
        architecture = space.mutate(space.sample(rng), rng)
        counted = Space.cost(space, architecture, skeleton)
        assert space.cost(architecture, skeleton) == counted
        parts = [part.cost for part in parts_of(architecture, skeleton)]
        assert (sum(part.params for part in parts), sum(part.macs for part in parts)) == (counted.params, counted.macs)


@every_space
@pytest.mark.parametrize("shape", [(3, 8, 8), (1, 28, 28), (3, 17, 30)])
def test_networks_run_and_use_every_parameter(name: str, shape: tuple[int, ...]) -> None:
    space = SPACES[name]
    skeleton = space.skeleton(input_shape=shape)
    for seed in range(2):
        drawn = space.scaled(space.sample(random.Random(seed)), 30_000, skeleton)  # type: ignore[attr-defined]
        runs_everywhere(space, drawn, skeleton)


@every_space
def test_parts_have_the_shapes_that_features_have(name: str) -> None:
    space: Any = SPACES[name]
    skeleton = space.skeleton(input_shape=(3, 26, 38))
    for seed in range(3):
        shape = space.sample(random.Random(seed))
        network = space.build(shape, skeleton)
        x, blocks = network.stem(torch.zeros(2, 3, 26, 38)), iter(network.body)
        stem, *stages, head = parts_of(shape, skeleton)
        assert x.shape[1:] == (stem.channels, *stem.size)
        params = [sum(p.numel() for p in part.parameters()) for part in (network.stem, network.head)]
        assert params == [stem.cost.params, head.cost.params]
        for stage, part in zip(shape.stages, stages, strict=True):
            of_stage = [next(blocks) for _ in range(stage.depth)]
            if name in ("plain-convnext", "plain-vit") and type(of_stage[0]) is torch.nn.Sequential:
                of_stage.append(next(blocks))  # the change of shape goes before the blocks
            for block in of_stage:
                x = block(x)
            assert x.shape[1:] == (part.channels, *part.size)
            assert sum(p.numel() for block in of_stage for p in block.parameters()) == part.cost.params


def test_transformers_know_where_a_patch_is() -> None:
    """Attention and pooling do not depend on the order of patches; positions do."""
    space = SPACES["plain-vit"]
    network = space.build("16g4/2x16h2s1e2", space.skeleton(input_shape=(3, 8, 8))).eval()
    x = torch.randn(1, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    moved = x.roll(2, dims=3)
    with torch.no_grad():
        assert not torch.allclose(network(x), network(moved))
        network.stem[-1].positions.zero_()
        torch.testing.assert_close(network(x), network(moved))


def test_equal_texts_after_joining_compute_the_same() -> None:
    for name, text in {
        "plain-resnet": "8k3s1/1x8k3s2se/2x8k3s1se",
        "plain-bottleneck": "8k3s1/1x8k3s2e2/2x8k3s1e2",
        "plain-mobile": "8k3s1/1x8k3s2e2/2x8k3s1e2/c16",
        "plain-convnext": "8p2/1x8k3s2e2/2x8k3s1e2",
        "plain-vit": "8g4/1x8h2s2e2/2x8h2s1e2",
    }.items():
        space = SPACES[name]
        one, other = (space.build(a).eval() for a in (space.parse(text), space.canonical(space.parse(text))))
        assert str(space.canonical(space.parse(text))) != text
        other.load_state_dict(one.state_dict())
        x = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
        torch.testing.assert_close(one(x), other(x))


@every_space
def test_what_is_not_an_image_is_refused(name: str) -> None:
    for settings in ({"input_shape": (3, 0, 8)}, {"input_shape": (3, 8)}, {"classes": 0}):
        with pytest.raises(SettingError, match="A plain network cannot be built"):
            SPACES[name].skeleton(**settings)
