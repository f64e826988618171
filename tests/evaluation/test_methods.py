"""Methods by their text, and the queries they make."""

from __future__ import annotations

import pytest
from tests.evaluation.toy_truth import a_truth

from firstlight.core.errors import FirstlightError, SettingError, UnknownNameError
from firstlight.evaluation.contest import Contest
from firstlight.evaluation.methods import Query, parse_method, parse_methods
from firstlight.execution.executor import InProcess
from firstlight.storage.store import Store


def a_contest() -> Contest:
    small = (("channels", 4), ("input_shape", (3, 16, 16)))
    return Contest(a_truth(), ("toy_test_40",), "known", InProcess(), Store(":memory:"), skeleton_settings=small)


def run(text: str, budget: int = 12, seed: int = 0) -> list[Query]:
    return parse_method(text).run(a_contest(), budget, seed)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("random", "random"),
        ("evolution", "evolution:children=1:population=10:tournament=10"),
        ("evolution:population=20", "evolution:children=1:population=20:tournament=10"),
        ("evolution:population=64:children=8", "evolution:tournament=10"),  # what is not written is the default
        (" reinforce:decay=0.5", "reinforce:batch=1:decay=0.5"),
        ("bohb", "bohb"),
        ("params", "random@params"),
        ("evolution@dextr:variant=official", "evolution@dextr:variant=official"),
    ],
)
def test_names_and_what_they_mean_here(text: str, meaning: str) -> None:
    assert str(parse_method(text)) == meaning


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("evolutoin", UnknownNameError, r"no method 'evolutoin'. Did you mean 'evolution'\? Known: .*bohb.*reinforce"),
        ("evolution:size=3", SettingError, "settings: population, tournament, children"),
        ("random@dexter", UnknownNameError, "dextr"),
        ("random@az_nas", SettingError, "'az_nas' is an ensemble"),
        ("az_nas", SettingError, "'az_nas' is an ensemble"),
        (
            "rank_mean(dextr,meco)",
            SettingError,
            r"'rank_mean\(dextr,meco\)' is an ensemble.* only proxies are taken here",
        ),
        ("", UnknownNameError, "no method ''"),
    ],
)
def test_names_that_are_none(text: str, error: type[FirstlightError], message: str) -> None:
    with pytest.raises(error, match=message):
        parse_method(text)


def test_several_methods_are_told_apart_by_commas_outside_of_brackets() -> None:
    assert list(map(str, parse_methods("random,random@params"))) == ["random", "random@params"]
    with pytest.raises(SettingError, match=r"'rank_mean\(dextr,meco\)' is an ensemble"):
        parse_methods("random,evolution@rank_mean(dextr,meco),bohb")


@pytest.mark.parametrize("text", ["random", "evolution", "reinforce", "bohb"])
def test_every_query_has_its_value_epochs_and_seconds(text: str) -> None:
    truth, found = a_truth(), run(text, 30)
    assert len(found) == 30
    for query in found:
        assert query.epochs in ((4, 40) if text == "bohb" else (40,))
        assert query.value == truth.figures[f"toy_val_{query.epochs}"][query.architecture]
        assert truth.times is not None
        assert query.seconds == truth.times.seconds(query.architecture, query.epochs)
    assert found == run(text, 30)
    assert found != run(text, 30, seed=1)


def test_a_proxy_costs_no_training() -> None:
    found = run("random@params")
    assert len(found) == 12
    assert all(query.epochs is None and query.seconds is not None and query.seconds >= 0 for query in found)
    assert {query.architecture for query in found} <= set(a_truth().networks)
    assert parse_method("bohb").asks_fidelities
    assert not parse_method("random@params").asks_fidelities
