"""Weights and buffers in the constructor of an exported class: empty tensors to be filled, or constants."""

from __future__ import annotations

import base64
import zlib

import torch
from torch import Tensor

from firstlight.export.expressions import INDENT, Slot, Text, literal

MOST_NUMBERS = 64  # of a constant that is written uncompressed
SMALL_TYPES = (torch.uint8, torch.int16, torch.int32)


def wrapped(opening: str, inner: Text, closing: str) -> Text:
    return Text(opening + inner.text + closing, inner.values)


def empty(tensor: Tensor) -> Text:
    """Write a tensor of this shape, which the weights will fill."""
    sizes = tuple(Slot("size", size) for size in tensor.shape)
    kind = "" if tensor.dtype == torch.float32 else f", dtype={tensor.dtype}"
    return Text(f"torch.zeros({', '.join(chr(0) for _ in sizes) or '()'}{kind})", sizes)


def constant(tensor: Tensor) -> str:
    """Write a tensor with its numbers, which are not among the weights; many numbers are compressed."""
    kind = "" if tensor.dtype in (torch.float32, torch.int64) else f", dtype={tensor.dtype}"
    if tensor.numel() > 1 and bool((tensor == tensor.flatten()[0]).all()):
        return f"torch.full({tuple(tensor.shape)}, {literal(tensor.flatten()[0].item())}{kind})"
    if tensor.numel() <= MOST_NUMBERS:
        return f"torch.tensor({literal(tensor.tolist())}{kind})"
    small = next((each for each in SMALL_TYPES if torch.equal(tensor.to(each).to(tensor.dtype), tensor)), tensor.dtype)
    numbers = bytes(tensor.detach().cpu().to(small).contiguous().view(torch.uint8).flatten().tolist())
    text = base64.b64encode(zlib.compress(numbers, 9)).decode()
    lines = "".join(f'\n{INDENT * 3}"{text[start : start + 96]}"' for start in range(0, len(text), 96))
    return f"unpacked({tuple(tensor.shape)}, {small},{lines}\n{INDENT * 2}).to({tensor.dtype})"
