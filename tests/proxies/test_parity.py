"""Every value that the reference implementations print for the two parity networks."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import exp

import pytest
from tests.conftest import ParityCase

from firstlight.probe import Probe
from firstlight.proxies.base import Score
from firstlight.proxies.requests import ProxyRequest

# reference key -> (proxy, how its score says the same); Dextr's keys are in test_spectra and test_curvature
VALUES: dict[str, tuple[str, Callable[[Score], float]]] = {
    "meco": ("meco", lambda s: s.value),
    "zico_2x8": ("zico", lambda s: s.value),
    "snip": ("snip", lambda s: s.value),
    "grad_norm": ("grad_norm", lambda s: s.value),
    "fisher": ("fisher", lambda s: s.value),
    "grasp": ("grasp", lambda s: s.value),
    "plain": ("plain", lambda s: s.value),
    "l2_norm": ("l2_norm", lambda s: s.value),
    "jacob_cov": ("jacov", lambda s: s.value),
    "synflow_zerocostnas_bnremoved_f64ones": ("synflow", lambda s: exp(s.value)),
    "synflow_bn_zerocostnas": ("synflow:batch_norm=true", lambda s: exp(s.value)),
    "epe_nas": ("epe_nas", lambda s: s.value),
    "nwot_naslib": ("naswot", lambda s: s.value),
    "naswot_hnas": ("naswot:variant=hnas", lambda s: s.value),
    "ntk_trace_hnas": ("ntk_trace", lambda s: s.value),
    "condnum_hnas": ("ntk_condition", lambda s: s.value),
    "tenas_ntk_cond_trainmode_negated": ("te_ntk", lambda s: -s.value),
    "meco_repo_ntk_cond_evalmode": ("te_ntk:mode=eval", lambda s: s.value),
    "gradsign": ("gradsign", lambda s: s.value),
}
# rounded to single precision by the reference, whatever it computes in
ROUNDED = {"fisher", "condnum_hnas"}


def probe_of(case: ParityCase) -> Probe:
    x, y = case.arrays["x"], case.arrays["y"]
    return Probe(case.net, [(x[:8], y[:8]), (x[8:], y[8:])])


@pytest.mark.parametrize("key", VALUES)
def test_agrees_with_the_reference_implementation(parity: ParityCase, key: str) -> None:
    name, said = VALUES[key]
    score = ProxyRequest.parse(name).measure(probe_of(parity))
    assert score.ok, score.note
    tolerance = max(parity.tolerance, 1e-5) if key in ROUNDED else parity.tolerance
    assert said(score) == pytest.approx(parity.values[key], rel=tolerance)


def test_zen_with_given_weights(parity: ParityCase) -> None:
    change, scale = probe_of(parity).feature_change(given=parity.arrays["zen_input"])
    assert change + scale == pytest.approx(parity.values["zen_given_weights"], rel=parity.tolerance)


def test_az_with_given_weights(parity: ParityCase) -> None:
    blocks = probe_of(parity).block_statistics(given=True)
    gains = [gain for gain in blocks.gains if gain is not None]
    found = {
        "az.expressivity": sum(blocks.entropies),
        "az.progressivity": min(after - before for before, after in pairwise(blocks.entropies)),
        "az.trainability": sum(2 - gain - 1 / (gain + 1e-6) for gain in gains) / len(gains),
    }
    assert found == pytest.approx({key: parity.values[key] for key in found}, rel=parity.tolerance)


def test_every_key_of_the_reference_is_compared(parity: ParityCase) -> None:
    elsewhere = {"logits_sum_train", "zen_given_weights", "az.expressivity", "az.progressivity", "az.trainability"}
    assert {key for key in parity.values if not key.startswith("dextr.")} == VALUES.keys() | elsewhere


def test_the_network_is_the_references_own(parity: ParityCase) -> None:
    logits = parity.net.train()(parity.arrays["x"][:8])
    assert logits.sum().item() == pytest.approx(parity.values["logits_sum_train"], rel=parity.tolerance)
