"""Kinds of data, and which names stand for them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.data.clicks import logs

from firstlight.core.errors import DataError
from firstlight.data import InputSource, load_inputs
from firstlight.data.clicks.layouts import GENERAL, LAYOUTS
from firstlight.data.clicks.prepare import prepare_clicks
from firstlight.data.images import read_samples
from firstlight.data.shares import open_share
from firstlight.data.sources import GENERATED, KINDS, data_kind, open_source, path_of
from firstlight.spaces import SPACES


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("digits", "images"),
        ("cifar10@16", "images"),
        ("npz:a:b.npz", "images"),
        ("folder:clicks:", "images"),
        ("criteo", "images"),
        ("criteo:a.parquet", "clicks"),
        ("clicks:digits", "clicks"),
    ],
)
def test_the_prefix_says_the_kind(name: str, kind: str) -> None:
    found = data_kind(name)
    assert found is not None
    assert found.name == kind


def test_generated_inputs_are_of_no_kind() -> None:
    for name in GENERATED:
        assert data_kind(name) is open_source(name) is path_of(name) is None
        with pytest.raises(DataError, match="nothing can be learned"):
            open_share(InputSource(name), 0.1)


def test_every_layout_of_clicks_has_a_prefix() -> None:
    assert KINDS["clicks"].prefixes == (*LAYOUTS, GENERAL)


def test_spaces_take_data_of_a_known_kind() -> None:
    assert {space.data_kind for space in SPACES.values()} == set(KINDS)


def test_a_source_of_any_kind(tmp_path: Path) -> None:
    data = prepare_clicks(logs.LAYOUT, logs.write(tmp_path / "log.csv", logs.USUAL), tmp_path / "made.parquet")
    for name, path, count in (("digits", None, 1797), (data.name, data.path, data.rows["train"])):
        source = open_source(name)
        assert source is not None
        assert (path_of(name), len(source)) == (path, count)
        few, more = source.draw(2, seed=1), source.draw(4, seed=1)
        assert all(a.equal(b[:2]) for a, b in zip(few, more, strict=True))
        share = open_share(InputSource(name), 0.5, seed=3)
        batches = list(share.batches(3, seed=5))
        assert {len(y) for _, y in batches} == {3}
        assert len(batches) == len(share) // 3
    with pytest.raises(DataError, match=r"holds clicks, but images are needed here: digits, npz:PATH"):
        read_samples(data.name)


def test_a_kind_is_imported_when_it_is_needed() -> None:
    code = "import sys, firstlight.data; print([m for m in sys.modules if 'clicks' in m or m == 'pyarrow'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_a_kind_says_of_skeletons(tmp_path: Path) -> None:
    data = prepare_clicks(logs.LAYOUT, logs.write(tmp_path / "log.csv", logs.USUAL), tmp_path / "made.parquet")
    assert load_inputs(InputSource(data.name)).skeleton == {"dense": data.dense, "categories": data.tables}
    assert load_inputs(InputSource("digits")).skeleton == {}
