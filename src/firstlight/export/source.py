"""A network as a Python file that needs nothing but PyTorch."""

from __future__ import annotations

import copy
import textwrap
from typing import Any

import torch
from torch import Tensor, nn

from firstlight.core.errors import UnsupportedError
from firstlight.export.classes import Classes
from firstlight.export.tracing import trace_all

BATCHES = (2, 3)  # batch sizes at which the written network is compared with the original

FILE = '''\
"""{title}

{facts}

Written by Firstlight {version}. Needs nothing but PyTorch:

    from network import build, load_weights

    network = build()
    network.load_state_dict(load_weights("weights.safetensors"))
    network.eval()
"""

{imports}

{classes}

def build():
    """Return the network before its weights are loaded: layers as PyTorch initializes them, other weights zero."""
    return {network}


def load_weights(path):
    """Read the tensors of a safetensors file: the length of the header, the header in JSON, and the numbers."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        numbers = bytearray(file.read())
    header.pop("__metadata__", None)
    types = {{"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}}
    types.update({{"I64": torch.int64, "I32": torch.int32, "U8": torch.uint8, "BOOL": torch.bool}})
    weights = {{}}
    for name, entry in header.items():
        start, end = entry["data_offsets"]
        values = torch.frombuffer(numbers[start:end], dtype=types[entry["dtype"]])
        weights[name] = values.reshape(entry["shape"])
    return weights


if __name__ == "__main__":
    network = build()
    weights = Path(__file__).with_name("weights.safetensors")
    if weights.exists():
        network.load_state_dict(load_weights(weights))
    network.eval()
    inputs = torch.zeros(1, {shape})
    print("inputs", tuple(inputs.shape), "outputs", tuple(network(inputs).shape))
'''
UNPACKED = '''\
def unpacked(shape, dtype, text):
    """Return a constant that this file holds in compressed form."""
    return torch.frombuffer(bytearray(zlib.decompress(base64.b64decode(text))), dtype=dtype).reshape(shape)
'''


def write_source(network: nn.Module, inputs: Tensor, title: str, facts: list[str], version: str) -> str:
    """Return the text of a Python file whose network gives the same outputs, in evaluation and in training."""
    try:
        _refuse_shared_weights(network)
        found = Classes(network, *trace_all(network, inputs[:1].expand(BATCHES[0], *inputs.shape[1:])))
        parts, built = found.classes, found.network
    except UnsupportedError as error:
        raise _refusal(str(error)) from error
    if any("unpacked(" in part for part in parts):
        parts.insert(0, UNPACKED)
    classes = "\n\n".join(parts)
    body = classes + built
    standard = ["json", *(name for name in ("base64", "math", "zlib") if f"{name}." in body)]
    imports = [f"import {name}" for name in sorted(standard)]
    imports += ["from collections import OrderedDict"] * ("OrderedDict(" in body) + ["from pathlib import Path", ""]
    imports += ["import torch", *["import torch.nn.functional as F"] * ("F." in body), "from torch import nn"]
    escaped = (fact.replace("\\", "\\\\").replace('"', "'") for fact in facts)  # they become part of a docstring
    text = FILE.format(
        title=title,
        facts="\n".join(line for fact in escaped for line in textwrap.wrap(fact, 110, break_on_hyphens=False)),
        version=version,
        imports="\n".join(imports) + "\n",
        classes=classes,
        network=built,
        shape=", ".join(map(str, inputs.shape[1:])),
    )
    _check(text, network, inputs)
    return text


def _refusal(reason: str) -> UnsupportedError:
    return UnsupportedError(
        f"This network cannot be written as Python source: {reason}. Leave out source; the other formats still "
        "work: --format json,safetensors,onnx."
    )


def _refuse_shared_weights(network: nn.Module) -> None:
    seen: dict[int, str] = {}
    for name, weight in network.named_parameters(remove_duplicate=False):
        other = seen.setdefault(id(weight), name)
        if other != name:
            raise UnsupportedError(f"{other} and {name} share one weight")


def _check(text: str, network: nn.Module, inputs: Tensor) -> None:
    """Run the file and compare its network with the original."""
    names: dict[str, Any] = {"__name__": "network", "__file__": "network.py"}
    try:
        with torch.random.fork_rng():
            exec(compile(text, "network.py", "exec"), names)
            written: nn.Module = names["build"]()
        written.load_state_dict(network.state_dict())
        original = copy.deepcopy(network)
        for training in (False, True):
            for size in BATCHES:
                _compare(original.train(training), written.train(training), inputs[:size])
    except AssertionError as error:
        raise _refusal(
            "the written code gives different outputs, as happens with hooks and other code outside the forward pass"
        ) from error
    except Exception as error:  # code written for a user's module may fail in any way
        raise _refusal(f"the written code fails with {type(error).__name__}: {error}") from error


@torch.no_grad()
def _compare(original: nn.Module, written: nn.Module, inputs: Tensor) -> None:
    outputs = []
    for network in (original, written):
        with torch.random.fork_rng():
            torch.manual_seed(0)  # for dropout
            outputs.append(network(inputs))
    torch.testing.assert_close(outputs[1], outputs[0], rtol=0, atol=0, equal_nan=True)
