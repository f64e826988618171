"""The best of a search, some at random and those made by hand: trained from scratch, kept, and put in order."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tests.evaluation.prepared import made_up_clicks

import firstlight
from firstlight.core.errors import SettingError
from firstlight.evaluation import contenders, retraining
from firstlight.evaluation.contenders import ClickSetting, Contender, click_results
from firstlight.evaluation.retraining import best_distinct, read_retrain, retrain
from firstlight.execution.executor import InProcess
from firstlight.execution.workers import WorkerProcesses
from firstlight.spaces import SPACES
from firstlight.training.clicks import ClickMetrics, ClickResult, click_recipe, train_clicks
from firstlight.training.retrained import Kind, Retraining, Standing
from firstlight.views.pages.search import write_report

RECIPE = click_recipe("clicks:batch_size=64")
SPACE = SPACES["nasrec-small"]


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> ClickSetting:
    source = made_up_clicks(tmp_path_factory.mktemp("clicks"))
    return ClickSetting("nasrec-small", source_name=source, recipe=RECIPE)


def small_networks(setting: ClickSetting, count: int) -> list[str]:
    rng, found = random.Random(0), list[str]()
    while len(found) < count:
        drawn = SPACE.sample(rng)
        if SPACE.cost(drawn, setting.skeleton).params < 200_000:
            found.append(str(drawn))
    return found


def test_results_are_those_of_training_by_hand_and_are_kept(setting: ClickSetting, tmp_path: Path) -> None:
    text = small_networks(setting, 1)[0]
    found = retrain(setting, [(text, "found"), ("logistic", "by hand")], InProcess(), seeds=(0, 1), folder=tmp_path)
    network = SPACE.build(text, setting.skeleton, seed=1)
    by_hand = train_clicks(network, setting.data, RECIPE.recipe, seed=1)
    standing = found.best
    assert standing is not None
    assert standing.name == text
    assert standing.results[1] == by_hand
    assert standing.weights is not None
    kept = load_file(tmp_path.parent / standing.weights)
    first = SPACE.build(text, setting.skeleton, seed=0)
    train_clicks(first, setting.data, RECIPE.recipe, seed=0)
    assert all(torch.equal(kept[name], value) for name, value in first.state_dict().items())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contenders, "train_clicks", None)  # all is known
        again = retrain(setting, [(text, "found"), ("logistic", "by hand")], InProcess(), seeds=(0, 1), folder=tmp_path)
    assert again == found
    damaged = contenders.path_of(tmp_path, setting.key(Contender(text, "found", 0)))
    damaged.write_text(damaged.read_text()[:40])
    assert retrain(setting, [(text, "found")], WorkerProcesses(1), folder=tmp_path).standings[0].results == (
        standing.results[0],
    )


def test_a_network_that_fails_costs_only_itself(setting: ClickSetting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contenders, "train_clicks", lambda network, *a, **k: 1 / 0)
    ((_, result),) = click_results(setting, [Contender("logistic", "by hand", 0)], InProcess(), None)
    assert (result.status, result.note) == ("failed", "ZeroDivisionError: division by zero")


def standing(name: str, kind: Kind, *losses: float | None) -> Standing:
    results = [
        ClickResult(1, ClickMetrics(loss, 0.5, 9), ClickMetrics(loss + 0.1, None, 9))
        if loss
        else ClickResult(1, status="failed")
        for loss in losses
    ]
    return Standing(name, kind, tuple(results))


def test_figures_of_several_trainings() -> None:
    one = standing("a", "found", 0.4, 0.6, None)
    assert one.mean("validation", "log_loss") == pytest.approx(0.5)
    assert one.deviation("validation", "log_loss") == pytest.approx(0.1414, abs=1e-4)
    assert one.mean("test", "auc") is None
    nothing = standing("b", "found", None)
    assert (nothing.mean("test", "log_loss"), nothing.deviation("test", "log_loss")) == (None, None)
    chance = [standing(str(loss), "random", loss) for loss in (0.3, 0.5, 0.9)]
    found = Retraining(RECIPE, "data", (0,), (standing("dlrm", "by hand", 0.1), nothing, *chance, one))
    assert found.best == one
    assert found.median_random == pytest.approx(0.6)
    assert found.to_dict()["best"] == "a"


def test_networks_with_the_same_score_are_one() -> None:
    names, scores = ["a", "b", "c", "d", "e"], [1.0, 2.0, 2.0 - 5e-7, None, 1.5]
    assert best_distinct(names, scores, 2) == ["b", "e"]
    assert best_distinct(names, scores, 9) == ["b", "e", "a"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"data": "digits", "count": 3}, "needs click data"),
        ({"data": None, "count": 3}, "needs click data"),
        ({"data": "criteo:x", "count": 0}, "must be 1 or more"),
        ({"data": "criteo:x", "count": None, "epochs": 3}, "epochs is 3, but no network is retrained"),
        ({"data": "criteo:x", "count": None, "random": 3}, "retrain_random is 3"),
        ({"data": None, "count": 3}, r"such as --data criteo:FILE\. To train"),
        ({"data": "digits", "count": 3}, r"such as --data criteo:FILE, not 'digits'\. To train"),
        ({"data": "criteo:x", "count": 3, "recipe": "quick"}, "no recipe for click data 'quick'"),
    ],
)
def test_what_makes_no_sense_is_refused(asked: dict[str, object], message: str) -> None:
    with pytest.raises(firstlight.FirstlightError, match=message):
        read_retrain(**asked)  # type: ignore[arg-type]
    assert read_retrain("digits", None, epochs=3) is None


def test_after_a_search(setting: ClickSetting, tmp_path: Path) -> None:
    """By weights of their own, so that it is quick; with shared ones in the tests of the command."""

    def search(**changes: object) -> firstlight.SearchResult:
        return firstlight.search(
            "nasrec-small",
            proxy="zico",
            samples=4,
            max_params=150_000,
            batch_size=16,
            data=setting.source_name,
            out=tmp_path / "run",
            workers=0,
            **changes,  # type: ignore[arg-type]
        )

    assert search().retrained is None
    found = search(retrain=2, retrain_random=1, recipe="clicks:batch_size=64")
    assert found.retrained is not None
    kinds = [standing.kind for standing in found.retrained.standings]
    assert sorted(kinds) == ["by hand"] * 4 + ["found"] * 2 + ["random"]
    assert (found.scored, found.reused) == (0, 4)
    best = best_distinct(found.history["architecture"], found.history["utility"], 2)
    assert {s.name for s in found.retrained.standings if s.kind == "found"} == set(best)
    (at_random,) = (s.name for s in found.retrained.standings if s.kind == "random")
    assert SPACE.cost(SPACE.parse(at_random), setting.skeleton).params <= 150_000
    assert found.to_dict()["retrained"]["networks"][0]["name"] == found.retrained.standings[0].name
    assert "Retrained from scratch" in write_report(tmp_path / "run").read_text()
    with pytest.raises(SettingError, match="must be 1 or more"):
        retraining.Retrain(1, "criteo:x", times=0)
