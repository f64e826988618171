"""Scores of the user's own models."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import nn

from firstlight.core.errors import DataError, ModelError, SettingError, is_out_of_memory
from firstlight.core.seeds import seeded
from firstlight.execution.executor import one_thread
from firstlight.probe import Batches, Loss, Probe
from firstlight.probe.cost import Cost
from firstlight.probe.observe import keeping_weights
from firstlight.proxies.base import NetworkScore, Score
from firstlight.proxies.requests import ProxyRequest, measure_all
from firstlight.scoring.repeats import combine, draw_seeds

if TYPE_CHECKING:
    from firstlight.data import InputSource

Model = nn.Module | Callable[[], nn.Module]
# The shape of the images that most published results are about.
USUAL_SHAPE = (3, 32, 32)
USUAL_CLASSES = 10
IN_THIS_PROCESS = "your own models are scored in this process"


@dataclass(frozen=True)
class DrawnBatches:
    """Batches drawn from a source, as a function of a seed.

    Attributes:
        source: The name of the source, with the size and number of the batches.
        input_shape: The shape of one input of noise; by default (3, 32, 32).
    """

    source: InputSource
    input_shape: tuple[int, ...] | None = None

    @property
    def has_made_up_labels(self) -> bool:
        """True if the labels are drawn at random, so that they can be of any number of classes."""
        from firstlight.data.inputs import SYNTHETIC  # importing data takes time, and `firstlight.score` needs none

        return self.source.name == SYNTHETIC

    def __call__(self, seed: int, classes: int = USUAL_CLASSES) -> Batches:
        return _loaded(self.source, seed, self.input_shape or USUAL_SHAPE, classes)


@functools.lru_cache(maxsize=8)  # several models are shown the same
def _loaded(source: InputSource, seed: int, shape: tuple[int, ...], classes: int) -> Batches:
    from firstlight.data import load_inputs

    return load_inputs(source, seed=seed, input_shape=shape, classes=classes).batches


def refuse_for_space(space: str, **settings: object) -> None:
    """Raise if a setting is given that only the user's own models take."""
    given = [name for name, value in settings.items() if value is not None]
    if given:
        raise SettingError(
            f"Only your own models take {' and '.join(given)}. Networks of the space {space!r} return plain logits, "
            "have cross-entropy as their loss, and take the input_shape of their skeleton."
        )


@dataclass(frozen=True)
class ModelSetting:
    """How models are scored; the fields are the arguments of `firstlight.score`."""

    batches: Batches | Callable[[int], Batches]
    loss: Loss | None = None
    logits: int | str | Mapping[str, int | str] | None = None
    seed: int = 0
    device: str | None = None
    repeats: int = 1

    def probe(self, network: nn.Module, seed: int, name: str = "") -> Probe:
        """Return a probe of the network and the batches of this seed; `name` is that of the model."""
        logits = self.logits.get(name) if isinstance(self.logits, Mapping) else self.logits

        def over(batches: Batches) -> Probe:
            return Probe(network, batches, loss=self.loss, logits=logits, seed=seed)

        probe = over(self.batches(seed) if callable(self.batches) else self.batches)
        if isinstance(self.batches, DrawnBatches) and self.batches.has_made_up_labels:
            classes = probe.classes_if_known() or USUAL_CLASSES
            return probe if classes == USUAL_CLASSES else over(self.batches(seed, classes))
        return probe


def score_models(
    models: Mapping[str, Model], requests: Collection[ProxyRequest], setting: ModelSetting
) -> Iterator[NetworkScore]:
    """Score models one after the other; one that cannot be made or run gets failed scores that say why."""

    def scored(name: str, model: Model) -> NetworkScore:
        try:
            return score_model(name, model, requests, setting)
        except (DataError, SettingError):  # these concern all models alike
            raise
        except Exception as error:
            return NetworkScore(name, {str(request): Score.of_error(error) for request in requests}, None)

    return itertools.starmap(scored, models.items())


def score_model(name: str, model: Model, requests: Collection[ProxyRequest], setting: ModelSetting) -> NetworkScore:
    """Return the scores of a model and its cost; see `measure_model`."""
    scores, probe = measure_model(name, model, requests, setting)
    with one_thread(), keeping_weights(probe.model):
        return NetworkScore(name, scores, _cost_if_known(probe))


def measure_model(
    name: str, model: Model, requests: Collection[ProxyRequest], setting: ModelSetting
) -> tuple[dict[str, Score], Probe]:
    """Measure all requests on a model, or on each network that a function returns.

    Args:
        name: The name of the model in error messages.
        model: The model, or a function that returns one.
        requests: The proxies with their settings.
        setting: The batches, the seed, and the number of repeats. Each repeat calls the function with other random
            numbers.

    Returns:
        The scores by the text of the request, and the probe of the last network. An error of a single proxy is the
        status of its score.

    Raises:
        DataError: If the batches make no sense.
        ModelError: If the model cannot be made or run.
    """
    draws = []
    with one_thread():
        for seed, network in _drawn_networks(name, model, setting):
            with keeping_weights(network):
                probe = setting.probe(network, seed, name)
                scores = measure_all(requests, probe)
                if not any(score.ok for score in scores.values()):
                    _cost_if_known(probe, must_run=True)
            draws.append(scores)
    return {key: combine([draw[key] for draw in draws]) for key in draws[0]}, probe


def _cost_if_known(probe: Probe, *, must_run: bool = False) -> Cost | None:
    """Return the cost, which takes one plain forward pass; if that fails too, the model is at fault, and no proxy."""
    try:
        return probe.cost()
    except Exception as error:
        if must_run and isinstance(error, ModelError):
            raise
        return None


def _drawn_networks(name: str, model: Model, setting: ModelSetting) -> Iterator[tuple[int, nn.Module]]:
    """Yield the seed of each repeat, and the network made with it."""
    if setting.repeats > 1 and isinstance(model, nn.Module):
        raise SettingError(
            f"{name} is a model, but repeats need newly initialized weights. Pass a function that builds the model "
            "instead."
        )
    for seed in draw_seeds(setting.seed, setting.repeats):
        yield seed, made_network(name, model, seed, setting.device)


def made_network(name: str, model: Model, seed: int, device: str | None) -> nn.Module:
    """Return the model, or the one that the function makes with this seed, on the device."""
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
    neither = f"{name} is neither a model nor a function that builds one"
    if not callable(model):
        raise ModelError(f"{neither}, but a {type(model).__name__}. Name a torch.nn.Module, or a function.")
    try:
        network = model()
    except Exception as error:  # whatever the user's function does
        raise ModelError(f"{name}() failed: {type(error).__name__}: {error}") from error
    if not isinstance(network, nn.Module):
        raise ModelError(f"{neither}: it returned a {type(network).__name__}; it must return a torch.nn.Module.")
    return network
