"""Algorithms as users give them: by name, by `module:name`, and as objects."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.toy_truth import a_table
from tests.search import own

import firstlight
from firstlight.core.errors import ModelError, SettingError, StoreError, UnknownNameError
from firstlight.evaluation.methods import parse_method
from firstlight.search.algorithm import AlgorithmRequest
from firstlight.search.algorithms import ALGORITHMS
from firstlight.search.problem import Problem

NAME = "tests.search.own:first_few"
SMALL = {"cells": 1, "channels": 4}
CELL = "|none~0|+|none~0|none~1|+|none~0|none~1|none~2|"


def search(**settings: Any) -> firstlight.SearchResult:
    return firstlight.search("nasbench201", **({"skeleton": SMALL, "proxy": "params", "workers": 0} | settings))


def test_what_an_algorithm_cannot_be() -> None:
    with pytest.raises(UnknownNameError, match=r"no kind of needs 'gpu'\. Known: choices"):
        firstlight.algorithm(needs=("gpu",))  # type: ignore[call-overload]
    with pytest.raises(SettingError, match="The search algorithm 'aimless' must take a problem"):

        @firstlight.algorithm
        def aimless() -> None: ...


def test_an_error_names_the_algorithm() -> None:
    @firstlight.algorithm
    def stumbles(problem: Problem) -> None:
        raise ZeroDivisionError("no networks")

    with pytest.raises(ZeroDivisionError) as caught:
        search(algorithm=stumbles)
    (note,) = caught.value.__notes__
    assert note.startswith("The search algorithm 'tests.search.test_algorithm:stumbles' raised this error.")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("evolution", "evolution"),
        (" evolution:population=9 ", "evolution:population=9"),
        (ALGORITHMS["evolution-budget"], "evolution-budget"),
        (NAME, NAME),
        (f"{NAME}:count=2", f"{NAME}:count=2"),
        (f"{NAME}:count=2:start={CELL}", f"{NAME}:count=2:start={CELL}"),
        (own.first_few, NAME),
    ],
)
def test_every_way_of_giving_one_has_a_text_that_reads_back(given: Any, text: str) -> None:
    request = AlgorithmRequest.parse(given)
    assert str(request) == text
    assert AlgorithmRequest.parse(text) == request


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ("evolutoin", UnknownNameError, "Did you mean 'evolution'"),
        ("evolution:", SettingError, "'' is not a setting of the algorithm 'evolution'"),
        ("evolution:size=3", SettingError, "settings: population, tournament"),
        (f"{NAME}:size=3", SettingError, f"'size=3' is not a setting of the algorithm '{NAME}'.*count, start"),
        (f"{NAME}:count=0", SettingError, "first-few:count is 0; it must be 1 or more"),
        ("tests.search.own:no_algorithm", SettingError, "is not a search algorithm.*@firstlight.algorithm"),
        ("tests.search.own:nothing", ModelError, "cannot be imported"),
        (own.no_algorithm, SettingError, "is not a search algorithm.*@firstlight.algorithm"),
        (7, SettingError, "7 is not a search algorithm"),
    ],
)
def test_what_is_no_algorithm(given: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        AlgorithmRequest.parse(given)


def test_settings_of_a_query_search_give_way_to_written_ones() -> None:
    request = AlgorithmRequest.parse("evolution:population=20", for_queries=True)
    assert str(request) == "evolution:children=1:population=20:tournament=10"
    # the random numbers of a search follow from this text
    assert request.written == "evolution:population=10:tournament=10:children=1:population=20"
    assert AlgorithmRequest.parse("hnas", batch_size=8, for_queries=True).written == "hnas:batch=8"
    assert AlgorithmRequest.parse("hnas:batch=4", batch_size=8).written == "hnas:batch=4"
    assert AlgorithmRequest.parse("random", batch_size=8, for_queries=True).written == "random"


def test_what_algorithms_declare() -> None:
    assert {name for name, entry in ALGORITHMS.items() if entry.fidelities} == {"bohb"}
    assert {entry.report for entry in ALGORITHMS.values()} == {"", "hnas", "one_shot"}
    assert {name for name, entry in ALGORITHMS.items() if entry.query_settings} == {"evolution", "reinforce"}
    assert {entry.batch_setting for entry in ALGORITHMS.values()} == {None, "batch"}
    assert ALGORITHMS["reinforce"].batch_setting is None  # whose batches are of networks


@pytest.mark.parametrize("given", [own.first_few, NAME], ids=["object", "name"])
def test_a_search_by_ones_own_is_recorded_and_resumed(given: Any, tmp_path: Path) -> None:
    result = search(algorithm=given, out=tmp_path)
    assert (result.scored, str(result.setting.algorithm)) == (3, NAME)
    assert result.setting.to_dict()["objectives"] == "macs"  # as it declares
    again = search(algorithm=NAME, out=tmp_path)
    assert (again.scored, again.reused, again.best.architecture) == (0, 3, result.best.architecture)
    with pytest.raises(StoreError, match=f"algorithm was '{NAME}', now '{NAME}:count=2'"):
        search(algorithm=f"{NAME}:count=2", out=tmp_path)


def test_what_a_folder_names_is_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    search(algorithm=NAME, out=tmp_path)
    monkeypatch.delitem(sys.modules, "tests.search.own")
    with pytest.raises(StoreError, match=f"algorithm was '{NAME}', now 'random'"):
        search(algorithm="random", samples=500, out=tmp_path, objectives="macs")
    assert "tests.search.own" not in sys.modules


def test_one_of_a_session_is_taken_in_this_process() -> None:
    @firstlight.algorithm
    def inner(problem: Problem) -> None:
        """Score one network."""
        problem.score([problem.space.parse(CELL)])

    assert search(algorithm=inner).best.architecture == CELL


def test_findings_are_told_under_the_report_block_or_the_name() -> None:
    @firstlight.algorithm
    def finder(problem: Problem) -> None:
        """Find something out."""
        problem.score([problem.space.parse(CELL)])
        problem.findings["answer"] = 42

    (key,) = (found := search(algorithm=finder).findings)
    assert key.endswith(":finder")
    assert found[key] == {"answer": 42}


def test_compared_as_an_object_or_by_its_name() -> None:
    assert [str(parse_method(given)) for given in (own.first_few, NAME, f"{NAME}:count=2")] == [
        NAME,
        NAME,
        f"{NAME}:count=2",
    ]
    assert str(parse_method(f"{NAME}@params")) == f"{NAME}@params"
    assert str(parse_method(firstlight.PROXIES["params"])) == "random@params"
    found = firstlight.search("transnas-micro", table=a_table(), algorithm=f"{NAME}:count=2", queries=5, workers=0)
    assert found.scored + found.reused == 2
