"""Skeletons that fit the data, or a clear word that they do not."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.data.clicks import logs

from firstlight.core.errors import SettingError
from firstlight.data import InputSource
from firstlight.data.clicks import ClickData
from firstlight.data.clicks.prepare import prepare_clicks
from firstlight.scoring.service import Setting


@pytest.fixture
def data(tmp_path: Path) -> ClickData:
    log = logs.write(tmp_path / "log.csv", logs.USUAL)
    return prepare_clicks(logs.LAYOUT, log, tmp_path / "clicks.parquet", min_count=1)


def setting(data: ClickData, space: str = "nasrec-small", **skeleton: object) -> Setting:
    return Setting(space, InputSource(data.name, 4, 2), skeleton_settings=tuple(skeleton.items()))


def test_networks_for_clicks_learn_their_tables_from_the_data(data: ClickData) -> None:
    built = setting(data, rows=10).skeleton
    assert str(built) == "categories=9x13,classes=2,dense=2,input_shape=4,layer_norm=1,rows=10"
    made = setting(data, rows=10)
    x, y = made.inputs.batches[0]
    logits = made.build(str(made.space.example()))(x)
    assert (logits.shape, y is not None and y.shape) == ((4, 2), (4,))


def test_what_the_data_say_may_be_said_again_but_not_otherwise(data: ClickData) -> None:
    assert setting(data, input_shape=4, dense=2).skeleton == setting(data).skeleton
    with pytest.raises(SettingError, match=r"has dense of 2; the skeleton asks for 3"):
        _ = setting(data, dense=3).skeleton
    with pytest.raises(SettingError, match=r"has inputs of \(4,\); the skeleton asks for \(39,\)"):
        _ = setting(data, input_shape=39).skeleton


def test_data_and_networks_of_different_kinds(data: ClickData) -> None:
    of_images = r"of 'nasbench201' take images; 'clicks:.*' holds clicks\. .* npz:PATH, .*: nasrec-full, nasrec-small\."
    with pytest.raises(SettingError, match=of_images):
        _ = setting(data, "nasbench201").skeleton
    of_clicks = r"of 'nasrec-full' take clicks; 'digits' holds images\. .* clicks:FILE or synthetic, .*nasbench201"
    with pytest.raises(SettingError, match=of_clicks):
        _ = Setting("nasrec-full", InputSource("digits")).skeleton
    assert Setting("nasrec-full").skeleton.input_shape == (39,)
