"""A space of one's own, some of whose networks cannot be built or run: one failure stays one."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import firstlight as command
from tests.search.test_runner import into
from tests.spaces import partly

import firstlight
from firstlight.core.errors import ModelError, NothingScoredError
from firstlight.search.algorithms import ALGORITHMS
from firstlight.spaces.custom import ChoiceSpace
from firstlight.storage.store import STORE_NAME, Store
from firstlight.views.pages.search import write_report

FAILING = "width=16,heads=3"
SPACES = [partly.forward_fails, partly.build_fails]
BY_PROXY = [name for name, entry in ALGORITHMS.items() if not {"supernet", "one_shot", "truth"} & set(entry.needs)]
BY_TRUTH = ["random", "evolution", "reinforce", "bohb", "verify", "portfolio", "hnas"]


def search(space: ChoiceSpace, **settings: Any) -> firstlight.SearchResult:
    return firstlight.search(space, **({"proxy": "plain", "samples": 4, "workers": 0} | settings))


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("workers", [0, 1])
def test_a_search_passes_over_the_network_and_says_why(space: ChoiceSpace, workers: int, tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path):  # the second time, the others are known
        seen = []
        result = search(space, workers=workers, callback=into(seen), out=folder)
        scores = {candidate.network.architecture: candidate.network.scores["plain"] for candidate in seen}
        assert sum(score.ok for score in scores.values()) == 3
        assert scores[FAILING].status == "failed"
        assert f"({FAILING})" in scores[FAILING].note
        (note,) = [note for note in result.notes if "failed" in note]
        assert f"1 of 4 networks failed. One of them is {FAILING}: " in note
        history = result.to_frame().set_index("architecture")
        assert math.isnan(history.loc[FAILING, "params"])
        assert history["params"].notna().sum() == 3
    write_report(tmp_path)
    with Store(tmp_path / STORE_NAME) as store:
        (unknown,) = [trial for trial in store.trials(store.runs()[0]) if trial.cost is None]
    assert unknown.architecture == FAILING
    assert unknown.amount("params") == math.inf
    assert unknown.to_dict()["cost"] is None
    json.dumps(result.to_dict(), allow_nan=False)


@pytest.mark.parametrize("algorithm", BY_PROXY)
def test_every_algorithm_goes_on(algorithm: str) -> None:
    result = search(partly.build_fails, algorithm=algorithm, samples=4)
    assert result.best.architecture != FAILING
    assert result.best.cost is not None


@pytest.mark.parametrize("algorithm", BY_TRUTH)
def test_every_algorithm_goes_on_where_networks_are_trained(algorithm: str) -> None:
    pool = ":pool=4" if ALGORITHMS[algorithm].needs_truth else ""
    # the recipe asks whether networks have edges that can be dropped: of one that can be built
    settings = {"data": "digits", "recipe": "darts-cifar:batch_size=16", "epochs": 1, "data_samples": 60, "workers": 0}
    result = firstlight.search(partly.build_fails, algorithm=f"{algorithm}{pool}", queries=4, **settings)
    assert result.best.architecture != FAILING


@pytest.mark.parametrize(
    "limit", ["max_params", "max_macs", "max_activations", "max_memory", "max_flash", "max_ram", "max_latency"]
)
def test_it_does_not_fit_any_limit(limit: str) -> None:
    result = search(partly.forward_fails, **{limit: "60000" if limit == "max_latency" else "1G"})
    assert (result.scored, result.rejected) == (3, 1)
    assert FAILING in " ".join(result.notes)


def test_nor_does_it_fit_a_limit_from_below() -> None:
    assert search(partly.build_fails, min_params=1).rejected == 1


@pytest.mark.parametrize("objective", ["macs", "memory", "flash", "latency"])
def test_it_is_on_no_front(objective: str) -> None:
    result = search(partly.build_fails, objectives=objective)
    assert result.front
    assert FAILING not in {trial.architecture for trial in result.front}


def test_an_ensemble_ranks_it_last() -> None:
    assert search(partly.build_fails, proxy="rank_mean(plain,params)").best.architecture != FAILING


@pytest.mark.parametrize("limits", [{}, {"max_params": "1M"}])
def test_where_all_fail_the_error_says_why(limits: dict[str, str]) -> None:
    with pytest.raises(NothingScoredError, match=r"None of (the )?4 networks.*channels do not make"):
        search(partly.none_can_be_built, **limits)


def test_rank_and_score_go_on() -> None:
    ranking = firstlight.rank(partly.forward_fails, samples=4, proxies="plain,params", workers=0)
    last = ranking.rows[-1]
    assert [row.rank for row in ranking.rows] == [1, 2, 3, None]
    assert (last.network.architecture, last.network.cost) == (FAILING, None)
    assert {score.status for score in last.network.scores.values()} == {"failed"}
    assert "does not take inputs of (1, 3, 32, 32)" in ranking.table()[-1]["remarks"]

    name = "tests.spaces.partly:build_fails"
    several = command("score", name, FAILING, "width=24,heads=3", "--proxy", "plain", "--workers", "0")
    assert "plain: failed (build_fails(width=16,heads=3) failed: ValueError: 16 channels" in several.stdout
    alone = command("score", name, FAILING, "--proxy", "plain", "--workers", "0", code=None)
    assert "16 channels do not make 3 heads" in alone.stdout
    assert alone.code == 1
    shown = command("show", name, FAILING, code=1)
    assert "16 channels do not make 3 heads" in shown.stderr


def test_the_facts_of_a_space_are_those_of_networks_that_can_be_built() -> None:
    told = command("spaces", "tests.spaces.partly:build_fails", "--samples", "20").stdout
    (failed,) = re.findall(r"cannot be built +(\d+) of 20 random networks: .*channels do not make", told)
    assert f"({20 - int(failed)} random networks)" in told
    with pytest.raises(ModelError, match="channels do not make"):
        partly.none_can_be_built.cost(partly.none_can_be_built.parse("width=16,heads=3"))
    assert "channels do not make" in command("spaces", "tests.spaces.partly:none_can_be_built", code=1).stderr
