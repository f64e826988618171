"""The scores of all classes: what is measured, what of it is kept, and what a file tells of itself."""

from __future__ import annotations

import os
import random
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.papers.toy import write_tables
from tests.papers.toy_scores import toy_scores

from firstlight.core.errors import MissingFileError, UnknownNameError
from firstlight.execution.executor import InProcess
from firstlight.papers import class_scores
from firstlight.papers.benchmarks import DataFolder
from firstlight.papers.class_scores import (
    CLASSES,
    PARTS,
    ClassScores,
    collect,
    find_part,
    load_class_scores,
    measure,
    ordered,
)
from firstlight.probe import Probe
from firstlight.proxies.requests import ProxyRequest, measure_all
from firstlight.spaces import SPACES
from firstlight.storage.store import Store


@pytest.fixture
def data(tmp_path: Path) -> DataFolder:
    """A folder with twenty random images of 8 x 8 pixels."""
    generator = np.random.default_rng(0)
    images = generator.integers(0, 255, (20, 3, 8, 8), dtype=np.uint8)
    labels = generator.integers(0, 10, 20)
    folder = write_tables(tmp_path / "data")
    np.savez(folder / "cifar10.npz", x_train=images, y_train=labels, x_test=images, y_test=labels)
    return DataFolder(folder)


def test_every_class_is_there_once_in_an_order_that_stays() -> None:
    texts, space = ordered(), SPACES["nasbench201"]
    assert len(texts) == len(set(texts)) == CLASSES
    for text in random.Random(0).sample(texts, 20):
        assert str(space.canonical(space.parse(text))) == text
    assert list(texts) != sorted(texts)


def test_scores_are_those_of_the_network_and_are_kept(data: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    part = replace(
        PARTS["batch16"], batch_size=4, channels=2, proxies=("grad_norm", "snip:form=product", "ntk_condition")
    )
    monkeypatch.setattr(class_scores, "PARTS", {"small": part})
    store, texts = Store(":memory:"), ordered()[:3]
    found = {network.architecture: network for network in measure(part, data, InProcess(), store, texts)}
    setting = part.setting(data)
    for text in texts:
        expected = measure_all(part.requests, Probe(setting.network(text), setting.inputs.batches, seed=0))
        for name, score in expected.items():
            assert found[text].scores[name].value == pytest.approx(score.value, nan_ok=True)
    assert all(network.reused for network in measure(part, data, InProcess(), store, texts))
    collected = collect(data, store, ["small"], "the command")
    assert collected.parts == {"small": 3}
    assert len(collected.frame) == CLASSES
    assert collected.measured("small", list(texts)).all()
    assert not collected.measured("small", list(ordered()[3:])).any()
    for request in ("grad_norm", "ntk_condition"):
        values = [found[text].scores[request].value for text in texts]
        assert collected.values("small", request, list(texts)) == pytest.approx(values, rel=1e-6, nan_ok=True)
    about = collected.about["parts"]["small"]
    assert about["proxies"] == {str(request): request.proxy.revision for request in part.requests}
    assert about["images"].startswith("cifar10")
    assert "channels=2" in about["skeleton"]


def test_a_file_holds_scores_and_where_they_are_from(tmp_path: Path) -> None:
    written = toy_scores({"twin": 7})
    written.write(tmp_path / "folder" / "scores.parquet")
    read = ClassScores.read(tmp_path / "folder" / "scores.parquet")
    assert read.frame.equals(written.frame)
    assert read.about == written.about
    assert read.has("twin", ["ntk_condition"])
    assert not read.has("batch16", ["grad_norm"])
    assert not read.has("twin", ["grad_norm"])


def test_a_missing_class_has_no_score() -> None:
    scores = toy_scores({"twin": 7})
    assert np.isnan(scores.values("twin", "ntk_condition", ["elsewhere"])).all()
    assert not scores.measured("twin", ["elsewhere"]).any()


def test_names_and_images_that_are_not_there(data: DataFolder) -> None:
    with pytest.raises(UnknownNameError, match=r"batch61.*Did you mean 'batch64'"):
        find_part("batch61")
    with pytest.raises(MissingFileError, match="tinyimagenet16"):
        find_part("imagenet16").setting(data)


def test_the_narrow_twin_has_few_channels_and_small_images(data: DataFolder) -> None:
    assert dict(PARTS["twin"].setting(data).skeleton_settings)["channels"] == 4
    assert PARTS["twin"].setting(data).source.side == 16


@pytest.mark.skipif("FIRSTLIGHT_DATA" not in os.environ, reason="needs the images that the scores were measured on")
def test_the_scores_that_come_with_firstlight_can_be_measured_again() -> None:
    scores, data = load_class_scores(), DataFolder(Path(os.environ["FIRSTLIGHT_DATA"]))
    for name in islice((name for name, count in scores.parts.items() if count), 2):
        part = find_part(name)
        setting = part.setting(data)
        assert scores.about["parts"][name]["images"] == setting.inputs.fingerprint
        (text,) = islice((text for text in ordered() if scores.measured(name, [text])[0]), 1)
        request = ProxyRequest.parse("ntk_trace")
        found = measure_all([request], Probe(setting.network(text), setting.inputs.batches, seed=0))
        assert scores.values(name, "ntk_trace", [text])[0] == pytest.approx(found["ntk_trace"].value, rel=1e-4)


def test_an_earlier_file_fills_in_what_was_measured_alike() -> None:
    def scores(values: list[float], **described: object) -> ClassScores:
        measured = np.isfinite(values)
        frame = pd.DataFrame({"batch16.snip": np.float32(values), "batch16.measured": measured}, index=["a", "b", "c"])
        return ClassScores(frame, {"parts": {"batch16": {"batch_size": 16, **described, "measured": sum(measured)}}})

    new = scores([1.0, np.nan, np.nan])
    earlier = scores([5.0, 2.0, np.nan])
    joined = new.joined(earlier)
    np.testing.assert_array_equal(joined.frame["batch16.snip"], [1, 2, np.nan])
    assert joined.frame["batch16.measured"].tolist() == [True, True, False]
    assert joined.frame["batch16.measured"].dtype == bool
    assert joined.parts == {"batch16": 2}
    assert new.joined(scores([5.0, 2.0, 3.0], batch_size=8)).parts == {"batch16": 1}
    assert new.joined(ClassScores(pd.DataFrame())).parts == {"batch16": 1}


def test_parts_of_an_earlier_file_are_kept() -> None:
    index = ["a", "b"]
    new = ClassScores(
        pd.DataFrame({"batch16.snip": [1.0, 2.0], "batch16.measured": [True, True]}, index=index),
        {"parts": {"batch16": {"measured": 2}}},
    )
    twin = ClassScores(
        pd.DataFrame({"twin.snip": [3.0, 4.0], "twin.measured": [True, True]}, index=index),
        {"parts": {"twin": {"measured": 2}}},
    )
    assert new.joined(twin).parts == {"batch16": 2, "twin": 2}
    assert new.joined(twin).frame["twin.snip"].tolist() == [3, 4]
