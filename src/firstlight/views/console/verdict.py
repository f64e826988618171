"""A network beside plain baselines: a table of test accuracies, and the verdict below it."""

from __future__ import annotations

from firstlight.training.finalists import Compared, FinalResult
from firstlight.views.console.terminal import console, show_figures

# Where nothing was compared
QUESTION = "Is it better than a plain network of its size? Run the same command with --baseline all."


def show_verdict(compared: Compared) -> None:
    """Print each network with its size and accuracies, and the verdict."""
    console.print()
    rows = [row_of(entry) for entry in (compared.found, *compared.baselines)]
    show_figures(["network", "parameters", "validation", "test", "seeds"], rows, "network")
    console.print(compared.verdict.text, markup=False, soft_wrap=True)


def row_of(entry: FinalResult) -> list[str]:
    """Return the row of a network: title, parameters, mean accuracies, and the number of its trainings."""
    known = entry.to_dict()
    accuracies = (known["validation_accuracy"], known["test_accuracy"])
    figures = ["-" if accuracy is None else f"{accuracy:.2%}" for accuracy in accuracies]
    return [entry.finalist.title, f"{known['params']:,}", *figures, str(len(entry.trainings))]
