"""`firstlight.score`: scores of any model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firstlight.api.common import check_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from firstlight.probe import Batches, Loss
    from firstlight.proxies.base import Proxies, Score
    from firstlight.scoring.models import Model


def score(
    model: Model,
    batches: Batches | Callable[[int], Batches],
    proxies: Proxies = ("dextr",),
    seed: int = 0,
    *,
    loss: Loss | None = None,
    logits: int | str | None = None,
    repeats: int = 1,
) -> dict[str, Score]:
    """Score an untrained network with one or more proxies.

    The model is returned unchanged. Proxies share their measurements, so scoring several at once is cheaper than one
    after the other.

    Args:
        model: The network. With `repeats`, a function that returns it.
        batches: One batch or a list of batches, or a function of a seed that returns them. A batch is a tensor of
            inputs, or a pair (inputs, targets) as a DataLoader yields it. Targets are class labels, rows of class
            probabilities, or whatever `loss` takes. A network with several inputs takes a tuple or a dictionary of
            tensors: `((a, b), targets)`, `((a, b), None)`, `{"ids": a, "mask": b}`.
        proxies: Names (`firstlight proxies` lists them), `module:name`, or proxy objects.
        seed: Random seed of the proxies, and of the model that a function returns.
        loss: The loss as a function of logits and targets. Default: cross-entropy.
        logits: Position of the logits in the output of a model that returns a tuple (an index) or a dictionary (a key).
        repeats: Score N initializations; each score is the mean, with its standard error among the parts.

    Returns:
        A score for each proxy, by name. If a proxy fails (an unsupported layer, labels outside the network's classes,
        not enough memory), the `status` of its score says so and `note` gives the cause; the other scores are not
        affected.

    Raises:
        SettingError: A name or a setting that does not exist.
        DataError: Batches that no proxy can use.
        ModelError: A model that cannot be built or run.

    Example:
        >>> import torch, firstlight
        >>> model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten())
        >>> firstlight.score(model, torch.randn(1, 3, 32, 32), proxies="params")["params"].value
        224.0
    """
    check_names(proxies=proxies)
    from firstlight.proxies.requests import parse_requests
    from firstlight.scoring.models import ModelSetting, measure_model

    name = getattr(model, "__name__", "The model")
    setting = ModelSetting(batches, loss, logits, seed, repeats=repeats)
    scores, _ = measure_model(name, model, parse_requests(proxies, plain=True), setting)
    return scores
