"""`firstlight train`: train one network in full."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firstlight.api.train import train as call
from firstlight.cli.derive import derived
from firstlight.cli.printing import print_json, say
from firstlight.core.errors import SettingError

if TYPE_CHECKING:
    from firstlight.core.events import Callback
    from firstlight.storage.outcome import Epoch
    from firstlight.training.trained import Trained


@derived(call, without=("repeats", "store", "same_versions"))
def train(given: dict[str, Any]) -> None:
    """Train one network, and print its accuracy on held-out samples.

    Run the same command again to resume an interrupted training: it ends with the same weights. Under torchrun, several
    processes share each batch.

    For example:
    firstlight train runs/found --data digits --out runs/digits
    firstlight train nats-sss 8:16:16:32:32 --data digits --out runs/digits
    torchrun --nproc-per-node 4 -m firstlight train darts "Genotype(...)" --data folder:photos/train \\
      --recipe darts-cifar --skeleton channels=36,cells=20 --device cuda --out runs/photos
    """
    as_json = given.pop("json", False)
    if given.get("out") is None:
        raise SettingError("Name the folder for the checkpoint, the weights and the result: --out FOLDER.")
    out = Path(given["out"])
    first = os.environ.get("RANK", "0") == "0"  # of several processes, one prints
    with _telling_how_to_resume(out), _progress(first) as callback:
        found = call(**given, callback=callback)
    if first and as_json:
        print_json(found.to_dict())
    elif first:
        _show(found, out)
    if not found.result.ok:
        sys.exit(1)


@contextmanager
def _telling_how_to_resume(folder: Path) -> Iterator[None]:
    """End on Ctrl-C with what is kept and what to type, and no traceback."""
    try:
        yield
    except KeyboardInterrupt:
        from firstlight.training.trained import CHECKPOINT_NAME
        from firstlight.views.console.terminal import notices, program

        kept = (folder / CHECKPOINT_NAME).exists()
        said = (
            f"All finished epochs are stored in {folder}. To resume:" if kept else "Nothing was stored. To start again:"
        )
        notices.print(f"\nInterrupted. {said}", markup=False, soft_wrap=True)
        notices.print(f"  {program()} {shlex.join(sys.argv[1:])}", markup=False, soft_wrap=True)
        sys.exit(130)


@contextmanager
def _progress(speaks: bool) -> Iterator[Callback]:
    """Show steps and epochs on standard error; without a terminal, print a line for each epoch."""
    from firstlight.core.events import Event, ignore
    from firstlight.views.console.progress import showing
    from firstlight.views.console.terminal import notices

    if not speaks:
        yield ignore
        return
    seconds = 0.0  # of the epochs of this run
    first: int | None = None  # the steps before it
    with showing() as display:

        def callback(event: Event) -> None:
            nonlocal seconds, first
            display(event)
            first = event.done - 1 if first is None else first
            if event.item is None:
                return
            epoch: Epoch = event.item
            seconds += epoch.seconds
            left = ((event.total or event.done) - event.done) * seconds / max(1, event.done - first)
            if not notices.is_terminal:
                notices.print(
                    f"{event.note}: loss {epoch.train_loss:.4f}, training {epoch.train_accuracy:.2%}, "
                    f"validation {epoch.val_accuracy:.2%}, {epoch.seconds:.1f} s, {left:,.0f} s left",
                    markup=False,
                    soft_wrap=True,
                )

        yield callback


def _show(found: Trained, folder: Path) -> None:
    from firstlight.training.trained import HISTORY_NAME, RESULT_NAME, WEIGHTS_NAME

    result, samples = found.result, found.samples
    if found.known:
        say(f"{found.known} of {len(result.epochs)} epochs were already complete.")
    for note in found.notes:
        say(note)
    if result.best is None or result.last is None or found.test_accuracy is None:
        say(f"The training ended early with the status {result.status}: {result.note}")
        return
    best = result.epochs.index(result.best) + 1
    for accuracy, part, when in (
        (result.best.val_accuracy, "validation", f"best, after epoch {best}"),
        (result.last.val_accuracy, "validation", "after the last epoch"),
        (found.test_accuracy, "test", "after the last epoch"),
    ):
        say(f"{100 * accuracy:6.2f}% accuracy on {samples[part]:,} {part} samples, {when}")
    say(f"{len(result.epochs)} epochs of {samples['training']:,} samples in {result.seconds:,.1f} s.")
    from firstlight.views.console.verdict import QUESTION, show_verdict

    if found.compared is not None:
        show_verdict(found.compared)
    else:
        say(QUESTION)
    say(f"{WEIGHTS_NAME}, {RESULT_NAME} and {HISTORY_NAME} are in {folder}")
