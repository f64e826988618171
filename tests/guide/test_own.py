"""What the pages on proxies and spaces of one's own show works as they say."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from tests import nets

from firstlight.core.errors import ParseError
from firstlight.probe import Probe
from firstlight.proxies.base import Proxy
from firstlight.proxies.requests import ProxyRequest
from firstlight.spaces.base import Skeleton, Space
from firstlight.testing import check_space

DOCS = Path(__file__).parent.parent.parent / "docs"


def example(page: str, title: str) -> dict[str, Any]:
    text = (DOCS / page).read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text.split(f"## {title}\n")[1].split("\n## ")[0], re.DOTALL)
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(code, page, "exec", dont_inherit=True), names)
    return names


def test_the_proxy() -> None:
    (entry,) = [
        value for value in example("own-proxy.md", "As part of the library").values() if isinstance(value, Proxy)
    ]
    score = ProxyRequest(entry).measure(Probe(nets.build("residual"), torch.randn(1, 3, 8, 8)))
    assert 0 < score.value < 1
    assert "modules" in entry.settings


def test_the_space() -> None:
    classes = [
        value for value in example("own-space.md", "More than choices: a class").values() if isinstance(value, type)
    ]
    (kind,) = [value for value in classes if issubclass(value, Space) and value is not Space]
    space = kind()
    architecture = space.sample(random.Random(0))
    assert space.parse(str(architecture)) == architecture
    skeleton = Skeleton((3, 4, 4), 5)
    assert space.build(architecture, skeleton)(torch.randn(2, 3, 4, 4)).shape == (2, 5)
    assert space.cost(architecture, skeleton).params > 0
    for text in ("16", "08-16", "16-65", " 16-32"):
        with pytest.raises(ParseError, match="two numbers"):
            space.parse(text)
    check_space(space, skeleton={"input_shape": (3, 4, 4)})
