"""The tools of the benchmarks, without timing anything."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
import torch
from benchmarks.device import Counting
from benchmarks.floors import products_of_three
from benchmarks.rows import Row, least, print_rows, write_rows
from tests import textbook
from torch import nn

from firstlight.spaces import SPACES


@torch.no_grad()
def test_the_published_network_computes_what_ours_does() -> None:
    space, rng = SPACES["nasbench201"], random.Random(3)
    for _ in range(3):
        architecture = space.sample(rng)
        ours, published = space.build(architecture), textbook.published_network(architecture)
        cells = [part for part in published.body if isinstance(part, textbook.FiveOperations)]
        assert all(len(operations) == 5 for cell in cells for operations in cell.edges)
        for number, cell in enumerate(cells):
            own = ours.body[number + number // 5]
            for (target, source), operations, chosen in zip(textbook.EDGES, cell.edges, cell.chosen, strict=True):
                if chosen != "none":
                    operations[chosen].load_state_dict(own.edges[f"{source}-{target}"].state_dict())
        for name in ("stem", "top", "classifier"):
            getattr(published, name).load_state_dict(getattr(ours, name).state_dict())
        for place in (5, 11):
            published.body[place].load_state_dict(ours.body[place].state_dict())
        x = torch.randn(2, 3, 32, 32)
        assert torch.equal(ours(x), published(x))


def test_kernels_and_waits_are_counted() -> None:
    x = torch.ones(3, 3)
    with Counting() as counting:
        y = (x.t() @ x).relu_()  # a view, and two kernels
        assert float(y.sum()) == 27  # a kernel, and the host waits
        assert y[0].view(3, 1).shape == (3, 1)
    assert (counting.kernels, counting.waits) == (3, 1)


def test_the_products_are_those_of_all_convolutions_and_linear_maps() -> None:
    model = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 9, 5))
    with Counting() as counting:
        products_of_three(model, (3, 7, 7))()
    run = products_of_three(model, (3, 7, 7))
    with Counting() as once:
        run()
    assert 2 <= once.kernels <= 4 < counting.kernels


def test_rows_are_printed_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [Row("Dextr", "a score", 39.5, "CPU ms", 17.0, "a forward pass"), Row("Dextr", "building", 7.0, "CPU ms")]
    print_rows(rows)
    printed = capsys.readouterr().out
    assert "a score" in printed
    assert "39.5" in printed
    assert "floor: a forward pass" in printed
    write_rows(rows, tmp_path / "new" / "bench.json")
    written = json.loads((tmp_path / "new" / "bench.json").read_text())
    assert [Row(**row) for row in written["rows"]] == rows


def test_the_least_of_all_rounds_counts() -> None:
    calls: list[str] = []
    found = least({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, rounds=2)
    assert calls == ["a", "b", "a", "b"]
    assert set(found) == {"a", "b"}
