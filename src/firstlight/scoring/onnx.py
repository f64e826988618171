"""Networks as ONNX programs, for latencies and exports."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from firstlight.core.errors import MissingExtraError

if TYPE_CHECKING:
    from torch.onnx import ONNXProgram


def onnx_program(model: nn.Module, inputs: Tensor, purpose: str, *, any_batch: bool = False) -> ONNXProgram:
    """Convert a model for inputs of this shape; with `any_batch`, for any batch size.

    `purpose` says in the error what the packages of the extra `onnx` are needed for, if they are missing.
    """
    try:
        import onnxruntime  # noqa: F401 - every export is run
        import onnxscript  # noqa: F401 - the exporter needs it
    except ImportError as error:
        raise MissingExtraError(purpose, "onnx") from error
    more: dict[str, Any] = {}
    if any_batch:
        more = {"dynamic_shapes": ({0: torch.export.Dim("batch")},), "input_names": ["input"]}
    with _quietly():
        program = torch.onnx.export(model, (inputs,), dynamo=True, verbose=False, **more)
    assert program is not None
    return program


def onnx_session(content: bytes, threads: int = 0) -> Any:
    """Return a session that runs a program on the CPU. With 0 threads, ONNX Runtime chooses how many."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


@contextmanager
def _quietly() -> Iterator[None]:
    """Silence the exporter, which warns about missing packages that are not needed."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
