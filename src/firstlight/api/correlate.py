"""`firstlight.correlate`: how well proxies rank networks whose accuracy is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from firstlight.api.common import check_names, choose_executor, choose_folder, choose_source
from firstlight.core.amounts import in_question
from firstlight.core.errors import SettingError
from firstlight.core.events import Callback, ignore
from firstlight.core.groups import Options, takes
from firstlight.options import TRUE_LABELS, Compute, Inputs, Judging, Network, Storage, Truth, read_list

if TYPE_CHECKING:
    from firstlight.evaluation.correlate import Study
    from firstlight.proxies.base import Proxies
    from firstlight.spaces.base import Space

ALL = "all"
# Networks of a table that are compared unless said otherwise.
USUAL_SAMPLES = 300


@takes(Truth, Judging, Inputs, Network, Compute, Storage)
def correlate(
    options: Options,
    space: str | Space[Any],
    *,
    proxies: Proxies = "dextr",
    samples: int | str | None = None,
    first: int | None = None,
    exact: bool = False,
    ensemble: bool = False,
    callback: Callback = ignore,
) -> Study:
    """Compare proxies with the results of trained networks in a table.

    Scores are stored in the folder `out`: another call, also with other proxies or targets, computes only what is new.

    Args:
        space: The search space of the table.
        proxies: Proxies by name, as `module:name`, as objects, or "all".
        samples: Number of random networks, or "all". Default: 300, or all if there are fewer.
        first: Use the first N rows instead, as some papers do.
        exact: Score every network, even if it computes the same function as another.
        ensemble: Also choose up to four proxies on one half of the networks, and evaluate them on the other.
        callback: Called with an `Event` as scores are computed.

    Returns:
        Rank correlations, also at equal cost, and top networks found, with 95% intervals. With several seeds, the first
        one determines the sample, and each one gives different weights and inputs.

    Raises:
        SettingError: Options that do not exist or contradict each other.
        TableError: A table without such a column, or without networks of the space.

    Example:
        >>> import firstlight, pandas
        >>> from firstlight.tables.table import as_table
        >>> cells = [str(cell) for cell in list(firstlight.space("nasbench201"))[::1500]]
        >>> rows = pandas.DataFrame({"architecture": cells, "cifar10_test_200": range(len(cells))})
        >>> study = firstlight.correlate(
        ...     "nasbench201", table=as_table(rows, "mine"), target="cifar10_test_200", proxies="params", workers=0)
        >>> sorted(study.quality)
        ['cifar10_test_200']
    """
    check_names(space=space, proxies=proxies)
    against = options[Judging].against
    check_names(proxies=against or None)
    from firstlight.data.inputs import check_source_name
    from firstlight.evaluation.correlate import draw_sample, study, with_against
    from firstlight.proxies.requests import explain_companions, read_requests
    from firstlight.scoring.service import make_setting
    from firstlight.spaces.finding import find_space
    from firstlight.storage.store import open_store
    from firstlight.tables.table import Table, load_table
    from firstlight.training.warm_up import read_warm_up
    from firstlight.views.pages.correlation import write_correlation

    inputs, network, truth, storage = options[Inputs], options[Network], options[Truth], options[Storage]
    check_source_name("input", inputs.input)
    found_space = find_space(space)
    warm_up = read_warm_up(inputs.warmup, found_space)
    requests, compared = with_against(
        read_requests(proxies, found_space.data_kind if warm_up else None, found_space.name), against
    )
    if truth.table is None:
        raise SettingError("Name a table of trained networks: table=FILE (--table FILE). See `firstlight table`.")
    table = truth.table if isinstance(truth.table, Table) else load_table(Path(truth.table))
    targets = read_list(truth.target)
    if not targets:
        names = ", ".join(entry.name for entry in table.targets())
        raise SettingError(
            f"Name the column of {table.origin} to compare with: target=COLUMN (--target COLUMN). It has: {names}."
        )
    source = choose_source(inputs, requests, "synthetic")
    settings = [
        make_setting(space, source, network.skeleton_settings, seed, network.device, network.repeats, warm_up)
        for seed in network.seeds
    ]
    settings[0].check()
    count = _read_samples(samples)
    if count is None and first is None:
        count = min(USUAL_SAMPLES, table.frame["architecture"][table.values(targets[0]).index].nunique())
    number = None if count == ALL else int(count) if count is not None else None
    sample = draw_sample(table, settings[0], targets, samples=number, first=first, exact=exact)
    folder = choose_folder(storage, f"correlate-{settings[0].space_name}-{Path(table.origin).stem}")
    place = choose_executor(options[Compute], callback, first or len(table))
    with open_store(folder, same_versions=storage.same_versions) as store, place.staying():
        result = study(sample, settings, requests, place, store, against=compared, callback=callback)
        remarks = tuple(filter(None, (explain_companions(requests), source.remark, *store.remarks())))
        result = replace(result, remarks=remarks, directory=folder)
    result.judge(callback)
    if folder is not None:
        described = {
            "space": settings[0].space_name,
            "skeleton": str(settings[0].skeleton),
            "table": table.origin,
            "samples": f"first {first} rows" if first else ALL if count == ALL else f"{count} at random",
            "networks": "each scored as written" if exact else "those that compute the same function share a score",
            "input": f"{source.name}, {source.batches} x {source.batch_size}",
            **({} if inputs.labels == TRUE_LABELS else {"labels": inputs.labels}),
            **({} if warm_up is None else {"warm-up": str(warm_up)}),
            "seeds": ", ".join(map(str, network.seeds)),
            "repeats": network.repeats,
            **({"remarks": " ".join(result.remarks)} if result.remarks else {}),
        }
        write_correlation(result, described, folder, ensemble=ensemble)
    return result


def _read_samples(given: int | str | None) -> int | Literal["all"] | None:
    if given is None or isinstance(given, int):
        return given
    if given == ALL:
        return ALL  # type: ignore[return-value]
    if not given.isdecimal():
        raise SettingError(f"{in_question('samples')}{given!r} is not a number of networks. Write a number, or 'all'.")
    return int(given)
