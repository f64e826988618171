"""MeCo: the smallest eigenvalue of the correlations between channels (Jiang et al., NeurIPS 2023)."""

from __future__ import annotations

from math import nan

from firstlight.core.errors import UnsupportedError
from firstlight.probe import Probe
from firstlight.probe.spectra import FEW_ROWS, SmallestCorrelation
from firstlight.proxies.base import Parts, proxy
from firstlight.proxies.sizes import Per, size_for


@proxy(reference="Jiang2023meco", expects=(SmallestCorrelation(),))
def meco(probe: Probe, *, images: int = 1, per: Per = "network") -> Parts:
    """How little the channels of each output are correlated.

        M = sum over all module outputs X of lambda_min(P(X))

    P is the matrix of Pearson correlations between the rows of X.

    Scale: 0 to the number of modules, about 0 to 60 on NAS-Bench-201. Higher is better; on spaces that vary the number
    of channels the published sign is negative. Cost: about three forward passes of one image, shared with `dextr`.

    Args:
        images: Number of samples that BatchNorm takes its statistics from; the feature maps are those of the first.
        per: Divide the sum by the number of outputs (`layer`), of parameters (`parameter`) or of multiply-accumulates
            (`mac`). Published is the sum over the `network`.
    """
    return _total(probe, SmallestCorrelation(), images, per)


@proxy(reference="Jiang2023meco", expects=(SmallestCorrelation(FEW_ROWS),))
def meco_opt(probe: Probe, *, rows: int = FEW_ROWS, images: int = 1) -> Parts:
    """MeCo from a few channels of each output: for varying widths.

        M = sum over all module outputs X of (n / b) lambda_min(P(X'))

    X' are b random rows of the n rows of X; outputs with fewer rows are used as a whole. P is that of `meco`.

    Scale: that of `meco` times about n / 8. Higher is better. Cost: about two forward passes of one image, shared with
    `dextr` and `meco`.

    Args:
        rows: Number of rows b.
        images: Number of samples that BatchNorm takes its statistics from; the feature maps are those of the first.
    """
    return _total(probe, SmallestCorrelation(rows), images)


def _total(probe: Probe, statistic: SmallestCorrelation, images: int, per: Per = "network") -> Parts:
    found = probe.feature_statistic(statistic, images=images)
    if not found.matrices:
        raise UnsupportedError("every output is a vector, which has no channels to correlate.")
    size = size_for(probe, per, len(found.values))
    return Parts(nan if found.not_finite else float(found.values.sum()) / size)
