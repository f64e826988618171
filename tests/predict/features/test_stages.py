from __future__ import annotations

import math
from typing import Any

import pytest

from firstlight.predict.features import features_of
from firstlight.spaces import SPACES

HAND_COUNTED: dict[str, tuple[str, dict[str, float]]] = {
    "nats-sss": (
        "8:16:32:32:64",
        {"width(1)": 3, "width(5)": 6, "stride(2)": 1, "depth": 5, "least_width": 3, "growth": 3, "stride": 2},
    ),
    "plain-resnet": (
        "16k3s1/3x16k5s1/2x32k3s2se",
        {
            "stem_width": 4,
            "stem_size": 3,
            "stem_stride": 1,
            "head_width": 0,
            "depth(1)": 3,
            "kernel(1)": 5,
            "width(2)": 5,
            "stride(2)": 1,
            "gate(2)": 1,
            "depth(3)": 0,
            "stages": 2,
            "depth": 5,
            "mean_kernel": (3 * 5 + 2 * 3) / 5,
            "mean_gate": 2 / 5,
            "mean_width": (3 * 4 + 2 * 5) / 5,
            "reach": math.log2(1 + 3 * 4 + 2 * 2 * 2),
            "weights": math.log2(3 * 16**2 + 2 * 32**2),
            "work": math.log2(3 * 16**2 + 2 * 32**2 / 4),
        },
    ),
    "autoformer-tiny": (
        "192:" + "-".join(["3x3.5"] * 11 + ["4x4"]),
        {
            "depth": 12,
            "mean_width": math.log2(192),
            "kernel(12)": 4,
            "kernel(13)": 0,
            "total_heads": 37,
            "least_heads": 3,
            "most_heads": 4,
            "total_ratio": 11 * 3.5 + 4,
            "expansion(12)": 2,
        },
    ),
    "transnas-macro": (
        "64-1342-basic",
        {
            "modules(same)": 1,
            "modules(halving)": 1,
            "modules(both)": 1,
            "modules(doubling)": 1,
            "doublings(2)": 0,
            "doublings(3)": 1,
            "doublings(4)": 2,
            "doublings(5)": 0,
            "halvings(2)": 1,
            "halvings(4)": 2,
            "halvings(6)": 0,
            "depth": 4,
        },
    ),
    "nasrec-small": (
        "fc:256~0~0+0;linear3d:48~0;interaction|fc:16~0,1~0+0;linear3d:16~0;fm|dot:64~2~0+0;linear3d:32~2",
        {
            "width(1)": 8,
            "rows(1)": 56,
            "inputs(1)": 2,
            "inputs(2)": 3,
            "width(4)": 0,
            "operator(fc)": 2,
            "operator(dot)": 1,
            "operator(linear3d)": 3,
            "interactions": 1,
            "fms": 1,
            "depth": 3,
            "chains": 1,  # two ways to block 2
            "unread": 0,
        },
    ),
}


@pytest.mark.parametrize("name", HAND_COUNTED)
def test_hand_counted(name: str) -> None:
    text, expected = HAND_COUNTED[name]
    found: Any = features_of(SPACES[name], [text]).iloc[0]
    assert {feature: found[feature] for feature in expected} == pytest.approx(expected)


def test_layers_of_structures() -> None:
    text = "SuperConvK3BNRELU(3,16,1,1)SuperResK3K3(16,32,2,16,2)SuperConvK1BNRELU(32,64,1,1)"
    found = features_of(SPACES["plainnet-resnet"], [text]).iloc[0]
    assert found["layers(SuperResK3K3)"] == found["depth(2)"] == 2
    assert found["expansion(2)"] == -1  # 16 of 32 channels inside
    assert found["layers(SuperConvK3BNRELU)"] == 1
    assert (found["stages"], found["depth"]) == (3, 4)


def test_perceptrons() -> None:
    found = features_of(SPACES["plain-mlp"], ["a4/16/64", "a1"])
    assert found.loc["a4/16/64", ["average", "layers", "width(1)", "width(2)", "width(3)"]].tolist() == [2, 2, 4, 6, 0]
    assert found.loc["a4/16/64", ["least_width", "most_width"]].tolist() == [4, 6]
    assert found.loc["a1"].sum() == 0
