"""`firstlight predict`: how well networks will do, from a few that were trained."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from firstlight.api.common import check_names
from firstlight.api.predict import predict as call
from firstlight.cli.derive import COMMAND, derived
from firstlight.cli.networks import from_flag, read_architectures
from firstlight.cli.printing import print_json


def _flags(
    *,
    top: Annotated[int | None, Parameter(help="Print only the N best.", group=COMMAND)] = 10,
    csv: Annotated[str | None, Parameter(help="Also write all networks to this CSV file.", group=COMMAND)] = None,
) -> None:
    """Flags of this command alone."""


@derived(call, more=(from_flag, _flags))
def predict(given: dict[str, Any]) -> None:
    """Predict how well networks will do, from a few that were trained.

    The prior is the mean rank by a few proxies. A model of features and proxies corrects it, as far as the labels show
    that it is wrong. Labels of few epochs are noisy and biased: they never count for more than the prior.

    For example:
    firstlight predict nasbench201 --labels results.csv --target cifar10_val_12 --samples 500
    firstlight predict plain-resnet --labels runs/trust-plain-resnet-digits --proxy naswot,synflow --json
    """
    as_json, top, csv = given.pop("json", False), given.pop("top", None), given.pop("csv", None)
    space, others = given.pop("space"), given.pop("architectures", ())
    check_names(space=space)
    from firstlight.spaces.finding import find_space

    architectures = read_architectures(find_space(space), others, given.pop("from_file", None))
    from firstlight.views.console.prediction import show_prediction
    from firstlight.views.console.progress import showing

    with showing() as callback:
        found = call(space, architectures, **given, callback=callback)
    if as_json:
        content = found.to_dict()
        print_json(content | {"networks": content["networks"][:top]})
    else:
        show_prediction(found, top)
    if csv is not None:
        found.write_csv(Path(csv))
