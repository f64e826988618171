"""Networks for clicks: which proxies judge them, and which say that they cannot."""

from __future__ import annotations

import random

import pytest
import torch

import firstlight
from firstlight.proxies import PROXIES
from firstlight.spaces.nasrec.network import NasRecSkeleton
from firstlight.spaces.nasrec.space import NasRec, NasRecFull, NasRecSmall

IMAGES_ONLY = {"az_expressivity", "az_progressivity", "az_trainability", "swap", "swap_reg", "zen"}
ONE_LOGIT = {"curvature", "dextr", "dextr_opt"}
LAYER_NORM = {"epsilon"}  # which makes channels of equal weights zero
SKELETON = NasRecSkeleton((10,), dense=6, rows=5)


@pytest.mark.parametrize(("space", "refused"), [(NasRecSmall(2), {"dss", "zerolm"}), (NasRecFull(2), set())])
def test_all_but_those_for_images_judge_them(space: NasRec, refused: set[str]) -> None:
    """Those of a single logit do not bend; the small space has no attention."""
    network = space.build(space.sample(random.Random(4)), SKELETON)
    assert refused or any("attention" in name for name, _ in network.named_modules())
    batches = [(torch.randn(8, 10), torch.arange(8) % 2) for _ in range(4)]
    scores = firstlight.score(network, batches, list(PROXIES))
    unsupported = {name for name, score in scores.items() if score.status == "unsupported"}
    assert unsupported == IMAGES_ONLY | ONE_LOGIT | LAYER_NORM | refused
    assert {score.status for name, score in scores.items() if name not in unsupported} == {"ok"}


def test_two_inputs_do_as_well() -> None:
    network = NasRecFull().build(NasRecFull().sample(random.Random(0)), SKELETON)
    dense, categories, labels = torch.randn(8, 6), torch.randint(5, (8, 4)), torch.arange(8) % 2
    apart = firstlight.score(network, ((dense, categories), labels), "snip,grad_norm,naswot")
    together = firstlight.score(network, (torch.cat([dense, categories], 1), labels), "snip,grad_norm,naswot")
    assert {name: score.value for name, score in apart.items()} == pytest.approx(
        {name: score.value for name, score in together.items()}, rel=1e-5
    )
