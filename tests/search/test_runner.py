"""A whole search: found, written down, resumed, and refused where it must be."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.search.hostile import HOSTILE
from torch import nn

import firstlight
from firstlight.core.errors import FirstlightError, LimitError, SettingError, StoreError, UnknownNameError
from firstlight.core.events import Callback
from firstlight.execution.memory import can_limit_memory
from firstlight.scoring.latency import Latency
from firstlight.search.objective import Candidate
from firstlight.search.result import RESULT_NAME
from firstlight.search.run_folder import last_search
from firstlight.search.summary import building, next_steps
from firstlight.storage.environment import Environment
from firstlight.storage.store import STORE_NAME, Store
from firstlight.views.pages.search import write_report

SMALL = {"cells": 1, "channels": 4}


def into(seen: list[Any]) -> Callback:
    """A callback that puts scored networks into a list."""
    return lambda event: seen.append(event.item) if isinstance(event.item, Candidate) else None


def search(**settings: Any) -> firstlight.SearchResult:
    return firstlight.search("nasbench201", **({"skeleton": SMALL, "samples": 12, "workers": 0} | settings))


def test_the_best_of_what_was_scored_is_chosen() -> None:
    seen = []
    result = search(callback=into(seen))
    assert len(seen) == result.scored == 12
    assert len({candidate.network.architecture for candidate in seen}) == 12
    assert result.score.value == max(candidate.utility for candidate in seen)
    assert result.build().state_dict().keys()


def test_where_it_runs_does_not_matter() -> None:
    assert search(workers=2).best.architecture == search(workers=0).best.architecture


def test_limits_hold_and_proxies_have_a_direction() -> None:
    smallest = firstlight.space("nasbench201").cost(
        firstlight.space("nasbench201").parse("|none~0|+|none~0|none~1|+|none~0|none~1|none~2|"),
        firstlight.space("nasbench201").skeleton(**SMALL),
    )
    seen = []
    result = search(proxy="params", max_params=smallest.params + 1000, max_macs="1M", samples=30, callback=into(seen))
    assert all(candidate.network.cost.params <= smallest.params + 1000 for candidate in seen)
    assert all(candidate.network.cost.macs <= 10**6 for candidate in seen)
    assert result.best.cost.params == max(candidate.network.cost.params for candidate in seen)


def test_the_result_is_written_down_and_a_second_run_reuses_it(tmp_path: Path) -> None:
    first = search(out=tmp_path / "run")
    again = search(out=tmp_path / "run")
    assert (again.scored, again.reused) == (0, 12)
    assert again.best.scores == first.best.scores
    written = json.loads((tmp_path / "run" / RESULT_NAME).read_text())
    assert written["best"]["architecture"] == first.best.architecture
    assert written["settings"]["samples"] == 12


def test_a_folder_of_another_run_is_refused(tmp_path: Path) -> None:
    search(out=tmp_path)
    with pytest.raises(StoreError, match=r"samples was 12, now 11.*--out"):
        search(out=tmp_path, samples=11)
    with pytest.raises(StoreError, match="seed was 0, now 1"):
        search(out=tmp_path, seed=1)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be created"):
        search(out=tmp_path / "file" / "run")


def test_a_search_that_fails_before_its_first_score_leaves_no_folder(tmp_path: Path) -> None:
    for settings in ({"max_params": 10}, {"algorithm": "evolution:population=0"}, {"proxy": "dexter"}):
        with pytest.raises(FirstlightError):
            search(out=tmp_path / "runs" / "mine", **settings)
        assert not (tmp_path / "runs").exists()


def test_limits_that_no_network_meets_name_the_nearest() -> None:
    with pytest.raises(LimitError, match=r"at most 10 parameters.*closest one has [\d,]+ parameters"):
        search(max_params=10)


def test_a_small_space_is_searched_to_its_end() -> None:
    """Only the cells without a convolution fit; there are far fewer of them than samples."""
    space = firstlight.space("nasbench201")
    bare = space.cost(space.parse("|none~0|+|none~0|none~1|+|none~0|none~1|none~2|"), space.skeleton(**SMALL))
    without = {space.canonical(cell) for cell in space if not any("conv" in op for op in cell.operations)}
    result = search(proxy="params", max_params=bare.params, samples=1000)
    assert result.scored == len(without) < 1000


def test_the_history_is_a_table(tmp_path: Path) -> None:
    seen: list[Candidate] = []
    frame = search(proxy="ntk_condition", max_memory="1M", out=tmp_path, callback=into(seen), batch_size=4).to_frame()
    assert frame["architecture"].tolist() == [candidate.network.architecture for candidate in seen]
    assert frame["ntk_condition"].tolist() == [candidate.network.scores["ntk_condition"].value for candidate in seen]
    assert frame["utility"].tolist() == [candidate.utility for candidate in seen]
    assert frame["macs"].tolist() == [candidate.network.cost.macs for candidate in seen]
    assert (frame["memory"] <= 1_000_000).all()
    assert frame["elapsed"].is_monotonic_increasing
    again = search(proxy="ntk_condition", max_memory="1M", out=tmp_path, batch_size=4).to_frame()
    pd.testing.assert_frame_equal(again, frame)


def test_a_front_of_score_against_costs() -> None:
    result = search(proxy="macs", objectives="params,activations", samples=40)
    points = {
        trial.architecture: (trial.utility, -trial.amount("params"), -trial.amount("activations"))
        for trial in result.front
    }
    everything = result.to_frame()
    for _, row in everything.iterrows():
        other = (row["utility"], -row["params"], -row["activations"])
        better = [text for text, point in points.items() if all(a >= b for a, b in zip(point, other, strict=True))]
        assert better  # beaten or met by the front
        assert (row["architecture"] in points) == all(points[text] == other for text in better)
    assert result.front[0].utility == result.score.value
    assert len(result.to_dict()["front"]) == len(result.front) > 1


def test_a_front_by_itself_keeps_macs_low() -> None:
    result = search(algorithm="pareto:population=8:children=4", proxy="params", samples=24)
    assert result.setting.to_dict()["objectives"] == "macs"
    assert result.front


def test_what_a_search_cost() -> None:
    result = search(max_params=5_000)
    assert result.rejected > 0
    assert result.score_seconds > 0
    assert result.forward_passes > 0
    assert result.to_dict()["rejected"] == result.rejected


def test_a_limit_on_latency_that_is_measured_holds_and_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a clock by which a network takes as many milliseconds as it has thousands of parameters."""

    def by_size(model: nn.Module, *_: object, **__: object) -> Latency:
        median = sum(parameter.numel() for parameter in model.parameters()) / 1000
        return Latency(median, median, median)

    monkeypatch.setattr("firstlight.scoring.latency.measure_latency", by_size)
    limit = 6.0
    found = search(proxy="params", max_latency=limit, out=tmp_path, samples=5)
    assert found.rejected > 0
    assert (found.to_frame()["latency"] == found.to_frame()["params"] / 1000).all()
    assert (found.to_frame()["latency"] <= limit).all()
    monkeypatch.setattr("firstlight.scoring.latency.measure_latency", lambda *_, **__: Latency(99.0, 99.0, 99.0))
    again = search(proxy="params", max_latency=limit, out=tmp_path, samples=5)  # what was measured before still holds
    assert (again.scored, again.reused) == (0, 5)
    assert again.to_frame()["latency"].tolist() == found.to_frame()["latency"].tolist()


