"""A package outside of Firstlight offers a proxy, a space and an algorithm by entry points."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import firstlight
from firstlight.core.errors import PluginError
from firstlight.core.registry import PluginWarning
from firstlight.evaluation.methods import parse_method
from firstlight.testing import check_algorithm, check_proxy, check_space

CODE = '''
from torch import nn

import firstlight


@firstlight.proxy
def plugged_depth(probe, *, scale: float = 1.0):
    """Number of modules."""
    return scale * len(list(probe.model.modules()))


class Plain(firstlight.ChoiceSpace):
    """A space that is a class, of which Firstlight makes an object."""

    name = "plugged-plain"

    def __init__(self):
        super().__init__(self.name, build, width=(2, 4), depth=(1, 2, 3), kernel=(1, 3))


def build(width, depth, kernel, input_shape, classes):
    layers, channels = [], input_shape[0]
    for _ in range(depth):
        layers += [nn.Conv2d(channels, width, kernel, padding=kernel // 2), nn.ReLU()]
        channels = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, classes))


@firstlight.algorithm
def plugged_first(problem, *, count: int = 4):
    """Score the first few networks."""
    problem.score(architecture for _, architecture in zip(range(count), problem.distinct_samples()))
'''
POINTS = """
[firstlight.proxies]
plugged_depth = plugged_package:plugged_depth
plugged_broken = plugged_package:nothing
dextr = plugged_package:plugged_depth

[firstlight.spaces]
plugged-plain = plugged_package:Plain

[firstlight.algorithms]
plugged-first = plugged_package:plugged_first
"""
NAMES = (
    (firstlight.PROXIES, "plugged_depth"),
    (firstlight.SPACES, "plugged-plain"),
    (firstlight.ALGORITHMS, "plugged-first"),
)


@pytest.fixture
def _plugged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the package were installed."""
    (tmp_path / "plugged_package.py").write_text(CODE)
    information = tmp_path / "plugged_package-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged-package\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "plugged_package", raising=False)
    for registry, _ in NAMES:
        monkeypatch.setattr(registry, "_plugins", None)
        monkeypatch.setattr(registry, "_loaded", dict(registry._loaded))  # type: ignore[attr-defined]


@pytest.mark.usefixtures("_plugged")
@pytest.mark.filterwarnings("ignore::firstlight.core.registry.PluginWarning")
def test_its_entries_are_used_by_name_wherever_built_in_ones_are() -> None:
    assert all(name in registry for registry, name in NAMES)
    assert isinstance(firstlight.space("plugged-plain"), firstlight.ChoiceSpace)
    search = {"proxy": "plugged_depth:scale=2", "algorithm": "plugged-first:count=3"}
    result = firstlight.search("plugged-plain", skeleton={"input_shape": (3, 8, 8)}, workers=0, **search)
    assert (result.scored, str(result.setting.algorithm)) == (3, "plugged-first:count=3")
    assert str(result.setting.by) == "plugged_depth:scale=2.0"
    ranking = firstlight.rank("plugged-plain", samples=3, proxies=["plugged_depth", "params"], workers=0)
    assert ranking.proxies == ("plugged_depth", "params")
    methods = [str(parse_method(text)) for text in ("plugged-first", "plugged-first@plugged_depth", "plugged_depth")]
    assert methods == ["plugged-first", "plugged-first@plugged_depth", "random@plugged_depth"]


@pytest.mark.usefixtures("_plugged")
@pytest.mark.filterwarnings("ignore::firstlight.core.registry.PluginWarning")
def test_its_entries_keep_their_contracts() -> None:
    check_proxy("plugged_depth")
    check_space("plugged-plain", skeleton={"input_shape": (3, 8, 8)})
    check_algorithm("plugged-first", space="plugged-plain", skeleton={"input_shape": (3, 8, 8)})


@pytest.mark.usefixtures("_plugged")
def test_what_is_wrong_with_it_is_told_and_does_no_harm() -> None:
    with pytest.warns(PluginWarning, match=r"plugged_depth' .* ignored: the name 'dextr' is taken by Firstlight"):
        assert "plugged_broken" in firstlight.PROXIES
    with pytest.warns(PluginWarning, match="'plugged_broken' is skipped.*AttributeError"):
        known = [entry.name for entry in firstlight.PROXIES.values()]
    assert {"dextr", "plugged_depth"} <= set(known)
    assert firstlight.PROXIES["dextr"].reference
    with pytest.raises(PluginError, match="plugged_package:nothing"):
        firstlight.rank("nasbench201", samples=2, proxies="plugged_broken", workers=0)
