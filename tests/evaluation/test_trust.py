"""Which proxy to trust on one's own data: everything is trained and scored once, and the advice follows from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import firstlight
from firstlight.core.errors import DataError, SettingError
from firstlight.data import InputSource
from firstlight.evaluation.trust import Trust, train_and_compare
from firstlight.evaluation.validated import Validated
from firstlight.execution.executor import InProcess
from firstlight.proxies.requests import parse_requests
from firstlight.scoring.service import Setting
from firstlight.storage.store import Store
from firstlight.training.job import EvaluationSetting
from firstlight.training.recipe import TrainingRecipe
from firstlight.views.pages.trust import advise

SMALL = (("cells", 1), ("channels", 4))
TRAINING = EvaluationSetting("nasbench201", "digits", TrainingRecipe(epochs=1), 0, SMALL, 60)
SCORING = Setting("nasbench201", InputSource("digits", 4), skeleton_settings=SMALL)
PROXIES = parse_requests("params,naswot")


class Stopping:
    """An executor that is cut off after so many items."""

    def __init__(self, items: int) -> None:
        self.left = items

    def map(self, job: Any, items: Any) -> Iterator[Any]:
        for item, result in InProcess().map(job, items):
            if not self.left:
                raise KeyboardInterrupt
            self.left -= 1
            yield item, result


def run(store: Store, executor: Any = None, **changes: Any) -> Trust:
    return train_and_compare(replace(TRAINING, **changes), SCORING, PROXIES, 12, executor or InProcess(), store)


def test_networks_are_trained_and_scored_and_compared() -> None:
    seen: list[tuple[str, int, int]] = []
    found = train_and_compare(
        TRAINING,
        SCORING,
        PROXIES,
        12,
        InProcess(),
        Store(":memory:"),
        callback=lambda event: seen.append((event.stage, event.done, event.total)),
    )
    assert [name for name, _, _ in seen] == ["training"] * 12 + ["scoring"] * 12
    assert seen[-1] == ("scoring", 12, 12)
    assert found.target == "digits_val_1"
    accuracies = [100 * (entry.result.accuracy or 0) for entry in found.evaluations]
    assert found.study.truth(found.target).tolist() == accuracies
    assert found.study.names == ["params", "naswot"]
    assert len({entry.architecture for entry in found.evaluations}) == 12
    content = found.to_dict()
    assert content["recommendation"]["choice"] == (found.advice.choice if found.advice else None)
    assert content["proxies"].keys() == {"params", "naswot"}
    assert "guessing among 10 classes" in advise(found)[0]  # one epoch of 45 images


def test_baselines_are_told_beside_the_random_networks() -> None:
    found = run(Store(":memory:"))
    best = max(found.accuracies)
    beaten = sum(accuracy < best for accuracy in found.accuracies)
    ended = Validated("logistic regression", "plain-mlp", "a1", 650, (best, best))
    failed = Validated("mine:net", "mine:net", "model", 1_200, ())
    told = advise(replace(found, baselines=(ended, failed)))
    share = f"{best:.1%} in the mean of 2 trainings"
    assert (
        f"Baseline logistic regression (650 parameters): {share}, better than {beaten} of 12 random networks." in told
    )
    assert "Baseline mine:net (1,200 parameters): no training came to its end." in told


def test_a_run_that_was_cut_off_goes_on_where_it_was() -> None:
    store = Store(":memory:")
    with pytest.raises(KeyboardInterrupt):
        run(store, Stopping(5))
    resumed = run(store)
    assert resumed.trained == 12 - 5
    again = run(store)
    assert again.trained == 0
    whole = run(Store(":memory:"))
    assert whole.trained == 12
    assert again.study.table().equals(whole.study.table())


def test_networks_that_diverge_are_left_out_and_named() -> None:
    with pytest.raises(DataError, match="10 are needed"):
        run(Store(":memory:"), recipe=TrainingRecipe(epochs=1, learning_rate=1e30, clip_norm=0))
    found = run(Store(":memory:"))
    lost = replace(found.evaluations[0].result, status="diverged", note="The loss was nan.")
    some = replace(found, evaluations=(replace(found.evaluations[0], result=lost), *found.evaluations[1:]))
    assert some.to_dict()["unfinished"][0]["status"] == "diverged"


def with_accuracies(found: Trust, accuracies: list[float]) -> Trust:
    """As if the networks had reached these, which the proxies foretold."""
    entries = []
    for entry, accuracy in zip(found.evaluations, accuracies, strict=True):
        epochs = tuple(replace(epoch, val_accuracy=accuracy) for epoch in entry.result.epochs)
        entries.append(replace(entry, result=replace(entry.result, epochs=epochs)))
    rows = found.study.sample.rows.assign(**{found.target: accuracies})
    sample = replace(found.study.sample, rows=rows)
    study = replace(found.study, sample=sample, utilities=({"params": np.array(accuracies)},))
    return replace(found, evaluations=tuple(entries), study=study, judged_by=100)


def test_advice_says_what_the_networks_have_learned() -> None:
    found = run(Store(":memory:"))
    spread = [0.3 + 0.05 * number for number in range(12)]
    assert advise(with_accuracies(found, spread))[0] == "Use params."
    assert "guessing" in advise(with_accuracies(found, [0.1 + 0.005 * number for number in range(12)]))[0]
    assert any("Make the task harder" in said for said in advise(with_accuracies(found, [*spread[:5], *[1.0] * 7])))


def test_a_network_without_a_score_ranks_last_and_is_counted() -> None:
    found = run(Store(":memory:"))
    without = int(np.isnan(found.study.utilities[0]["naswot"]).sum())
    quality = found.study.quality[found.target]["naswot"]
    assert (quality.networks, quality.unscored) == (12, without)
    assert without > 0
    assert found.advice is not None


@pytest.mark.parametrize("count", [9, 0, 2.5])
def test_too_few_networks_are_refused(count: Any) -> None:
    with pytest.raises(SettingError, match="at least 10"):
        train_and_compare(TRAINING, SCORING, PROXIES, count, InProcess(), Store(":memory:"))


def test_a_few_images_are_enough(tmp_path: Path) -> None:
    """Proxies take smaller batches than usual where there are not so many."""
    generator = np.random.default_rng(0)
    np.savez(tmp_path / "few.npz", x=generator.random((90, 3, 16, 16)), y=np.arange(90) % 3)
    found = firstlight.trust(
        "nasbench201",
        data=f"npz:{tmp_path / 'few.npz'}",
        train=10,
        epochs=1,
        proxies="sigeo",
        skeleton=dict(SMALL),
        workers=0,
    )
    assert found.study.quality["npz_val_1"]["sigeo"].networks == 10


def test_the_library_call_leaves_its_results_in_the_folder(tmp_path: Any) -> None:
    found = firstlight.trust(
        "nasbench201",
        data="digits",
        train=10,
        epochs=1,
        proxies="params,l2_norm",
        data_samples=60,
        skeleton=dict(SMALL),
        workers=0,
        out=tmp_path,
    )
    assert "Advice" in (tmp_path / "report.html").read_text()
    assert {path.name for path in tmp_path.iterdir()} >= {"result.json", "scores.csv", "store.sqlite"}
    assert np.isfinite(found.study.truth("digits_val_1")).all()
