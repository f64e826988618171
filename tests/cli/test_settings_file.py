"""Options from a file, and recipes that come along."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cli.command import SMALL, firstlight

from firstlight.cli.settings_file import bundled, read_settings_file
from firstlight.core.errors import FirstlightError, SettingError
from firstlight.options import Network
from firstlight.search.algorithm import AlgorithmRequest
from firstlight.spaces import SPACES
from firstlight.training.recipes import RecipeRequest


def test_what_is_written_takes_the_place_of_defaults_and_the_command_line_goes_before(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('space = "nasbench201"\nsamples = 3\nmax-params = "1M"\nproxy = "params"\n')
    asked = ("search", "--settings", "mine.toml", "--out", "run", "--json", *SMALL)
    result = json.loads(firstlight(*asked, folder=tmp_path).stdout)
    assert (result["samples"], list(result["best"]["scores"])) == (3, ["params"])
    other = json.loads(firstlight(*asked[:-4], "other", *asked[-3:], "--samples", "2", folder=tmp_path).stdout)
    assert other["samples"] == 2


@pytest.mark.parametrize("name", bundled())
def test_recipes_are_searches_that_can_be_run(name: str) -> None:
    found = read_settings_file(name)
    assert found["space"] in SPACES
    AlgorithmRequest.parse(found["algorithm"]).algorithm.check(SPACES[found["space"]])
    assert int(found.get("samples") or found["queries"]) > 0
    if "recipe" in found:
        RecipeRequest.parse(found["recipe"])
    if "skeleton" in found:
        SPACES[found["space"]].skeleton(**Network(skeleton=found["skeleton"]).skeleton_settings)


def test_the_published_searches_of_hnas() -> None:
    darts = dict(AlgorithmRequest.parse(read_settings_file("hnas-darts")["algorithm"]).settings)
    assert darts == {
        "pool": 60_000,
        "form": "official",
        "scale": 100.0,
        "highest": 1.0,
        "acquisition": "ucb",
        "narrow": False,
    }
    assert read_settings_file("hnas-darts")["queries"] == "25"
    nb201 = dict(AlgorithmRequest.parse(read_settings_file("hnas-nasbench201")["algorithm"]).settings)
    assert nb201 == {"growing": True, "form": "official", "scale": 5000.0, "narrow": False}


def test_recipes_are_named_in_the_help() -> None:
    text = " ".join(firstlight("search", "--help").stdout.replace("│", " ").split())
    assert all(name in text for name in bundled())


@pytest.mark.parametrize(
    ("name", "most"), [("dextr-autoformer", {"params": 6e6}), ("dextr-mobilenetv2", {"macs": 450e6})]
)
def test_the_recipes_of_dextr_search_within_their_budgets(name: str, most: dict[str, float], tmp_path: Path) -> None:
    asked = ("search", "--settings", name, "--samples", "2", "--skeleton", "input_shape=3x64x64", "--workers", "0")
    result = json.loads(firstlight(*asked, "--out", "run", "--json", folder=tmp_path).stdout)
    assert list(result["best"]["scores"]) == ["dextr"]
    assert all(result["best"]["cost"][cost] <= limit for cost, limit in most.items())


def test_the_recipe_of_plainnet_searches_within_its_budget(tmp_path: Path) -> None:
    asked = ("search", "--settings", "plainnet-cifar", "--samples", "4", "--proxy", "zico", "--batch-size", "4")
    shape = ("--skeleton", "input_shape=3x8x8")
    result = json.loads(firstlight(*asked, *shape, "--out", "run", "--json", folder=tmp_path).stdout)
    assert result["best"]["architecture"].startswith("SuperConv")
    assert result["best"]["cost"]["params"] <= 1e6


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("samples 500", "cannot be read as settings"),
        ("pages = 5", "sets 'pages', which the command does not have. It has: address, algorithm"),
        ("samples = [1, 2]", "expected text or a number"),
    ],
)
def test_what_is_wrong_is_told(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(content)
    assert message in firstlight("search", "--settings", "mine.toml", folder=tmp_path, code=1).stderr
    missing = firstlight("search", "--settings", "plainet-cifar", folder=tmp_path, code=1).stderr
    assert "Did you mean 'plainnet-cifar'?" in missing


@settings(deadline=None)
@given(text=st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("any") / "any.toml"
    path.write_text(text, encoding="utf-8", newline="")
    try:
        found = read_settings_file(str(path))
    except FirstlightError:
        return
    assert all(isinstance(value, str) for value in found.values())


@pytest.mark.parametrize("content", ["samples = " + "9" * 5000, "samples = " + "[" * 3000])
def test_a_settings_file_that_python_gives_up_on(tmp_path: Path, content: str) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(content)
    with pytest.raises(SettingError, match="cannot be read as settings"):
        read_settings_file(str(path))
