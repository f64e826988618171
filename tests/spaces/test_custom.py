"""A space of one's own: everything follows from the choices and the function, here and in worker processes."""

from __future__ import annotations

import itertools
import json
import pickle
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.cli.command import firstlight as command
from tests.spaces import own
from torch import nn

import firstlight
from firstlight.core.errors import FirstlightError, ModelError, ParseError, SettingError, UnknownNameError
from firstlight.spaces import SPACES
from firstlight.spaces.custom import ChoiceSpace, choices
from firstlight.spaces.finding import find_space
from firstlight.testing.spaces import damaged, read_exactly_or_refused, stays_in_the_space
from firstlight.views.catalog import space_facts

SPACE = own.perceptron
SMALL = {"input_shape": (3, 4, 4), "classes": 3}


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SPACES, "_loaded", dict(SPACES._loaded))


def test_all_combinations_have_a_text_that_reads_back() -> None:
    assert isinstance(SPACE, ChoiceSpace)
    texts = [str(architecture) for architecture in SPACE]
    assert len(set(texts)) == len(SPACE) == 3 * 2 * 2
    assert texts[0] == "width=4,depth=1,activation=relu"
    assert [str(SPACE.parse(text)) for text in texts] == texts
    assert {str(SPACE.sample(random.Random(seed))) for seed in range(200)} == set(texts)
    assert SPACE.canonical(SPACE.parse(texts[3])) == SPACE.parse(texts[3])


def test_a_mutation_changes_one_choice() -> None:
    rng = random.Random(0)
    for _ in range(100):
        parent = SPACE.sample(rng)
        child = SPACE.mutate(parent, rng)
        assert sum(one != other for one, other in zip(parent.chosen, child.chosen, strict=True)) == 1


@pytest.mark.parametrize("cases", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_text_and_mutations_at_random(cases: int) -> None:
    for seed in range(cases):
        read_exactly_or_refused(SPACE, damaged(SPACE, seed))
    stays_in_the_space(SPACE, cases, seed=0)


@pytest.mark.parametrize(
    ("text", "position", "expected"),
    [
        ("", 0, "'width='"),
        ("width=5,depth=1,activation=relu", 6, "one of 4, 8, 16"),
        ("width=16", 8, "',depth='"),
        ("width=1,depth=1,activation=relu", 6, "one of 4, 8, 16"),
        ("width=4,depth=1,activation=relu6", 31, "the end of the text"),
        ("depth=1,width=4,activation=relu", 0, "'width='"),
    ],
)
def test_errors_point_at_the_place(text: str, position: int, expected: str) -> None:
    with pytest.raises(ParseError, match=expected) as caught:
        SPACE.parse(text)
    assert caught.value.position == position


def test_a_label_may_begin_like_another() -> None:
    space = ChoiceSpace("kernels", lambda size: nn.Identity(), size=("3", "3x3", "3x"))
    assert [str(space.parse(f"size={size}")) for size in ("3", "3x", "3x3")] == ["size=3", "size=3x", "size=3x3"]


def test_networks_are_what_the_function_makes() -> None:
    skeleton = SPACE.skeleton(**SMALL)
    network = SPACE.build("width=8,depth=2,activation=gelu", skeleton)
    assert [type(layer).__name__ for layer in network] == ["Flatten", "Linear", "GELU", "Linear", "GELU", "Linear"]
    assert network(torch.randn(2, 3, 4, 4)).shape == (2, 3)
    cost = SPACE.cost(SPACE.parse("width=8,depth=2,activation=gelu"), skeleton)
    assert (cost.params, cost.macs) == (48 * 8 + 8 + 72 + 27, 48 * 8 + 64 + 24)
    called = SPACE(width=4, depth=1, activation=nn.ReLU, input_shape=(2,), classes=5)
    assert called(torch.randn(1, 2)).shape == (1, 5)


def test_weights_depend_on_seed_and_text_alone() -> None:
    state = torch.get_rng_state()
    text = "width=8,depth=1,activation=relu"
    first, again, other = (SPACE.build(text, SPACE.skeleton(**SMALL), seed=seed).state_dict() for seed in (1, 1, 2))
    SPACE.cost(SPACE.parse(text))
    assert torch.equal(state, torch.get_rng_state())
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["1.weight"], other["1.weight"])


