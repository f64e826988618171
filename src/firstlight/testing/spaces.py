"""Contracts of search spaces."""

from __future__ import annotations

import itertools
import pickle
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from firstlight.core.errors import ParseError, SettingError
from firstlight.core.importing import name_of
from firstlight.search.problem import SMALL_SPACE
from firstlight.spaces.base import Architecture, Skeleton, Space
from firstlight.spaces.finding import find_space
from firstlight.testing.contract import BrokenError, Contract, expect, global_seed

# Look-alikes of digits and signs, numbers without bounds, and what text files bring along.
INTRUDERS = (
    *("\u00b2", "\u0663", "\uff18", "\u22121", "\uff0c", "\uff08", "\u2003"),  # superscript, Arabic, wide; minus; signs
    *("-1", "0", "00", "5", "9" * 40, "1e3", " ", "\t", "\n", "\x00", "é", "|", "'", '"', ",", ")", ""),
)
# Spaces of at most this size are enumerated to the end.
SMALL = 5_000


@dataclass(frozen=True)
class SpaceCase:
    """What a space is checked with.

    Attributes:
        space: The space.
        skeleton: Settings of the skeleton of the networks that are built.
        samples: The number of random architectures.
        networks: The number of them that are built.
        exact_text: Whether text must be refused unless it is exactly the text of an architecture.
    """

    space: Space[Any]
    skeleton: dict[str, Any] = field(default_factory=dict)
    samples: int = 20
    networks: int = 3
    exact_text: bool = True

    def architectures(self) -> Iterator[Any]:
        """Yield random architectures."""
        rng = random.Random(0)
        return (self.space.sample(rng) for _ in range(self.samples))

    def buildable(self) -> Iterator[tuple[Any, Skeleton]]:
        """Yield a few random architectures that can be built, with the skeleton."""
        skeleton = self.space.skeleton(**self.skeleton)
        found, reason = 0, ""
        for architecture in self.architectures():
            try:
                self.space.cost(architecture, skeleton)
            except Exception as error:  # some combinations may not exist
                reason = f"{architecture}: {type(error).__name__}: {error}"
                continue
            found += 1
            yield architecture, skeleton
            if found == self.networks:
                return
        if not found:
            raise BrokenError(
                f"none of {self.samples} architectures can be built with the skeleton {skeleton}. The last error is "
                f"that of {reason}"
            )


def check_space(
    space: str | Space[Any],
    *,
    skeleton: dict[str, Any] | None = None,
    samples: int = 20,
    networks: int = 3,
    exact_text: bool = True,
) -> None:
    """Check that a space keeps its contracts.

    Args:
        space: The space: a name, `module:name`, or an object.
        skeleton: Settings of the skeleton of the networks that are built. Small ones make the check faster.
        samples: The number of random architectures.
        networks: The number of them that are built.
        exact_text: Whether `parse` must refuse text that is not exactly the text of an architecture. Turn it off for
            a space that reads several notations.

    Raises:
        ContractError: At the first contract that is broken, with its name and what was found.

    >>> from firstlight.testing import check_space
    >>> check_space("nasbench201", skeleton={"cells": 1, "channels": 4})
    """
    for contract in space_checks(space, skeleton=skeleton, samples=samples, networks=networks, exact_text=exact_text):
        contract()


def space_checks(
    space: str | Space[Any],
    *,
    skeleton: dict[str, Any] | None = None,
    samples: int = 20,
    networks: int = 3,
    exact_text: bool = True,
) -> list[Contract[SpaceCase]]:
    """Return the contracts that `check_space` checks, each to be called, as for `pytest.mark.parametrize`."""
    found = find_space(space)
    case = SpaceCase(found, skeleton or {}, samples, networks, exact_text)
    return [Contract(f"The space {found.name!r}", case, test) for test in CONTRACTS]


def samples_architectures(case: SpaceCase) -> None:
    """`sample` returns architectures that depend only on the random numbers it is given."""
    drawn = []
    for seed in (1, 2):
        with global_seed(seed):
            drawn.append(list(map(str, case.architectures())))
    expect(drawn[0] == drawn[1], f"the same seed draws {drawn[0][0]} and {drawn[1][0]}")
    for architecture in case.architectures():
        expect(isinstance(architecture, Architecture), f"{architecture!r} is not a firstlight.Architecture")


def text_reads_back(case: SpaceCase) -> None:
    """`parse` is the inverse of `str`, and equal architectures have equal hashes."""
    for architecture in case.architectures():
        again = case.space.parse(str(architecture))
        expect(again == architecture, f"{architecture} is read as {again}")
        expect(hash(again) == hash(architecture), f"the hash of {architecture} changes when it is read")
        expect(str(again) == str(architecture), f"{architecture} is written as {again} when it is read")


