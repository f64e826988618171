"""Several processes that train one network together, as `torchrun` starts them."""

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
    """Which of how many processes this is. Each takes its slice of every batch, and the first writes files.

    BatchNorm sees the slice of its process only. What it has gathered is averaged after each epoch, so that all
    processes have the same network whenever it is judged or kept.
    """

    rank: int = 0
    count: int = 1

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    @property
    def purpose(self) -> tuple[str, ...]:
        """What seeds of random numbers that differ between processes are derived from besides."""
        return () if self.count == 1 else (f"rank {self.rank}",)

    def slice(self, batch: Tensor) -> Tensor:
        return batch.tensor_split(self.count)[self.rank]

    def parallel(self, model: nn.Module) -> nn.Module:
        """The same network, whose gradients become the mean of those of all processes."""
        if self.count == 1:
            return model
        # static_graph minds no layers that nothing comes out of; statistics of BatchNorm are averaged after the epoch
        return DistributedDataParallel(model, static_graph=True, broadcast_buffers=False)

    def sums(self, device: torch.device, *values: float) -> list[float]:
        """Each of the values, added up over all processes."""
        if self.count == 1:
            return list(values)
        together = torch.tensor(values, dtype=torch.float64, device=device)
        dist.all_reduce(together)
        return together.tolist()

    def average(self, tensors: Iterable[Tensor]) -> None:
        """In place. What is counted in whole numbers is the same everywhere, and left alone."""
        if self.count == 1:
            return
        for tensor in tensors:
            if tensor.is_floating_point():
                dist.all_reduce(tensor)
                tensor /= self.count


ALONE = Ranks()


@contextmanager
def joined(device: str | None) -> Iterator[tuple[Ranks, str | None]]:
    """Within it, this process works with the others that torchrun has started, on the device that is its own.

    In a script that has joined them by itself, that is left as it is.
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
            "unset WORLD_SIZE to train in this process alone."
        ) from error
    try:
        yield Ranks(dist.get_rank(), count), device
    finally:
        dist.destroy_process_group()
