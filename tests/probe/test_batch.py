"""Batches as users write them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

from firstlight.core.errors import DataError, UnsupportedError
from firstlight.probe.batch import Batch, as_batches

CPU = torch.device("cpu")
SIZES = st.integers(1, 7)
no_hurry = settings(deadline=None, max_examples=50)


def numbered(samples: int, width: int = 2, start: int = 0) -> Tensor:
    return torch.arange(start, start + samples * width, dtype=torch.float32).reshape(samples, width)


@st.composite
def written(draw: st.DrawFn) -> tuple[Any, list[Tensor], Tensor | None, tuple[str, ...]]:
    """One batch in one of the ways to write it, its inputs, its targets, and the names of the inputs."""
    samples, count = draw(SIZES), draw(st.integers(1, 3))
    tensors = [numbered(samples, start=100 * i) for i in range(count)]
    names: tuple[str, ...] = ()
    inputs: Any = tuple(tensors)
    if draw(st.booleans()):
        names = tuple(draw(st.permutations("abc"))[:count])
        inputs = dict(zip(names, tensors, strict=True))
    elif count == 1 and draw(st.booleans()):
        inputs = tensors[0]
    targets = draw(st.sampled_from(["none", "left out", "labels"]))
    if targets == "labels":
        labels = torch.arange(samples)
        return (inputs, labels), tensors, labels, names
    if targets == "none":
        return (inputs, None), tensors, None, names
    # a bare tuple of two tensors would be read as inputs and targets
    return (inputs if not isinstance(inputs, tuple) else (inputs, None)), tensors, None, names


@no_hurry
@given(st.lists(written(), min_size=1, max_size=4))
def test_every_way_to_write_batches_is_understood(items: list[Any]) -> None:
    found = as_batches([item[0] for item in items], CPU, torch.float64)
    assert len(found) == len(items)
    for batch, (_, tensors, targets, names) in zip(found, items, strict=True):
        assert len(batch) == len(tensors[0])
        assert batch.names == names
        assert [x.tolist() for x in batch.inputs] == [x.tolist() for x in tensors]
        assert {x.dtype for x in batch.inputs} == {torch.float64}
        assert (batch.targets is None) == (targets is None)
        assert targets is None or torch.equal(batch.targets, targets)


@no_hurry
@given(written())
def test_a_single_batch_needs_no_list(item: Any) -> None:
    alone, listed = as_batches(item[0], CPU, None), as_batches([item[0]], CPU, None)
    assert len(alone) == len(listed) == 1
    assert [x.tolist() for x in alone[0].inputs] == [x.tolist() for x in listed[0].inputs]
    assert (alone[0].names, alone[0].targets is None) == (listed[0].names, listed[0].targets is None)


@no_hurry
@given(SIZES, SIZES)
def test_head_and_chunks_cut_inputs_and_targets_alike(samples: int, size: int) -> None:
    whole = Batch((numbered(samples), numbered(samples, 3)), torch.arange(samples), ("a", "b"))
    head = whole.head(size)
    assert len(head) == min(samples, size)
    chunks = whole.chunks(size)
    assert [len(chunk) for chunk in chunks] == [min(size, samples - start) for start in range(0, samples, size)]
    for place in (0, 1):
        assert torch.equal(torch.cat([chunk.inputs[place] for chunk in chunks]), whole.inputs[place])
        assert torch.equal(head.inputs[place], whole.inputs[place][:size])
    assert torch.equal(torch.cat([c.targets for c in chunks if c.targets is not None]), torch.arange(samples))
    assert head.targets is not None
    assert head.targets.tolist() == list(range(min(samples, size)))
    assert {part.names for part in (head, *chunks)} == {("a", "b")}
    bare = Batch((numbered(samples),))
    assert [part.targets for part in (bare.head(size), *bare.chunks(size))] == [None] * (len(chunks) + 1)


@no_hurry
@given(SIZES, SIZES)
def test_numbers_of_samples_that_differ_are_refused(first: int, second: int) -> None:
    for batch in ((numbered(first), torch.arange(second)), ((numbered(first), numbered(second)), None)):
        if first == second:
            assert len(as_batches(batch, CPU, None)[0]) == first
        else:
            with pytest.raises(DataError, match="batch 1 have different numbers of samples"):
                as_batches(batch, CPU, None)


@no_hurry
@given(st.integers(0, 3), st.sampled_from([float("nan"), float("inf"), -float("inf")]))
def test_the_batch_that_holds_no_numbers_is_named(place: int, value: float) -> None:
    batches = [numbered(2) for _ in range(4)]
    batches[place][1, 0] = value
    with pytest.raises(DataError, match=f"Batch {place + 1} contains"):
        as_batches(batches, CPU, None)


@no_hurry
@given(
    st.one_of(st.none(), st.integers(), st.text(), st.lists(st.integers()), st.dictionaries(st.text(), st.integers()))
)
def test_what_is_no_batch_is_refused(batches: Any) -> None:
    with pytest.raises(DataError, match=r"[Bb]atch"):
        as_batches(batches, CPU, None)


def test_whole_numbers_keep_their_kind() -> None:
    (batch,) = as_batches(
        ((torch.tensor([[1], [2]]), numbered(2).half()), torch.tensor([0.5, 1.5])), CPU, torch.float32
    )
    assert [x.dtype for x in batch.inputs] == [torch.int64, torch.float32]
    assert batch.targets is not None
    assert batch.targets.tolist() == [0.5, 1.5]


def test_networks_are_fed_by_position_or_by_name_with_copies() -> None:
    x, y = numbered(2), numbered(2, start=50)

    def difference(first: Tensor, second: Tensor) -> Tensor:
        return first.sub_(second)

    assert Batch((x, y)).feed(difference).unique().tolist() == [-50.0]
    assert Batch((x, y), names=("second", "first")).feed(difference).unique().tolist() == [50.0]
    assert x.equal(numbered(2))
    assert Batch((x, y)).feed(difference, lambda t: 2 * t).unique().tolist() == [-100.0]


def test_the_one_input_that_can_move() -> None:
    x = numbered(3)
    assert Batch((x,)).image is x
    with pytest.raises(UnsupportedError, match="takes 2"):
        _ = Batch((x, x)).image
    with pytest.raises(UnsupportedError, match="takes integers"):
        _ = Batch((torch.arange(3),)).image
    assert "(3, 2) torch.float32 on cpu" in Batch((x,)).described()


def test_a_list_as_a_loader_gives_it_is_one_batch() -> None:
    data = TensorDataset(numbered(6), torch.arange(6))
    found = as_batches(next(iter(DataLoader(data, 6))), CPU, None)
    assert len(found) == 1
    assert found[0].targets is not None
    assert found[0].targets.tolist() == list(range(6))
    assert len(as_batches([numbered(6), numbered(6)], CPU, None)) == 2
    assert [b.targets is not None for b in as_batches(DataLoader(data, 3), CPU, None)] == [True, True]


def test_three_tensors_in_a_tuple_could_be_anything() -> None:
    with pytest.raises(DataError, match="several inputs, or several batches"):
        as_batches((numbered(2), numbered(2), numbered(2)), CPU, None)