def test_the_cost_of_what_cannot_be_built_without_numbers() -> None:
    def data_dependent(width: int) -> nn.Module:
        layer = nn.Linear(12, width)
        assert float(layer.weight.detach().abs().sum()) > 0  # fails on the meta device
        return nn.Sequential(nn.Flatten(), layer)

    space = ChoiceSpace("dependent", data_dependent, width=(2, 3))
    assert space.cost(space.parse("width=3"), space.skeleton(input_shape=(3, 2, 2))).params == 39


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (own.strided, {"kernel": (1, 3), "color": (1, 2)}, "does not take 'color'. It takes: kernel, stride, bias"),
        (own.strided, {"stride": (1, 2)}, "needs 'kernel'"),
        (own.strided, {"kernel": (3,)}, "nothing to choose"),
        (own.strided, {}, "nothing to choose"),
        (own.strided, {"kernel": {1, 3}}, "write the options as a tuple"),
        (None, {"kernel": (1, 3)}, "needs a function"),
        (own.strided, {"kernel": (3, 3)}, "each only once"),
        (own.strided, {"kernel": ()}, "at least one"),
        (own.strided, {"kernel": 3}, r"write the options as a tuple, such as kernel=\(16, 32\)"),
        (own.strided, {"kernel": "135"}, "as a tuple"),
        (own.strided, {"kernel": ((3, 3), (5, 5))}, "Give it a label"),
        (own.strided, {"kernel": ("a b", "c")}, "without spaces, commas"),
        (own.strided, {"kernel": {1: 1, 2: 2}}, "a label is a string"),
    ],
)
def test_spaces_that_make_no_sense(function: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        ChoiceSpace("mine", function, **options)


@pytest.mark.parametrize("name", ["", "module:name"])
def test_names_that_make_no_sense(name: str) -> None:
    with pytest.raises(SettingError, match="cannot be the name of a space"):
        ChoiceSpace(name, own.strided, kernel=(1, 3))


def test_defaults_and_other_keywords_are_left_alone() -> None:
    space = ChoiceSpace("strided", own.strided, kernel=(1, 3), bias=(True, False))
    assert [str(architecture) for architecture in space][:2] == ["kernel=1,bias=True", "kernel=1,bias=False"]
    assert space.build("kernel=3,bias=False")[0].bias is None
    anything = ChoiceSpace("anything", lambda **named: nn.Linear(*named.values()), a=(1, 2), b=(3, None))
    assert str(next(iter(anything))) == "a=1,b=3"
    assert anything.summary == "choices of a, b"
    assert SPACE.summary == "Perceptrons of one or two hidden layers."


def test_functions_that_fail_are_named() -> None:
    space = ChoiceSpace("odd", lambda width: 1 / 0 if width == 1 else "a text", width=(1, 2))
    with pytest.raises(ModelError, match=r"odd\(width=1\) failed: ZeroDivisionError"):
        space.build("width=1")
    with pytest.raises(ModelError, match=r"odd\(width=2\) returned a str"):
        space.build("width=2")


def search(space: Any, **settings: Any) -> firstlight.SearchResult:
    defaults = {"proxy": "grad_norm", "samples": 6, "skeleton": SMALL, "workers": 0}
    return firstlight.search(space, **(defaults | settings))


def test_searching_by_object_by_name_and_by_module() -> None:
    by_object = search(SPACE)
    firstlight.register(SPACE)
    found = [by_object, search("perceptron"), search("tests.spaces.own:perceptron")]
    assert len({result.best.architecture for result in found}) == 1
    assert len({result.score.value for result in found}) == 1
    assert by_object.build()(torch.randn(1, 3, 4, 4)).shape == (1, 3)
    assert firstlight.space("perceptron") is firstlight.space("tests.spaces.own:perceptron") is SPACE


@pytest.mark.parametrize("space", [SPACE, "perceptron"], ids=["object", "name"])
def test_workers_import_the_space(space: Any) -> None:
    firstlight.register(SPACE)
    here, there = search(space, repeats=2), search(space, repeats=2, workers=1)
    assert here.best.architecture == there.best.architecture
    assert here.score.value == there.score.value


def test_what_workers_cannot_import_stays_in_this_process() -> None:
    hidden = ChoiceSpace("hidden", lambda width: nn.Sequential(nn.Flatten(), nn.Linear(48, width)), width=(3, 4))
    assert search(hidden, samples=2, proxy="params").best.architecture == "width=4"
    with pytest.raises(SettingError, match=r"cannot import the space 'hidden'.*workers=0"):
        search(hidden, workers=1)


def test_another_function_of_the_same_name_has_other_scores(tmp_path: Path) -> None:
    def narrow(width: int) -> nn.Module:
        return nn.Sequential(nn.Flatten(), nn.Linear(48, width))

    def wide(width: int) -> nn.Module:
        return nn.Sequential(nn.Flatten(), nn.Linear(48, 2 * width))

    results = [
        firstlight.search(
            ChoiceSpace("mine", function, width=(2, 4)),
            proxy="params",
            samples=2,
            skeleton={"input_shape": (3, 4, 4)},
            workers=0,
            out=tmp_path / "run",
        )
        for function in (narrow, wide, narrow)
    ]
    assert [(result.score.value, result.scored) for result in results] == [(4 * 49, 2), (8 * 49, 2), (4 * 49, 0)]


@pytest.mark.parametrize("space", [SPACE, "tests.spaces.own:perceptron"], ids=["object", "address"])
def test_trusting_proxies_on_a_space_of_ones_own(space: Any) -> None:
    found = firstlight.trust(
        space, data="digits@8", train=10, epochs=1, proxies="params", data_samples=60, workers=1, recipe=None
    )
    assert len(found.study.sample.rows) == 10


def test_a_space_too_large_for_counting() -> None:
    space = ChoiceSpace("large", lambda **choices: nn.Flatten(), **{f"choice{n}": range(5) for n in range(30)})
    assert space_facts(space).architectures is None
    result = firstlight.search(
        space, proxy="params", samples=3, workers=0, skeleton={"input_shape": (1, 1, 2), "classes": 2}
    )
    assert result.scored == 3


def test_a_network_that_does_not_take_the_inputs_is_named() -> None:
    space = ChoiceSpace("narrow", lambda width: nn.Linear(7, width), width=(2, 4))
    with pytest.raises(ModelError, match=r"narrow\(width=2\) does not take inputs of \(1, 3, 32, 32\): RuntimeError"):
        space.cost(space.parse("width=2"))


def test_a_class_of_which_no_space_can_be_made() -> None:
    with pytest.raises(SettingError, match=r"'firstlight\.spaces\.base:Space' is not a search space.*all methods of"):
        find_space("firstlight.spaces.base:Space")


def test_ranking_a_space_of_ones_own() -> None:
    ranking = firstlight.rank(SPACE, samples=4, proxies="params", skeleton=SMALL, workers=0)
    assert len(ranking.rows) == 4
    with pytest.raises(SettingError, match="the space 'perceptron' take the name of an input"):
        firstlight.rank(SPACE, samples=1, input=torch.zeros(1, 3, 4, 4))


def test_a_space_travels_by_its_address() -> None:
    assert pickle.loads(pickle.dumps(SPACE)) is SPACE


def test_names_of_the_package_are_taken() -> None:
    taken = ChoiceSpace("nasbench201", own.strided, kernel=(1, 3))
    with pytest.raises(SettingError, match="already a built-in search space 'nasbench201'"):
        firstlight.register(taken)
    with pytest.raises(SettingError, match="already a built-in search space 'nasbench201'"):
        search(taken)
    known = firstlight.search(SPACES["nasbench201"], samples=1, proxy="params", workers=0)
    assert known.setting.setting.space_name == "nasbench201"


def test_a_space_registered_again_replaces_the_first() -> None:
    for options in ((1, 3), (1, 3, 5)):
        firstlight.register(ChoiceSpace("mine", own.strided, kernel=options))
    assert len(firstlight.space("mine")) == 3
    assert "mine" in list(SPACES)
    assert len(SPACES) == len(list(SPACES))


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("perceptrons", UnknownNameError, "There is no search space 'perceptrons'"),
        ("tests.spaces.own:no_space", SettingError, "is not a search space"),
        ("tests.spaces.own:nothing", ModelError, "cannot be imported: AttributeError"),
        ("tests.nowhere:space", ModelError, "cannot be imported: ModuleNotFoundError"),
    ],
)
def test_spaces_that_are_not_there(name: str, error: type[FirstlightError], message: str) -> None:
    with pytest.raises(error, match=message):
        find_space(name)


