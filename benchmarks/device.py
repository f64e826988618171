"""What a GPU would be asked to do for a score: kernels, and how often the host would wait for it.

Counted on the CPU, where copies between devices do not show.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from benchmarks.rows import Row
from torch.utils._python_dispatch import TorchDispatchMode

from firstlight.core.seeds import torch_generator
from firstlight.probe import Probe
from firstlight.proxies.requests import measure_all, parse_requests
from firstlight.spaces import SPACES

PROXIES = ("dextr", "independence", "curvature", "naswot", "jacov", "grad_norm", "grasp", "zico", "ntk_trace", "zen")
# Operations whose result the host reads before it goes on
WAITING = {"aten::_local_scalar_dense", "aten::equal", "aten::nonzero", "aten::is_nonzero", "aten::unique_dim"}


class Counting(TorchDispatchMode):
    """Counts the operations that compute something, and those that the host waits for."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.kernels = self.waits = 0

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        name, schema = func._schema.name, func._schema
        is_view = any(result.alias_info is not None and not result.alias_info.is_write for result in schema.returns)
        self.waits += name in WAITING
        self.kernels += not is_view and name not in WAITING and not name.startswith("aten::empty")
        return func(*args, **(kwargs or {}))


def rows(networks: int) -> list[Row]:
    space, rng = SPACES["nasbench201"], random.Random(0)
    generator = torch_generator(0, "batches")
    batches = [
        (torch.randn(2, 3, 32, 32, generator=generator), torch.randint(10, (2,), generator=generator)) for _ in range(4)
    ]
    drawn = [space.build(space.sample(rng)) for _ in range(networks)]
    found = []
    for name, given in [("a forward pass", None), *((name, parse_requests(name)) for name in PROXIES)]:
        counting = Counting()
        for network in drawn:
            with counting:
                if given is None:
                    with torch.no_grad():
                        network(batches[0][0])
                else:
                    measure_all(given, Probe(network, batches))
        found.append(Row("Kernels for a GPU", name, counting.kernels / networks, "kernels a score"))
        found.append(Row("Kernels for a GPU", f"{name}: the host waits", counting.waits / networks, "times a score"))
    return found
