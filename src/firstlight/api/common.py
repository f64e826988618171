"""What the calls have in common: names checked early, places to work and to keep results."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firstlight.core.errors import SettingError, UnknownNameError
from firstlight.core.events import Callback
from firstlight.options import AUTO, LOCAL, Compute, Inputs, Storage
from firstlight.proxies import ENSEMBLES, PROXIES
from firstlight.search.algorithms import ALGORITHMS
from firstlight.spaces import SPACES

if TYPE_CHECKING:
    from firstlight.data import InputSource
    from firstlight.execution.executor import Executor
    from firstlight.proxies.requests import ProxyRequest

# From this many networks on, starting worker processes pays.
WORTH_WORKERS = 16
# More than any number of networks below which workers would not pay.
MUCH_WORK = 1000


def check_names(*, space: object = None, proxies: object = None, algorithm: object = None) -> None:
    """Report a misspelled name before anything slow is imported."""
    if isinstance(space, str) and ":" not in space and space not in SPACES:
        raise UnknownNameError(SPACES.kind.name, space, SPACES)
    if isinstance(algorithm, str):
        name, *rest = algorithm.split(":")
        if _is_plain(name) and name not in ALGORITHMS and not (rest and "=" not in rest[0]):
            raise UnknownNameError(ALGORITHMS.kind.name, name, ALGORITHMS)
    texts = [proxies] if isinstance(proxies, str) else proxies if isinstance(proxies, (list, tuple)) else []
    for text in texts:
        for part in re.split(r"[(),]", text) if isinstance(text, str) else ():
            name, *rest = part.strip().partition("*")[0].split(":")
            is_module = bool(rest) and "=" not in rest[0]
            if _is_plain(name) and not is_module and name != "all" and name not in PROXIES and name not in ENSEMBLES:
                raise UnknownNameError("proxy or ensemble", name, [*PROXIES, *ENSEMBLES])


def _is_plain(name: str) -> bool:
    return re.fullmatch(r"[A-Za-z_][\w-]*", name) is not None


def choose_executor(compute: Compute, callback: Callback, networks: int = WORTH_WORKERS) -> Executor:
    """Return where to work: a few networks are quicker in this process, unless limits on each ask for workers."""
    from firstlight.execution.executor import make_executor

    workers = compute.workers
    isolated = compute.timeout is not None or compute.max_worker_memory is not None
    if workers is None and compute.executor == LOCAL and networks < WORTH_WORKERS and not isolated:
        workers = 0
    return make_executor(
        workers,
        compute.executor,
        compute.address,
        callback,
        timeout=compute.timeout,
        max_worker_memory=compute.max_worker_memory,
    )


def choose_folder(storage: Storage, name: str) -> Path | None:
    """Return the folder of the run: the one that was given, one below runs/ for "auto", or none."""
    if storage.out is None:
        return None
    return Path("runs") / re.sub(r"[^\w.-]+", "_", name) if storage.out == AUTO else Path(storage.out)


def choose_source(inputs: Inputs, requests: list[ProxyRequest], usual: str) -> InputSource:
    """Return the batches that proxies are shown."""
    from firstlight.scoring.service import source_for

    name = usual if inputs.input is None else inputs.input
    return source_for(requests, name, inputs.batch_size, inputs.num_batches, inputs.labels)


def refuse(because: str, **given: Any) -> None:
    """Raise an error that names the first option that was given and makes no sense here."""
    for name, value in given.items():
        if value is not None:
            raise SettingError(f"{name} is {value!r}, but {because}. Leave it out.")
