"""The folder of a run: which run it holds, and the result that is written to it."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firstlight._version import __version__
from firstlight.core.errors import StoreError
from firstlight.proxies import PROXIES
from firstlight.search.algorithms import ALGORITHMS
from firstlight.search.result import RESULT_NAME, SearchResult
from firstlight.search.setting import SearchSetting
from firstlight.search.summary import ARCHITECTURE_NAME
from firstlight.storage.records import Run, Trial
from firstlight.storage.store import STORE_NAME, Store, open_store
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


@dataclass(frozen=True)
class RunStore:
    """Where the scores and the result of a run are kept.

    Attributes:
        directory: The folder of the run; without one, nothing is kept.
        shared: A store that several runs may share at the same time; by default a file in the folder.
        same_versions: Whether to compute again what another version of PyTorch or another kind of processor has stored.
    """

    directory: Path | None = None
    shared: Path | None = None
    same_versions: bool = False

    def open(self) -> AbstractContextManager[Store]:
        """Open the store."""
        return open_store(self.directory, self.shared, same_versions=self.same_versions)


# Nothing is kept.
NOT_KEPT = RunStore()


def begin_run(store: Store, search: SearchSetting, storage: RunStore) -> Run:
    """Return the run of this folder, or a new one that goes on with more samples, or applies another rule to its steps.

    Raises:
        StoreError: If the folder holds another run.
    """
    settings, directory = search.to_dict(), storage.directory
    is_shared = storage.shared is not None
    earlier = settings_of_result(directory) if directory and is_shared else None
    if earlier is not None:  # others share the store, so the folder is identified by its result
        _refuse_another(earlier, search, directory)
    for run in () if is_shared else store.runs():
        if not _differing(run.settings, settings):
            return run
        _refuse_another(run.settings, search, directory)
    return store.begin_run(settings, __version__, search.setting.seed)


def run_in(store: Store, directory: Path) -> Run | None:
    """Return the run of the folder's result; while there is none, the last that was begun, if any."""
    runs = store.runs()
    settings = settings_of_result(directory)
    return next((run for run in runs if run.settings == settings), runs[-1] if runs else None)


def last_search(directory: Path) -> tuple[Run, list[Trial]]:
    """Return the folder's run, and the networks scored so far, in their order."""
    path = store_of_run(directory)
    if path.is_file():
        with Store(path) as store:
            run = run_in(store, directory)
            if run is not None:
                return run, store.trials(run)
        if not (directory / RESULT_NAME).is_file():
            raise StoreError(
                f"{directory} holds results, but no search: a comparison or a study that has not finished. Run its "
                "command again to finish it."
            )
    raise StoreError(f"{directory} holds no search. Name a folder that `firstlight search --out` has written.")


def asks_truth(settings: Mapping[str, Any]) -> bool:
    """Return whether a search with these settings goes by true performance."""
    return "target" in settings or "training" in settings


def is_turned(run: Run) -> bool:
    """Return whether lower values of the proxy are better, so that the utility is the negated value."""
    proxy = str(run.settings["proxy"])
    name = proxy.partition(":")[0]
    if name in PROXIES:
        return not PROXIES[name].higher_is_better
    # the code of someone's own proxy is not run for this: the scores of a result say so
    scores = (run.result or {}).get("best", {}).get("scores", {})
    return not scores.get(proxy, {}).get("higher_is_better", True)


def utility_name(run: Run) -> str:
    """Return what charts call the utility, of which higher is always better."""
    if asks_truth(run.settings):
        return ACCURACY
    return f"-{run.settings['proxy']}" if is_turned(run) else str(run.settings["proxy"])


def settings_of_result(directory: Path) -> dict[str, Any] | None:
    """Return the settings of the search whose result is in the folder; None if there is none."""
    settings = _content(directory).get("settings")
    if settings is not None and not isinstance(settings, dict):
        raise _damaged(directory / RESULT_NAME, f"its settings are {settings!r:.60}")
    return settings


def store_of_run(directory: Path) -> Path:
    """Return the store of the folder's run: in the folder, or where its result says that it is."""
    return directory / str(_content(directory).get("store", STORE_NAME))


def _content(directory: Path) -> dict[str, Any]:
    path = directory / RESULT_NAME
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise ValueError("it holds no result")
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(path, str(error)) from error
    return content


def _damaged(path: Path, what: str) -> StoreError:
    return StoreError(f"{path} is damaged: {what}. Move it away and run the search again; nothing is computed twice.")


def _differing(known: dict[str, Any], settings: dict[str, Any]) -> set[str]:
    return {name for name in known.keys() | settings.keys() if known.get(name) != settings.get(name)}


def _refuse_another(known: dict[str, Any], search: SearchSetting, directory: Path | None) -> None:
    settings = search.to_dict()
    differing = _differing(known, settings)
    if differing and _share_steps(known, search):
        differing.discard("algorithm")
    if search.samples > known.get("samples", math.inf):  # a replay, which then goes on
        differing.discard("samples")
    if differing:
        differences = [f"{n} was {known.get(n)!r}, now {settings.get(n)!r}" for n in sorted(differing)]
        raise StoreError(
            f"The folder {directory} holds another run: {'; '.join(differences)}. "
            "Name another folder with --out, or use the earlier settings to resume that run."
        )


def _share_steps(known: dict[str, Any], search: SearchSetting) -> bool:
    """Return whether both take steps through a one-shot network, and apply their own rules to them."""
    name, _ = ALGORITHMS.split(str(known.get("algorithm")))
    if name not in ALGORITHMS:  # what a file names as `module:name` is not imported
        return False
    return ALGORITHMS[name].takes_steps and search.algorithm.algorithm.takes_steps


def replaced_result(search: SearchSetting, directory: Path | None) -> Iterator[str]:
    """Yield a note if the folder had the result of another rule for the same steps."""
    earlier = settings_of_result(directory) if directory else None
    if earlier and (other := earlier.get("algorithm")) != str(search.algorithm):
        yield (
            f"{RESULT_NAME} and the report of this folder belonged to {other}, and now belong to "
            f"{search.algorithm}. Run {other} again to get them back: no step is taken twice."
        )


def write_architecture(directory: Path, result: SearchResult) -> None:
    """Write the text of the chosen network, by which commands name it."""
    write_whole(directory / ARCHITECTURE_NAME, result.best.architecture.encode())


def write_result(directory: Path, result: SearchResult, shared_store: Path | None) -> None:
    """Write the result to its folder."""
    # a relative path, so that both can be moved together
    place = {} if shared_store is None else {"store": os.path.relpath(shared_store, directory)}
    content = {"settings": result.setting.to_dict(), "version": __version__, **place, **result.to_dict()}
    write_architecture(directory, result)
    write_whole(directory / RESULT_NAME, (json.dumps(content, indent=2) + "\n").encode())
