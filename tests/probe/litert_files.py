"""LiteRT files: quantized, without the long names of their tensors, and the memory that their operations need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np


def without_names(content: bytes) -> bytes:
    """Names repeat the path of a module in the network, and take more bytes than small tensors do."""
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(content, 0))
    for graph in model.subgraphs:
        for tensor in graph.tensors:
            tensor.name = b""
    builder = flatbuffers.Builder(len(content))
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def int8_file(path: Path) -> bytes:
    """Return the network with 8-bit kernels, one scale per channel, and 8-bit activations."""
    from ai_edge_litert.interpreter import Interpreter
    from ai_edge_quantizer import quantizer, recipe

    signatures = Interpreter(str(path)).get_signature_list()
    (name, signature), (given,) = next(iter(signatures.items())), Interpreter(str(path)).get_input_details()
    rng, argument = np.random.default_rng(0), signature["inputs"][0]
    batches = [{argument: rng.normal(size=given["shape"]).astype(np.float32)} for _ in range(4)]
    converter = quantizer.Quantizer(str(path))
    converter.load_quantization_recipe(recipe.static_wi8_ai8())
    return bytes(converter.quantize(converter.calibrate({name: batches})).quantized_model)


def peak_of(content: bytes) -> int:
    """Return the most bytes of tensors that are alive at the same time, in the order of the file."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    known = Interpreter(
        model_content=content, experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    )
    known.allocate_tensors()
    operations: list[dict[str, Any]] = known._get_ops_details()
    size = {
        entry["index"]: int(np.prod(entry["shape"])) * np.dtype(entry["dtype"]).itemsize
        for entry in known.get_tensor_details()
    }
    alive = {int(entry["index"]) for entry in known.get_input_details()}
    written = alive | {int(key) for operation in operations for key in operation["outputs"]}
    last = {int(key): place for place, operation in enumerate(operations) for key in operation["inputs"]}
    last |= {int(entry["index"]): len(operations) for entry in known.get_output_details()}
    peak = sum(size[key] for key in alive)
    for place, operation in enumerate(operations):
        alive |= {int(key) for key in operation["outputs"]}
        peak = max(peak, sum(size[key] for key in alive & written))
        alive = {key for key in alive if last.get(key, -1) > place}
    return peak
