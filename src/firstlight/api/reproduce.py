"""`firstlight.reproduce`: a published table, measured again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firstlight.api.common import choose_executor
from firstlight.core.events import Callback, ignore
from firstlight.core.groups import Options, takes
from firstlight.options import Compute, Inputs, Network, Storage

if TYPE_CHECKING:
    from firstlight.papers.experiment import Outcome


@takes(Inputs, Network, Compute, Storage)
def reproduce(
    options: Options,
    name: str,
    *,
    samples: int | None = None,
    recipe: str | None = None,
    algorithm: str | None = None,
    data: str | None = None,
    callback: Callback = ignore,
) -> Outcome:
    """Run the experiment behind a published table or figure, and compare the values.

    Scores are stored in the folder `out`: a second call, or one with more networks, computes only what is new.

    Args:
        name: The experiment; `firstlight reproduce` lists them.
        samples: Number of networks, steps per search, or images in a batch. Default: enough for a few minutes of work.
        recipe: How networks are trained, for experiments that train them from scratch: quick:epochs=10. Default: that
            of the experiment.
        algorithm: The search with its settings, for experiments that search with NASI, such as
            nasi:variant=ada:nu=1000:mu=1:batch=16. Default: that of the experiment.
        data: Folder with tables and images. Default: $FIRSTLIGHT_DATA.
        callback: Called with an `Event` as networks are measured.

    Returns:
        Each published value next to ours, with a verdict.

    Raises:
        UnknownNameError: There is no such experiment.
        MissingFileError: The tables or images that it needs were not found.

    Example:
        >>> import firstlight
        >>> outcome = firstlight.reproduce(
        ...     "hnas-table2", samples=2, input="synthetic", skeleton="channels=2,cells=1,input_shape=3x8x8", workers=0)
        >>> outcome.experiment.published_in
        'HNAS Table 2'
    """
    from firstlight.papers import EXPERIMENTS
    from firstlight.papers.runner import RunOptions
    from firstlight.papers.runner import reproduce as run

    experiment = EXPERIMENTS[name]
    network, storage = options[Network], options[Storage]
    wanted = RunOptions(
        samples=samples,
        seed=network.seeds,
        input=options[Inputs].input,
        skeleton=network.skeleton_settings,
        warmup=None if options[Inputs].warmup is None else str(options[Inputs].warmup),
        recipe=recipe,
        algorithm=algorithm,
        data=data,
        out=storage.out,
        same_versions=storage.same_versions,
        executor=choose_executor(options[Compute], callback, experiment.samples if samples is None else samples),
    )
    return run(experiment, wanted, callback)
