"""`firstlight.fit`: from data to a trained network, and whether it is better than the plain one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firstlight.api.common import MUCH_WORK, choose_executor, choose_folder
from firstlight.core.amounts import parse_duration
from firstlight.core.errors import SettingError
from firstlight.core.events import Callback, ignore
from firstlight.core.groups import Options, takes
from firstlight.options import SKIP_DAMAGED, Compute, Limits, Storage, read_list, skipping_damaged

if TYPE_CHECKING:
    from firstlight.evaluation.fit.result import Fit


@takes(Limits, Compute, Storage)
def fit(
    options: Options,
    data: str,
    *,
    time: str | float = "30m",
    baseline: Any = None,
    skip_damaged: bool = False,
    seed: int = 0,
    device: str | None = None,
    callback: Callback = ignore,
) -> Fit:
    """Find, train and test a network for your images within limits, and say whether it is better than a plain one.

    Looks at the data, trains plain networks of several families first, lets proxies choose among thousands of others,
    trains the best of them by successive halving, chooses the recipe by the same validation samples, and trains the two
    finalists with several seeds. The test samples are used once, at the end.

    With `out`, the folder holds the trained network, its export and a page. The same call resumes an interrupted fit.

    Args:
        data: The images: digits, npz:PATH, folder:PATH, or a name in $FIRSTLIGHT_DATA.
        time: How long it may take: 30m, 90s, 1.5h.
        baseline: Your own models to compete as well, as module:name; several separated by commas.
        skip_damaged: Leave out images of a folder that cannot be read, instead of listing them in an error.
        seed: Random seed.
        device: Device to train on, such as cpu or cuda:0.
        callback: Called with an `Event` for each decision, and for progress.

    Returns:
        The network, the best plain one, and the verdict.

    Raises:
        SettingError: Options that do not exist or contradict each other.
        DataError: Data that cannot be read or learned.
        LimitError: Limits that no network keeps within.

    Example:
        >>> import firstlight
        >>> found = firstlight.fit("digits@8", time="20s", max_params="3k", workers=0)  # doctest: +SKIP
        >>> found.verdict.text  # doctest: +SKIP
        'No network was better than logistic regression on the validation samples: use that one.'
    """
    seconds = parse_duration(time, name="time")
    storage = options[Storage]
    if storage.store is not None or storage.same_versions:
        raise SettingError("A fit keeps everything in its own folder: name it with out (--out), and leave out store.")
    from firstlight.data.inputs import check_source_name
    from firstlight.evaluation.baselines import check_baselines
    from firstlight.evaluation.fit.run import FitSetting, run_fit
    from firstlight.views.pages.fit import write_fit

    data = skipping_damaged(data, skip_damaged) or data
    check_source_name("data", data)
    own = read_list(baseline) if baseline is None or isinstance(baseline, str) else _listed(baseline)
    check_baselines(own)
    place = choose_executor(options[Compute], callback, MUCH_WORK)
    asked = FitSetting(data, options[Limits], seconds, tuple(own), seed, device)
    folder = choose_folder(
        storage, f"fit-{Path(data.removesuffix(SKIP_DAMAGED).rpartition(':')[2]).stem}-{asked.digest}"
    )
    found = run_fit(asked, place, folder, callback=callback)
    return found if folder is None else replace(found, exported=write_fit(found, folder))


def _listed(given: Any) -> list[Any]:
    return list(given) if isinstance(given, (list, tuple)) else [given]
