"""Scores of models of one's own: built from a seed, asked, and never in anyone's way."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

import torch
from torch import nn

from firstlight.errors import ModelError, SettingError
from firstlight.probe import Batches, Loss, Probe
from firstlight.proxies import ProxyRequest, Score, measure_all
from firstlight.run.executor import one_thread
from firstlight.run.repeats import combine, draw_seeds
from firstlight.run.scoring import NetworkScore
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
    batches: Batches | Callable[[int], Batches],
    requests: Collection[ProxyRequest],
    *,
    seed: int = 0,
    device: str | None = None,
    repeats: int = 1,
) -> NetworkScore:
    """The scores of a model and its cost; see `measure_model`."""
    scores, probe = measure_model(name, model, batches, requests, seed=seed, device=device, repeats=repeats)
    with one_thread():
        return NetworkScore(name, scores, probe.cost())


def measure_model(
    name: str,
    model: Model,
    batches: Batches | Callable[[int], Batches],
    requests: Collection[ProxyRequest],
    *,
    loss: Loss | None = None,
    logits: int | str | None = None,
    seed: int = 0,
    device: str | None = None,
    repeats: int = 1,
) -> tuple[dict[str, Score], Probe]:
    """The scores of a model, or of the one that a function returns, and where they were measured.

    With `repeats`, the function is called so often, each time with other random numbers; `batches` may be a function of
    the draw's seed. What goes wrong while a proxy measures is the status of its score; batches that make no sense raise
    `DataError`, and a model that cannot be made or run raises `ModelError`.
    """
    draws = []
    with one_thread():
        for drawn, network in _drawn_networks(name, model, seed, repeats):
            shown = batches(drawn) if callable(batches) else batches
            probe = Probe(_placed(network, device), shown, loss=loss, logits=logits, seed=drawn)
            scores = measure_all(requests, probe)
            if not any(score.ok for score in scores.values()):
                _refuse_what_cannot_run(probe)
            draws.append(scores)
    return {key: combine([draw[key] for draw in draws]) for key in draws[0]}, probe


def _refuse_what_cannot_run(probe: Probe) -> None:
    """Counting its cost is one plain forward pass: where that fails as well, no proxy is at fault."""
    try:
        probe.cost()
    except ModelError:
        raise
    except Exception:  # such as a lack of memory, of which the scores tell already
        return


def _drawn_networks(name: str, model: Model, seed: int, repeats: int) -> Iterator[tuple[int, nn.Module]]:
    """The seed of each draw, and the network that the function makes with its random numbers."""
    if repeats > 1 and isinstance(model, nn.Module):
        raise SettingError(
            f"{name} is a finished model; repeats draw its weights anew. Give the function that makes it instead."
        )
    for drawn in draw_seeds(seed, repeats):
        with seeded(drawn):
            network = _built(name, model)
        yield drawn, network


def _placed(network: nn.Module, device: str | None) -> nn.Module:
    try:
        return network.to(device)
    except (RuntimeError, AssertionError) as error:
        raise SettingError(f"The device {device!r} cannot be used here: {error}") from error


def _built(name: str, model: Model) -> nn.Module:
    try:
        network = model if isinstance(model, nn.Module) else model()
    except Exception as error:  # whatever the user's function does
        raise ModelError(f"{name}() failed: {type(error).__name__}: {error}") from error
    if not isinstance(network, nn.Module):
        raise ModelError(f"{name}() returned a {type(network).__name__}; it must return a torch.nn.Module.")
    return network
