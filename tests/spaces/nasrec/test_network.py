"""NASRec: sizes, hashes and outputs of the reference networks and of single operators; inputs and the two classes."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from tests.conftest import GOLDEN
from tests.reference import fill_by_rule, pattern
from tests.spaces.records import records
from torch import Tensor, nn

from firstlight.core.errors import SettingError
from firstlight.spaces.nasrec.blocks import Block, Recommender
from firstlight.spaces.nasrec.network import (
    BlockNetwork,
    Embeddings,
    Given,
    NasRecNetwork,
    NasRecSkeleton,
    make_operator,
)
from firstlight.spaces.nasrec.operators import FactorizationMachine
from firstlight.spaces.nasrec.space import NasRec, NasRecFull, NasRecSmall

SMALL, FULL = NasRecSmall(), NasRecFull()
RECORDS = [
    pytest.param(space, record, id=f"{space.name}-{number}")
    for space in (SMALL, FULL)
    for number, record in enumerate(records(space.name.replace("-", "_")))
]
WEIGHTS = dict(np.load(GOLDEN / "nasrec_weights.npz", allow_pickle=False).items())
TITLES = {"linear-2d": "fc", "dot-product": "dot", "sigmoid-gating": "gating", "linear-3d": "linear3d"}


def published(record: dict[str, Any]) -> NasRecSkeleton:
    return NasRecSkeleton(classes=1, rows=10, layer_norm=int(record["use_layernorm"]))


def probe_inputs() -> tuple[Tensor, Tensor]:
    sample, field = torch.arange(4)[:, None], torch.arange(26)
    return pattern(4, 13), (7 * sample + 3 * field) % 10


def size(module: nn.Module | None) -> int:
    return 0 if module is None else sum(parameter.numel() for parameter in module.parameters())


# ---------------------------------------- the reference networks


@pytest.mark.parametrize(("space", "record"), RECORDS)
def test_every_record_is_reproduced(space: NasRec, record: dict[str, Any]) -> None:
    architecture = space.parse(str(space.from_record(record["choice"])))
    assert space.published_hash(architecture) == record["hash"]
    network = NasRecNetwork(architecture, published(record)).double()
    assert len(network.blocks) == record["num_blocks"]
    assert size(network) == record["params_total"]
    assert size(network.embeddings) == record["params_embedding"]
    assert size(network.final) == record["params_final"]
    shapes = Counter("x".join(map(str, parameter.shape)) for parameter in network.parameters())
    assert shapes == record.get("weight_shapes", shapes)  # eight of the records have them
    outputs: list[Any] = []
    for block in network.blocks:
        block.register_forward_hook(lambda module, inputs, output: outputs.append(output))
    logits = fill_by_rule(network)(*probe_inputs())
    for block, (dense, sparse), known in zip(network.blocks, outputs, record["blocks"], strict=True):
        assert isinstance(block, BlockNetwork)
        operators = {TITLES.get(title, title): count for title, count in known["operators"].items()}
        assert operators == {
            block.block.dense_operator: size(block.dense_operator),
            block.block.sparse_operator: size(block.sparse_operator),
        }
        assert size(block.to_rows) == known["dense_to_sparse_projection"]
        assert size(block.fm) == known["deep_fm"]
        assert [list(dense.shape), list(sparse.shape)] == [known["dense_out"], known["sparse_out"]]
    assert list(logits.shape) == record["out"]
    expected = torch.tensor(record["probe"], dtype=torch.float64)
    torch.testing.assert_close(logits.flatten(), expected, rtol=1e-6, atol=0)


def test_there_are_records() -> None:
    assert len(RECORDS) == 28
    assert len(CASES) == 28
    assert sum(not record.values[1]["use_layernorm"] for record in RECORDS) == 4


# ---------------------------------------- single operators, and networks of other sizes

CASES = sorted({name.split("/")[0] for name in WEIGHTS if name.startswith("case")})


def arrays(prefix: str) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): torch.from_numpy(array) for name, array in WEIGHTS.items() if name.startswith(prefix)
    }


def load(module: nn.Module, weights: dict[str, Tensor]) -> nn.Module:
    """Weights by the names in the file, where a linear map and its normalization have names of their own."""
    own = {renamed(name): weight for name, weight in weights.items()}
    for name, parameter in module.named_parameters():
        plain = re.sub(r"\b(dense|rows|linear|project|to_rows)\.0\.", r"\1.", name)
        plain = re.sub(r"\b(dense|rows|to_rows)\.1\.", r"\1_norm.", plain)
        plain = re.sub(r"\b(linear|project)\.1\.", "norm.", plain).replace("idle_norm", "norm")
        parameter.data = own.pop(plain)
    assert not own
    return module


def renamed(name: str) -> str:
    """Of whole networks: which operator a block has is not in our names."""
    name = re.sub(r"^block(\d)\.(fc|dot|gating|sum)\.", r"blocks.\1.dense_operator.", name)
    name = re.sub(r"^block(\d)\.(transformer|linear3d)\.", r"blocks.\1.sparse_operator.", name)
    name = re.sub(r"^block(\d)\.to_sparse", r"blocks.\1.to_rows", name)
    return re.sub(r"^block(\d)\.", r"blocks.\1.", name).replace("embedding.", "embeddings.")


@pytest.mark.parametrize("case", CASES)
def test_every_operator_is_reproduced(case: str) -> None:
    _, norm, name = case.split("_")
    given, out = arrays(f"{case}/in/"), torch.from_numpy(WEIGHTS[f"{case}/out"])
    widths = {key: x.shape[1] for key, x in given.items()}
    sizes = Given(widths.get("dense", 0), max(widths.get("left", 0), widths.get("right", 0)), widths.get("sparse", 0))
    if name == "fm":
        operator: nn.Module = FactorizationMachine(out.shape[1], norm == "ln")
    else:
        operator = make_operator(name, sizes, out.shape[1], out.shape[1], norm == "ln")
    load(operator, arrays(f"{case}/w/"))
    torch.testing.assert_close(operator(*given.values()), out, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("net", ["net0", "net1"])
def test_networks_of_two_blocks_are_reproduced(net: str) -> None:
    architecture = FULL.from_record(json.loads(str(WEIGHTS[f"{net}/choice_json"])))
    skeleton = NasRecSkeleton((10,), classes=1, dense=6, rows=5)
    network = load(NasRecNetwork(architecture, skeleton), arrays(f"{net}/w/"))
    given = arrays(f"{net}/in/")
    expected = torch.from_numpy(WEIGHTS[f"{net}/out"])
    torch.testing.assert_close(network(given["dense"], given["cat"]), expected, rtol=1e-9, atol=1e-12)
    together = torch.cat([given["dense"], given["cat"]], 1)
    assert torch.equal(network(together), network(given["dense"], given["cat"]))


@pytest.mark.parametrize("fm", [False, True])
def test_a_block_of_128_appends_its_own_output(fm: bool) -> None:
    """Nothing is projected where the numbers are those of eight rows; then the factorization machine is in them."""
    for width in (128, 64):
        block = Block("fc", width, (0,), 0, 0, "linear3d", 16, (0,), interaction=True, fm=fm)
        network = BlockNetwork(block, [13], [26], norm=True)
        fill_by_rule(network)
        x, table = pattern(2, 13).float(), pattern(2, 26, 16).float()
        alone, plain = network.dense_operator(x), network.sparse_operator(table)
        dense, sparse = network([x], [table])
        assert network.to_rows is not None
        if network.fm is not None:
            torch.testing.assert_close(dense, alone + network.fm(plain))
        expected = dense if width == 128 else network.to_rows(alone)
        assert torch.equal(sparse, torch.cat([plain, expected.view(2, 8, 16)], 1))


# ---------------------------------------- inputs and outputs

PLAIN = Recommender((Block("fc", 16, (0,), 0, 0, "linear3d", 16, (0,)),))


def test_two_classes_are_one_logit() -> None:
    """Cross-entropy of the two is the binary cross-entropy of the one, and has the same gradients."""
    single, double = (SMALL.build(PLAIN, NasRecSkeleton(classes=classes, rows=10)).double() for classes in (1, 2))
    x, y = torch.cat(probe_inputs(), 1), torch.tensor([0, 1, 1, 0])
    losses = (
        F.binary_cross_entropy_with_logits(single(x).flatten(), y.double()),
        F.cross_entropy(double(x), y),
    )
    torch.testing.assert_close(*losses, rtol=1e-12, atol=0)
    for loss in losses:
        loss.backward()
    for one, other in zip(single.parameters(), double.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-10, atol=1e-14)


def test_categories_find_their_rows() -> None:
    skeleton = NasRecSkeleton((5,), dense=2, rows=4, categories=(3, 4, 9))
    assert skeleton.tables == (3, 4, 4)
    embeddings = SMALL.build(PLAIN, skeleton).embeddings
    assert isinstance(embeddings, Embeddings)
    tables = [table.weight for table in embeddings]
    for numbers, rows in (
        ([2, 3, 1], [2, 3, 1]),
        ([3, 4, 8], [0, 0, 0]),  # beyond the table
        ([0.9, 1.5, -0.5], [0, 1, 3]),  # noise
        ([-1.0, -3.2, 2.0], [2, 0, 2]),
    ):
        found = embeddings(torch.tensor([numbers]))[0]
        assert torch.equal(found, torch.stack([table[row] for table, row in zip(tables, rows, strict=True)]))
    largest = 2**24 - 1  # in single precision, whole numbers are exact up to here
    assert torch.equal(embeddings(torch.full((1, 3), float(largest)))[0, 0], tables[0][largest % 3])


@pytest.mark.parametrize(
    "setting",
    [
        *({"input_shape": shape} for shape in ((3, 32, 32), (13,), ())),
        *({"dense": 0}, {"dense": 39}, {"rows": 0}, {"classes": 0}, {"layer_norm": 2}),
        *({"categories": (5,)}, {"categories": (0,) * 26}),
    ],
)
def test_skeletons_that_cannot_be_built(setting: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match="A NASRec network cannot be built"):
        SMALL.skeleton(**setting)


def test_a_skeleton_says_what_was_set() -> None:
    assert str(SMALL.skeleton()) == "classes=2,dense=13,input_shape=39,layer_norm=1,rows=1000"
    assert str(SMALL.skeleton(input_shape=(3,), dense=1, categories=(5, 7))).startswith("categories=5x7,")


def test_weights_are_drawn_as_published() -> None:
    """Xavier's rules: uniform for linear maps, normal for tables; gains of 0.17 inside a transformer, else 1."""
    block = Block("gating", 256, (0,), 0, 0, "transformer", 64, (0,), interaction=True)
    network = FULL.build(Recommender((block,)), NasRecSkeleton(rows=300))
    for name, parameter in network.named_parameters():
        values = parameter.detach()
        if "embeddings" in name:
            assert float(values.std()) == pytest.approx((2 / 316) ** 0.5, rel=0.05)
        elif values.ndim == 2:
            bound = (6 / sum(values.shape)) ** 0.5
            assert 0.9 * bound < float(values.abs().max()) <= bound
        elif name.endswith("weight"):
            assert torch.equal(values, torch.full_like(values, 0.17 if "n_norm" in name else 1.0)), name
        else:
            assert not values.any()
