"""`firstlight.train`: train one network in full."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firstlight.api.common import check_names
from firstlight.core.errors import SettingError
from firstlight.core.events import Callback, ignore
from firstlight.core.groups import Options, takes
from firstlight.options import Baselines, Limits, Network, Storage, Training

if TYPE_CHECKING:
    from firstlight.spaces.base import Architecture, Space
    from firstlight.training.trained import Trained

IMAGES = "images"


@takes(Training, Network, Baselines, Storage)
def train(
    options: Options,
    space: str | Space[Any],
    architecture: str | Architecture | None = None,
    *,
    tensorboard: bool = False,
    threads: int | None = None,
    callback: Callback = ignore,
) -> Trained:
    """Train one network, and measure its accuracy on held-out samples.

    With `out`, a checkpoint is stored in that folder after each epoch, and the weights at the end. The same call then
    resumes an interrupted training and ends with the same weights. Under torchrun, several processes share each batch.

    With a `baseline`, plain networks of the same size are trained alike, and `compared` says whether the network is
    better.

    Args:
        space: The search space: a name, `module:name`, or the object; or the folder of a search alone.
        architecture: An architecture of the space, as its text or as the object. Default: the one that the search in
            the folder found.
        tensorboard: Also log each epoch for TensorBoard.
        threads: Number of CPU threads. Default: one for each two billion multiply-accumulates of a batch, at most
            PyTorch's own number, so a small network is trained by one thread. More slow it down on a busy machine. The
            last digits of weights may depend on it.
        callback: Called with an `Event` after each step and each epoch.

    Returns:
        The trained network, its accuracies, and the history of the training.

    Raises:
        SettingError: Options that do not exist or contradict each other.

    Example:
        >>> import firstlight
        >>> cell = "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|none~0|none~1|nor_conv_1x1~2|"
        >>> found = firstlight.train(
        ...     "nasbench201", cell, data="digits@16", epochs=1, data_samples=100, skeleton="channels=4,cells=1")
        >>> len(found.result.epochs)
        1
    """
    training, network, storage = options[Training], options[Network], options[Storage]
    if training.data is None:
        raise SettingError("Name the data to train on: data=NAME (--data digits, --data folder:photos).")
    if architecture is not None:
        check_names(space=space)
    from firstlight.evaluation.baselines import check_baselines, judge_against, scaled_baselines
    from firstlight.execution.executor import make_executor
    from firstlight.spaces.in_space import in_space
    from firstlight.training.finalists import Finalist
    from firstlight.training.fitting import fit_recipe
    from firstlight.training.job import EvaluationSetting
    from firstlight.training.recipes import QUICK, read_recipe
    from firstlight.training.trainer import train_network

    settings = network.skeleton_settings
    if architecture is None:
        space, architecture, found_with = _of_run(space)
        settings = found_with | settings
    request = read_recipe(training.recipe, training.epochs, usual=QUICK)
    setting = EvaluationSetting(
        **in_space(space),
        source_name=training.data,
        recipe=request.recipe,
        seed=network.only_seed,
        skeleton_settings=tuple(sorted(settings.items())),
        samples=training.data_samples,
        device=network.device,
        tests_later=True,
    )
    folder = None if storage.out is None else Path(storage.out)
    asked = options[Baselines].names_or_models
    check_baselines(asked)
    found = train_network(
        setting, architecture, request, folder=folder, tensorboard=tensorboard, threads=threads, callback=callback
    )
    if not asked or not found.result.ok:
        return found
    if found.right is None:
        raise SettingError(
            "A comparison needs the answer to each test sample, which several processes and earlier versions do not "
            "keep. Train in a new folder (--out), without torchrun."
        )
    parsed = setting.space.read(architecture) if isinstance(architecture, str) else architecture
    size = Limits(max_params=setting.space.cost(parsed, setting.skeleton).params)
    fitted = replace(request, recipe=fit_recipe(request, setting.space, parsed, setting.skeleton)[0])
    own = Finalist("found", "network", setting, str(parsed), fitted)
    seeds = range(setting.seed, setting.seed + options[Baselines].baseline_seeds)
    compared = judge_against(
        own,
        scaled_baselines(asked, setting, size),
        seeds,
        make_executor(0),
        folder,
        known={setting.seed: found},
        callback=callback,
    )
    found = replace(found, compared=compared)
    if folder is not None:
        found.write_result(folder)
    return found


def _of_run(folder: Any) -> tuple[str, str, dict[str, Any]]:
    """Return space, architecture and skeleton of what a search has found; shape and classes are those of the data."""
    from firstlight.export.runs import is_run, read_run, read_skeleton
    from firstlight.spaces.finding import find_space

    if not is_run(folder):
        raise SettingError(
            f"{str(folder)!r} is not the folder of a search. Give one, or a space and an architecture of it: "
            "firstlight train SPACE ARCHITECTURE --data digits --out FOLDER."
        )
    facts = read_run(Path(folder))
    space = find_space(facts.space)
    if space.data_kind != IMAGES:
        export = f"`firstlight export {folder} -o FOLDER`"
        raise SettingError(
            f"{folder} is a search of {facts.space}, whose networks take {space.data_kind}, and `train` is for images. "
            + (
                f"The search has retrained the best: {export} writes the best of them with its weights."
                if facts.weights
                else f"Run the search again with --retrain 5: it retrains the five best, and {export} then writes the "
                "best of them with its weights."
            )
        )
    skeleton = asdict(read_skeleton(space, facts.skeleton))
    kept = {name: value for name, value in skeleton.items() if name not in ("input_shape", "classes")}
    return facts.space, facts.architecture, kept
