"""What the steps through a one-shot network found, for the report of a search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from firstlight.views.charts.description import HeatMap, Line, Lines, Point, Scatter
from firstlight.views.charts.svg import draw_svg, legend


@dataclass(frozen=True)
class Block:
    """Choices of one kind: the preference for each option, and how it grew."""

    title: str
    preferences: Markup
    legend: Markup
    growth: Mapping[str, Markup]


@dataclass(frozen=True)
class OneShotCharts:
    """The charts of a search by steps; `scale` is the largest preference, which has the full color."""

    steps: int
    scale: float
    blocks: Sequence[Block]
    traces: Markup
    has_thresholds: bool


def one_shot_charts(found: Mapping[str, Any]) -> OneShotCharts:
    """Draw what a search found under `one_shot`."""
    numbers = [abs(value) for values in found["preferences"].values() for value in values]
    scale = max(numbers) or 1.0
    blocks = [_block(found, title, names, scale) for title, names in _kinds(found["options"]).items()]
    traces, thresholds = found["traces"], found.get("thresholds")
    return OneShotCharts(len(traces), scale, blocks, _trace_chart(traces, thresholds), thresholds is not None)


def _kinds(choices: Mapping[str, Any]) -> dict[str, list[str]]:
    """Group choices by what is chosen and in which kind of cell, which names such as `inputs of normal 3` say."""
    kinds: dict[str, list[str]] = {}
    for name in choices:
        what, _, where = name.rpartition(" of ")
        cell = where.rpartition(" ")[0]
        title = ", ".join(filter(None, (what, f"{cell} cell" if cell else "")))
        kinds.setdefault(title, []).append(name)
    return kinds


def _place(name: str) -> str:
    return name.rpartition(" of ")[2]


def _block(found: Mapping[str, Any], title: str, names: Sequence[str], scale: float) -> Block:
    options, chosen = found["options"], found["chosen"]
    columns = list(dict.fromkeys(option for name in names for option in options[name]))
    picked = {(row, columns.index(option)) for row, name in enumerate(names) for option in chosen[name]}
    values = [dict(zip(options[name], found["preferences"][name], strict=True)) for name in names]
    rows = [[known.get(option) for option in columns] for known in values]
    label = f"preferences{f' for {title}' if title else ''}, {len(names)} choices among {len(columns)}"
    places = list(map(_place, names))
    preferences = HeatMap(label, "preference", places, columns, rows, scale=scale, chosen=picked, is_square=False)
    return Block(title, draw_svg(preferences), legend(columns), dict(_growth(found, names, columns)))


def _growth(found: Mapping[str, Any], names: Sequence[str], columns: Sequence[str]) -> Iterator[tuple[str, Markup]]:
    """Yield a chart for each choice: its options over the steps. Nothing if only the end is known."""
    growth = found["growth"]
    if len(growth) < 2:
        return
    everything = [value for name in names for row in growth for value in row[name]]
    bounds = min(0.0, *everything), max(0.0, *everything)
    for name in names:
        entries = [
            Line(
                option,
                [(0.0, 0.0), *((row["steps"], row[name][place]) for row in growth)],
                tooltip=f"{option}: {growth[-1][name][place]:.4g} after {growth[-1]['steps']} steps",
                series=columns.index(option) + 1,
                strong=option in found["chosen"][name],
            )
            for place, option in enumerate(found["options"][name])
        ]
        chart = Lines("steps", f"preferences for {name}", entries, includes=bounds)
        yield _place(name), draw_svg(chart, small=True)


def _trace_chart(traces: Sequence[float], thresholds: Sequence[float] | None) -> Markup:
    """Draw T of each step; zeros are left out, since the scale is logarithmic."""
    points = [Point(step, trace, f"step {step}: T {trace:.4g}") for step, trace in enumerate(traces, 1) if trace > 0]
    level = [(float(step), nu) for step, nu in enumerate(thresholds or (), 1) if nu > 0]
    line = Line("nu", level, tooltip=f"nu, {level[-1][1]:.4g} at the last step") if level else None
    return draw_svg(Scatter("step", "T", points, line=line, log_y=True, noun="steps")) if points else Markup()
