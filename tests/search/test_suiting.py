"""What limits leave of a space, against counting by hand, and the skeleton that suits them."""

from __future__ import annotations

import pytest

import firstlight
from firstlight import Limits
from firstlight.core.events import Event
from firstlight.search.suiting import look_at_limits, worth_saying

SPACE = firstlight.space("nasbench201")


def test_every_network_of_a_small_space_is_counted() -> None:
    skeleton, limits = SPACE.skeleton(channels=4, cells=1), Limits(max_params="4k")
    advice = look_at_limits(SPACE, skeleton, limits)
    fitting = [cell for cell in SPACE if SPACE.cost(cell, skeleton).params <= 4000]
    assert (advice.here.fitting, advice.here.looked, advice.here.whole) == (len(fitting), 15_625, True)
    kept = {operation for cell in fitting for operation in cell.operations}
    assert set(advice.here.excluded) == {option for options in SPACE.choices() for option in options} - kept


def test_a_limit_that_excludes_an_operation_says_so_and_names_a_skeleton_that_does_not() -> None:
    """300k parameters exclude every 3x3 convolution at 16 channels."""
    advice = look_at_limits(SPACE, SPACE.skeleton(), Limits(max_params="300k"))
    assert advice.here.excluded == ("nor_conv_3x3",)
    assert worth_saying(advice)
    assert advice.text.startswith(
        "The limits (at most 300,000 parameters) exclude every nor_conv_3x3 with channels=16, cells=5: "
        "4,096 of 15,625 networks fit."
    )
    assert advice.better is not None
    better = SPACE.skeleton(**advice.better.changed)
    fitting = [cell for cell in SPACE if SPACE.cost(cell, better).params <= 300_000]
    assert advice.better.fitting == len(fitting) > 15_625 / 2
    assert any("nor_conv_3x3" in cell.operations for cell in fitting)
    assert f"leaves {len(fitting):,} of 15,625 networks, with every operation." in advice.text


@pytest.mark.parametrize(("name", "params"), [("nasbench101", "300k"), ("transnas-micro", "300k"), ("darts", "60k")])
def test_large_spaces_are_sampled(name: str, params: str) -> None:
    space = firstlight.space(name)
    advice = look_at_limits(space, space.skeleton(), Limits(max_params=params))
    assert not advice.here.suits
    assert advice.better is not None
    assert advice.better.suits
    assert advice.better.share > advice.here.share


def test_of_widths_the_smallest_that_is_excluded_says_all() -> None:
    space = firstlight.space("plain-resnet")
    advice = look_at_limits(space, space.skeleton(), Limits(max_params="20k"))
    assert "width of 64 or more" in advice.here.excluded
    assert "width of 128 or more" not in advice.here.excluded
    assert advice.better is None  # there is no setting of the skeleton to change


def test_limits_that_leave_enough_need_no_other_skeleton() -> None:
    advice = look_at_limits(SPACE, SPACE.skeleton(channels=8), Limits(max_params="1M"))
    assert advice.here.suits
    assert advice.better is None
    assert not worth_saying(advice)
    nothing = look_at_limits(SPACE, SPACE.skeleton(), Limits())
    assert nothing.here.share == 1


def test_lower_bounds_count_as_well() -> None:
    advice = look_at_limits(SPACE, SPACE.skeleton(channels=4, cells=1), Limits(min_params="100k", max_params="200k"))
    assert advice.here.fitting == 0
    assert "leave 0 of 15,625 networks" in advice.text
    assert advice.better is not None
    assert advice.better.changed["channels"] > 4


def test_a_search_is_told_before_any_work() -> None:
    seen: list[Event] = []
    result = firstlight.search(
        "nasbench201", proxy="params", samples=2, max_params="300k", workers=0, callback=seen.append
    )
    assert seen[0].stage == "message"
    assert "exclude every nor_conv_3x3" in seen[0].note
    assert seen[0].note in result.notes
    seen.clear()
    firstlight.search("nasbench201", proxy="params", samples=2, max_params="1.2M", workers=0, callback=seen.append)
    assert all(event.stage != "message" for event in seen)
