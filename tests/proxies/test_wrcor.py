"""WRCor: the log determinant of the weighted correlations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests import nets
from tests.probe.test_responses import LABELS, NUMBERS, slow_responses

import firstlight
from firstlight.probe import Probe
from firstlight.proxies.wrcor import wrcor


@pytest.mark.parametrize("name", NUMBERS)
def test_value_by_hand(name: str) -> None:
    x = nets.images(4)
    expected = math.log(abs(np.linalg.det(slow_responses(nets.build(name), x, NUMBERS[name]))))
    assert wrcor(Probe(nets.build(name), (x, LABELS))).value == pytest.approx(expected, rel=1e-8)


def test_a_single_sample_has_no_correlations() -> None:
    score = firstlight.score(nets.build("plain"), (nets.images(1), LABELS[:1]), "wrcor")["wrcor"]
    assert score.status == "unsupported"
    assert "two or more samples" in score.note
