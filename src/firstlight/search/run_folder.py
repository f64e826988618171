"""The folder of a run: whose it is, and what is written into it in the end."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from firstlight._version import __version__
from firstlight.core.errors import FirstlightError, StoreError
from firstlight.proxies import PROXIES
from firstlight.search.algorithm import AlgorithmRequest
from firstlight.search.result import RESULT_NAME, SearchResult, SearchSetting, settings_of_result, store_of_run
from firstlight.storage.records import Run, Trial
from firstlight.storage.store import Store
from firstlight.storage.tensor_files import write_whole

# Of the name of a run's folder, before the digest that tells it apart.
LONGEST_NAME = 100
ACCURACY = "validation accuracy, %"


def default_directory(search: SearchSetting) -> Path:
    """Return a folder below runs/ that the settings name, so that the same settings resume the same run."""
    settings = search.to_dict()
    digest = hashlib.blake2b(json.dumps(settings, sort_keys=True).encode(), digest_size=3).hexdigest()
    name = f"{settings['space']}-{settings['proxy']}-{settings['algorithm']}"[:LONGEST_NAME] + f"-{digest}"
    return Path("runs") / re.sub(r"[^\w.-]+", "_", name)


def begin_run(store: Store, search: SearchSetting, directory: Path | None, *, is_shared: bool) -> Run:
    """The run of this folder, or another one of it that makes something else of the same steps."""
    settings = search.to_dict()
    earlier = settings_of_result(directory) if directory and is_shared else None
    if earlier is not None:  # others share the store, so that the folder is known by its result
        _refuse_another(earlier, search, directory)
    for run in () if is_shared else store.runs():
        if not _differing(run.settings, settings):
            return run
        _refuse_another(run.settings, search, directory)
    return store.begin_run(settings, __version__, search.setting.seed)


def run_in(store: Store, directory: Path) -> Run | None:
    """The run that the folder's result is of; while there is none, the last that was begun, if any."""
    runs = store.runs()
    settings = settings_of_result(directory)
    return next((run for run in runs if run.settings == settings), runs[-1] if runs else None)


def last_search(directory: Path) -> tuple[Run, list[Trial]]:
    """The folder's run, and its networks in the order in which they were scored, as far as it is."""
    path = store_of_run(directory)
    if path.is_file():
        with Store(path) as store:
            run = run_in(store, directory)
            if run is not None:
                return run, store.trials(run)
    raise StoreError(f"{directory} holds no search. Give the folder that `firstlight search --out` has written.")


def asks_truth(settings: Mapping[str, Any]) -> bool:
    """Whether networks are judged by what they reach when trained."""
    return "target" in settings or "training" in settings


def is_turned(run: Run) -> bool:
    """Whether less of the proxy is better, so that what counts is its negative."""
    proxy = str(run.settings["proxy"])
    name = proxy.partition(":")[0]
    if name in PROXIES:
        return not PROXIES[name].higher_is_better
    # one of somebody's own, whose code is not run for this: its scores say so, as soon as there is a result
    scores = (run.result or {}).get("best", {}).get("scores", {})
    return not scores.get(proxy, {}).get("higher_is_better", True)


def merit(run: Run) -> str:
    """What charts call the score, of which more is always better."""
    if asks_truth(run.settings):
        return ACCURACY
    return f"-{run.settings['proxy']}" if is_turned(run) else str(run.settings["proxy"])


def _differing(known: dict[str, Any], settings: dict[str, Any]) -> set[str]:
    return {name for name in known.keys() | settings.keys() if known.get(name) != settings.get(name)}


def _refuse_another(known: dict[str, Any], search: SearchSetting, directory: Path | None) -> None:
    settings = search.to_dict()
    differing = _differing(known, settings)
    if differing and _share_steps(known, search):
        differing.discard("algorithm")
    if differing:
        differences = [f"{n} was {known.get(n)!r}, now {settings.get(n)!r}" for n in sorted(differing)]
        raise StoreError(
            f"The folder {directory} holds another run: {'; '.join(differences)}. "
            "Name another folder with --out, or use the earlier settings to resume that run."
        )


def _share_steps(known: dict[str, Any], search: SearchSetting) -> bool:
    """Whether both take steps through a one-shot network, of which each makes something by its own rule."""
    try:
        earlier = AlgorithmRequest.parse(str(known.get("algorithm")))
    except FirstlightError:  # of another Firstlight, or damaged: another one at any rate
        return False
    return all("one_shot" in request.algorithm.needs for request in (earlier, search.request))


def replaced_result(search: SearchSetting, directory: Path | None) -> Iterator[str]:
    """That a folder has had the result of another rule for the same steps."""
    earlier = settings_of_result(directory) if directory else None
    if earlier and (other := earlier.get("algorithm")) != str(search.request):
        yield (
            f"{RESULT_NAME} and the report of this folder were those of {other}, and are now those of "
            f"{search.request}. Run the other one again to have them back: no step is taken twice."
        )


def write_result(directory: Path, result: SearchResult, shared_store: Path | None) -> None:
    # by the way from the folder, so that both can be moved together
    place = {} if shared_store is None else {"store": os.path.relpath(shared_store, directory)}
    content = {"settings": result.setting.to_dict(), "version": __version__, **place, **result.to_dict()}
    write_whole(directory / RESULT_NAME, (json.dumps(content, indent=2) + "\n").encode())