def test_a_class_stands_for_its_space() -> None:
    space = find_space("firstlight.spaces.nasbench201.space:NASBench201")
    assert space.name == "nasbench201"


def test_a_decorator_keeps_the_name() -> None:
    @choices(kernel=(1, 3))
    def convolution(kernel: int) -> nn.Module:
        return nn.Conv2d(3, 4, kernel)

    assert convolution.name == "convolution"


def test_choices_by_their_places() -> None:
    assert SPACE.choices() == (("4", "8", "16"), ("1", "2"), ("relu", "gelu"))
    everything = [SPACE.to_choices(architecture) for architecture in SPACE]
    assert everything == list(itertools.product(range(3), range(2), range(2)))
    assert str(SPACE.from_choices((1, 0, 1))) == "width=8,depth=1,activation=gelu"


DOCUMENT = Path(__file__).parents[2] / "docs" / "own-space.md"


def test_the_documented_example(tmp_path: Path) -> None:
    """As a script, with worker processes; the commands below it are run with the other pages of the guide."""
    script, *_ = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "mine.py").write_text(script)
    done = subprocess.run([sys.executable, "mine.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "runs" / "mine" / "result.json").read_text(encoding="utf-8"))
    assert done.stdout.split()[-1] == found["best"]["architecture"]
    assert found["scored"] + found["rejected"] == 18


class Lossy(firstlight.Space[Any]):
    """Its texts lose what they stand for."""

    name = "lossy"
    summary = "perceptrons"
    reference = ""

    def sample(self, rng: random.Random) -> Any:
        return SPACE.sample(rng)

    def mutate(self, architecture: Any, rng: random.Random) -> Any:
        return SPACE.mutate(architecture, rng)

    def parse(self, text: str) -> Any:
        return SPACE.parse("width=4,depth=1,activation=relu")

    def canonical(self, architecture: Any) -> Any:
        return architecture

    def network(self, architecture: Any, skeleton: Any) -> nn.Module:
        return SPACE.network(architecture, skeleton)


def test_texts_that_do_not_read_back_are_refused_before_any_work() -> None:
    with pytest.raises(
        SettingError, match=r"'lossy' does not read its own texts: '.*' is read as 'width=4.*check_space"
    ):
        firstlight.search(Lossy(), proxy="params", samples=2, workers=0)


def test_a_class_is_taken_where_its_space_is_and_a_space_of_unknown_size_is_true(tmp_path: Path) -> None:
    assert Lossy()
    (tmp_path / "t.csv").write_text("architecture,toy_test_10\nwidth=4;depth=1;activation=relu,50\n")
    shown = command("table", "show", "t.csv", "--space", f"{__name__}:Lossy", folder=tmp_path).stdout
    assert "architectures of" in shown
    with pytest.raises(SettingError, match="does not read its own texts"):
        firstlight.search(Lossy, proxy="params", samples=2, workers=0)
