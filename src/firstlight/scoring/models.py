"""Scores of models of one's own: built from a seed, asked, and never in anyone's way."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from torch import nn

from firstlight.core.errors import DataError, ModelError, SettingError, is_out_of_memory
from firstlight.core.seeds import seeded
from firstlight.data import InputSource, load_inputs
from firstlight.data.inputs import SYNTHETIC
from firstlight.execution.executor import one_thread
from firstlight.probe import Batches, Loss, Probe
from firstlight.probe.cost import Cost
from firstlight.probe.observe import keeping_weights
from firstlight.proxies.base import NetworkScore, Score
from firstlight.proxies.requests import ProxyRequest, measure_all
from firstlight.scoring.repeats import combine, draw_seeds

Model = nn.Module | Callable[[], nn.Module]
# that of the images which most published results are about
USUAL_SHAPE = (3, 32, 32)
USUAL_CLASSES = 10
IN_THIS_PROCESS = "models of your own are scored in this process"


@dataclass(frozen=True)
class DrawnBatches:
    """The batches that a seed picks from the source; noise has a given shape, and labels of so many classes."""

    source: InputSource
    input_shape: tuple[int, ...] | None = None

    def __call__(self, seed: int, classes: int = USUAL_CLASSES) -> Batches:
        return _loaded(self.source, seed, self.input_shape or USUAL_SHAPE, classes)


@functools.lru_cache(maxsize=8)  # for several models
def _loaded(source: InputSource, seed: int, shape: tuple[int, ...], classes: int) -> Batches:
    return load_inputs(source, seed=seed, input_shape=shape, classes=classes).batches


def refuse_for_space(space: str, **settings: object) -> None:
    """What makes sense for models of one's own only."""
    given = [name for name, value in settings.items() if value is not None]
    if given:
        raise SettingError(
            f"Only models of your own take {' and '.join(given)}. Networks of the space {space!r} return plain logits, "
            "have cross-entropy as their loss, and take the input_shape of their skeleton."
        )


@dataclass(frozen=True)
class ModelSetting:
    """What models are asked with, in the words of `firstlight.score`; `batches` may be a function of a draw's seed."""

    batches: Batches | Callable[[int], Batches]
    loss: Loss | None = None
    logits: int | str | None = None
    seed: int = 0
    device: str | None = None
    repeats: int = 1

    def probe(self, network: nn.Module, seed: int) -> Probe:
        def over(batches: Batches) -> Probe:
            return Probe(network, batches, loss=self.loss, logits=self.logits, seed=seed)

        probe = over(self.batches(seed) if callable(self.batches) else self.batches)
        if isinstance(self.batches, DrawnBatches) and self.batches.source.name == SYNTHETIC:
            classes = probe.classes_if_known() or USUAL_CLASSES  # labels of noise are made up: of classes it can tell
            return probe if classes == USUAL_CLASSES else over(self.batches(seed, classes))
        return probe


def score_models(
    models: Mapping[str, Model], requests: Collection[ProxyRequest], setting: ModelSetting
) -> Iterator[NetworkScore]:
    """One after the other; one that cannot be made or run has failed scores that say why."""

    def scored(name: str, model: Model) -> NetworkScore:
        try:
            return score_model(name, model, requests, setting)
        except (DataError, SettingError):  # wrong for all of them alike
            raise
        except Exception as error:
            return NetworkScore(name, {str(request): Score.of_error(error) for request in requests}, None)

    return itertools.starmap(scored, models.items())


def score_model(name: str, model: Model, requests: Collection[ProxyRequest], setting: ModelSetting) -> NetworkScore:
    """The scores of a model, and its cost; see `measure_model`."""
    scores, probe = measure_model(name, model, requests, setting)
    with one_thread(), keeping_weights(probe.model):
        return NetworkScore(name, scores, _cost_if_known(probe))


def measure_model(
    name: str, model: Model, requests: Collection[ProxyRequest], setting: ModelSetting
) -> tuple[dict[str, Score], Probe]:
    """The scores of a model, or of the one that a function returns, and where they were measured.

    With `repeats`, the function is called so often, each time with other random numbers. What goes wrong while a proxy
    measures is the status of its score; batches that make no sense raise `DataError`, and a model that cannot be made
    or run raises `ModelError`.
    """
    draws = []
    with one_thread():
        for seed, network in _drawn_networks(name, model, setting):
            with keeping_weights(network):
                probe = setting.probe(network, seed)
                scores = measure_all(requests, probe)
                if not any(score.ok for score in scores.values()):
                    _cost_if_known(probe, must_run=True)
            draws.append(scores)
    return {key: combine([draw[key] for draw in draws]) for key in draws[0]}, probe


def _cost_if_known(probe: Probe, *, must_run: bool = False) -> Cost | None:
    """Counting the cost is one plain forward pass: where that fails as well, the model is at fault and no proxy."""
    try:
        return probe.cost()
    except Exception as error:
        if must_run and isinstance(error, ModelError):
            raise
        return None


def _drawn_networks(name: str, model: Model, setting: ModelSetting) -> Iterator[tuple[int, nn.Module]]:
    """The seed of each draw, and the network that the function makes with its random numbers."""
    if setting.repeats > 1 and isinstance(model, nn.Module):
        raise SettingError(
            f"{name} is a finished model; repeats draw its weights anew. Give the function that makes it instead."
        )
    for seed in draw_seeds(setting.seed, setting.repeats):
        yield seed, made_network(name, model, seed, setting.device)


def made_network(name: str, model: Model, seed: int, device: str | None) -> nn.Module:
    """The model, or the one that the function makes with the random numbers of this seed, where it is to be asked."""
    with seeded(seed):
        network = _built(name, model)
    return _placed(network, device)


def _placed(network: nn.Module, device: str | None) -> nn.Module:
    if device is None:
        return network
    try:
        return network.to(device)
    except (RuntimeError, AssertionError) as error:
        if is_out_of_memory(error):
            raise
        raise SettingError(f"The device {device!r} cannot be used here: {error}") from error


def _built(name: str, model: Model) -> nn.Module:
    if isinstance(model, nn.Module):
        return model
    neither = f"{name} is neither a model nor a function that makes one"
    if not callable(model):
        raise ModelError(f"{neither}, but a {type(model).__name__}. Name a torch.nn.Module, or a function.")
    try:
        network = model()
    except Exception as error:  # whatever the user's function does
        raise ModelError(f"{name}() failed: {type(error).__name__}: {error}") from error
    if not isinstance(network, nn.Module):
        raise ModelError(f"{neither}: it returned a {type(network).__name__}; it must return a torch.nn.Module.")
    return network
