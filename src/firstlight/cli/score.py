"""`firstlight score`: scores of given architectures, or of a model of one's own."""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from firstlight.cli.options import (
    BatchesOption,
    BatchOption,
    DeviceOption,
    InputOption,
    Json,
    ProxyOption,
    SeedOption,
    SkeletonOption,
    WorkersOption,
    choose_executor,
    read_setting,
    read_shape,
)
from firstlight.errors import FirstlightError, ModelError, SettingError

if TYPE_CHECKING:
    from torch import nn

    from firstlight.data import InputSource
    from firstlight.proxies import ProxyRequest
    from firstlight.run.executor import Executor
    from firstlight.run.scoring import NetworkScore, Setting
    from firstlight.spaces import Architecture


def score(
    target: Annotated[
        str,
        typer.Argument(
            metavar="SPACE|MODULE:FACTORY", help="A search space, or a function of yours that returns an nn.Module."
        ),
    ],
    architectures: Annotated[
        list[str] | None, typer.Argument(metavar="[ARCH]...", help="Architectures of the space.")
    ] = None,
    proxy: ProxyOption = "dextr",
    input: InputOption = "synthetic",
    batch_size: BatchOption = None,
    batches: BatchesOption = None,
    input_shape: Annotated[
        str, typer.Option(help="Shape of one synthetic input, for a model of your own.")
    ] = "3,32,32",
    source: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="FILE|-", help="Read architectures from a file, one a line; - is standard input."
        ),
    ] = None,
    skeleton: SkeletonOption = "",
    seed: SeedOption = 0,
    workers: WorkersOption = None,
    device: DeviceOption = None,
    as_json: Json = False,
) -> None:
    """Score architectures of a space, or a model of your own, by one or more proxies.

    Example: firstlight score nasbench201 --from architectures.txt --proxy dextr,params

    Example: firstlight score nasbench201 '|none~0|+|none~0|none~1|+|nor_conv_3x3~0|none~1|none~2|'

    Example: firstlight score mypackage.models:resnet --input-shape 3,32,32
    """
    from firstlight.proxies import parse_requests
    from firstlight.run.scoring import source_for
    from firstlight.spaces import SPACES

    requests = parse_requests(proxy)
    shown = source_for(requests, input, batch_size, batches)
    if ":" in target and target not in SPACES:
        if architectures or source:
            raise SettingError(f"{target} names a model of your own; it takes no architectures.")
        if skeleton:
            raise SettingError(f"{target} names a model of your own; it takes no skeleton.")
        _score_own_model(target, requests, shown, input_shape, seed, device, as_json)
        return
    setting = read_setting(target, shown, skeleton, seed, device)
    texts = [str(setting.space.parse(text)) for text in architectures or []]
    texts += [str(_parse_line(setting, source, *line)) for line in _read_lines(source)]
    if not texts:
        raise SettingError("No architecture was given. Name some after the space, or read them with --from FILE.")
    _score_architectures(setting, texts, requests, choose_executor(workers, len(texts)), as_json)


def _score_architectures(
    setting: Setting, texts: list[str], requests: list[ProxyRequest], executor: Executor, as_json: bool
) -> None:
    """Print in the order asked, each line as soon as all before it are known."""
    from firstlight.console import show_network, watching
    from firstlight.run.scoring import ScoreService
    from firstlight.run.store import Store

    known = {}
    position = 0
    different = list(dict.fromkeys(texts))
    with Store(":memory:") as store, watching(len(different)) as watcher:
        for network in ScoreService(setting, requests, executor, store).scores(different):
            watcher.saw(None)
            known[network.architecture] = network
            while position < len(texts) and texts[position] in known:
                ready = known[texts[position]]
                position += 1
                if as_json:
                    typer.echo(json.dumps({"space": setting.space_name, **ready.as_json()}))
                else:
                    show_network(ready)
    _fail_without_scores(known.values())


def _score_own_model(
    target: str,
    requests: list[ProxyRequest],
    shown: InputSource,
    input_shape: str,
    seed: int,
    device: str | None,
    as_json: bool,
) -> None:
    import torch

    from firstlight.console import show_network
    from firstlight.data import load_inputs
    from firstlight.probe import Probe
    from firstlight.proxies import measure_all
    from firstlight.run.executor import one_thread
    from firstlight.run.scoring import NetworkScore
    from firstlight.seeds import derive

    with torch.random.fork_rng():
        torch.manual_seed(derive(seed, "weights"))
        model = _call_factory(target)
        try:
            model = model.to(device)
        except (RuntimeError, AssertionError) as error:
            raise SettingError(f"The device {device!r} cannot be used here: {error}") from error
    inputs = load_inputs(shown, seed=seed, input_shape=read_shape(input_shape))
    probe = Probe(model, inputs.batches, seed=seed)
    with one_thread():
        network = NetworkScore(target, measure_all(requests, probe), probe.cost())
    if as_json:
        typer.echo(json.dumps({"space": None, **network.as_json()}))
    else:
        show_network(network)
    _fail_without_scores([network])


def _call_factory(target: str) -> nn.Module:
    from torch import nn

    module_name, _, name = target.partition(":")
    sys.path.insert(0, os.getcwd())  # as `python -m` does, so that a file beside the user is found
    try:
        factory = getattr(importlib.import_module(module_name), name)
    except Exception as error:  # whatever the user's module does when it is imported
        kind = type(error).__name__
        raise ModelError(f"{target!r} cannot be imported: {kind}: {error}. Write package.module:function.") from error
    try:
        model = factory if isinstance(factory, nn.Module) else factory()
    except Exception as error:
        raise ModelError(f"{target}() failed: {type(error).__name__}: {error}") from error
    if not isinstance(model, nn.Module):
        raise ModelError(f"{target}() returned a {type(model).__name__}; it must return a torch.nn.Module.")
    return model


def _read_lines(source: str | None) -> list[tuple[int, str]]:
    if source is None:
        return []
    try:
        text = sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(f"--from {source} cannot be read: {error}") from error
    return [(number, line.strip()) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]


def _parse_line(setting: Setting, source: str | None, number: int, text: str) -> Architecture:
    try:
        architecture: Architecture = setting.space.parse(text)
    except FirstlightError as error:
        raise SettingError(f"Line {number} of {source}: {error}") from error
    return architecture


def _fail_without_scores(networks: Iterable[NetworkScore]) -> None:
    """The exit code says whether there is anything to use."""
    if not any(score.ok for network in networks for score in network.scores.values()):
        raise typer.Exit(1)
