"""Checks that tests of several spaces share: damaged text, chains of mutations, and networks that run anywhere."""

from __future__ import annotations

import random
from typing import Any

import torch

from firstlight.core.errors import ParseError
from firstlight.spaces.base import Skeleton, Space

# Look-alikes of digits and signs, numbers without bounds, and what text files bring along
INTRUDERS = (
    *("\u00b2", "\u0663", "\uff18", "\u22121", "\uff0c", "\uff08", "\u2003"),  # superscript, Arabic, wide; minus; signs
    *("-1", "0", "00", "5", "9" * 40, "1e3", " ", "\t", "\n", "\x00", "é", "|", "'", '"', ",", ")", ""),
)


def damaged(space: Space[Any], seed: int) -> str:
    """The text of some architecture with one to three places cut out, doubled, turned round or overwritten."""
    rng = random.Random(seed)
    text = str(space.sample(rng))
    for _ in range(rng.randint(1, 3)):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.choice((0, 1, 1, 1, 2, 5, 20)))
        piece = text[start:end]
        new = rng.choice(("", piece * 2, piece[::-1], rng.choice(INTRUDERS), rng.choice(INTRUDERS) + piece))
        text = text[:start] + new + text[end:]
    return text


def parsed_or_place(space: Space[Any], text: str) -> tuple[Any, int]:
    """The architecture, or None and the place of the error."""
    try:
        return space.parse(text), 0
    except ParseError as error:
        return None, error.position


def read_exactly_or_refused(space: Space[Any], text: str, *, to_the_letter: bool = True) -> None:
    """Text is refused with a place inside it, or is another architecture's text."""
    architecture, place = parsed_or_place(space, text)
    assert 0 <= place <= len(text)
    if architecture is None:
        return
    assert space.parse(str(architecture)) == architecture
    if to_the_letter:
        assert str(architecture) == text.strip()


def stays_in_the_space(space: Space[Any], mutations: int, seed: int) -> None:
    """A chain of mutations: each child differs from its parent, and its text and canonical form read back."""
    rng = random.Random(seed)
    parent = space.sample(rng)
    for _ in range(mutations):
        child = space.mutate(parent, rng)
        assert child != parent
        assert space.parse(str(child)) == child
        canonical = space.canonical(child)
        assert space.canonical(canonical) == canonical == space.parse(str(canonical))
        parent = child


def runs_everywhere(space: Space[Any], architecture: Any, skeleton: Skeleton, *, every_parameter: bool = True) -> None:
    """Forward and backward in training and evaluation, on finite numbers, and forward on the meta device."""
    network = space.build(architecture, skeleton)
    x = torch.randn(2, *skeleton.input_shape, generator=torch.Generator().manual_seed(0))
    for training in (True, False):
        network.train(training).zero_grad()
        out = network(x)
        logits = out if isinstance(out, tuple) else (out,)
        assert [part.shape for part in logits] == [(2, skeleton.classes)] * len(logits)
        sum(part.square().sum() for part in logits).backward()
        gradients = {name: parameter.grad for name, parameter in network.named_parameters()}
        assert any(gradient is not None for gradient in gradients.values())
        assert all(gradient.isfinite().all() for gradient in gradients.values() if gradient is not None)
        if training and every_parameter:
            assert not [name for name, gradient in gradients.items() if gradient is None]
    with torch.device("meta"):
        assert space.network(architecture, skeleton).eval()(torch.empty(x.shape)).shape == (2, skeleton.classes)
