"""Figures of the layers and outputs of untrained networks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from firstlight.api.common import check_names, choose_source
from firstlight.core.errors import SettingError
from firstlight.core.groups import Options, takes
from firstlight.options import Inputs, Model, Network, read_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from firstlight.probe import Probe


@takes(Inputs, Network, Model)
def network_figure(
    options: Options,
    networks: str | Mapping[str, Any],
    architectures: Sequence[str] = (),
    *,
    show: str = "layers",
    names: str | Sequence[str] = "",
    width: str = "column",
) -> Figure:
    """Plot the layers or the outputs of untrained networks.

    Args:
        networks: A search space, or models by name.
        architectures: Architectures of the space.
        show: layers (how independent the channels of each layer are; Figure 3 of Dextr's paper) or outputs (how the
            output moves as the input moves along a circle; its Figure 1).
        names: Labels of the networks, separated by commas.
        width: Width of the figure: column (3.35 inches), page (6.9), or a number of inches.

    Returns:
        A matplotlib figure.

    Raises:
        SettingError: Options that do not exist or contradict each other.
    """
    check_names(space=networks)
    from firstlight.views import plot_layers, plot_outputs

    drawings = {"layers": plot_layers, "outputs": plot_outputs}
    if show not in drawings:
        raise SettingError(f"show (--show) is {show!r}; write {' or '.join(drawings)}.")
    return drawings[show](_named(_probes(options, networks, architectures), read_list(names)), width=width)


def _probes(options: Options, networks: str | Mapping[str, Any], architectures: Sequence[str]) -> list[Probe]:
    from firstlight.probe import Probe
    from firstlight.proxies.requests import parse_requests
    from firstlight.scoring.models import DrawnBatches, ModelSetting, made_network, refuse_for_space
    from firstlight.scoring.service import make_setting

    network, model = options[Network], options[Model]
    seed, settings = network.only_seed, network.skeleton_settings
    images = choose_source(options[Inputs], parse_requests("dextr"), "synthetic")
    if isinstance(networks, Mapping):
        if architectures or settings:
            raise SettingError("Your own models take neither architectures nor a skeleton.")
        own = ModelSetting(DrawnBatches(images, model.input_shape), logits=model.logits)  # type: ignore[arg-type]
        model.check_names(networks)
        return [own.probe(made_network(name, one, seed, network.device), seed, name) for name, one in networks.items()]
    refuse_for_space(networks, input_shape=model.input_shape, logits=model.logits)
    setting = make_setting(networks, images, settings, seed, network.device, 1)
    setting.check()
    if not architectures:
        raise SettingError("No architecture was given. List some after the space, or read them with --from FILE.")
    return [Probe(setting.build(text), setting.inputs.batches, seed=seed) for text in architectures]


def _named(probes: list[Probe], names: list[str]) -> dict[str, Probe]:
    called = names or [f"network {number}" for number in range(1, len(probes) + 1)]
    if len(set(called)) != len(called) or len(called) != len(probes):
        raise SettingError(f"The names are {', '.join(called)}; give {len(probes)} different ones.")
    return dict(zip(called, probes, strict=True))
