"""What calls and commands can be asked for: read, checked, documented, and read back."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import firstlight
from firstlight import Compute, Inputs, Limits, Model, Network, Retraining, Training
from firstlight.core.errors import FirstlightError, LimitError, SettingError, UnknownNameError
from firstlight.core.groups import Group, field_docs
from firstlight.options import GROUPS, Files, read_list, read_numbers, read_shape, read_skeleton

ALL = (*GROUPS, Files)
ENDLESS = "9" * 5000  # Python itself refuses to make a number of it
NAMES = st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=8)


@pytest.mark.parametrize("group", ALL)
def test_every_field_is_documented(group: type[Group]) -> None:
    docs = field_docs(group)
    assert list(docs) == group.names()
    for name, text in docs.items():
        assert text.endswith("."), name
        assert text[0].isupper(), name
    assert group.title
    assert group.__doc__
    assert getattr(firstlight, group.__name__) is group


def test_every_option_is_declared_once() -> None:
    names = [name for group in ALL for name in group.names()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("group", ALL)
def test_defaults_are_read_as_defaults(group: type[Group]) -> None:
    usual = group()
    assert usual.to_dict() == {}
    assert dataclasses.replace(usual) == usual  # type: ignore[type-var]


@given(st.dictionaries(NAMES, st.integers(0, 10**9 - 1) | st.tuples(*[st.integers(0, 999)] * 3), max_size=4))
def test_a_skeleton_is_read_from_text_as_from_a_dictionary(settings: dict[str, Any]) -> None:
    text = ",".join(
        f"{name}={'x'.join(map(str, value)) if isinstance(value, tuple) else value}" for name, value in settings.items()
    )
    assert dict(read_skeleton(text)) == settings
    assert read_skeleton(settings) == read_skeleton(text) == read_skeleton(read_skeleton(text))
    assert Network(skeleton=text) == Network(skeleton=settings)
    assert Network(skeleton=text).skeleton_settings == settings


@given(st.text(max_size=20))
def test_any_text_is_a_skeleton_or_refused(text: str) -> None:
    try:
        found = read_skeleton(text)
    except SettingError:
        with pytest.raises(SettingError, match="cannot be read as a setting of the skeleton"):
            read_skeleton(text)
    else:
        assert all(isinstance(value, (int, tuple)) for _, value in found)


@given(st.lists(st.integers(1, 10**9 - 1), min_size=1, max_size=4), st.sampled_from(",x"))
def test_a_shape_is_read_from_text_as_from_numbers(shape: list[int], separator: str) -> None:
    assert read_shape(separator.join(map(str, shape))) == read_shape(shape) == tuple(shape)
    assert Model(input_shape=shape) == Model(input_shape=separator.join(map(str, shape)))


@pytest.mark.parametrize("text", ["0", "3,0", "3x0x3", "0x3", "-1", "3,,3", "٣", "", f"3,{ENDLESS}"])
def test_shapes_are_positive(text: str) -> None:
    with pytest.raises(SettingError, match="not a shape"):
        read_shape(text)


def test_numbers_of_thousands_of_digits_are_refused_or_names() -> None:
    with pytest.raises(SettingError, match="cannot be read as a setting of the skeleton"):
        read_skeleton(f"channels={ENDLESS}")
    assert Model(logits=ENDLESS).logits == ENDLESS
    with pytest.raises(SettingError, match="not a seed"):
        Network(seed=ENDLESS)


@pytest.mark.parametrize(("given", "found"), [("0", 0), ("-1", -1), ("logits", "logits"), (2, 2), (None, None)])
def test_logits_are_a_number_or_a_key(given: Any, found: Any) -> None:
    assert Model(logits=given).logits == found


@given(st.lists(st.integers(-99, 2**40), min_size=1, max_size=5, unique=True))
def test_seeds_are_one_or_several_different_numbers(seeds: list[int]) -> None:
    by_text, by_list = Network(seed=",".join(map(str, seeds))), Network(seed=seeds)
    assert by_text == by_list
    assert by_text.seeds == seeds
    if len(seeds) == 1:
        assert by_text.only_seed == seeds[0]
    else:
        with pytest.raises(SettingError, match="more than one seed, but this call takes only one"):
            _ = by_text.only_seed
    with pytest.raises(SettingError, match="several different ones"):
        Network(seed=[*seeds, seeds[0]])


@pytest.mark.parametrize("seed", ["", "one", "1,", "1.5", None, [], ["a"], object()])
def test_what_is_not_a_seed(seed: Any) -> None:
    with pytest.raises(SettingError, match=r"not a seed. Write a whole number|give one, or several different ones"):
        Network(seed=seed)


AMOUNTS = st.integers(0, 10**12)


@given(AMOUNTS, AMOUNTS)
def test_the_least_is_not_above_the_most(least: int, most: int) -> None:
    if least > most:
        with pytest.raises(LimitError, match="No network has at least"):
            Limits(min_params=least, max_params=most)
    else:
        assert Limits(min_params=least, max_params=most).bounds == {"params": (least, most)}


@given(st.integers(1, 999), st.sampled_from(("", "k", "M", "G")))
def test_amounts_are_read_as_people_write_them(number: int, suffix: str) -> None:
    amount = number * {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}[suffix]
    limits = Limits(max_params=f"{number}{suffix}", max_memory=f"{number}{suffix}B", max_latency=f"{number}ms")
    assert limits == Limits(max_params=amount, max_memory=amount, max_latency=number)
    assert Limits(**limits.to_dict()) == limits
    assert limits.recorded() == {"max_params": amount, "max_memory": amount, "max_latency": float(number)}


def test_bytes_may_be_binary() -> None:
    limits = Limits(max_flash="256KiB", max_ram="1.5MiB", max_memory="1GiB", precision="int8")
    assert (limits.max_flash, limits.max_ram, limits.max_memory) == (262_144, 1_572_864, 2**30)
    assert Limits(max_flash="256K") == Limits(max_flash="256KB") == Limits(max_flash=256_000)
    assert Limits(**limits.to_dict()) == limits
    assert "precision" not in limits.recorded()
    assert list(limits.bounds) == ["memory", "flash", "ram"]
    with pytest.raises(UnknownNameError, match=r"no precision 'int4'.*float32, int8"):
        Limits(precision="int4")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"max_ram": "64Ki"}, r"max_ram \(--max-ram\): '64Ki' is not an amount"),
        ({"max_params": "1KiB"}, "is not an amount"),
        ({"max_params": "many"}, r"^max_params \(--max-params\): 'many' is not an amount"),
        ({"max_params": math.nan}, "is not an amount"),
        ({"max_params": -3}, "is not an amount"),
        ({"max_memory": "3 apples"}, "is not an amount"),
        ({"max_latency": 0}, "is not a latency"),
        ({"max_latency": "soon"}, r"^max_latency \(--max-latency\): 'soon' is not a latency"),
        ({"max_latency": math.inf}, "is not a latency"),
    ],
)
def test_what_is_not_a_limit(given: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Limits(**given)


def test_limits_say_what_they_are_and_how_far_a_network_is_from_them() -> None:
    limits = Limits(max_params="1.0M", min_macs=200, max_latency=5)
    assert str(limits) == "at most 1,000,000 parameters and at least 200 MACs and at most 5.0 ms of latency"
    assert str(Limits()) == "no limits"
    asked: list[str] = []

    def amounts(**known: float) -> Any:
        return lambda name: asked.append(name) or known[name]

    assert limits.excess(amounts(params=1.5e6, macs=100)) == pytest.approx(0.5)
    assert "latency" not in asked  # an expensive cost, of no interest any more
    assert limits.excess(amounts(params=1, macs=200, latency=10)) == pytest.approx(1.0)
    assert limits.excess(amounts(params=1, macs=200, latency=5)) == 0
    assert limits.excess(amounts(params=math.inf, macs=200)) == math.inf


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Inputs(labels="randon"), "Did you mean 'random'"),
        (lambda: Inputs(batch_size=0), r"batch_size \(--batch-size\): 0 is not a whole number of 1 or more"),
        (lambda: Inputs(num_batches=-1), r"num_batches \(--num-batches\)"),
        (lambda: Network(repeats=0), r"repeats \(--repeats\)"),
        (lambda: Network(skeleton=3), "skeleton is 3; write a dictionary"),
        (lambda: Training(epochs=0), r"epochs \(--epochs\)"),
        (lambda: Training(data_samples=3), "3 is not a whole number of 4 or more"),
        (lambda: Retraining(retrain=0), r"retrain \(--retrain\)"),
        (lambda: Retraining(retrain_random=-1), "whole number of 0 or more"),
        (lambda: Compute(workers=-1), r"workers \(--workers\): -1"),
        (lambda: Compute(workers=1.5), r"workers \(--workers\): 1.5"),  # type: ignore[arg-type]
    ],
)
def test_values_that_make_no_sense(make: Any, message: str) -> None:
    with pytest.raises(FirstlightError, match=message):
        make()


@given(st.lists(NAMES, max_size=4))
def test_lists_of_names(names: list[str]) -> None:
    assert read_list(" , ".join(names)) == read_list(names) == names
    assert read_list(None) == []


@given(st.lists(st.integers(), min_size=1, max_size=4))
def test_lists_of_numbers(numbers: list[int]) -> None:
    assert read_numbers("queries", ",".join(map(str, numbers))) == read_numbers("queries", numbers) == numbers
    with pytest.raises(SettingError, match=r"queries \(--queries\): '.*' is not a list of whole numbers"):
        read_numbers("queries", ",".join([*map(str, numbers), "few"]))