def test_limits_that_contradict_each_other_and_costs_that_are_none() -> None:
    with pytest.raises(LimitError, match="at least 5,000 and at most 4,000 parameters"):
        search(min_params=5000, max_params=4000)
    with pytest.raises(UnknownNameError, match="no cost 'energy'"):
        search(objectives="energy")
    with pytest.raises(SettingError, match="does not say where latencies come from"):
        search(latency="sundial")


def test_one_network_cannot_be_ranked() -> None:
    with pytest.raises(SettingError, match="ranks networks relative to each other"):
        search(proxy="az_nas", samples=1)
    result = search(proxy="rank_mean(params,macs)", algorithm="zero-cost-pt:proposals=1", samples=5)
    assert (result.scored, result.states) == (1, 30)
    assert "Only one network was scored" in result.notes[0]


def test_the_chosen_network_is_the_first_of_the_front() -> None:
    """Many networks have the same parameters; of these, the one that needs least memory is chosen."""
    result = search(proxy="params", objectives="memory", max_params=9_000, samples=60)
    assert result.best.architecture == result.front[0].architecture
    assert result.expensive_costs["memory"] == result.front[0].amount("memory")
    assert result.to_dict()["best"]["cost"]["memory"] == result.expensive_costs["memory"]


def test_states_of_a_supernet_count_in_what_a_search_cost(tmp_path: Path) -> None:
    result = search(proxy="independence", algorithm="zero-cost-pt:proposals=1", out=tmp_path)
    assert (result.states, result.scored, len(result.to_frame())) == (30, 1, 1)
    with contextlib.closing(sqlite3.connect(tmp_path / STORE_NAME)) as connection:
        ((count, seconds),) = connection.execute("SELECT count(*), sum(seconds) FROM scores").fetchall()
    assert count == 31
    assert result.score_seconds == pytest.approx(seconds)


