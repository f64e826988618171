"""Checks that tests of several spaces share: damaged text, and networks that run wherever they are put."""

from __future__ import annotations

import random
from typing import Any

import torch
from torch import nn

from firstlight.errors import ParseError
from firstlight.spaces import Space

# Look-alikes of digits and signs, numbers without bounds, and what text files bring along
INTRUDERS = (
    *("\u00b2", "\u0663", "\uff18", "\u22121", "\uff0c", "\uff08"),  # superscript, Arabic and wide digits; minus; signs
    *("-1", "0", "00", "9" * 30, "1e3", " ", "\t", "\n", "\x00", "é", "|", ""),
)


def damaged(text: str, rng: random.Random) -> str:
    """The text with one to three places cut out, doubled, exchanged or overwritten."""
    for _ in range(rng.randint(1, 3)):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.choice((0, 1, 1, 1, 2, 5, 20)))
        piece = text[start:end]
        new = rng.choice(("", piece * 2, piece[::-1], rng.choice(INTRUDERS), rng.choice(INTRUDERS) + piece))
        text = text[:start] + new + text[end:]
    return text


def refuse_or_read_exactly(space: Space[Any], cases: int) -> None:
    """Damaged text is refused with a place inside it, or is another architecture's exact text."""
    places = []
    for case in range(cases):
        rng = random.Random(case)
        text = damaged(str(space.sample(rng)), rng)
        try:
            architecture = space.parse(text)
        except ParseError as error:
            places.append((error.position, len(text)))
        else:
            assert str(architecture) == text.strip(), text
    assert all(0 <= position <= length for position, length in places)
    assert len(places) > cases // 2


def stay_in_the_space(space: Space[Any], cases: int) -> None:
    """Long chains of mutations: each child differs from its parent, and its text reads back."""
    rng = random.Random(0)
    parent = space.sample(rng)
    for _ in range(cases):
        child = space.mutate(parent, rng)
        assert child != parent
        assert space.parse(str(child)) == child
        canonical = space.canonical(child)
        assert space.canonical(canonical) == canonical == space.parse(str(canonical))
        parent = child if rng.random() < 0.95 else space.sample(rng)


def run_everywhere(network: nn.Module, input_shape: tuple[int, ...], classes: int) -> None:
    """Forward and back, in training and in evaluation; every parameter is reached."""
    for training in (True, False):
        network.train(training).zero_grad()
        out = network(torch.randn(2, *input_shape, generator=torch.Generator().manual_seed(0)))
        assert out.shape == (2, classes)
        assert out.isfinite().all()
        out.square().sum().backward()
        gradients = {name: parameter.grad for name, parameter in network.named_parameters()}
        assert not [name for name, gradient in gradients.items() if gradient is None or not gradient.isfinite().all()]


def run_on_meta(space: Space[Any], architecture: Any, skeleton: Any) -> None:
    with torch.device("meta"):
        network = space.network(architecture, skeleton)
    out = network(torch.empty(2, *skeleton.input_shape, device="meta"))
    assert out.shape == (2, skeleton.classes)
    assert out.device.type == "meta"
