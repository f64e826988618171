"""Genotypes: the text of a pair of cells, as used since DARTS.

    Genotype(normal=[('sep_conv_3x3', 1), ('skip_connect', 0), ...], normal_concat=range(2, 6), reduce=[...], ...)

The states of a cell are numbered from its two inputs, 0 and 1. Two consecutive pairs (operation, source) form one
node, which is their sum. The output of the cell concatenates the nodes in `concat`.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import Any

from firstlight.spaces.base import Architecture
from firstlight.spaces.reading import Reader

# In the order of DARTS. Its decoding never chooses `none`, so that genotypes consist of the other seven
OPERATIONS = (
    "none",
    "max_pool_3x3",
    "avg_pool_3x3",
    "skip_connect",
    "sep_conv_3x3",
    "sep_conv_5x5",
    "dil_conv_3x3",
    "dil_conv_5x5",
)
CHOICES = OPERATIONS[1:]
# NASNet and AmoebaNet are also written as genotypes; they have five nodes and two more operations
READABLE = (*OPERATIONS, "sep_conv_7x7", "conv_7x1_1x7")
MOST_NODES = 5
NODES = 4

Edge = tuple[str, int]


@dataclass(frozen=True)
class Cell:
    """Two edges (operation, source) for each node, and the states that the output concatenates."""

    edges: tuple[Edge, ...]
    concat: tuple[int, ...] = tuple(range(2, 2 + NODES))

    @property
    def nodes(self) -> int:
        return len(self.edges) // 2

    def edges_of(self, node: int) -> tuple[Edge, Edge]:
        return self.edges[2 * node], self.edges[2 * node + 1]


@dataclass(frozen=True)
class Genotype(Architecture):
    """The normal cell, which keeps the size of its inputs, and the reduction cell, which halves it."""

    normal: Cell
    reduce: Cell

    def __str__(self) -> str:
        parts = [
            f"{kind}={list(cell.edges)}, {kind}_concat={_concat_text(cell.concat)}"
            for kind, cell in (("normal", self.normal), ("reduce", self.reduce))
        ]
        return f"Genotype({', '.join(parts)})"


def _concat_text(concat: tuple[int, ...]) -> str:
    whole = range(concat[0], concat[-1] + 1)
    return str(whole) if concat == tuple(whole) else str(list(concat))


def read_genotype(text: str) -> Genotype:
    """Read a genotype. Spaces, line breaks, quotes and trailing commas may be written as in Python."""
    reader = Reader(re.sub("[\t\r\n]", " ", text))
    _symbols(reader, "Genotype", "(", "normal", "=")
    normal = _read_cell(reader, "normal_concat")
    _symbols(reader, ",", "reduce", "=")
    reduce = _read_cell(reader, "reduce_concat")
    if _another(reader, ")"):
        reader.fail("')'")
    reader.end()
    return Genotype(normal, reduce)


def _read_cell(reader: Reader, concat_name: str) -> Cell:
    edges: list[Edge] = []
    _symbols(reader, "[")
    while not edges or _another(reader, "]"):
        if len(edges) == 2 * MOST_NODES:
            reader.fail(f"']', because a cell has {MOST_NODES} nodes at most")
        _symbols(reader, "(")
        operation = _read_quoted(reader, READABLE)
        _symbols(reader, ",")
        edges.append((operation, _read_state(reader, range(2 + len(edges) // 2))))
        _symbols(reader, ")")
    if len(edges) % 2:
        reader.fail("two pairs for each node before this")
    _symbols(reader, ",", concat_name, "=")
    return Cell(tuple(edges), _read_concat(reader, edges))


def _read_concat(reader: Reader, edges: list[Edge]) -> tuple[int, ...]:
    start, nodes = reader.position, range(2, 2 + len(edges) // 2)
    concat: tuple[int, ...] = ()
    if reader.at("range"):
        _symbols(reader, "range", "(")
        first = _read_state(reader, nodes)
        _symbols(reader, ",")
        concat = tuple(range(first, _read_state(reader, range(first + 1, nodes.stop + 1))))
        _symbols(reader, ")")
    else:
        _symbols(reader, "[")
        while not concat or _another(reader, "]"):
            concat += (_read_state(reader, range(concat[-1] + 1 if concat else 2, nodes.stop)),)
    used = {*concat, *(source for _, source in edges)}
    for node in nodes:
        if node not in used:
            reader.fail(f"a list with {node} in it, because nothing else reads that node", start)
    return concat


def _read_state(reader: Reader, allowed: range) -> int:
    if not allowed:
        reader.fail("']'")
    state = reader.number(allowed, "a state")
    reader.skip_blanks()
    return state


def _read_quoted(reader: Reader, names: tuple[str, ...]) -> str:
    quote = '"' if reader.at('"') else "'"
    reader.skip(quote)
    name = reader.one_of(names)
    _symbols(reader, quote)
    return name


def _symbols(reader: Reader, *literals: str) -> None:
    for literal in literals:
        reader.skip(literal)
        reader.skip_blanks()


def _another(reader: Reader, bracket: str) -> bool:
    """Return whether another entry follows; otherwise read the closing bracket."""
    if not reader.at(bracket):
        _symbols(reader, ",")
    if not reader.at(bracket):
        return True
    _symbols(reader, bracket)
    return False


# ---------------------------------------- NAS-Bench-301


# Number of the first edge into each node, counting every pair of states
_FIRST_EDGE = {node: sum(range(2, node)) for node in range(2, 2 + NODES)}


def read_configuration(text: str) -> Genotype:
    """Read a genotype as a configuration of NAS-Bench-301: a dictionary, as JSON or as Python prints it.

    `inputs_node_normal_4: '0_2'` are the states that node 4 reads (node 2 reads both inputs), `edge_normal_5:
    'sep_conv_3x3'` is an operation. Edges are numbered node by node, counting all possible ones.
    """
    reader = Reader(re.sub("[\t\r\n]", " ", text))
    settings = _read_settings(reader)
    cells = []
    for kind in ("normal", "reduce"):
        edges: list[Edge] = []
        for node, first_edge in _FIRST_EDGE.items():
            pairs = list(itertools.combinations(range(node), 2))
            names = {f"{first}_{second}": (first, second) for first, second in pairs}
            sources = (0, 1) if node == 2 else names[_take(reader, settings, f"inputs_node_{kind}_{node}", names)]
            edges += [(_take(reader, settings, f"edge_{kind}_{first_edge + s}", CHOICES), s) for s in sources]
        cells.append(Cell(tuple(edges)))
    for name, (value, position) in settings.items():
        if name.startswith(("edge_", "inputs_node_")) and value not in ("None", "null"):
            reader.fail(f"no {name}, because no node reads it", position)
    return Genotype(*cells)


def _take(reader: Reader, settings: dict[str, tuple[str, int]], name: str, allowed: Any) -> str:
    value, position = settings.pop(name, ("", len(reader.text)))
    if value not in allowed:
        reader.fail(f"{name} as one of {', '.join(allowed)}", position)
    return value


_SETTING = re.compile(r"""(["'])(?P<name>[\w:]*)\1 *: *(?:(["'])(?P<text>[\w:]*)\3|(?P<plain>[\w.+-]+))""", re.ASCII)


def _read_settings(reader: Reader) -> dict[str, tuple[str, int]]:
    """Read settings by name, without the path before it, and their positions in the text."""
    settings: dict[str, tuple[str, int]] = {}
    _symbols(reader, "{")
    while not settings or _another(reader, "}"):
        setting = _SETTING.match(reader.text, reader.position)
        if not setting:
            reader.fail("a setting such as 'edge_normal_0': 'skip_connect'")
        name = setting["name"].rpartition(":")[2]
        if name in settings:
            reader.fail(f"{name} only once")
        settings[name] = setting["text"] or setting["plain"] or "", setting.start()
        reader.position = setting.end()
        reader.skip_blanks()
    reader.end()
    return settings
