from __future__ import annotations

import shlex

from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.core.quoting import joined, quoted


@settings(deadline=None)
@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"))))
def test_a_shell_reads_what_was_meant(words: list[str]) -> None:
    assert shlex.split(joined(words)) == words


def test_single_quotes_stay_readable_where_nothing_else_is_special() -> None:
    assert quoted("[('sep_conv_3x3', 0)]") == "\"[('sep_conv_3x3', 0)]\""
    assert quoted("it's $HOME") == "'it'\"'\"'s $HOME'"
    assert quoted("plain") == "plain"