def refuses_other_text(case: SpaceCase) -> None:
    """`parse` raises a `ParseError` with a position in the text for text that is not an architecture. It never
    reads a text as another architecture."""
    for seed in range(20 * case.samples):
        read_exactly_or_refused(case.space, damaged(case.space, seed), to_the_letter=case.exact_text)
    text = str(next(case.architectures()))
    for wrong in ("garbage", "", text * 1000, "(" * 10_000, text + "9" * 10_000):
        parsed, _ = parsed_or_place(case.space, wrong)
        expect(parsed is None, f"{wrong[:40]!r} is read as {parsed}")


def mutates_within_the_space(case: SpaceCase) -> None:
    """`mutate` returns another architecture of the space, and depends only on the random numbers it is given."""
    stays_in_the_space(case.space, 5 * case.samples, seed=0)
    (parent, *_) = case.architectures()
    children = []
    for seed in (1, 2):
        with global_seed(seed):
            children.append(case.space.mutate(parent, random.Random(0)))
    expect(children[0] == children[1], f"the same seed mutates {parent} to {children[0]} and {children[1]}")


def has_canonical_forms(case: SpaceCase) -> None:
    """The canonical form of a canonical form is itself, and so is its identity."""
    for architecture in case.architectures():
        canonical = case.space.canonical(architecture)
        again = case.space.canonical(canonical)
        expect(
            again == canonical,
            f"the canonical form of {architecture} is {canonical}, whose own canonical form is {again}",
        )
        identity = case.space.identity(architecture)
        expect(case.space.identity(identity) == identity, f"the identity of {identity} is not itself")


def enumerates_what_it_counts(case: SpaceCase) -> None:
    """A space of at most 100,000 architectures can be iterated over: as many different ones as its length says, among
    them all samples."""
    try:
        size = len(case.space)
    except (TypeError, OverflowError):  # it is not counted, or too large
        return
    if size > SMALL_SPACE:
        return  # it is sampled
    if size > SMALL:
        first = list(itertools.islice(case.space, 100))
        expect(len(set(first)) == 100, "the first 100 architectures are not all different")
        return
    everything = set(case.space)
    expect(len(everything) == size, f"its length is {size}, but it has {len(everything)} different architectures")
    for architecture in case.architectures():
        expect(architecture in everything, f"{architecture} is sampled but not enumerated")


def has_consistent_choices(case: SpaceCase) -> None:
    """Where a space has `choices`, `to_choices` and `from_choices` are inverses."""
    if not case.space.has_choices:
        return
    options = case.space.choices()
    rng = random.Random(0)
    for architecture in case.architectures():
        indices = case.space.to_choices(architecture)
        fits = len(indices) == len(options) and all(0 <= i < len(o) for i, o in zip(indices, options, strict=True))
        expect(
            fits, f"the choices of {architecture} are {indices}, which do not match {list(map(len, options))} options"
        )
        expect(case.space.from_choices(indices) == architecture, f"{architecture} and its choices {indices} differ")
        drawn = tuple(rng.randrange(len(own)) for own in options)
        again = tuple(case.space.to_choices(case.space.from_choices(drawn)))
        expect(again == drawn, f"the choices {drawn} become {again}")


def builds_pure_networks(case: SpaceCase) -> None:
    """`build` depends only on the text and the seed, and draws nothing from the global random numbers."""
    for architecture, skeleton in case.buildable():
        before = torch.get_rng_state()
        first, again, other = (case.space.build(architecture, skeleton, seed=s).state_dict() for s in (1, 1, 2))
        expect(torch.equal(before, torch.get_rng_state()), "it draws from PyTorch's global random numbers")
        for key, tensor in first.items():
            expect(torch.equal(tensor, again[key]), f"{key} of {architecture} differs when it is built twice")
            expect(bool(tensor.isfinite().all()), f"{key} of {architecture} is not finite")
        weights = [key for key, tensor in first.items() if tensor.is_floating_point() and tensor.numel() > 1]
        changed = not weights or any(not torch.equal(first[key], other[key]) for key in weights)
        expect(changed, f"another seed gives {architecture} the same weights")


def builds_networks_that_run(case: SpaceCase) -> None:
    """Networks take the inputs of their skeleton, return finite logits of its classes, and can be trained."""
    for architecture, skeleton in case.buildable():
        runs_everywhere(case.space, architecture, skeleton, every_parameter=False)


def counts_costs(case: SpaceCase) -> None:
    """`cost` counts the parameters and MACs of the network. A formula of the space agrees with counting."""
    for architecture, skeleton in case.buildable():
        told, counted = case.space.cost(architecture, skeleton), Space.cost(case.space, architecture, skeleton)
        expect(told == counted, f"the cost of {architecture} is {told} by the formula, but {counted} by counting")
        built = sum(parameter.numel() for parameter in case.space.build(architecture, skeleton).parameters())
        expect(built == told.params, f"{architecture} has {built} parameters, but `cost` returns {told.params}")


