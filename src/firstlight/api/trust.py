"""`firstlight.trust`: which proxy to use on your own data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firstlight.api.common import check_names, choose_executor, choose_folder
from firstlight.core.errors import SettingError
from firstlight.core.events import Callback, ignore
from firstlight.core.groups import Options, takes
from firstlight.options import Baselines, Compute, Judging, Network, Storage, Training

if TYPE_CHECKING:
    from firstlight.evaluation.trust import Trust
    from firstlight.proxies.base import Proxies
    from firstlight.spaces.base import Space


@takes(Training, Judging, Baselines, Network, Compute, Storage)
def trust(
    options: Options,
    space: str | Space[Any],
    *,
    train: int = 24,
    proxies: Proxies = "all",
    callback: Callback = ignore,
) -> Trust:
    """Find out which proxy to trust on your data: train a few random networks, and see which proxy predicted best.

    Run the same call again to resume: no network is trained twice. A smaller skeleton makes it faster.

    With a `baseline`, plain networks as large as the largest of the random ones are trained alike.

    Args:
        space: The search space.
        train: Number of random networks to train.
        proxies: Proxies to choose from, by name, as `module:name`, as objects, or "all".
        callback: Called with an `Event` as networks are trained and scored.

    Returns:
        Which proxy or ensemble to use, how well it can be expected to rank networks it was not chosen on, and whether
        the sample is too small to tell.

    Raises:
        SettingError: Options that do not exist or contradict each other.

    Example:
        >>> import firstlight
        >>> found = firstlight.trust(
        ...     "nasbench201", data="digits@16", train=10, epochs=1, proxies="params,dextr", data_samples=100,
        ...     skeleton="channels=4,cells=1", workers=0)
        >>> len(found.evaluations)
        10
    """
    check_names(space=space, proxies=proxies)
    check_names(proxies=options[Judging].against or None)
    from firstlight.data.inputs import check_source_name
    from firstlight.evaluation.baselines import check_baselines
    from firstlight.evaluation.correlate import with_against
    from firstlight.evaluation.trust import train_and_compare
    from firstlight.evaluation.validated import validate_beside
    from firstlight.proxies.requests import parse_requests
    from firstlight.scoring.service import make_setting, source_for
    from firstlight.spaces.in_space import in_space
    from firstlight.storage.store import open_store
    from firstlight.training.job import EvaluationSetting
    from firstlight.training.recipes import read_recipe
    from firstlight.views.pages.trust import write_trust

    training, network, storage = options[Training], options[Network], options[Storage]
    if training.data is None:
        raise SettingError("Name the data to train on: data=NAME (--data digits, --data folder:photos).")
    check_source_name("data", training.data)
    recipe = read_recipe(training.recipe, training.epochs).recipe
    settings = EvaluationSetting(
        **in_space(space),
        source_name=training.data,
        recipe=recipe,
        seed=network.only_seed,
        skeleton_settings=tuple(sorted(network.skeleton_settings.items())),
        samples=training.data_samples,
        device=network.device,
    )
    plain = options[Baselines].names_or_models
    check_baselines(plain)
    asked = [entry.for_space(settings.space_name) for entry in parse_requests(proxies)]
    requests, compared = with_against(asked, options[Judging].against)
    data = settings.dataset
    source = source_for(requests, training.data).fitting(len(data.x_train) + len(data.x_val))
    scoring = make_setting(space, source, network.skeleton_settings, network.only_seed, network.device, 1)
    name = Path(training.data.partition(":")[2]).stem or training.data
    folder = choose_folder(storage, f"trust-{settings.space_name}-{name}")
    place = choose_executor(options[Compute], callback)
    with open_store(folder, same_versions=storage.same_versions) as store, place.staying():
        found = train_and_compare(settings, scoring, requests, train, place, store, against=compared, callback=callback)
        if plain:
            networks, seeds = [entry.architecture for entry in found.evaluations], options[Baselines].baseline_seeds
            found = replace(found, baselines=validate_beside(networks, settings, plain, seeds, place, store))
        remarks = tuple(filter(None, (source.remark, *store.remarks())))
        found = replace(found, study=replace(found.study, remarks=remarks, directory=folder))
    found.study.judge(callback)
    if folder is not None:
        described = {
            "space": settings.space_name,
            "skeleton": str(settings.skeleton),
            "data": f"{training.data}: {len(data.x_train)} to train on, {len(data.x_val)} to validate on",
            "training": str(recipe),
            "seed": network.only_seed,
            **({"remarks": " ".join(remarks)} if remarks else {}),
        }
        write_trust(found, described, folder)
    return found
