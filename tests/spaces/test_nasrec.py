"""NASRec: sizes, hashes and outputs of the reference networks and of single operators, the grammar, what is idle."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from tests.conftest import GOLDEN
from tests.reference import fill_by_rule, golden, pattern
from torch import Tensor, nn

from firstlight.spaces.nasrec import NasRec, NasRecFull, NasRecSmall
from firstlight.spaces.nasrec_network import BlockNetwork, Given, NasRecNetwork, NasRecSkeleton, make_operator
from firstlight.spaces.nasrec_operators import FactorisationMachine

SMALL, FULL = NasRecSmall(), NasRecFull()
RECORDS = [
    pytest.param(space, record, id=f"{space.name}-{number}")
    for space in (SMALL, FULL)
    for number, record in enumerate(golden(space.name.replace("-", "_"))["records"])
]
WEIGHTS = dict(np.load(GOLDEN / "nasrec_weights.npz", allow_pickle=False).items())
TITLES = {"linear-2d": "fc", "dot-product": "dot", "sigmoid-gating": "gating", "linear-3d": "linear3d"}


def published(record: dict[str, Any]) -> NasRecSkeleton:
    return NasRecSkeleton(classes=1, rows=10, layer_norm=int(record["use_layernorm"]))


def probe_inputs() -> tuple[Tensor, Tensor]:
    samples, fields = torch.arange(4)[:, None], torch.arange(26)
    return pattern(4, 13), (7 * samples + 3 * fields) % 10


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
    """Weights by the names in the file, where a linear map and its normalisation have names of their own."""
    own = {own_name: weight for name, weight in weights.items() for own_name in [renamed(name)]}
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
        operator: nn.Module = FactorisationMachine(out.shape[1], norm == "ln")
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
