"""Distributed training: several processes, started by `torchrun`, train one network together."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from firstlight.core.errors import SettingError


@dataclass(frozen=True)
class Ranks:
    """The rank of this process and the number of processes.

    Each process takes its slice of every batch, and the first one writes files. BatchNorm sees the slice of its own
    process only. Its running statistics are averaged after each epoch, so that all processes validate and save the same
    network.
    """

    rank: int = 0
    count: int = 1

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    @property
    def purpose(self) -> tuple[str, ...]:
        """What to add when a seed is derived for random numbers that differ between processes."""
        return () if self.count == 1 else (f"rank {self.rank}",)

    def slice(self, batch: Tensor) -> Tensor:
        """Return this process's part of a batch."""
        return batch.tensor_split(self.count)[self.rank]

    def parallel(self, model: nn.Module) -> nn.Module:
        """Wrap the network so that its gradients are averaged over all processes."""
        if self.count == 1:
            return model
        # static_graph allows unused layers; the statistics of BatchNorm are averaged after the epoch
        return DistributedDataParallel(model, static_graph=True, broadcast_buffers=False)

    def sums(self, device: torch.device, *values: float) -> list[float]:
        """Add up each of the values over all processes."""
        if self.count == 1:
            return list(values)
        together = torch.tensor(values, dtype=torch.float64, device=device)
        dist.all_reduce(together)
        return together.tolist()

    def average(self, tensors: Iterable[Tensor]) -> None:
        """Average tensors in place over all processes. Integer tensors are the same everywhere and left alone."""
        if self.count == 1:
            return
        for tensor in tensors:
            if tensor.is_floating_point():
                dist.all_reduce(tensor)
                tensor /= self.count


ALONE = Ranks()


@contextmanager
def joined(device: str | None) -> Iterator[tuple[Ranks, str | None]]:
    """Join the processes that torchrun has started.

    A process group that the script has initialized itself is used and left as it is.

    Args:
        device: The device as the user gives it.

    Yields:
        The ranks, and the device of this process.
    """
    if dist.is_available() and dist.is_initialized():
        yield Ranks(dist.get_rank(), dist.get_world_size()), device
        return
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        yield ALONE, device
        return
    on_gpu = device is not None and device.startswith("cuda")
    if on_gpu:
        device = f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
        torch.cuda.set_device(device)
    try:
        dist.init_process_group("nccl" if on_gpu else "gloo")
    except (RuntimeError, ValueError) as error:
        raise SettingError(
            f"WORLD_SIZE is {count}, but the processes did not find each other: {error}. Start them with torchrun, or "
            "unset WORLD_SIZE to train in this process only."
        ) from error
    try:
        yield Ranks(dist.get_rank(), count), device
    finally:
        dist.destroy_process_group()
