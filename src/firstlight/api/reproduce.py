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
    algorithm: str | None = None,
    data: str | None = None,
    callback: Callback = ignore,
) -> Outcome:
    """Run the experiment behind a published table or figure, and compare the figures.

    Scores are kept in the folder `out`: asking again, or for more networks, computes only what is new.

    Args:
        name: The experiment; `firstlight reproduce` lists them.
        samples: Networks, steps of each search, or images of a batch. Default: enough for some minutes of work.
        algorithm: The search with its settings, for experiments that search by NASI, such as
            nasi:variant=ada:nu=1000:mu=1:batch=16. Default: that of the experiment.
        data: Folder with tables and images. Default: $FIRSTLIGHT_DATA.
        callback: Called with an `Event` as networks are measured.

    Returns:
        Each published figure beside ours, with a verdict.

    Raises:
        UnknownNameError: There is no such experiment.
        MissingFileError: The tables or images that it needs are not there.

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
        algorithm=algorithm,
        data=data,
        out=storage.out,
        same_versions=storage.same_versions,
        executor=choose_executor(options[Compute], callback, experiment.samples if samples is None else samples),
    )
    return run(experiment, wanted, callback)
