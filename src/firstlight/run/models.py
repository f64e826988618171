"""Scores of models of one's own: built from a seed, asked, and never in anyone's way."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

import torch
from torch import nn

from firstlight.errors import ModelError, SettingError
from firstlight.probe import Batches, Probe
from firstlight.proxies import ProxyRequest
from firstlight.run.executor import one_thread
from firstlight.run.scoring import NetworkScore, measured
from firstlight.seeds import derive

Model = nn.Module | Callable[[], nn.Module]


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Weights that are drawn here depend on the seed alone, and nobody else's random numbers change."""
    with torch.random.fork_rng():
        torch.manual_seed(derive(seed, "weights"))
        yield


def score_model(
    name: str,
    model: Model,
    batches: Batches,
    requests: Collection[ProxyRequest],
    *,
    seed: int = 0,
    device: str | None = None,
) -> NetworkScore:
    """The scores of a model, or of the one that a function returns. One that cannot even run raises `ModelError`."""
    with seeded(seed):
        network = _built(name, model)
        try:
            network = network.to(device)
        except (RuntimeError, AssertionError) as error:
            raise SettingError(f"The device {device!r} cannot be used here: {error}") from error
    with one_thread():
        try:
            probe = Probe(network, batches, seed=seed)
            cost = probe.cost()
        except ModelError as error:
            raise ModelError(f"{name}: {error}") from error
        return NetworkScore(name, measured(requests, probe), cost)


def _built(name: str, model: Model) -> nn.Module:
    try:
        network = model if isinstance(model, nn.Module) else model()
    except Exception as error:  # whatever the user's function does
        raise ModelError(f"{name}() failed: {type(error).__name__}: {error}") from error
    if not isinstance(network, nn.Module):
        raise ModelError(f"{name}() returned a {type(network).__name__}; it must return a torch.nn.Module.")
    return network
