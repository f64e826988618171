"""The public face of the library."""

from __future__ import annotations

import doctest
import importlib
import inspect
import itertools
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas
import pytest
import torch
from tests import nets
from torch import nn

import firstlight
from firstlight import api, options, papers, proxies, spaces
from firstlight.core.errors import SettingError
from firstlight.proxies.ensembles import AGGREGATIONS, NAMED
from firstlight.search import algorithms
from firstlight.spaces.base import Space

CALLS = ("compare", "correlate", "export", "predict", "rank", "reproduce", "score", "search", "space", "train", "trust")
MODULES = {
    entry.name: importlib.import_module(f"firstlight.api.{entry.name}") for entry in pkgutil.iter_modules(api.__path__)
}
PUBLIC = [name for name in firstlight.__all__ if callable(getattr(firstlight, name))]
EXAMPLES = {
    example.name.removeprefix("firstlight."): example
    for module in (*MODULES.values(), options)
    for example in doctest.DocTestFinder(recurse=True).find(module)
    if example.examples
} | {
    name: example
    for name in PUBLIC
    for example in doctest.DocTestFinder(recurse=False).find(
        getattr(firstlight, name),
        name,
        globs={"firstlight": firstlight, "torch": torch, "itertools": itertools, "pandas": pandas},
    )
    if example.examples
}
REGISTRIES: list[tuple[ModuleType, Any]] = [
    (proxies, proxies.PROXIES),
    (spaces, spaces.SPACES),
    (algorithms, algorithms.ALGORITHMS),
    (papers, papers.EXPERIMENTS),
]


def test_every_public_name_is_there() -> None:
    for name in firstlight.__all__:
        assert getattr(firstlight, name) is not None
    assert set(firstlight.__all__) <= set(dir(firstlight))
    with pytest.raises(AttributeError, match="no attribute 'serch'"):
        firstlight.serch  # noqa: B018


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_documented(name: str) -> None:
    call = getattr(firstlight, name)
    text = inspect.getdoc(call) or ""
    sections = re.findall(r"^(Args|Returns|Raises|Example):$", text, re.MULTILINE)
    assert sections == ["Args", "Returns", "Raises", "Example"]
    assert re.match(r"[A-Z]\w+ .*\.\n", text), "a summary in the imperative"
    parameters = inspect.signature(getattr(call, "__wrapped__", call)).parameters.keys() - {"options"}
    assert parameters == set(re.findall(r"^    (\w+): ", text.split("Args:\n")[1].split("\n\n")[0], re.MULTILINE))
    assert any(example.endswith(f".{name}") for example in EXAMPLES)


def test_every_public_name_has_an_example() -> None:
    assert set(PUBLIC) - EXAMPLES.keys() == set()


@pytest.mark.usefixtures("own_registries")
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    printed: list[str] = []
    found = doctest.DocTestRunner(verbose=False).run(EXAMPLES[name], out=printed.append, clear_globs=False)
    assert found.failed == 0, "".join(printed)
    assert found.attempted
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("package", "registry"), REGISTRIES, ids=["proxies", "spaces", "algorithms", "papers"])
def test_an_index_has_the_entries_of_every_module(package: ModuleType, registry: Any) -> None:
    found = {}
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        for value in vars(importlib.import_module(module.name)).values():
            if (entry := registry.kind.read(value)) is not None:
                found[entry.name] = entry
    listed = {name: entry for name, entry in found.items() if "supernet" not in name}  # spaces inside algorithms
    assert listed.keys() == registry._modules.keys()
    for name, entry in listed.items():  # a space is an instance of its class, which the registry makes
        assert registry[name] is entry or (isinstance(entry, Space) and type(registry[name]) is type(entry))


def test_the_index_of_ensembles_is_complete() -> None:
    assert sorted(proxies.ENSEMBLES) == sorted([*AGGREGATIONS, *NAMED])


def test_importing_the_package_is_cheap() -> None:
    code = "import firstlight, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_scoring_a_model() -> None:
    model = nets.build("residual").float()
    scores = firstlight.score(model, torch.randn(1, 3, 8, 8), proxies=("dextr", "params"))
    assert list(scores) == ["dextr", "params"]
    assert scores["params"].value == sum(p.numel() for p in model.parameters())
    assert list(firstlight.score(model, torch.randn(1, 3, 8, 8), "macs")) == ["macs"]


def test_what_goes_wrong_with_one_proxy_is_its_status() -> None:
    labels = torch.tensor([0, 7])
    scores = firstlight.score(nn.Linear(3, 2), (torch.randn(2, 3), labels), "snip,params,swap_reg:sigma=-1.0")
    assert {name: score.status for name, score in scores.items()} == {
        "snip": "failed",
        "params": "ok",
        "swap_reg:sigma=-1.0": "failed",
    }
    assert scores["snip"].note.startswith("Labels range from 0 to 7; the network has 2 classes")
    assert scores["swap_reg:sigma=-1.0"].note.startswith("swap_reg:sigma is -1.0; it must be positive")
    short = [(torch.randn(2, 3), labels % 2), (torch.randn(2, 4), labels % 2)]  # the second batch does not fit
    scores = firstlight.score(nn.Linear(3, 2), short, "zico,snip")
    assert [score.status for score in scores.values()] == ["failed", "ok"]
    assert "forward pass failed on (2, 4)" in scores["zico"].note


