"""Pools of networks of several benchmarks: all parts are of the same networks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.papers.test_plain_proxies import bundle, table_of  # noqa: F401
from tests.papers.toy import write_tables

from firstlight.execution.executor import InProcess
from firstlight.papers import pools
from firstlight.papers.benchmarks import DataFolder
from firstlight.papers.lab import Lab
from firstlight.papers.pools import pools_of
from firstlight.predict.prior import Pool
from firstlight.spaces import SPACES
from firstlight.storage.store import Store

PROXIES = ("params", "macs", "naswot")
TINY = (("cells", 1), ("channels", 4), ("input_shape", (3, 8, 8)))


def pools_in(folder: Path) -> list[Pool]:
    skeletons = {**pools.SKELETONS, "nasbench201": TINY}
    lab = Lab(DataFolder(folder), InProcess(), Store(":memory:"), 12, input="synthetic", skeletons=skeletons)
    return pools_of(lab, PROXIES)


def test_rows_are_of_the_same_networks(tmp_path: Path, bundle: Callable[[pd.DataFrame], None]) -> None:  # noqa: F811
    bundle(table_of(lambda macs, _: 20 + np.log10(macs), ("plain-resnet",), networks=10))
    found = pools_in(write_tables(tmp_path / "data"))
    assert [pool.title for pool in found] == ["NAS-Bench-201", "plain-resnet, 20k", "plain-resnet, 100k"]
    assert [pool.group for pool in found] == ["NAS-Bench-201", pools.PLAIN, pools.PLAIN]
    assert [len(pool) for pool in found] == [12, 10, 10]
    for pool in found:
        assert list(pool.utilities) == list(PROXIES)
        assert list(pool.utilities.index) == list(pool.features.index)
    space, cells = SPACES["nasbench201"], found[0]
    skeleton = space.skeleton(**dict(TINY))
    sizes = [space.cost(space.parse(text), skeleton).params for text in cells.features.index]
    assert (2 ** cells.features["params"] - 1).tolist() == pytest.approx(sizes)
    for pool in found[1:]:
        assert (2 ** pool.features["params"] - 1).tolist() == pytest.approx(pool.utilities["params"].tolist())
    table = pd.read_parquet(tmp_path / "data" / "nb201.parquet")
    results = zip(table["architecture"], table["cifar10_test_200"], strict=True)
    by_class = {(str(space.canonical(space.parse(text))), value) for text, value in results}
    assert list(cells.truths) == ["NB201 CIFAR-10", "NB201 CIFAR-100", "NB201 ImageNet16-120"]
    assert set(zip(cells.utilities.index, cells.truths["NB201 CIFAR-10"], strict=True)) <= by_class
    plain = found[1]
    order = np.argsort(plain.utilities["macs"].to_numpy(), kind="stable")
    assert (np.diff(plain.truths[pools.TARGET][order]) >= 0).all()  # the images are larger here


def test_few_plain_networks_are_left_out(tmp_path: Path, bundle: Callable[[pd.DataFrame], None]) -> None:  # noqa: F811
    bundle(table_of(lambda macs, _: 50, ("plain-resnet",), networks=3))
    assert [pool.group for pool in pools_in(write_tables(tmp_path / "data"))] == ["NAS-Bench-201"]
