"""The resources of a task on a Ray cluster."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from typing import Any

from firstlight.core.amounts import parse_amount
from firstlight.core.errors import SettingError
from firstlight.core.settings import check_settings, read_settings


@dataclass(frozen=True)
class TaskNeeds:
    """The resources of each task.

    Text form: `ray`, or with settings `ray:cpus=2:memory=4G`.

    Attributes:
        cpus: CPUs of a task, also a fraction.
        gpus: GPUs of a task, also a fraction.
        memory: Memory of a task, such as "4G".
        retries: How often a task is repeated whose worker or node was lost.
        wait: Seconds to wait while no node has the resources of a task.
    """

    cpus: float = 1.0
    gpus: float = 0.0
    memory: str = "0"
    retries: int = 3
    wait: float = 300.0

    def __post_init__(self) -> None:
        check_settings("ray", tuple(vars(self).items()), {"retries": 0, "gpus": 0, "wait": 0})
        if self.cpus <= 0 or self.gpus < 0:
            raise SettingError(
                f"A task requests {self.cpus:g} CPUs and {self.gpus:g} GPUs; it needs more than 0 CPUs, and 0 or more "
                "GPUs."
            )
        if self.wait < 0:
            raise SettingError(f"ray:wait is {self.wait:g}; it must be 0 seconds or more.")
        self.bytes  # noqa: B018 - raises if the memory cannot be read

    @classmethod
    def parse(cls, text: str) -> TaskNeeds:
        """Read the text form."""
        name, *pairs = text.split(":")
        known = dict(inspect.signature(cls, eval_str=True).parameters)
        return cls(**dict(read_settings("executor", name, known, pairs)))

    @property
    def bytes(self) -> int:
        return parse_amount(self.memory, unit="B") or 0

    def at_a_time(self, resources: dict[str, float]) -> int:
        """Return how many tasks fit on a node with these resources."""
        asked = {"CPU": self.cpus, "GPU": self.gpus, "memory": self.bytes}
        return min(math.floor(resources.get(name, 0) / amount) for name, amount in asked.items() if amount)

    def __str__(self) -> str:
        gpus = f", {self.gpus:g} GPUs" if self.gpus else ""
        return f"{self.cpus:g} CPUs{gpus}" + (f", {self.bytes / 1e9:g} GB of memory" if self.bytes else "")

    def options(self) -> dict[str, Any]:
        """Return the options of a Ray task. Ray does not retry, because `RayCluster` counts the attempts."""
        memory = {"memory": self.bytes} if self.bytes else {}
        return {"num_cpus": self.cpus, "num_gpus": self.gpus, "max_retries": 0, **memory}


ONE_CPU = TaskNeeds()
