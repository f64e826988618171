"""Networks that predict clicks: trained once over the data, and judged by log loss and AUC on parts they never saw."""

from __future__ import annotations

import dataclasses
import inspect
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from firstlight.core.errors import DivergedError, SettingError, UnknownNameError, is_out_of_memory
from firstlight.core.seeds import derive
from firstlight.core.settings import read_settings, write_settings
from firstlight.data.clicks import ClickData
from firstlight.spaces.nasrec.shared import SharedNasRec
from firstlight.storage.outcome import Status
from firstlight.training.shared_weights import recipe_for, train_steps

NAME = "clicks"
# Rows that are judged at a time
JUDGED = 4096


@dataclass(frozen=True)
class ClickRecipe:
    """Adagrad over the training part; the rate rises over the first tenth of all steps and falls along half a cosine.

    Text form: `clicks`, or with some settings changed `clicks:batch_size=64:epochs=2`. The published
    training of found networks leaves out their layer norms, which is `layer_norm` 0; deep ones may then diverge.
    """

    epochs: int = 1
    batch_size: int = 512
    learning_rate: float = 0.12
    layer_norm: int = 1

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.batch_size < 1 or self.layer_norm not in (0, 1):
            raise SettingError(f"{self}: epochs and batch_size must be 1 or more, layer_norm 0 or 1.")
        if not (math.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise SettingError(f"{self}: learning_rate must be a number above 0.")

    @classmethod
    def parse(cls, text: str) -> ClickRecipe:
        name, *pairs = text.split(":")
        if name != NAME:
            raise UnknownNameError("recipe for click data", name, [NAME])
        return cls(**dict(read_settings("recipe", NAME, dict(inspect.signature(cls, eval_str=True).parameters), pairs)))

    def __str__(self) -> str:
        changed = [(f.name, getattr(self, f.name)) for f in dataclasses.fields(self)]
        return write_settings(NAME, tuple((n, v) for n, v in changed if v != getattr(type(self), n)))


@dataclass(frozen=True)
class Judged:
    """How well clicks of one part are predicted: log loss (lower is better) and AUC (higher is better, 0.5 by chance).

    The AUC is None where all rows have the same label.
    """

    log_loss: float
    auc: float | None
    rows: int


@dataclass(frozen=True)
class ClickResult:
    """What a network came to; without figures if `status` is not ok, and `note` says why."""

    params: int
    validation: Judged | None = None
    test: Judged | None = None
    status: Status = "ok"
    note: str = ""
    steps: int = 0
    seconds: float = field(default=0.0, compare=False)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> ClickResult:
        parts = {n: None if content[n] is None else Judged(**content[n]) for n in ("validation", "test")}
        return cls(**content | parts)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def train_clicks(
    network: nn.Module,
    data: ClickData,
    recipe: ClickRecipe,
    *,
    seed: int = 0,
    device: torch.device | str | None = None,
    watch: Callable[[int, int], None] = lambda done, total: None,
) -> ClickResult:
    """Train the network where it is and judge it. It is changed, and left in eval mode."""
    start = time.perf_counter()
    network.to(device).train()
    params = sum(parameter.numel() for parameter in network.parameters())
    per_epoch = data.rows["train"] // recipe.batch_size
    if not per_epoch:
        raise SettingError(
            f"{data.name!r} has {data.rows['train']:,} rows to learn from, which is less than one batch of "
            f"{recipe.batch_size}. Take a smaller one: --recipe {NAME}:batch_size={max(1, data.rows['train'] // 16)}."
        )
    steps = recipe.epochs * per_epoch
    batches = (
        batch
        for epoch in range(recipe.epochs)
        for batch in data.batches("train", recipe.batch_size, seed=derive(seed, "order", str(epoch)), whole=True)
    )
    try:
        train_steps(
            network,
            ((x.to(device), y.to(device)) for x, y in batches),
            steps,
            None,
            replace(recipe_for(SharedNasRec), learning_rate=recipe.learning_rate, batch_size=recipe.batch_size),
            seed=seed,
            watch=lambda done, total, loss: watch(done, total),
        )
    except DivergedError as error:
        return ClickResult(params, status="diverged", note=str(error), seconds=time.perf_counter() - start)
    validation, test = (judge_clicks(network, data, part) for part in ("validation", "test"))
    return ClickResult(params, validation, test, steps=steps, seconds=time.perf_counter() - start)


@torch.no_grad()
def judge_clicks(network: nn.Module, data: ClickData, part: str) -> Judged:
    """On all rows of a part, in float64 once the logits are there. The network is left in eval mode."""
    from sklearn.metrics import roc_auc_score  # slow to import

    network.eval()
    device = next(network.parameters()).device
    # in one place from the start: what is kept of each batch would lie between the memory of batches, which then grows
    logits = torch.empty(data.rows[part], dtype=torch.float64)
    labels = torch.empty(data.rows[part], dtype=torch.int64)
    start = 0
    for x, y in data.batches(part, JUDGED):
        logits[start : start + len(y)] = _logit(network(x.to(device))).cpu()
        labels[start : start + len(y)] = y
        start += len(y)
    log_loss = float(F.binary_cross_entropy_with_logits(logits, labels.double()))
    known = bool(torch.isfinite(logits).all()) and 0 < int(labels.sum()) < len(labels)
    return Judged(log_loss, float(roc_auc_score(labels.numpy(), logits.numpy())) if known else None, len(labels))


def failed(error: Exception, params: int = 0) -> ClickResult:
    status: Status = "out_of_memory" if is_out_of_memory(error) else "failed"
    return ClickResult(params, status=status, note=f"{type(error).__name__}: {error}")


def _logit(outputs: torch.Tensor) -> torch.Tensor:
    """That of a click: the only output, or the second over the first."""
    return outputs[:, 0] if outputs.shape[1] == 1 else outputs[:, 1] - outputs[:, 0]
