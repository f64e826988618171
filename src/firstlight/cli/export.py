"""`firstlight export`: a network as files for use elsewhere."""

from __future__ import annotations

from typing import Any

from firstlight.api.export import export as call
from firstlight.cli.derive import derived
from firstlight.cli.printing import print_json


@derived(call)
def export(given: dict[str, Any]) -> None:
    """Write a network to a folder: a description, PyTorch source that does not need Firstlight, weights, and ONNX.

    network.py contains only this network, and its outputs are exactly those in Firstlight.

    For example:
    firstlight export runs/mine -o exported --format all
    firstlight export nats-sss 8:16:16:32:32 -o exported --format source,json
    firstlight export runs/mine -o exported --weights trained/weights.safetensors
    """
    as_json = given.pop("json", False)
    done = call(**given)
    if as_json:
        print_json(done.to_dict())
        return
    from firstlight.views.console.export import show_export

    show_export(done)
