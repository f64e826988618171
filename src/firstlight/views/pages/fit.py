"""The files of a fit: the trained network, its export, the result, and a page."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from firstlight._version import __version__
from firstlight.core.wording import compact
from firstlight.evaluation.fit.result import Fit
from firstlight.export.exporter import export
from firstlight.search.result import RESULT_NAME
from firstlight.spaces import SPACES
from firstlight.storage.environment import versions
from firstlight.storage.tensor_files import write_tensors, write_whole
from firstlight.training.trained import WEIGHTS_NAME
from firstlight.views.pages.blocks import draw_in_page
from firstlight.views.pages.search import PAGE_NAME
from firstlight.views.pages.template import render_page

EXPORTED = "exported"


def write_fit(found: Fit, directory: Path) -> Path | None:
    """Write weights, result, page and export; return the folder of the export, if the network is of a known space."""
    chosen = found.chosen
    if chosen.model is not None:
        write_tensors(directory / WEIGHTS_NAME, chosen.model.state_dict(), {"settings": dict(chosen.settings)})
    content = {**found.record(), "version": __version__}
    write_whole(directory / RESULT_NAME, (json.dumps(content, indent=2) + "\n").encode())
    write_whole(directory / PAGE_NAME, fit_page(found).encode())
    if str(chosen.settings["space"]) not in SPACES:
        return None
    export(directory, directory / EXPORTED, overwrite=True)
    return directory / EXPORTED


def fit_page(found: Fit) -> str:
    """Render the page."""
    record, best = found.record(), found.best.to_dict()
    setting = found.best.finalist.with_seed(0)
    drawing = setting.space.drawing(setting.space.parse(found.best.finalist.architecture), setting.skeleton)
    folder = shlex.quote(str(found.directory))
    return render_page(
        "fit.html",
        headline=found.verdict.text.partition(". ")[0].rstrip("."),
        subtitle=f"{best['test_accuracy']:.1%} on test samples, {compact(best['params'])} parameters, {best['space']}",
        facts={
            "test accuracy": f"{best['test_accuracy']:.2%}",
            "parameters": f"{best['params']:,}",
            "MACs": f"{best['macs']:,}",
            "networks screened": f"{found.screened:,}",
            "trainings": f"{found.trained:,}",
            "seconds": f"{found.seconds:,.0f}",
        },
        architecture=best["architecture"],
        graph=draw_in_page(drawing) if drawing else "",
        compared=record["compared"],
        decisions=found.decisions,
        used=found.used,
        commands_given=[f"firstlight export {folder} -o {folder}-onnx --onnx"],
        settings=record["settings"],
        versions=versions(),
    )
