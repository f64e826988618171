"""Training of networks that predict clicks, evaluated by log loss and AUC on held-out rows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from firstlight.core.errors import DivergedError, SettingError, is_out_of_memory
from firstlight.core.events import Callback, ignore
from firstlight.core.seeds import derive
from firstlight.data.clicks import ClickData
from firstlight.spaces.nasrec.shared import SharedNasRec
from firstlight.storage.outcome import Status
from firstlight.training.loop import Batch, learn
from firstlight.training.recipe import TrainingRecipe
from firstlight.training.recipes import Presets, RecipeRequest, changed
from firstlight.training.shared_weights import recipe_for

NAME = "clicks"
# Rows that are evaluated at a time
EVALUATED = 4096
# As NASRec trains found networks. It leaves out their layer norms (layer_norm=0); deep networks may then diverge.
CLICKS = Presets(
    "recipe for click data",
    {NAME: recipe_for(SharedNasRec)},
    ("epochs", "batch_size", "learning_rate", "layer_norm"),
)


def click_recipe(given: str | TrainingRecipe | None = None) -> RecipeRequest:
    """Read a recipe for click data.

    Args:
        given: `clicks`, or with some settings changed `clicks:batch_size=64:epochs=2`. A recipe that was put together
            in Python may differ from it in the same settings.

    Raises:
        UnknownNameError: If there is no such recipe.
        SettingError: If the recipe changes other settings than these.
    """
    if given is None or isinstance(given, str):
        return CLICKS.parse(NAME if given is None else given)
    preset = CLICKS.recipes[NAME]
    written = frozenset(name for name, _ in changed(given, preset))
    other = sorted(written.difference(CLICKS.settings))
    if other:
        raise SettingError(
            f"The recipe sets {', '.join(f'{name}={getattr(given, name)}' for name in other)}. For click data only "
            f"{', '.join(CLICKS.settings)} can be changed, such as recipe='{NAME}:epochs=2'."
        )
    return RecipeRequest(NAME, given, preset, written)


@dataclass(frozen=True)
class ClickMetrics:
    """How well the clicks of one part are predicted.

    Args:
        log_loss: The mean log loss; lower is better.
        auc: The area under the ROC curve; higher is better, 0.5 by chance. None if all rows have the same label.
        rows: The number of rows.
    """

    log_loss: float
    auc: float | None
    rows: int


@dataclass(frozen=True)
class ClickResult:
    """The result of one training.

    Args:
        params: The number of parameters.
        validation: The metrics on the validation set; None unless the status is ok.
        test: The metrics on the test set; None unless the status is ok.
        status: Whether the training came to its end.
        note: Why it did not.
        steps: The number of steps.
        seconds: How long it took.
    """

    params: int
    validation: ClickMetrics | None = None
    test: ClickMetrics | None = None
    status: Status = "ok"
    note: str = ""
    steps: int = 0
    seconds: float = field(default=0.0, compare=False)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> ClickResult:
        """Read back what `to_dict` returns."""
        parts = {n: None if content[n] is None else ClickMetrics(**content[n]) for n in ("validation", "test")}
        return cls(**content | parts)

    @classmethod
    def of_error(cls, error: Exception) -> ClickResult:
        """Return the result of a network whose training raised an error."""
        status: Status = "out_of_memory" if is_out_of_memory(error) else "failed"
        return cls(0, status=status, note=f"{type(error).__name__}: {error}")

    def to_dict(self) -> dict[str, Any]:
        """Return all facts."""
        return asdict(self)


def train_clicks(
    network: nn.Module,
    data: ClickData,
    recipe: TrainingRecipe,
    *,
    seed: int = 0,
    device: torch.device | str | None = None,
    callback: Callback = ignore,
) -> ClickResult:
    """Train a network in place on the training set, and evaluate it on the others.

    Args:
        network: The network, which is changed and left in eval mode.
        data: The prepared click data.
        recipe: How to train; see `click_recipe`.
        seed: Seed of the order of rows.
        device: Where to train; by default where the network is.
        callback: Called with an event after each step.

    Raises:
        SettingError: If there are fewer rows than a batch has.
    """
    start = time.perf_counter()
    network.to(device)
    params = sum(parameter.numel() for parameter in network.parameters())
    per_epoch = data.rows["train"] // recipe.batch_size
    if not per_epoch:
        raise SettingError(
            f"{data.name!r} has {data.rows['train']:,} training rows, which is less than one batch of "
            f"{recipe.batch_size}. Choose a smaller one: --recipe {NAME}:batch_size="
            f"{max(2, data.rows['train'] // 16)}."
        )
    steps = recipe.epochs * per_epoch
    try:
        learn(network, _batches(data, recipe, seed), recipe, steps, callback=callback)
    except DivergedError as error:
        return ClickResult(params, status="diverged", note=str(error), seconds=time.perf_counter() - start)
    validation, test = (evaluate_clicks(network, data, part) for part in ("validation", "test"))
    return ClickResult(params, validation, test, steps=steps, seconds=time.perf_counter() - start)


def _batches(data: ClickData, recipe: TrainingRecipe, seed: int) -> Iterator[Batch]:
    for epoch in range(recipe.epochs):
        order = derive(seed, "order", str(epoch))
        yield from data.batches("train", recipe.batch_size, seed=order, whole=True)


@torch.no_grad()
def evaluate_clicks(network: nn.Module, data: ClickData, part: str) -> ClickMetrics:
    """Evaluate a network on all rows of a part, in float64 from the logits on. It is left in eval mode."""
    from sklearn.metrics import roc_auc_score  # slow to import

    network.eval()
    device = next(network.parameters()).device
    # allocated at once: small results between the memory of large batches would fragment it
    logits = torch.empty(data.rows[part], dtype=torch.float64)
    labels = torch.empty(data.rows[part], dtype=torch.int64)
    start = 0
    for x, y in data.batches(part, EVALUATED):
        logits[start : start + len(y)] = _logit(network(x.to(device))).cpu()
        labels[start : start + len(y)] = y
        start += len(y)
    log_loss = float(F.binary_cross_entropy_with_logits(logits, labels.double()))
    known = bool(torch.isfinite(logits).all()) and 0 < int(labels.sum()) < len(labels)
    return ClickMetrics(log_loss, float(roc_auc_score(labels.numpy(), logits.numpy())) if known else None, len(labels))


def _logit(outputs: torch.Tensor) -> torch.Tensor:
    """Return the logit of a click: the only output, or the second minus the first."""
    return outputs[:, 0] if outputs.shape[1] == 1 else outputs[:, 1] - outputs[:, 0]