def refuses_unknown_settings(case: SpaceCase) -> None:
    """The skeleton rejects settings that it does not have, and values of the wrong type."""
    for wrong in ({"color_of_the_sky": 3}, {"classes": "four"}, {"classes": True}):
        try:
            case.space.skeleton(**wrong)
        except SettingError:
            continue
        raise BrokenError(f"the skeleton accepts {wrong}")


def travels_to_workers(case: SpaceCase) -> None:
    """A space at the top level of a module can be sent to worker processes."""
    if name_of(case.space) is None:
        return
    again = pickle.loads(pickle.dumps(case.space))
    text = str(next(case.architectures()))
    expect(str(again.parse(text)) == text, "the copy in a worker process reads architectures differently")


CONTRACTS: tuple[Callable[[SpaceCase], None], ...] = (
    samples_architectures,
    text_reads_back,
    refuses_other_text,
    mutates_within_the_space,
    has_canonical_forms,
    enumerates_what_it_counts,
    has_consistent_choices,
    builds_pure_networks,
    builds_networks_that_run,
    counts_costs,
    refuses_unknown_settings,
    travels_to_workers,
)


def damaged(space: Space[Any], seed: int) -> str:
    """Return the text of an architecture with one to three places cut out, doubled, reversed or overwritten."""
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
    """Return the architecture; or None and the position of the error."""
    try:
        return space.parse(text), 0
    except ParseError as error:
        return None, error.position


def read_exactly_or_refused(space: Space[Any], text: str, *, to_the_letter: bool = True) -> None:
    """Check that text is refused with a position inside it, or is the text of an architecture.

    Args:
        space: The space.
        text: The text.
        to_the_letter: Whether it must be exactly the text that the architecture has.

    Raises:
        BrokenError: If it is neither.
    """
    architecture, place = parsed_or_place(space, text)
    expect(0 <= place <= len(text), f"the error in {text!r} is at {place}, outside of it")
    if architecture is None:
        return
    expect(
        space.parse(str(architecture)) == architecture, f"{text!r} is read as {architecture}, which does not read back"
    )
    if to_the_letter:
        expect(str(architecture) == text.strip(), f"{text!r} is read as {architecture}")


def stays_in_the_space(space: Space[Any], mutations: int, seed: int) -> None:
    """Check a chain of mutations: each child differs from its parent, and its text and canonical form read back.

    Raises:
        BrokenError: If one does not.
    """
    rng = random.Random(seed)
    parent = space.sample(rng)
    for _ in range(mutations):
        child = space.mutate(parent, rng)
        expect(child != parent, f"a mutation of {parent} is the same architecture")
        expect(space.parse(str(child)) == child, f"the text of the mutation {child} does not read back")
        canonical = space.canonical(child)
        expect(
            space.parse(str(canonical)) == canonical, f"the text of the canonical form {canonical} does not read back"
        )
        expect(space.canonical(canonical) == canonical, f"the canonical form of {child} is not its own canonical form")
        parent = child


def runs_everywhere(space: Space[Any], architecture: Any, skeleton: Skeleton, *, every_parameter: bool = True) -> None:
    """Check that a network runs forward and backward in both modes, and forward on the meta device.

    Args:
        space: The space.
        architecture: The architecture.
        skeleton: The skeleton.
        every_parameter: Whether the loss must depend on every parameter.

    Raises:
        BrokenError: If shapes or gradients are not as they should be.
    """
    network = space.build(architecture, skeleton)
    x = torch.randn(2, *skeleton.input_shape, generator=torch.Generator().manual_seed(0))
    for training in (True, False):
        network.train(training).zero_grad()
        out = network(x)
        logits = out if isinstance(out, tuple) else (out,)
        for part in logits:
            expect(part.shape == (2, skeleton.classes), f"{architecture} returns the shape {tuple(part.shape)}")
        torch.stack([part.square().sum() for part in logits]).sum().backward()
        _check_gradients(architecture, network, every_parameter=training and every_parameter)
    with torch.device("meta"):
        shape = space.network(architecture, skeleton).eval()(torch.empty(x.shape)).shape
    expect(shape == (2, skeleton.classes), f"on the meta device, {architecture} returns the shape {tuple(shape)}")


def _check_gradients(architecture: Any, network: nn.Module, *, every_parameter: bool) -> None:
    gradients = {name: parameter.grad for name, parameter in network.named_parameters()}
    known = {name: gradient for name, gradient in gradients.items() if gradient is not None}
    expect(bool(known) or not gradients, f"no parameter of {architecture} has a gradient")
    for name, gradient in known.items():
        expect(bool(gradient.isfinite().all()), f"the gradient of {name} of {architecture} is not finite")
    if every_parameter:
        missing = sorted(gradients.keys() - known.keys())
        expect(not missing, f"{', '.join(missing)} of {architecture} have no gradient")
