"""`firstlight.predict`: how well networks will do, from a few that were trained."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from firstlight.api.common import check_names, choose_executor, choose_folder, choose_source
from firstlight.core.errors import SettingError
from firstlight.core.events import Callback, Event, ignore
from firstlight.core.groups import Options, takes
from firstlight.options import Compute, Inputs, Network, Storage, read_list

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from firstlight.predict.prediction import Prediction
    from firstlight.proxies.base import Proxies
    from firstlight.spaces.base import Architecture, Space
    from firstlight.tables.table import Table

SYNTHETIC = "synthetic"


@takes(Inputs, Network, Compute, Storage)
def predict(
    options: Options,
    space: str | Space[Any],
    architectures: Iterable[str | Architecture] = (),
    *,
    labels: str | Path | Table,
    target: str | Sequence[str] | None = None,
    full_epochs: int = 50,
    samples: int = 200,
    proxies: Proxies = "naswot,synflow,dextr",
    model: str = "mixed",
    callback: Callback = ignore,
) -> Prediction:
    """Predict how well networks will do, from a few that were trained.

    The prior is the mean rank by the proxies. A model of features and proxies corrects it, as far as the labels show
    that it is wrong. Labels of few epochs are noisy and biased: they never count for more than the prior.

    Args:
        space: The search space.
        architectures: Architectures to predict.
        labels: Results of at least five trained networks: a table (FILE.parquet or FILE.csv), the folder of a run that
            trained networks, or a store.
        target: Columns of the labels. Several are numbers of epochs of the same training. Default: the only one.
        full_epochs: Labels of fewer epochs count as short trainings.
        samples: Also predict N different architectures, drawn at random.
        proxies: Proxies of the prior by name, as `module:name`, or as objects.
        model: What corrects the prior: mixed (a Gaussian process and a forest), forest, boosting, gp, or prior for
            nothing.
        callback: Called with an `Event` for each scored network.

    Returns:
        The networks, best first, with an interval for the result of each, what the prediction was fitted on, and the
        features that matter.

    Raises:
        SettingError: Options that do not exist or contradict each other.
        TableError: Labels of another space.
        DataError: Labels that nothing can be learned from: fewer than five, or all alike.

    Example:
        >>> import firstlight, pandas
        >>> from firstlight.tables.table import as_table
        >>> widths = [f"{width}:8:8:8:8" for width in (8, 16, 24, 32, 40, 48)]
        >>> rows = pandas.DataFrame({"architecture": widths, "cifar10_val_90": [80, 81, 82, 83, 84, 85]})
        >>> found = firstlight.predict(
        ...     "nats-sss", labels=as_table(rows, "mine"), samples=5, proxies="params", model="gp", workers=0)
        >>> found.networks[0].rank
        1
    """
    check_names(space=space, proxies=proxies)
    from firstlight.predict.labels import read_labels
    from firstlight.predict.models import make_model
    from firstlight.proxies.requests import read_requests
    from firstlight.scoring.service import ScoreService, make_setting
    from firstlight.search.ranking import score_architectures
    from firstlight.spaces.finding import find_space
    from firstlight.storage.store import open_store
    from firstlight.training.warm_up import read_warm_up

    make_model(model)
    if full_epochs < 0:
        raise SettingError(f"full_epochs is {full_epochs}; it must be 0 or more.")
    inputs, network, storage = options[Inputs], options[Network], options[Storage]
    found_space = find_space(space)
    warm_up = read_warm_up(inputs.warmup, found_space)
    requests = read_requests(proxies, found_space.data_kind if warm_up else None, found_space.name)
    known = read_labels(labels, found_space, read_list(target), full_epochs)
    for observed in known.observed(known.texts):
        observed.check()
    source = choose_source(inputs, requests, SYNTHETIC)
    setting = make_setting(
        space, source, network.skeleton_settings, network.only_seed, network.device, network.repeats, warm_up
    )
    setting.check()
    given = [architectures] if isinstance(architectures, str) else [str(item) for item in architectures]
    own = [str(found_space.canonical(found_space.read(text))) for text in given]
    first = list(dict.fromkeys([*known.texts, *own]))
    place = choose_executor(options[Compute], callback, len(first) + samples)
    folder = choose_folder(storage, f"predict-{setting.space_name}")
    scored = []
    with open_store(folder, None if storage.store is None else Path(storage.store)) as store:
        service = ScoreService(setting, requests, place, store)
        for result in score_architectures(service, first, samples):
            scored.append(result)
            callback(Event("scoring", len(scored), len(first) + samples, result, architecture=result.architecture))
    return _predicted(found_space, setting.skeleton, scored, known, list(map(str, requests)), model, network.only_seed)


def _predicted(
    space: Space[Any], skeleton: Any, scored: list[Any], labels: Any, names: list[str], model: str, seed: int
) -> Prediction:
    import dataclasses
    import math

    import pandas as pd

    from firstlight.core.errors import NothingScoredError
    from firstlight.predict.features import described_features, features_of
    from firstlight.predict.prediction import predict_networks

    networks = {str(space.canonical(space.parse(entry.architecture))): entry for entry in scored}
    if not any(score.ok for entry in scored for score in entry.scores.values()):
        raise NothingScoredError(f"None of {len(scored)} networks of {space.name!r} has a score by {', '.join(names)}.")
    utilities = pd.DataFrame(
        {
            name: [entry.scores[name].utility if entry.scores[name].ok else math.nan for entry in networks.values()]
            for name in names
        },
        index=list(networks),
    )
    for cost in ("params", "macs"):
        if cost not in utilities:
            amounts = [math.nan if entry.cost is None else getattr(entry.cost, cost) for entry in networks.values()]
            utilities[cost] = amounts
    features = features_of(space, list(networks), skeleton)
    described = described_features(space)
    found = predict_networks(features, utilities, labels, prior=names, model=model, described=described, seed=seed)
    unscored = {name: int(utilities[name].isna().sum()) for name in names}
    remarks = [
        f"{count} of {len(networks)} networks have no score by {name}." for name, count in unscored.items() if count
    ]
    return dataclasses.replace(found, remarks=(*found.remarks, *remarks))
