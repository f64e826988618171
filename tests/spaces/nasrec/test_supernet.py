"""The weight-sharing network of NASRec: the published sizes and outputs, and what is on in it."""

from __future__ import annotations

import random

import pytest
import torch
from tests.reference import fill_by_rule, golden, pattern
from torch import Tensor, nn

from firstlight.core.errors import SettingError
from firstlight.spaces.nasrec.network import NasRecSkeleton
from firstlight.spaces.nasrec.space import NasRec, NasRecFull, NasRecSmall
from firstlight.spaces.nasrec.supernet import Path, SharedBlock, SharedNetwork
from firstlight.spaces.ops import initialize

PUBLISHED = NasRecSkeleton(classes=1, rows=10)


def inputs() -> tuple[Tensor, Tensor]:
    sample, field = torch.arange(4)[:, None], torch.arange(26)
    return pattern(4, 13), (7 * sample + 3 * field) % 10


def size(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize("kind", [NasRecSmall, NasRecFull])
def test_sizes_are_the_published_ones(kind: type[NasRec]) -> None:
    meta = golden(kind.name.replace("-", "_"))["meta"]
    with torch.device("meta"):
        network = SharedNetwork(kind(), PUBLISHED)
        assert size(SharedNetwork(kind(3), PUBLISHED)) == meta["supernet_3_blocks_params"]
    assert size(network) == meta["supernet_7_blocks_params"]
    assert list(map(size, network.blocks)) == meta["supernet_params_by_block"]
    assert size(network.final) == meta["supernet_final"]


@pytest.mark.parametrize("kind", [NasRecSmall, NasRecFull])
def test_architectures_in_it_give_the_published_outputs(kind: type[NasRec]) -> None:
    probes = golden(kind.name.replace("-", "_"))["meta"]["supernet_3_blocks_probe"]
    network = fill_by_rule(SharedNetwork(kind(3), PUBLISHED).double())
    assert isinstance(network, SharedNetwork)
    assert len(probes) == 4
    for probe in probes:
        network.take(kind().from_record(probe["choice"]))
        with torch.no_grad():
            found = network(*inputs()).flatten()
        torch.testing.assert_close(found, torch.tensor(probe["out"], dtype=torch.float64), rtol=1e-6, atol=0)


SMALL_INPUTS = NasRecSkeleton((10,), dense=6, rows=5)


def shared(space: NasRec) -> SharedNetwork:
    network = SharedNetwork(space, SMALL_INPUTS)
    initialize(network, torch.Generator().manual_seed(0))
    return network


def test_only_what_is_on_is_learned() -> None:
    space = NasRecFull(2)
    network = shared(space)
    network.take(space.parse("fc:32~0~0+0;linear3d:16~0;interaction|sum:64~0~0+1;transformer:32~1"))
    network(torch.randn(4, 10)).square().sum().backward()
    learned = {name for name, parameter in network.named_parameters() if parameter.grad is not None}
    on = ("blocks.0.operators.fc", "blocks.0.operators.linear3d", "blocks.0.to_rows")
    on += ("blocks.1.operators.sum", "blocks.1.operators.transformer", "embeddings", "final")
    assert all(name.startswith(on) for name in learned)
    assert all(any(name.startswith(part) for name in learned) for part in on)


def test_outputs_are_zero_beyond_what_was_chosen() -> None:
    space = NasRecFull(1)
    network = shared(space)
    for text in ("gating:32~0~0+0;transformer:16~0;fm", "dot:64~0~0+0;linear3d:48~0"):
        block = space.parse(text).blocks[0]
        network.take(space.parse(text))
        dense, sparse = network.blocks[0]([torch.randn(3, 6)], [torch.randn(3, 4, 16)])
        assert dense.shape == (3, 1024)
        assert sparse.shape == (3, 72, 16)
        assert bool(dense[:, : block.width].any())
        assert not dense[:, block.width :].any()
        assert bool(sparse[:, : block.rows].any())
        assert not sparse[:, block.rows :].any()


def test_several_operators_are_added_up() -> None:
    space = NasRecFull(1)
    network = shared(space)
    block = network.blocks[0]
    assert isinstance(block, SharedBlock)
    x, table = torch.randn(3, 6), torch.randn(3, 4, 16)
    whole = block([x], [table])
    alone = [
        Path.of(space.parse(f"{dense}:1024~0~0+0;{sparse}:64~0").blocks[0])
        for dense, sparse in (("fc", "transformer"), ("dot", "linear3d"), ("gating", "linear3d"), ("sum", "linear3d"))
    ]
    vectors, tables = [], []
    for path in alone:
        network.take_paths([path])
        vector, rows = block([x], [table])
        vectors.append(vector)
        tables.append(rows)
    total = tables[0][:, :64] + tables[1][:, :64]
    torch.testing.assert_close(whole[1][:, :64], total)
    torch.testing.assert_close(whole[0], sum(vectors) + block.fm(total))


@pytest.mark.parametrize("kind", [NasRecSmall, NasRecFull])
def test_any_architecture_runs(kind: type[NasRec]) -> None:
    space = kind(2)
    network = shared(space)
    rng = random.Random(0)
    for _ in range(3):
        network.take(space.sample(rng))
        out = network(torch.randn(2, 10))
        assert out.shape == (2, 2)
        assert bool(out.isfinite().all())


def test_an_architecture_of_other_blocks_is_refused() -> None:
    with pytest.raises(SettingError, match="3 blocks and the weight-sharing network 2"):
        shared(NasRecSmall(2)).take(NasRecSmall(3).sample(random.Random(0)))
