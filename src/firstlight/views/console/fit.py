"""What a fit found: the finalists, the verdict, and what comes next."""

from __future__ import annotations

import shlex

from firstlight.evaluation.fit.result import Fit
from firstlight.views.console.terminal import console, program, show_figures
from firstlight.views.console.verdict import row_of


def show_fit(found: Fit) -> None:
    """Print the network, a table of the finalists, the verdict, and the files."""
    best = found.best.to_dict()
    console.print(f"\nThe network, of {best['space']}:")
    console.print(best["architecture"], markup=False, soft_wrap=True)
    rows = [row_of(entry) for entry in found.finalists]
    show_figures(["network", "parameters", "validation", "test", "seeds"], rows, "network")
    console.print(found.verdict.text, markup=False, soft_wrap=True)
    effort = f"{found.screened:,} networks screened, {found.trained:,} trainings, {found.seconds:,.0f} s."
    console.print(effort, markup=False)
    if found.directory is not None:
        console.print(f"Report, weights and decisions: {found.directory}", markup=False, soft_wrap=True)
        if found.exported is not None:
            console.print(f"Exported as PyTorch source with weights: {found.exported}", markup=False, soft_wrap=True)
        folder = shlex.quote(str(found.directory))
        console.print(f"For ONNX: {program()} export {folder} -o {folder}-onnx --onnx", markup=False, soft_wrap=True)
