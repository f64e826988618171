"""What was exported, and where."""

from __future__ import annotations

from firstlight.export.exporter import Export
from firstlight.views.console.terminal import console


def show_export(export: Export) -> None:
    if not export.is_trained:
        console.print("Not trained: the exported network has random weights. Its outputs mean nothing.", style="bold")
        console.print("Train it first (firstlight train FOLDER --data ...), or pass --weights FILE.\n", markup=False)
    console.print(export.architecture, markup=False, soft_wrap=True, style="bold")
    console.print(f"{export.cost.params:,} parameters, {export.cost.macs:,} MACs for one input")
    console.print(f"Weights: {export.weights}", markup=False, soft_wrap=True)
    if export.difference is not None:
        console.print(f"ONNX Runtime differs from PyTorch by {export.difference:.1e} of the largest output")
    for name in export.files:
        console.print(f"  {export.directory / name}", markup=False, soft_wrap=True)
