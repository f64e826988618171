"""`firstlight train`: one network in earnest."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from firstlight.cli.options import Json, SeedOption, SkeletonOption, read_pairs

if TYPE_CHECKING:
    from firstlight.core.events import Callback, Event
    from firstlight.training.trained import Trained


def train(
    space: Annotated[
        str,
        typer.Argument(
            metavar="SPACE|RUN", help="The search space, or module:space of your own; or the folder of a search alone."
        ),
    ],
    data: Annotated[
        str,
        typer.Option(help="What to train on: digits, npz:PATH, folder:PATH, or a name in the folder $FIRSTLIGHT_DATA."),
    ],
    out: Annotated[Path, typer.Option(help="Folder for checkpoint, weights and result.")],
    architecture: Annotated[
        str | None,
        typer.Argument(help="An architecture, as the space writes it; that of the search, if its folder is given."),
    ] = None,
    recipe: Annotated[
        str,
        typer.Option(
            help="How to train: short, quick, hnas, nb201-200, darts-cifar or darts-imagenet. Settings are written "
            "behind the name: darts-cifar:epochs=10:batch_size=64."
        ),
    ] = "quick",
    epochs: Annotated[int | None, typer.Option(help="The recipe's setting of that name.", min=1)] = None,
    data_samples: Annotated[
        int | None, typer.Option(help="Use only so many samples, training and validation together.", min=4)
    ] = None,
    skeleton: SkeletonOption = "",
    seed: SeedOption = 0,
    device: Annotated[str | None, typer.Option("--device", help="Where to train, as PyTorch writes it.")] = None,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Log each epoch for TensorBoard as well.")] = False,
    as_json: Json = False,
) -> None:
    """Train one network, and say what it reaches on samples that played no part in it.

    Run the same command again to go on with a training that was cut off: it ends with the same weights. Under torchrun
    several processes share every batch.

    Example: firstlight train nasbench201 '|nor_conv_3x3~0|+|none~0|skip_connect~1|+|none~0|none~1|nor_conv_1x1~2|'
    --data digits --out runs/digits

    Example: firstlight train runs/found --data digits --out runs/digits

    Example: torchrun --nproc-per-node 4 -m firstlight train darts "Genotype(...)" --data folder:photos/train
    --recipe darts-cifar --skeleton channels=36,cells=20 --device cuda --out runs/photos
    """
    from firstlight.training import trainer

    settings = dict(read_pairs(skeleton))
    if architecture is None:
        space, architecture, found_with = _of_run(space)
        settings = found_with | settings
    speaks = os.environ.get("RANK", "0") == "0"  # of several processes, the first
    with _told_how_to_go_on(out), _progress(speaks) as callback:
        found = trainer.train(
            space,
            architecture,
            data,
            recipe=recipe,
            epochs=epochs,
            data_samples=data_samples,
            skeleton=settings,
            seed=seed,
            device=device,
            out=out,
            tensorboard=tensorboard,
            callback=callback,
        )
    if speaks:
        if as_json:
            typer.echo(json.dumps(found.to_dict()))
        else:
            _show(found, out)
    if not found.result.ok:
        raise typer.Exit(1)


def _of_run(folder: str) -> tuple[str, str, dict[str, Any]]:
    """Space, architecture and skeleton of what a search has chosen; shape and classes are for the data to say."""
    from firstlight.core.errors import SettingError
    from firstlight.export.runs import is_run, read_run, read_skeleton
    from firstlight.spaces.finding import find_space

    if not is_run(folder):
        raise SettingError(
            f"{folder!r} is not the folder of a search. Give one, or a space and an architecture of it: "
            "firstlight train SPACE ARCHITECTURE --data digits --out FOLDER."
        )
    facts = read_run(Path(folder))
    space = find_space(facts.space)
    if space.shown == "clicks":
        export = f"`firstlight export {folder} -o FOLDER`"
        raise SettingError(
            f"{folder} is a search of {facts.space}, whose networks predict clicks, and `train` is for images. "
            + (
                f"The search has trained the best from scratch: {export} writes the best of them with its weights."
                if facts.weights
                else f"Run the search again with --retrain 5: it trains the best five from scratch, and {export} then "
                "writes the best of them with its weights."
            )
        )
    skeleton = asdict(read_skeleton(space, facts.skeleton))
    kept = {name: value for name, value in skeleton.items() if name not in ("input_shape", "classes")}
    return facts.space, facts.architecture, kept


@contextmanager
def _told_how_to_go_on(folder: Path) -> Iterator[None]:
    """Ctrl-C ends the command with what is kept and what to type, and no traceback."""
    from firstlight.training.trained import CHECKPOINT_NAME
    from firstlight.views.console import notices, program

    try:
        yield
    except KeyboardInterrupt:
        kept = (folder / CHECKPOINT_NAME).exists()
        said = (
            f"All epochs that were finished are kept in {folder}. To go on:" if kept else "Nothing is kept. To begin:"
        )
        notices.print(f"\nInterrupted. {said}", markup=False, soft_wrap=True)
        notices.print(f"  {program()} {shlex.join(sys.argv[1:])}", markup=False, soft_wrap=True)
        raise typer.Exit(130) from None


@contextmanager
def _progress(speaks: bool) -> Iterator[Callback]:
    """Show the steps on a live line on standard error; without a terminal, print a line after each epoch."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from firstlight.views.console import notices

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("left  {task.fields[note]}"),
    )
    with Progress(*columns, console=notices, disable=not (speaks and notices.is_terminal)) as progress:
        task = progress.add_task("training", total=None, visible=False, note="")
        steps, seconds = 0, 0.0

        def saw(event: Event) -> None:
            nonlocal steps, seconds
            total, epoch = event.total or 0, event.item
            if epoch is None:
                if not steps:  # what an earlier command has done says nothing about the speed
                    progress.reset(task, total=total, completed=event.done - 1, visible=True)
                steps += 1
                progress.update(task, completed=event.done, description=event.note)
                return
            note = f"validation {100 * epoch.val_accuracy:.2f} %"
            progress.update(task, note=note)
            seconds += epoch.seconds
            if speaks and not notices.is_terminal:
                left = (total - event.done) * seconds / steps
                notices.print(
                    f"{event.note}: loss {epoch.train_loss:.4f}, training {100 * epoch.train_accuracy:.2f} %, "
                    f"{note}, {epoch.seconds:.1f} s, {left:,.0f} s left",
                    soft_wrap=True,
                )

        yield saw


def _show(found: Trained, folder: Path) -> None:
    from firstlight.training.trained import HISTORY_NAME, RESULT_NAME, WEIGHTS_NAME
    from firstlight.views.console import console

    result, samples = found.result, found.samples
    if found.known:
        console.print(f"{found.known} of {len(result.epochs)} epochs were known from before.")
    for note in found.notes:
        console.print(note, markup=False, soft_wrap=True)
    if result.best is None or result.last is None or found.test_accuracy is None:
        console.print(f"The training ended early, {result.status}: {result.note}", markup=False, soft_wrap=True)
        return
    best = result.epochs.index(result.best) + 1
    for accuracy, part, when in (
        (result.best.val_accuracy, "validation", f"best, after epoch {best}"),
        (result.last.val_accuracy, "validation", "after the last epoch"),
        (found.test_accuracy, "test", "after the last epoch"),
    ):
        console.print(f"{100 * accuracy:6.2f} % of {samples[part]:,} {part} samples, {when}")
    console.print(f"{len(result.epochs)} epochs of {samples['training']:,} samples in {result.seconds:,.1f} s.")
    console.print(f"{WEIGHTS_NAME}, {RESULT_NAME} and {HISTORY_NAME} are in {folder}", markup=False, soft_wrap=True)