def test_a_network_without_a_score_has_no_number_in_the_history() -> None:
    frame = search(proxy="synflow", samples=100, max_params=4_894).to_frame()  # cells without weights, some empty
    without = frame[frame["utility"].isna()]
    assert 0 < len(without) < len(frame)
    assert without["synflow"].isna().all()


def test_a_search_that_was_not_what_one_may_think_says_so() -> None:
    drawn = search(algorithm="evolution", proxy="params", samples=12)
    assert "12 are not enough for a population of 64" in drawn.notes[0]
    assert search(algorithm="evolution:population=5", proxy="params", samples=12).notes == ()
    few = search(proxy="params", max_params=4_894, samples=500)
    assert any(f"Only {few.scored} of 500 networks were scored" in note for note in few.notes)


def test_a_source_of_latencies_that_nothing_asks_for() -> None:
    with pytest.raises(SettingError, match=r"no latency is needed.*--objectives latency"):
        search(latency="onnx")


def test_a_precision_that_nothing_asks_for() -> None:
    with pytest.raises(SettingError, match=r"neither flash nor RAM is needed.*--max-flash"):
        search(precision="int8")
    assert search(precision="int8", max_ram="1M", samples=2).scored == 2


def test_a_run_of_before_is_found_again(tmp_path: Path) -> None:
    """Settings were once written with a null for each limit that was not given."""
    first = search(out=tmp_path)
    with sqlite3.connect(tmp_path / STORE_NAME) as connection:
        ((text,),) = connection.execute("SELECT settings FROM runs").fetchall()
        old = json.dumps(json.loads(text) | {"max_params": None}, sort_keys=True)
        connection.execute("UPDATE runs SET settings = ?", (old,))
    connection.close()
    again = search(out=tmp_path)
    assert (again.scored, again.best.architecture) == (0, first.best.architecture)
    with Store(tmp_path / STORE_NAME) as store:
        assert len(store.runs()) == 1


ENSEMBLE = "log_rank(params,independence)"


def test_a_search_by_an_ensemble_finds_what_a_ranking_of_the_same_networks_does(tmp_path: Path) -> None:
    seen: list[Candidate] = []
    result = search(proxy=ENSEMBLE, out=tmp_path, callback=into(seen))
    assert {candidate.utility for candidate in seen} == {None}  # known when all are scored
    texts = [candidate.network.architecture for candidate in seen]
    ranking = firstlight.rank("nasbench201", texts, by=ENSEMBLE, skeleton=SMALL, workers=0)
    assert result.best.architecture == ranking.rows[0].network.architecture
    assert list(result.best.scores) == [ENSEMBLE, "params", "independence"]
    assert result.score.value == ranking.rows[0].value
    assert result.score.value == pytest.approx(sum(math.log(share) for share in result.score.parts.values()))
    with Store(tmp_path / STORE_NAME) as store:
        (run,) = store.runs()
        stored = {trial.architecture: trial.utility for trial in store.trials(run)}
    assert stored == {row.network.architecture: row.value for row in ranking.rows}
    again = search(proxy=ENSEMBLE, out=tmp_path)
    assert (again.scored, again.reused, again.best) == (0, 12, replace(result.best, reused=True))


def test_an_ensemble_judges_as_far_as_a_run_came(tmp_path: Path) -> None:
    seen = []

    def stop(event: firstlight.Event) -> None:
        seen.append(event.item)
        if len(seen) == 5:
            raise KeyboardInterrupt

    with pytest.raises(firstlight.SearchInterrupted) as interrupted:
        search(proxy=ENSEMBLE, out=tmp_path, callback=stop)
    assert isinstance(interrupted.value, KeyboardInterrupt)
    ranking = firstlight.rank(
        "nasbench201", [c.network.architecture for c in seen], by=ENSEMBLE, skeleton=SMALL, workers=0
    )
    assert interrupted.value.result.best.architecture == ranking.rows[0].network.architecture
    assert (interrupted.value.result.scored, interrupted.value.result.finished) == (5, False)
    assert not interrupted.value.result.notes
    assert interrupted.value.result.best.architecture in str(interrupted.value)
    with Store(tmp_path / STORE_NAME) as store:
        trials = store.trials(store.runs()[0])
    assert len(trials) == 5
    assert all(trial.utility is not None for trial in trials)
    resumed, undisturbed = search(proxy=ENSEMBLE, out=tmp_path), search(proxy=ENSEMBLE)
    assert resumed.best.architecture == undisturbed.best.architecture
    assert resumed.score == undisturbed.score


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"samples": 0}, SettingError),
        ({"algorithm": "randon"}, UnknownNameError),
        ({"proxy": "dexter"}, UnknownNameError),
        ({"proxy": "az_nass"}, UnknownNameError),
        ({"proxy": "dextr,params"}, SettingError),
        ({"max_params": "much"}, SettingError),
        ({"skeleton": {"depth": 3}}, SettingError),
        ({"skeleton": "cells"}, SettingError),
        ({"samples": "5"}, SettingError),
        ({"max_macs": -4}, SettingError),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        search(**settings)


