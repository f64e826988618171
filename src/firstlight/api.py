"""The library in three calls: score a model, get a space, search it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import nn

from firstlight.algorithms import Candidate, Limits
from firstlight.algorithms.objective import parse_amount
from firstlight.algorithms.runner import SearchResult, SearchSetting, run_search
from firstlight.errors import SettingError
from firstlight.probe import Batches, Loss, Probe
from firstlight.proxies import Proxy, ProxyRequest, Score, measure_all, parse_requests
from firstlight.run.executor import make_executor, one_thread
from firstlight.run.scoring import Setting, source_for
from firstlight.spaces import SPACES, Space


def score(
    model: nn.Module,
    batches: Batches,
    proxies: str | Proxy | Sequence[str | Proxy] = ("dextr",),
    seed: int = 0,
    *,
    loss: Loss | None = None,
    logits: int | str | None = None,
) -> dict[str, Score]:
    """Judge any network before it is trained.

    `batches` is a tensor of inputs, a pair (inputs, targets), or a list of these; a network with several inputs gets a
    tuple or a dictionary of tensors in place of the one. The model comes back exactly as it went in. All proxies share
    what they measure, so asking for several at once is cheaper than one after the other.

    `loss(logits, targets)` is cross-entropy unless given. `logits` names the logits in the output of a network that
    returns a tuple (a number) or a dictionary (a key).

    >>> firstlight.score(model, torch.randn(1, 3, 32, 32), proxies=("dextr", "params"))["dextr"].value
    """
    requests = parse_requests(proxies)
    probe = Probe(model, batches, loss=loss, logits=logits, seed=seed)
    with one_thread():
        return measure_all(requests, probe)


def space(name: str) -> Space[Any]:
    """The search space of this name.

    >>> cell = firstlight.space("nasbench201").sample(random.Random(0))
    """
    return SPACES[name]


def search(
    space: str,
    *,
    proxy: str = "dextr",
    algorithm: str = "random",
    samples: int = 500,
    max_params: float | str | None = None,
    max_macs: float | str | None = None,
    input: str = "synthetic",
    batch_size: int | None = None,
    batches: int | None = None,
    skeleton: Mapping[str, Any] | None = None,
    seed: int = 0,
    workers: int | None = None,
    device: str | None = None,
    out: str | os.PathLike[str] | None = None,
    watch: Callable[[Candidate], None] = lambda candidate: None,
) -> SearchResult:
    """Find the best network of a space under limits, without training any.

    With `out`, every score is kept in that folder and a run that was cut off continues where it was. `workers` is the
    number of processes, by default one for each core; the result does not depend on it. `watch` is told of each one
    as it is scored. Batches are as large and as many as the proxy takes, unless given.

    >>> firstlight.search("nasbench201", samples=100, max_params="1.0M").best.architecture
    """
    if skeleton is not None and not isinstance(skeleton, Mapping):
        raise SettingError(f'skeleton is {skeleton!r}; write a dictionary such as {{"channels": 8, "cells": 2}}.')
    request = ProxyRequest.parse(proxy)
    setting = Setting(
        space_name=space,
        source=source_for([request], input, batch_size, batches),
        seed=seed,
        skeleton_settings=tuple(sorted((skeleton or {}).items())),
        device=device,
    )
    limits = Limits(parse_amount(max_params), parse_amount(max_macs))
    wanted = SearchSetting(setting, request, algorithm, samples, limits)
    return run_search(wanted, make_executor(workers), None if out is None else Path(out), watch)