@pytest.mark.parametrize(
    ("model", "batches", "message"),
    [
        (nn.Linear(3, 2), torch.randn(1, 4), "forward pass failed on .*RuntimeError"),
        (nn.Conv2d(3, 4, 3), torch.randn(3, 8, 8), r"first dimension is the batch.*unsqueeze\(0\)"),
        (3, torch.randn(1, 4), "is neither a model nor a function that builds one, but a int"),
        (nn.Linear(3, 2).half(), torch.randn(1, 3), "half precision"),
        (nn.LazyLinear(2), torch.randn(1, 3), "lazy layers"),
        (nn.Linear(3, 2), [], "No batches were given"),
        (nn.Linear(3, 2), torch.full((1, 3), torch.nan), "NaN or infinite"),
        (lambda: 1 / 0, torch.randn(1, 3), "ZeroDivisionError"),
    ],
)
@pytest.mark.parametrize("proxies", ["dextr", "curvature,params"])
def test_what_is_wrong_with_all_proxies_is_an_error(model: Any, batches: Any, message: str, proxies: str) -> None:
    with pytest.raises(firstlight.FirstlightError, match=message):
        firstlight.score(model, batches, proxies)


def test_ranking_models() -> None:
    models = {"narrow": nn.Linear(4, 2), "wide": lambda: nn.Linear(4, 8), "empty": nn.Identity()}
    ranking = firstlight.rank(models, proxies=("params", "macs"), input=torch.randn(2, 4))
    assert [(row.rank, row.network.architecture) for row in ranking.rows] == [(1, "wide"), (2, "narrow"), (3, "empty")]
    assert [(pair.spearman, pair.networks) for pair in ranking.agreement] == [(pytest.approx(1), 3)]
    noise = firstlight.rank({"flat": nn.Flatten()}, proxies="params,macs", input_shape=(1, 2, 2))
    assert [score.value for score in noise.rows[0].network.scores.values()] == [0, 0]


def test_a_broken_model_comes_last(tmp_path: Path) -> None:
    models = {"broken": nn.Linear(7, 2), "good": nn.Linear(4, 2), "better": nn.Linear(4, 3)}
    ranking = firstlight.rank(models, proxies="params,macs", input=torch.randn(2, 4))
    assert [(row.rank, row.network.architecture) for row in ranking.rows] == [
        (1, "better"),
        (2, "good"),
        (None, "broken"),
    ]
    last = ranking.table()[-1]
    assert (last["params"], last["macs"]) == (None, None)
    assert last["remarks"].startswith("params, macs: failed (The model's forward pass failed on (1, 4)")
    assert ranking.to_dict()["networks"][-1]["cost"] is None
    ranking.write_csv(tmp_path / "table.csv")
    assert ",broken,,," in (tmp_path / "table.csv").read_text().splitlines()[-1]


