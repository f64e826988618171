"""Files of published figures: what they hold, and what is said of one that cannot be read."""

from __future__ import annotations

import pytest

from firstlight.core.errors import DataError, UnknownNameError
from firstlight.papers.base import Published
from firstlight.papers.published import parse_paper, read_paper

TABLE = """
reference = "Shu2022nasi"

[table1]
source = "Toy Table 1"
title = "a toy"
columns = ["NB101", "NB301"]
remarks = ["Seen from afar."]

[table1.rows]
"plain" = [0.5, 1]
"spread" = ["93.1 ± 0.2", "-"]
"range" = ["-0.4..0.95", "-"]
"""


def test_a_table_with_every_kind_of_value() -> None:
    table = parse_paper("toy.toml", TABLE)["table1"]
    assert (table.source, table.reference, table.title) == ("Toy Table 1", "Shu2022nasi", "a toy")
    assert table.remarks == ("Seen from afar.",)
    assert table.at("plain", "NB101") == Published("Toy Table 1", 0.5, 0.5)
    assert table.at("plain", "NB301") == Published("Toy Table 1", 1, 1)
    assert table.at("spread", "NB101") == Published("Toy Table 1", 93.1, 93.1, 0.2)
    assert table.at("range", "NB101") == Published("Toy Table 1", -0.4, 0.95)
    assert table.at("range", "NB301") is None
    assert table.at("plain", "NB201 CIFAR-10") is None  # which the paper does not have


def test_names_that_are_not_there() -> None:
    paper = parse_paper("toy.toml", TABLE)
    with pytest.raises(UnknownNameError, match=r"no row of Toy Table 1 'plane'\. Did you mean 'plain'"):
        paper["table1"].at("plane", "NB101")
    with pytest.raises(UnknownNameError, match=r"no table in toy\.toml 'table2'. Did you mean 'table1'"):
        paper["table2"]
    with pytest.raises(UnknownNameError, match=r"'dexter\.toml'. Did you mean 'dextr\.toml'"):
        read_paper("dexter")


def test_a_table_whose_figures_are_not_entered() -> None:
    table = parse_paper("toy.toml", 'reference = "Shu2022nasi"\n[a]\nsource = "b"\ntitle = "c"\n')["a"]
    assert (table.columns, table.rows) == ((), {})


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('reference = "Shu2022nasi"', "", "toy.toml needs reference, a text"),
        ("Shu2022nasi", "Nobody1999", "toy.toml: reference is 'Nobody1999', which is not a key of REFERENCES"),
        ('reference = "Shu2022nasi"', 'reference = "Shu2022nasi"\nyear = 1999', "toy.toml: year is not a table"),
        ('title = "a toy"', "", "toy.toml: table1 needs title, a text"),
        ('title = "a toy"', "title = 3", "toy.toml: table1: title is 3, not a text"),
        (
            'title = "a toy"',
            'title = "a toy"\ncolour = "red"',
            "toy.toml: table1.colour is unknown. A table has",
        ),
        ('["NB101", "NB301"]', '"NB101"', "toy.toml: table1: columns is 'NB101', not a list of texts"),
        ('["NB101", "NB301"]', '["NB101", "NB101"]', "toy.toml: table1.columns names a column twice"),
        ('columns = ["NB101", "NB301"]', "", "toy.toml: table1 needs both columns and rows, or neither"),
        ("[0.5, 1]", "[0.5]", r"table1.rows.'plain' needs 2 values, one for each column \(NB101, NB301\), not 1"),
        ("[0.5, 1]", "0.5", r"table1.rows.'plain' needs 2 values, .*, not 0.5"),
        ("[0.5, 1]", "[0.5, nan]", "table1.rows.'plain', column 'NB301' is nan. Write a number"),
        ("[0.5, 1]", "[0.5, true]", "table1.rows.'plain', column 'NB301' is True. Write a number"),
        ("[0.5, 1]", '[0.5, ""]', "table1.rows.'plain', column 'NB301' is ''. Write a number"),
        ("-0.4..0.95", "0.95..0.94", "table1.rows.'range', column 'NB101' is '0.95..0.94'. Write a number"),
        ("[0.5, 1]", "[0.5, 1", "toy.toml is not valid TOML"),
    ],
)
def test_a_file_that_cannot_be_read_names_the_key(old: str, new: str, message: str) -> None:
    assert old in TABLE
    with pytest.raises(DataError, match=message):
        parse_paper("toy.toml", TABLE.replace(old, new, 1))