def test_a_search_in_which_nothing_can_be_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(type(firstlight.space("nasbench201")), "build", fail)
    for proxy in ("dextr", ENSEMBLE):
        with pytest.raises(FirstlightError, match=r"None of the 12 networks.*failed: RuntimeError: broken"):
            search(proxy=proxy)


SCRIPT = """
import sys, firstlight
if __name__ == "__main__":
    firstlight.search("nasbench201", skeleton={"cells": 1, "channels": 4}, samples=200, workers=1, out=sys.argv[1])
"""


def count_scores(store: Path) -> int:
    if not store.exists():
        return 0
    try:
        connection = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
        return int(connection.execute("SELECT count(*) FROM scores").fetchone()[0])
    except sqlite3.Error:  # the table is not there yet
        return 0


def test_a_killed_run_continues_where_it_was(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    store = tmp_path / "run" / STORE_NAME
    process = subprocess.Popen([sys.executable, script, tmp_path / "run"], env=os.environ)
    try:
        deadline = time.monotonic() + 120
        while count_scores(store) < 20 and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    done = count_scores(store)
    assert 20 <= done < 200, "the run was to be killed halfway"
    settings: dict[str, Any] = {"samples": 200, "workers": 0}
    resumed = search(out=tmp_path / "run", **settings)
    undisturbed = search(out=tmp_path / "other", **settings)
    assert resumed.reused == done
    assert resumed.scored == 200 - done
    assert resumed.best.architecture == undisturbed.best.architecture
    assert resumed.score.value == undisturbed.score.value


def test_a_proxy_that_is_not_made_for_the_networks_is_given_up_soon() -> None:
    seen = []
    with pytest.raises(
        FirstlightError, match=r"None of the first 8 networks .* dss does not support them.*another proxy"
    ):
        search(proxy="dss", samples=100, callback=into(seen))
    assert len(seen) < 8


@pytest.mark.parametrize(("space", "proxy"), [("nasrec-small", "jacov"), ("transnas-micro", "independence")])
def test_spaces_that_dextr_does_not_fit_have_another_usual_proxy(space: str, proxy: str) -> None:
    small = {"transnas-micro": {"channels": 4, "input_shape": (3, 64, 64)}}.get(space, {"rows": 10})
    result = firstlight.search(space, samples=2, skeleton=small, workers=0)
    assert str(result.setting.by) == proxy
    assert result.score.ok


@pytest.mark.skipif(not can_limit_memory(), reason="memory of a process cannot be limited here")
def test_networks_that_harm_their_worker_cost_only_themselves(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"proxy": "grad_norm", "samples": 3, "out": tmp_path}
    result = firstlight.search(HOSTILE, workers=1, max_worker_memory="1G", **settings)
    assert result.best.architecture == "deed=none,width=4"
    assert result.scored == 3
    rows = sqlite3.connect(tmp_path / STORE_NAME).execute("SELECT architecture, status, note FROM scores").fetchall()
    found = {text.split(",")[0].removeprefix("deed="): (status, note) for text, status, note in rows}
    assert found.pop("none") == ("ok", "")
    assert found["crash"] == ("failed", "the worker process died twice (signal 11)")
    assert found["hog"][0] == "out_of_memory"


def test_a_finished_search_goes_on_with_more_samples(tmp_path: Path) -> None:
    first = search(samples=6, out=tmp_path)
    more = search(samples=9, out=tmp_path)
    assert (first.scored, more.scored, more.reused) == (6, 3, 6)
    assert list(more.history["architecture"])[:6] == list(first.history["architecture"])
    assert more.best.architecture == search(samples=9).best.architecture
    assert json.loads((tmp_path / RESULT_NAME).read_text())["settings"]["samples"] == 9
    with pytest.raises(StoreError, match="samples was 9, now 8"):
        search(samples=8, out=tmp_path)


def test_a_finished_search_goes_on_with_more_queries(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"data": "digits@8", "data_samples": 60, "epochs": 1, "out": tmp_path, "samples": None}
    first = search(queries=1, **asked)
    more = search(queries=2, **asked)
    assert list(more.history["architecture"])[:1] == list(first.history["architecture"])
    with Store(tmp_path / STORE_NAME) as store:
        assert store.count_evaluations() == 2


def test_runs_share_a_store_and_keep_their_folders_apart(tmp_path: Path) -> None:
    shared, first, second = (tmp_path / name for name in ("all.sqlite", "first", "second"))
    best = search(samples=6, out=first, store=shared).best.architecture
    more = search(samples=8, out=second, store=shared)
    assert (more.scored, more.reused, more.notes) == (2, 6, ())
    assert search(samples=8, out=second, store=shared).reused == 8
    with pytest.raises(StoreError, match=r"second holds another run: samples was 8, now 6"):
        search(samples=6, out=second, store=shared)
    assert {file.name for file in first.iterdir()} == {RESULT_NAME, "architecture.txt"}
    assert best in write_report(first).read_text()
    with Store(shared) as store:
        assert [len(store.trials(run)) for run in store.runs()] == [6, 8]


SHARING = """
import sys, firstlight
small = {"cells": 1, "channels": 4}
found = firstlight.search("nasbench201", skeleton=small, samples=20, workers=0, out=sys.argv[1], store=sys.argv[2])
print(found.best.architecture, found.scored + found.reused)
"""


def test_two_searches_at_once_share_a_store(tmp_path: Path) -> None:
    shared = tmp_path / "all.sqlite"
    searches = [
        subprocess.Popen([sys.executable, "-c", SHARING, tmp_path / name, shared], stdout=subprocess.PIPE, text=True)
        for name in ("one", "other")
    ]
    said = {process.communicate()[0] for process in searches}
    assert [process.returncode for process in searches] == [0, 0]
    assert said == {f"{search(samples=20).best.architecture} 20\n"}
    with contextlib.closing(sqlite3.connect(shared)) as connection:
        assert connection.execute("SELECT count(*), count(DISTINCT architecture) FROM scores").fetchone() == (20, 20)
        assert connection.execute("SELECT count(*) FROM runs").fetchone() == (1,)
        assert connection.execute("SELECT count(*) FROM trials").fetchone() == (20,)


def test_what_another_version_computed_is_told_or_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("firstlight.storage.store.this_environment", lambda: Environment("0", "1.9", "2.7", "vax"))
        before = search(samples=3, out=tmp_path)
    mixed = search(samples=3, out=tmp_path)
    assert (before.notes, mixed.reused) == ((), 3)
    (note,) = mixed.notes
    assert "3 reused results were computed by PyTorch 1.9 on vax" in note
    again = search(samples=3, out=tmp_path, same_versions=True)
    assert (again.scored, again.notes) == (3, ())
    assert search(samples=3, out=tmp_path).notes == ()


def test_a_result_that_does_not_fit_on_the_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    search(samples=2, out=tmp_path)
    before = (tmp_path / RESULT_NAME).read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StoreError, match=r"architecture.txt cannot be written: .*No space left.*Free some space"):
        search(samples=2, out=tmp_path)
    assert (tmp_path / RESULT_NAME).read_bytes() == before
    assert {file.name for file in tmp_path.iterdir()} == {RESULT_NAME, STORE_NAME, "architecture.txt"}


def test_the_chosen_network_is_in_a_file_of_its_own(tmp_path: Path) -> None:
    """So that commands and code name it without its long text."""
    found = search(proxy="params", samples=3, out=tmp_path)
    assert (tmp_path / "architecture.txt").read_text() == found.best.architecture
    steps = next_steps(found)
    assert not any(found.best.architecture in step for step in (*steps, building(found)))
    assert any(f"--from {tmp_path / 'architecture.txt'}" in step for step in steps)
    (training,) = (step for step in steps if step.startswith("train "))
    assert "--skeleton " in training
    assert "classes" not in training
    space = firstlight.space("nasbench201")
    assert space.parse((tmp_path / "architecture.txt").read_text()) == space.parse(found.best.architecture)


def test_a_folder_of_something_unfinished_is_no_search(tmp_path: Path) -> None:
    with Store(tmp_path / STORE_NAME):
        pass
    with pytest.raises(StoreError, match="a comparison or a study that has not finished"):
        last_search(tmp_path)
    with pytest.raises(StoreError, match="holds no search"):
        last_search(tmp_path / "nowhere")