class Named(nn.Module):
    """Returns its logits among other things, as many libraries do."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.map = nn.Linear(4, width)

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"features": x, "logits": self.map(x)}


def test_loss_and_logits_of_ones_own() -> None:
    torch.manual_seed(0)
    models = {"narrow": Named(2), "wide": Named(3)}
    batch = torch.randn(5, 4), torch.tensor([0, 1, 1, 0, 1])

    def loss(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(logits, targets) * 3

    ranking = firstlight.rank(models, proxies="grad_norm", input=batch, loss=loss, logits="logits")
    found = {row.network.architecture: row.value for row in ranking.rows}
    for name, model in models.items():
        plain = firstlight.score(model, batch, "grad_norm", logits="logits")["grad_norm"].value
        assert found[name] == pytest.approx(3 * plain)


SMALL = {"cells": 1, "channels": 4}


def test_ranking_architectures_and_samples() -> None:
    space = firstlight.space("nasbench201")
    given = space.parse("|none~0|+|none~0|none~1|+|nor_conv_3x3~0|none~1|none~2|")
    seen: list[str] = []
    ranking, again = (
        firstlight.rank(
            "nasbench201",
            [given],
            samples=9,
            by="log_rank(dextr,params)",
            skeleton=SMALL,
            workers=workers,
            callback=lambda event: seen.append(event.architecture) if event.stage == "scoring" else None,
        )
        for workers in (0, 2)
    )
    texts = [row.network.architecture for row in ranking.rows]
    assert len(set(texts)) == 10
    assert str(given) in texts
    assert sorted(seen) == sorted(2 * texts)
    assert ranking.proxies == ("dextr", "params")
    assert ranking.agreement == again.agreement
    assert [(row.rank, row.value) for row in ranking.rows] == [(row.rank, row.value) for row in again.rows]
    (alone,) = firstlight.rank("nasbench201", str(given), proxies="params", skeleton=SMALL, workers=0).rows
    assert alone.network.architecture == str(given)


def test_labels_of_a_ranking_may_be_random() -> None:
    text = "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|none~0|none~1|nor_conv_1x1~2|"
    own = {"mine": nn.Sequential(nn.Flatten(), nn.Linear(3072, 10))}
    for target, settings in (("nasbench201", {"architectures": [text], "skeleton": SMALL}), (own, {})):
        values = [
            firstlight.rank(
                target, input="digits", labels=labels, proxies="grad_norm", batch_size=4, workers=0, **settings
            )
            .rows[0]
            .value
            for labels in ("true", "random", "random")
        ]
        assert values[0] != values[1] == values[2]


def test_samples_differ_from_what_is_given() -> None:
    drawn = firstlight.rank("nasbench201", samples=5, proxies="params", skeleton=SMALL, workers=0)
    texts = [row.network.architecture for row in drawn.rows]
    more = firstlight.rank("nasbench201", texts, samples=5, proxies="params", skeleton=SMALL, workers=0)
    assert len({row.network.architecture for row in more.rows}) == 10


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"networks": "nasbench201"}, "nothing to rank. Name architectures of 'nasbench201'"),
        ({"networks": "nasbench201", "samples": -1}, "samples is -1"),
        ({"networks": "nasbench201", "samples": 1, "input": torch.zeros(1, 3, 32, 32)}, "the name of an input"),
        ({"networks": "nasbench201", "samples": 1, "by": "rank_mean(dextr"}, "closing bracket"),
        ({"networks": "nasbench201", "samples": 1, "proxies": "dexter"}, "Did you mean 'dextr'"),
        ({"networks": {}}, "nothing to rank. Give models"),
        ({"networks": {"a": nn.Identity()}, "samples": 3}, "no samples"),
        ({"networks": "nasbench201", "samples": 1, "logits": 0}, "Only your own models take logits"),
        ({"networks": "nasbench201", "samples": 1, "loss": max, "input_shape": (1,)}, "take loss and input_shape"),
        ({"networks": {"a": nn.Identity()}, "input": torch.zeros(1, 3), "batch_size": 2}, "are for inputs by name"),
        ({"networks": {"a": nn.Identity()}, "input": torch.zeros(1, 3), "num_batches": 2}, "are for inputs by name"),
        ({"networks": {"a": nn.Identity()}, "input": torch.zeros(1, 3), "input_shape": (3,)}, "are for inputs by name"),
        ({"networks": {"a": nn.Identity()}, "input": torch.zeros(1, 3), "labels": "random"}, "are for inputs by name"),
        ({"networks": {"a": nn.Identity()}, "labels": "none"}, "Known: random, true"),
    ],
)
def test_rankings_that_make_no_sense(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(firstlight.FirstlightError, match=message):
        firstlight.rank(workers=0, **settings)


def test_spaces_by_name() -> None:
    assert len(firstlight.space("nasbench201")) == 15_625
    with pytest.raises(firstlight.FirstlightError, match="nasbench201"):
        firstlight.space("nasbench")


def test_a_ranking_prints_as_a_table() -> None:
    ranking = firstlight.rank(
        "nasbench201", samples=3, proxies="params,l2_norm", skeleton={"channels": 4, "cells": 1}, workers=0
    )
    head, *lines = str(ranking).splitlines()
    assert head.split() == ["rank", "params", "l2_norm", "macs", "network"]
    assert [line.split()[-1] for line in lines] == [row.network.architecture for row in ranking.rows]
    assert [line.split()[0] for line in lines] == [str(row.rank) for row in ranking.rows]


def test_a_result_prints_what_was_found() -> None:
    result = firstlight.search(
        "nasbench201", samples=3, proxy="params", skeleton={"channels": 4, "cells": 1}, workers=0
    )
    first, score, cost, *effort = str(result).splitlines()
    assert first == result.best.architecture
    assert score.strip() == f"params: {result.score.value:.6g}"
    assert f"{int(result.score.value):,} parameters" in cost
    assert effort[0].startswith("3 networks scored")


@pytest.mark.parametrize(
    ("argument", "ask"),
    [
        ("input", lambda tensor: firstlight.search("nasbench201", input=tensor)),
        ("data", lambda tensor: firstlight.search("nasbench201", data=tensor)),
        (
            "input",
            lambda tensor: firstlight.correlate("nasbench201", table="no.csv", target="cifar10_test_200", input=tensor),
        ),
        ("input", lambda tensor: firstlight.compare("nasbench201", table="no.csv", input=tensor)),
        ("data", lambda tensor: firstlight.trust("nasbench201", data=tensor)),
    ],
)
def test_spaces_are_shown_data_by_name(argument: str, ask: Any) -> None:
    with pytest.raises(SettingError, match=rf"^{argument} is a Tensor; .*npz:PATH.*firstlight.score"):
        ask(torch.randn(4, 3, 8, 8))
