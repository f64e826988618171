"""`firstlight.rank`: networks in order of their scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from firstlight.api.common import check_names, choose_executor, choose_source
from firstlight.core.errors import SettingError
from firstlight.core.events import Callback, Event, ignore
from firstlight.core.groups import Options, takes
from firstlight.options import TRUE_LABELS, Compute, Inputs, Model, Network

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from firstlight.probe import Batches
    from firstlight.proxies.base import NetworkScore, Proxies, Proxy
    from firstlight.proxies.requests import ProxyRequest
    from firstlight.scoring.models import Model as OwnModel
    from firstlight.search.ranking import Ranking
    from firstlight.spaces.base import Architecture, Space

SYNTHETIC = "synthetic"


@takes(Inputs, Network, Model, Compute)
def rank(
    options: Options,
    networks: str | Space[Any] | Mapping[str, OwnModel],
    architectures: Iterable[str | Architecture] | Batches | Callable[[int], Batches] = (),
    *,
    samples: int = 0,
    proxies: Proxies | None = None,
    by: str | Proxy | None = None,
    callback: Callback = ignore,
) -> Ranking:
    """Rank networks by a proxy or an ensemble, and report how well the proxies agree.

    Args:
        networks: A search space (its name, `module:name`, or the object), or models by name, each an `nn.Module` or a
            function that returns one. Models are scored in this process, one after the other.
        architectures: Architectures of the space. For models, their batches, as `firstlight.score` takes them.
        samples: Also draw N different architectures at random.
        proxies: Proxies by name, as `module:name`, or as objects. Default: those of `by`, or dextr.
        by: What decides the order: a proxy, or an ensemble such as `rank_mean(dextr*2,params)`. Default: the first
            proxy.
        callback: Called with an `Event` for each scored network.

    Returns:
        The networks, best first. Networks that cannot be built or run come last, with failed scores that give the
        reason.

    Raises:
        SettingError: Options that do not exist or contradict each other.

    Example:
        >>> import firstlight
        >>> ranking = firstlight.rank("nasbench201", samples=3, proxies="params", skeleton="channels=4,cells=1")
        >>> len(ranking.rows)
        3
    """
    is_space = isinstance(networks, str) or not isinstance(networks, Mapping)
    check_names(space=networks, proxies=[proxies, by])
    from firstlight.search.ranking import rank_networks

    given: list[Any] = []
    if is_space:
        given = [architectures] if isinstance(architectures, str) else list(architectures)  # type: ignore[arg-type]
        requests, criterion, scored = _rank_space(options, networks, given, samples, proxies, by, callback)
    else:
        if samples or options[Network].skeleton or _are_texts(architectures):
            raise SettingError("Your own models take no architectures, no samples and no skeleton.")
        requests, criterion, scored = _rank_models(options, networks, architectures, proxies, by)
    found = []
    for network in scored:
        found.append(network)
        total = len(given) + samples if is_space else len(networks)
        callback(Event("scoring", len(found), total, network, architecture=network.architecture))
    return rank_networks(found, requests, criterion)


def _are_texts(given: Any) -> bool:
    """Return whether architectures were given; anything else may be batches."""
    return isinstance(given, str) or (isinstance(given, Sequence) and any(isinstance(item, str) for item in given))


def _rank_space(
    options: Options,
    networks: Any,
    given: list[Any],
    samples: int,
    proxies: Any,
    by: Any,
    callback: Callback,
) -> tuple[list[ProxyRequest], Any, Iterator[NetworkScore]]:
    from firstlight.scoring.models import refuse_for_space
    from firstlight.scoring.service import ScoreService, make_setting
    from firstlight.search.ranking import read_criteria, score_architectures
    from firstlight.spaces import is_space
    from firstlight.spaces.finding import find_space
    from firstlight.storage.store import Store
    from firstlight.training.warm_up import read_warm_up

    if not isinstance(networks, str) and not is_space(networks):
        raise SettingError(
            f"Expected the name of a space, or models by name such as {{'mine': model}}; got a "
            f"{type(networks).__name__}."
        )
    space = find_space(networks)
    inputs, network, model = options[Inputs], options[Network], options[Model]
    warm_up = read_warm_up(inputs.warmup, space)
    requests, criterion = read_criteria(proxies, by, space.data_kind if warm_up else None, space.name)
    if inputs.input is not None and not isinstance(inputs.input, str):
        raise SettingError(f"Networks of the space {space.name!r} take the name of an input, such as 'synthetic'.")
    refuse_for_space(space.name, loss=model.loss, logits=model.logits, input_shape=model.input_shape)
    source = choose_source(inputs, requests, SYNTHETIC)
    setting = make_setting(
        networks, source, network.skeleton_settings, network.only_seed, network.device, network.repeats, warm_up
    )
    setting.check()
    if source.remark:
        callback(Event("message", note=source.remark))
    place = choose_executor(options[Compute], callback, len(given) + (samples if isinstance(samples, int) else 0))

    def scores() -> Iterator[NetworkScore]:
        with Store(":memory:") as store:
            yield from score_architectures(ScoreService(setting, requests, place, store), given, samples)

    return requests, criterion, scores()


def _rank_models(
    options: Options, models: Any, batches: Any, proxies: Any, by: Any
) -> tuple[list[ProxyRequest], Any, Iterator[NetworkScore]]:
    from firstlight.execution.executor import refuse_isolation
    from firstlight.scoring.models import IN_THIS_PROCESS, DrawnBatches, ModelSetting, score_models
    from firstlight.search.ranking import read_criteria
    from firstlight.training.warm_up import WARMED_BY_OWNER

    inputs, network, model, compute = options[Inputs], options[Network], options[Model], options[Compute]
    requests, criterion = read_criteria(proxies, by, None)
    refuse_isolation(IN_THIS_PROCESS, compute.timeout, compute.max_worker_memory)
    if inputs.warmup is not None:
        raise SettingError(WARMED_BY_OWNER)
    model.check_names(models)
    if not models:
        raise SettingError("There is nothing to rank. Give models by name, or the name of a space.")
    follows = not (isinstance(batches, (tuple, list)) and not batches)
    given = batches if follows else inputs.input
    if follows and inputs.input is not None:
        raise SettingError("The batches are given twice: after the models and as input. Leave one out.")
    shown: Any
    if given is None or isinstance(given, str):
        shown = DrawnBatches(choose_source(inputs, requests, SYNTHETIC), model.input_shape)  # type: ignore[arg-type]
    elif (inputs.batch_size, inputs.num_batches, model.input_shape, inputs.labels) != (None, None, None, TRUE_LABELS):
        raise SettingError(
            "Your own batches already have a size, number, shape and labels; batch_size, num_batches, input_shape "
            "and labels are for inputs by name, such as 'synthetic'."
        )
    else:
        shown = given
    setting = ModelSetting(shown, model.loss, model.logits, network.only_seed, network.device, network.repeats)
    return requests, criterion, score_models(models, requests, setting)
