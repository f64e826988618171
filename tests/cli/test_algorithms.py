"""The list of algorithms."""

from __future__ import annotations

import json

import pytest
from tests.cli.command import firstlight

from firstlight.core.references import REFERENCES
from firstlight.search.algorithms import ALGORITHMS
from firstlight.views.catalog import algorithm_facts


def say(*words: str) -> str:
    return firstlight("algorithms", *words).stdout


def test_all_are_listed() -> None:
    assert [entry["name"] for entry in json.loads(say("--json"))] == list(ALGORITHMS)
    assert all(name in say() for name in ALGORITHMS)


@pytest.mark.parametrize("name", list(ALGORITHMS))
def test_one_tells_its_settings_and_who_published_it(name: str) -> None:
    facts = algorithm_facts(ALGORITHMS[name])
    told = json.loads(say(name, "--json"))
    assert told["settings"] == facts.settings
    shown = " ".join(say(name).split())
    assert facts.summary in shown
    assert all(f"{setting}={default}" in shown for setting, default in facts.settings.items())
    assert all(told["setting_help"][setting].split()[0] in shown for setting in facts.settings)
    assert not facts.reference or REFERENCES[facts.reference].title in shown


def test_formulas_keep_their_lines() -> None:
    lines = [line.strip() for line in say("nasi").splitlines()]
    assert "R     = T - mu * max(0, T - nu)" in lines


def test_one_that_is_not_there() -> None:
    assert "Did you mean 'evolution'" in firstlight("algorithms", "evolutoin", code=1).stderr
