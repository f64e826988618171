"""Table 4 of SiGeo: short searches, and networks that are trained for one epoch."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.papers.toy import run

from firstlight.core.errors import MissingFileError
from firstlight.data import InputSource
from firstlight.papers import EXPERIMENTS, sigeo_plainnet
from firstlight.papers.from_scratch import ACCURACY
from firstlight.papers.sigeo_plainnet import LEAST_PARAMETERS, MOST_PARAMETERS, SPACE, at_random
from firstlight.scoring.service import Setting

EXPERIMENT = EXPERIMENTS["sigeo-table4"]


def test_what_proxies_find_is_trained_beside_random_networks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sigeo_plainnet, "AT_RANDOM", 3)
    monkeypatch.setattr(sigeo_plainnet, "LEAST_PARAMETERS", 30_000)
    outcome = run(
        EXPERIMENT,
        samples=10,
        input="digits",
        skeleton={"input_shape": (3, 8, 8)},
        recipe="sigeo-cifar:epochs=1:batch_size=512",
        workers=0,
        out=tmp_path,
    )
    lines = outcome.findings.lines
    titles = ["SiGeo", "ZiCo", "Zen", "random 1", "random 2", "random 3"]
    accuracies = {line.on: line for line in lines if line.what == ACCURACY}
    assert list(accuracies) == titles
    assert all(line.ours is not None and 0 <= line.ours.value <= 100 for line in accuracies.values())
    assert accuracies["SiGeo"].note.endswith("published after 1,440 epochs 97.01 %")
    assert accuracies["random 2"].note.endswith("published after 1,440 epochs 93.5 %")
    assert [line.on for line in lines if line.what.startswith("above random networks")] == titles[:3]
    found = [remark for remark in outcome.findings.remarks if " found Super" in remark]
    assert [remark.partition(" found")[0] for remark in found] == titles[:3]
    sizes = [int(remark.partition("with ")[2].partition(" parameters")[0].replace(",", "")) for remark in found]
    assert all(size <= MOST_PARAMETERS for size in sizes)


def test_random_networks_have_the_size_of_the_table() -> None:
    setting = Setting(SPACE, InputSource("digits@16"), 1, (("input_shape", (3, 16, 16)),))
    few, many = at_random(setting, 2), at_random(setting, 4)
    assert list(many.values())[:2] == list(few.values())
    assert len(set(many.values())) == 4
    for network in many.values():
        assert LEAST_PARAMETERS <= setting.space.cost(network, setting.skeleton).params <= MOST_PARAMETERS


def test_noise_teaches_nothing(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="sigeo-table4 trains networks on images"):
        run(EXPERIMENT, data=tmp_path, samples=10, input="synthetic", workers=0)
