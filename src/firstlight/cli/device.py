"""`firstlight device`: the devices whose latency can be estimated, and models of your own devices."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from firstlight.cli.derive import command_group
from firstlight.cli.printing import print_json, say

device = command_group("device", "List the devices whose latency can be estimated, and fit models of your own.")


@device.command(name="list")
def list_devices(*, json: bool = False) -> None:
    """List the devices whose latency can be estimated.

    For example:
    firstlight device list
    firstlight search nasbench201 --max-latency 20 --latency device:raspi4

    Args:
        json: Print only JSON, for use in scripts.
    """
    from firstlight.scoring.devices.model import device_names, find_device
    from firstlight.views.console.terminal import console, show_table

    known = [find_device(name) for name in device_names()]
    if json:
        print_json([model.to_dict() for model in known])
        return
    show_table(
        ("device", "Spearman", "relative error", "95% interval", "what it is"),
        (
            (
                model.name,
                f"{model.spearman:.2f}",
                f"{model.error:.1%}",
                f"{model.low:.2f} to {model.high:.2f} times",
                model.title,
            )
            for model in known
        ),
    )
    console.print("\nDescribe one: firstlight device show raspi4. Use it: --latency device:raspi4")


@device.command
def show(name: str, /, *, json: bool = False) -> None:
    """Describe the latency model of a device: where it comes from, how good it is, and its coefficients.

    For example:
    firstlight device show raspi4

    Args:
        name: A device of `firstlight device list`, or the file of a model.
        json: Print only JSON, for use in scripts.
    """
    from firstlight.scoring.devices.model import find_device
    from firstlight.views.console.terminal import show_facts

    model = find_device(name)
    if json:
        print_json(model.to_dict())
        return
    rows = {
        "fitted on": f"{model.networks:,} networks",
        "measurements": model.source,
        "Spearman": f"{model.spearman:.3f} in cross-validation",
        "relative error": f"{model.error:.1%} in cross-validation",
        "95% interval": f"{model.low:.2f} to {model.high:.2f} times the estimate",
        "networks": "as formats simplify them" if model.simplified else "as PyTorch runs them",
        **{feature: f"{value:.4g} ms" for feature, value in model.coefficients.items() if value},
    }
    show_facts(model.name, model.title, [], rows)


@device.command
def fit(
    path: Path,
    /,
    *,
    name: str,
    title: str = "",
    out: Annotated[Path | None, Parameter(name=("--out", "-o"))] = None,
    json: bool = False,
) -> None:
    """Fit the latency model of a device of yours to networks that you have measured there.

    The file has a line for each network (20 or more): space, architecture, milliseconds and, if you like, skeleton.

    For example:
    firstlight device fit measured.csv --name mine
    firstlight search nasbench201 --max-latency 20 --latency device:mine.json

    Args:
        path: A CSV file of measured networks.
        name: Name of the device.
        title: What it is, such as "My board, TensorFlow Lite 2.16".
        out: The file for the model. Default: NAME.json.
        json: Print only JSON, for use in scripts.
    """
    from firstlight.scoring.devices.model import write_model
    from firstlight.scoring.devices.results import fit_results

    model = fit_results(path, name, title)
    written = out or Path(f"{name}.json")
    write_model(model, written)
    if json:
        print_json(model.to_dict())
        return
    say(
        f"Fitted on {model.networks:,} networks: in cross-validation, Spearman {model.spearman:.3f}, relative error "
        f"{model.error:.1%}, and 95% of latencies are {model.low:.2f} to {model.high:.2f} times the estimate."
    )
    say(f"Written to {written}. Use it: --latency device:{written}")
