"""What a job takes along to machines that have nothing but the package."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.execution import jobs

from firstlight.core.errors import DataError, WorkerError
from firstlight.data import InputSource
from firstlight.proxies.requests import parse_requests
from firstlight.scoring.service import ScoreJob, Setting
from firstlight.spaces import SPACES
from firstlight.training.shared_warm_up import SharedWarmUp

pytest.importorskip("ray", reason="Ray is not installed: pip install 'firstlight[ray]'")

from firstlight.execution.shipping import pack

CELL = "|nor_conv_3x3~0|+|none~0|none~1|+|skip_connect~0|none~1|nor_conv_1x1~2|"


@pytest.fixture
def images(tmp_path: Path) -> Path:
    file = tmp_path / "images.npz"
    np.savez(file, x=np.random.default_rng(0).random((40, 3, 8, 8), dtype=np.float32), y=np.arange(40) % 4)
    return file


def test_all_draws_of_the_data_are_taken_along(images: Path) -> None:
    tiny = (("cells", 1), ("channels", 4))
    setting = Setting("nasbench201", InputSource(f"npz:{images}", 4), skeleton_settings=tiny, repeats=2)
    job = ScoreJob(setting, tuple(parse_requests("dextr,grad_norm")))
    parcel = pack(job)
    expected = job((CELL, ("dextr", "grad_norm")))
    images.unlink()
    found = parcel.unpack()((CELL, ("dextr", "grad_norm")))
    assert {name: score.value for name, score in found.scores.items()} == {
        name: score.value for name, score in expected.scores.items()
    }


def test_shared_weights_are_files_that_every_machine_needs(tmp_path: Path) -> None:
    warm_up = SharedWarmUp.parse("1%:weights=shared", SPACES["nasbench201"])
    assert ScoreJob(Setting("nasbench201", warm_up=warm_up), (), tmp_path).files == [tmp_path]
    assert ScoreJob(Setting("nasbench201"), (), tmp_path).files == []


def test_where_it_comes_from_is_where_it_works_if_there_is_such_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    parcel = pack(jobs.square)
    here = tmp_path / "other"
    here.mkdir()
    monkeypatch.chdir(here)
    assert parcel.unpack()(3) == 9
    assert Path.cwd() == tmp_path
    replace(parcel, folder=tmp_path / "gone").unpack()
    assert Path.cwd() == tmp_path


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="gone"):
        pack(jobs.NeedsFile(tmp_path / "gone")).unpack()
    parcel = pack(jobs.square)
    unknown = replace(parcel, packed=parcel.packed.replace(b"tests.execution.jobs", b"tests.execution.jobz"))
    with pytest.raises(WorkerError, match="jobz"):
        unknown.unpack()


def test_machines_whose_numbers_may_differ_are_refused() -> None:
    parcel = pack(jobs.square)
    here = parcel.environment
    for other in (replace(here, torch="1.13.0"), replace(here, cpu="sparc64 DEFAULT")):
        with pytest.raises(WorkerError) as refused:
            replace(parcel, environment=other).unpack()
        assert str(here) in str(refused.value)
        assert str(other) in str(refused.value)
    assert replace(parcel, environment=replace(here, python="3.99.0")).unpack()(3) == 9
