"""A proxy of one's own is taken wherever a name is: as an object, by `module:name`, here and in worker processes."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests import nets
from tests.cli.command import SMALL
from tests.cli.command import firstlight as command
from tests.proxies import own

import firstlight
from firstlight.core.errors import ModelError, SettingError, UnknownNameError
from firstlight.evaluation.methods import parse_method
from firstlight.proxies import PROXIES
from firstlight.proxies.base import Proxy
from firstlight.proxies.ensembles import parse_criterion
from firstlight.proxies.requests import ProxyRequest, find_proxy, parse_requests
from firstlight.storage.export import export_rows
from firstlight.storage.store import STORE_NAME

NAME = "tests.proxies.own:size"
TINY = {"cells": 1, "channels": 4}
SCRIPT = """
import firstlight
from firstlight import Parts, proxy

@proxy
def mine(probe):
    return Parts(sum(parameter.numel() for parameter in probe.model.parameters()))

if __name__ == "__main__":
    found = firstlight.search("nasbench201", proxy=mine, samples=2, workers=1, skeleton={"cells": 1, "channels": 4})
    print(found.setting.by, found.score.status)
"""


def search(**settings: Any) -> firstlight.SearchResult:
    return firstlight.search("nasbench201", **({"skeleton": TINY, "samples": 3, "workers": 0} | settings))


def test_a_name_with_a_colon_and_settings_behind_it() -> None:
    assert find_proxy(NAME) is own.size
    request = ProxyRequest.parse(f"{NAME}:scale=2")
    assert (request.proxy, request.settings, str(request)) == (own.size, (("scale", 2.0),), f"{NAME}:scale=2.0")
    assert ProxyRequest.parse(str(request)) == request
    assert [str(entry) for entry in parse_requests([own.size, "dextr:variant=official", f"params,{NAME}"])] == [
        NAME,
        "dextr:variant=official",
        "params",
        NAME,
    ]
    assert str(parse_criterion(f"rank_mean({NAME}:scale=2*3,params)")) == f"rank_mean({NAME}:scale=2.0*3,params)"
    assert [str(parse_method(text)) for text in (f"random@{NAME}", NAME)] == [f"random@{NAME}"] * 2
    assert str(ProxyRequest.of(PROXIES["dextr"])) == "dextr"


@pytest.mark.parametrize(
    ("given", "kind", "said"),
    [
        ("tests.proxies.own:no_proxy", SettingError, r"own:no_proxy' is not a proxy.*@firstlight.proxy"),
        (own.no_proxy, SettingError, r"no_proxy.* is not a proxy.*@firstlight.proxy"),
        (3, SettingError, "3 is not a proxy"),
        ("no_such_module:size", ModelError, "cannot be imported"),
        ("dextr:official", SettingError, "'official' is not a setting of the proxy 'dextr'"),
        ("dextrr:variant=official", UnknownNameError, "Did you mean 'dextr'"),
        (f"{NAME}:shape=3", SettingError, r"'shape=3' is not a setting of the proxy 'tests.proxies.own:size'.*scale"),
    ],
)
def test_what_is_no_proxy_is_refused_wherever_one_is_taken(given: Any, kind: type[Exception], said: str) -> None:
    for ask in (
        lambda: search(proxy=given),
        lambda: firstlight.rank("nasbench201", samples=2, proxies=given, workers=0),
        lambda: firstlight.rank("nasbench201", samples=2, by=given, workers=0),
        lambda: firstlight.score(nets.build("plain"), nets.images(1), given),
    ):
        with pytest.raises(kind, match=said):
            ask()


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("given", [own.size, NAME])
def test_searched_by(given: str | Proxy, workers: int, tmp_path: Path) -> None:
    result = search(proxy=given, workers=workers, out=tmp_path / "run")
    assert str(result.setting.by) == NAME
    assert result.score.value == result.best.cost.params == result.to_frame()["params"].min()
    export_rows(tmp_path / "run" / STORE_NAME, tmp_path / "scores.csv")
    stored = pd.read_csv(tmp_path / "scores.csv")
    assert set(zip(stored["proxy"], stored["revision"], strict=True)) == {(NAME, 7)}


def test_ranked_correlated_and_trusted_by(tmp_path: Path) -> None:
    ranking = firstlight.rank("nasbench201", samples=3, proxies=[own.size, "params"], skeleton=TINY, workers=0)
    assert all(score.ok for row in ranking.rows for score in row.network.scores.values())
    assert ranking.proxies == (NAME, "params")
    by_object = firstlight.rank("nasbench201", samples=3, by=own.size, skeleton=TINY, workers=0)
    assert [row.network.architecture for row in by_object.rows] == [row.network.architecture for row in ranking.rows]

    space = firstlight.space("nasbench201")
    texts = [str(architecture) for _, architecture in zip(range(12), space, strict=False)]
    table = tmp_path / "table.csv"
    pd.DataFrame({"architecture": texts, "cifar10_test_200": np.arange(12.0)}).to_csv(table, index=False)
    study = firstlight.correlate(
        "nasbench201", table=table, target="cifar10_test_200", proxies=own.size, skeleton=TINY, samples="all", workers=0
    )
    assert study.names == [NAME]
    trust = firstlight.trust(
        "nasbench201", data="digits", train=10, epochs=1, proxies=[own.size], data_samples=100, skeleton=TINY, workers=0
    )
    assert trust.study.names == [NAME]


def test_a_score_of_one_model_has_the_name_of_the_function() -> None:
    net = nets.build("plain")
    assert firstlight.score(net, nets.images(1), own.size)["size"].ok
    assert firstlight.score(net, nets.images(1), NAME)[NAME].ok


def test_a_registered_one_reaches_worker_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PROXIES, "_loaded", dict(PROXIES._loaded))
    PROXIES.add("my_size", own.size)
    result = search(proxy="my_size:scale=2", workers=1)
    assert result.score.value == 2 * result.best.cost.params


def test_what_no_module_has_is_refused_by_workers_and_taken_without() -> None:
    @firstlight.proxy
    def inner(probe: firstlight.Probe) -> firstlight.Parts:
        return firstlight.Parts(1.0)

    assert search(proxy=inner).score.value == 1.0
    with pytest.raises(SettingError, match=r"cannot import the proxy 'inner'.*top level of a module.*workers=0"):
        search(proxy=inner, workers=1)


def test_proxies_travel_by_name() -> None:
    for entry in (own.size, PROXIES["dextr"]):
        assert pickle.loads(pickle.dumps(entry)) is entry


def test_one_of_a_script_goes_by_its_file(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "script:mine ok\n", done.stderr


def test_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "measures_of_mine.py").write_text(SCRIPT)
    few = ("--samples", "2", "--workers", "0", *SMALL)
    assert (
        "measures_of_mine:mine"
        in command("rank", "nasbench201", "--proxy", "measures_of_mine:mine,params", *few, folder=tmp_path).stdout
    )
    out = command("search", "nasbench201", "--proxy", "measures_of_mine:mine", *few, folder=tmp_path).stdout
    assert "--proxy measures_of_mine:mine,params" in out
    assert "mine" in command("proxies", "measures_of_mine:mine", folder=tmp_path).stdout
    failed = command("search", "nasbench201", "--proxy", "measures_of_mine:other", *few, folder=tmp_path, code=1)
    assert "'measures_of_mine:other' cannot be imported" in failed.stderr
