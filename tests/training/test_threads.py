"""Threads of a training: how many suit a network, and that they are put back."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tests.training.test_trainer import trained

from firstlight.core.errors import SettingError
from firstlight.training import trainer
from firstlight.training.threads import WORK_OF_A_THREAD, using_threads, usual_threads


def test_small_networks_get_one_thread_and_large_ones_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    assert usual_threads(1_000, 64) == 1
    assert usual_threads(WORK_OF_A_THREAD // 64, 3 * 64) == 3
    assert usual_threads(WORK_OF_A_THREAD, 64) == 8


def test_the_number_before_is_put_back() -> None:
    before = torch.get_num_threads()
    with using_threads(before + 1):
        assert torch.get_num_threads() == before + 1
    assert torch.get_num_threads() == before
    with pytest.raises(SettingError, match="threads is 0; it must be 1 or more"), using_threads(0):
        pass


@pytest.mark.parametrize(("asked", "used"), [(None, 1), (3, 3)])
def test_a_training_uses_them(asked: int | None, used: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    train = trainer.train_classifier

    def watched(*given: object, **named: object) -> object:
        seen.append(torch.get_num_threads())
        return train(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(trainer, "train_classifier", watched)
    before = torch.get_num_threads()
    trained(tmp_path / "run", threads=asked, recipe="quick:epochs=1:batch_size=16")
    assert seen == [used]
    assert torch.get_num_threads() == before
