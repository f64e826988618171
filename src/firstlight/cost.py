"""What a network costs to run: parameters and multiply-accumulates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry


@dataclass(frozen=True)
class Cost:
    """`macs` counts multiply-accumulates of convolutions and matrix products for one input (FLOPs / 2).

    Recurrent layers are fused kernels without a formula and count nothing.
    """

    params: int
    macs: int


class _FlopCounter(TorchDispatchMode):
    """Adds up PyTorch's own FLOP formulas; unlike `FlopCounterMode` it keeps no tally by module, which costs most."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.total = 0

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        formula: Callable[..., int] | None = flop_registry.get(func._overloadpacket)
        if formula is not None:
            self.total += formula(*args, **(kwargs or {}), out_val=out)
        return out


def measure_cost(model: nn.Module, *inputs: Tensor, **named: Tensor) -> Cost:
    """Count one forward pass of `model` on `inputs`; nothing is computed where both live on the meta device."""
    fast_path = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)  # fused kernels of attention have no formula: they count nothing
    try:
        # under inference mode, linear maps would pass by the counter
        with torch.inference_mode(False), torch.no_grad(), sdpa_kernel(SDPBackend.MATH), _FlopCounter() as counter:
            model(*inputs, **named)
    finally:
        torch.backends.mha.set_fastpath_enabled(fast_path)
    return Cost(params=sum(parameter.numel() for parameter in model.parameters()), macs=counter.total // 2)
