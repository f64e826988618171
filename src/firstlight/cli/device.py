"""`firstlight device`: the devices whose latency can be estimated."""

from __future__ import annotations

from firstlight.cli.derive import command_group
from firstlight.cli.printing import print_json

device = command_group("device", "List the devices whose latency can be estimated, and describe their models.")


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
