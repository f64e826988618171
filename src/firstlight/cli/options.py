"""Options that several commands share, and how their text is read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from firstlight.core.errors import SettingError

if TYPE_CHECKING:
    from firstlight.data import InputSource
    from firstlight.execution.executor import Executor
    from firstlight.proxies.base import NetworkScore
    from firstlight.scoring.service import Setting
    from firstlight.training.recipe import TrainingRecipe
    from firstlight.training.shared_warm_up import SharedWarmUp
    from firstlight.training.warm_up import WarmUp

Json = Annotated[bool, typer.Option("--json", help="Print JSON only, for machines.")]
ProxyOption = Annotated[
    str,
    typer.Option(
        "--proxy",
        help="Proxies by name, module:name of your own, separated by commas, or 'all'; see `firstlight proxies`.",
    ),
]
InputOption = Annotated[
    str,
    typer.Option(
        "--input",
        help="What networks see: synthetic, circle, digits, npz:PATH, folder:PATH, a name in $FIRSTLIGHT_DATA, clicks "
        "(criteo:FILE, avazu:FILE, kdd:FILE, clicks:FILE; see `firstlight data`).",
    ),
]
LabelsOption = Annotated[
    str, typer.Option("--labels", help="Labels of the inputs: true, or random for those who do without.")
]
BatchOption = Annotated[
    int | None,
    typer.Option("--batch-size", help="How many inputs a batch holds; default: what the proxies take.", min=1),
]
BatchesOption = Annotated[
    int | None, typer.Option("--batches", help="How many batches; default: what the proxies take.", min=1)
]
SkeletonOption = Annotated[
    str,
    typer.Option(
        "--skeleton",
        help="Settings of the network around the cell, such as channels=8,cells=2; see `firstlight spaces`.",
    ),
]
SeedOption = Annotated[int, typer.Option("--seed", help="Decides weights, inputs and samples.")]
WorkersOption = Annotated[
    int | None,
    typer.Option("--workers", help="Worker processes; 0 stays in this one. The numbers do not depend on it.", min=0),
]
ExecutorOption = Annotated[
    str,
    typer.Option(
        "--executor",
        metavar="local|ray[:SETTING=VALUE]...",
        help="Where networks are worked on: local, or ray for a cluster. Each task has 1 CPU there, or what is asked "
        "for: ray:cpus=2:gpus=0.5:memory=4G:retries=5. See docs/cluster.md.",
    ),
]
AddressOption = Annotated[
    str | None,
    typer.Option(
        "--address",
        help="With --executor ray: auto (the cluster that this machine belongs to), or HOST:PORT of another. "
        "Without it, Ray is started on this machine with so many --workers.",
    ),
]
TimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        help="Give up a network that takes a worker process longer; it counts as failed. The first one of a worker "
        "includes reading the data.",
    ),
]
WorkerMemoryOption = Annotated[
    str | None,
    typer.Option(
        "--max-worker-memory",
        metavar="AMOUNT",
        help="Give up a network that takes more, such as 4G, beyond what a worker process has when it starts "
        "(about 0.2G). Linux only.",
    ),
]
DeviceOption = Annotated[str | None, typer.Option("--device", help="Where networks are scored, as PyTorch writes it.")]

RepeatsOption = Annotated[
    int,
    typer.Option("--repeats", help="Score so many initialisations and inputs; report mean and standard error.", min=1),
]

WarmUpOption = Annotated[
    str | None,
    typer.Option(
        "--warmup",
        metavar="SHARE[:SETTING=VALUE]...",
        help="Train each network on so much of the --input's training data before it is scored: 10%, or 10%:epochs=3, "
        "10%:recipe=official. With 1%:weights=shared, and for clicks always, it is one network whose weights all "
        "inherit. See docs/warm-up.md.",
    ),
]

SameVersionsOption = Annotated[
    bool,
    typer.Option(
        "--same-versions",
        help="Compute again what was stored by another version of PyTorch or another kind of processor.",
    ),
]

# A whole number in a text; more digits than these are no number of anything here, and Python refuses to read thousands
WHOLE, POSITIVE = "[0-9]{1,9}", "[1-9][0-9]{0,8}"
# From this many networks on, starting worker processes pays
WORTH_WORKERS = 16


def read_setting(
    space: str,
    source: InputSource,
    skeleton: str,
    seed: int,
    device: str | None,
    repeats: int,
    warm_up: WarmUp | SharedWarmUp | None = None,
) -> Setting:
    from firstlight.scoring.service import Setting

    setting = Setting(space, source, seed, read_pairs(skeleton), device, repeats, warm_up=warm_up)
    setting.check()
    return setting


def choose_executor(
    workers: int | None,
    executor: str,
    address: str | None,
    networks: int = WORTH_WORKERS,
    timeout: float | None = None,
    max_worker_memory: str | None = None,
) -> Executor:
    """A few networks are quicker in this process, unless limits on each ask for others."""
    from firstlight.execution.executor import LOCAL, make_executor
    from firstlight.views.console import notices

    isolated = timeout is not None or max_worker_memory is not None
    if workers is None and executor == LOCAL and networks < WORTH_WORKERS and not isolated:
        workers = 0

    def tell(words: str) -> None:
        notices.print(words, markup=False)

    return make_executor(workers, executor, address, tell, timeout=timeout, max_worker_memory=max_worker_memory)


def read_pairs(text: str) -> tuple[tuple[str, Any], ...]:
    pairs = {}
    for item in filter(None, text.split(",")):
        name, equals, value = item.partition("=")
        if not equals or not re.fullmatch(rf"{WHOLE}(x{WHOLE})*", value.strip()):
            raise SettingError(
                f"{item!r} is not a skeleton setting. "
                "Write name=NUMBER, such as channels=8,cells=2 or input_shape=3x32x32."
            )
        numbers = tuple(int(number) for number in value.strip().split("x"))
        pairs[name.strip()] = numbers if len(numbers) > 1 else numbers[0]
    return tuple(sorted(pairs.items()))


def read_recipe(batch_size: int | None, learning_rate: float | None) -> TrainingRecipe:
    """The usual one, but for what was given."""
    from dataclasses import replace

    from firstlight.training.recipe import TrainingRecipe

    recipe = TrainingRecipe()
    if batch_size is not None:
        recipe = replace(recipe, batch_size=batch_size)
    return recipe if learning_rate is None else replace(recipe, learning_rate=learning_rate)


def read_shape(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    if not re.fullmatch(rf"{POSITIVE}([,x]{POSITIVE})*", text):
        raise SettingError(f"{text!r} is not a shape. Write positive numbers such as 3,32,32.")
    return tuple(int(number) for number in re.split("[,x]", text))


@contextmanager
def resumable(folder: Path) -> Iterator[None]:
    """Ctrl-C ends the command with a word about what is kept, and no traceback."""
    from firstlight.views.console import notices

    try:
        yield
    except KeyboardInterrupt:
        kept = f"All results so far are kept in {folder}; run the same command again to go on."
        said = f"\nInterrupted. {kept if folder.exists() else 'There were no results yet, and nothing is kept.'}"
        notices.print(said, markup=False)
        raise typer.Exit(130) from None


def fail_without_scores(networks: Iterable[NetworkScore]) -> None:
    """The exit code says whether there is anything to use."""
    if not any(score.ok for network in networks for score in network.scores.values()):
        raise typer.Exit(1)


def read_seeds(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise SettingError(f"--seed is {text!r}; write a whole number, or several such as 0,1,2.") from None
