"""Findings: measured figures, published figures, and the rule that compares them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from firstlight.core.statistics import Estimate

Verdict = Literal["agrees", "differs", "too wide to tell", "no published value", "not measured"]


@dataclass(frozen=True)
class Scale:
    """A kind of figure, and how close two measurements of it must be.

    Attributes:
        name: What the figures are.
        tolerance: How far two honest measurements may be apart. Other networks, weights and images cause this much.
        widest: The width of an interval above which it decides nothing.
    """

    name: str
    tolerance: float
    widest: float


CORRELATION = Scale("correlation", tolerance=0.06, widest=0.30)
SHARE = Scale("share", tolerance=0.05, widest=0.15)
SCORE = Scale("Dextr score", tolerance=0.15, widest=0.60)
ACCURACY = Scale("accuracy or error, %", tolerance=0.5, widest=2.0)
SPREAD = Scale("deviation of a score", tolerance=0.01, widest=0.10)
CURVATURE = Scale("log10 of a curvature", tolerance=0.5, widest=1.0)
PARAMETERS = Scale("parameters, M", tolerance=0.06, widest=0.5)
MACS = Scale("multiply-adds, M", tolerance=6.0, widest=50.0)
# For figures without a published counterpart
FIGURE = Scale("figure", tolerance=0.0, widest=float("inf"))


@dataclass(frozen=True)
class Published:
    """A published figure.

    Attributes:
        source: Where it is printed, such as "Dextr Table 1".
        low: The figure, or the lower end if the paper gives a range.
        high: The figure, or the upper end.
        spread: What the paper prints behind ±, if anything. It does not change the verdict.
    """

    source: str
    low: float
    high: float
    spread: float | None = None

    def __str__(self) -> str:
        if self.low != self.high:
            return f"{self.low:.4g} to {self.high:.4g}"
        return f"{self.low:.4g}" + ("" if self.spread is None else f" ± {self.spread:.4g}")


def judge(published: Published | None, ours: Estimate | None, scale: Scale) -> Verdict:
    """Compare a published figure with our 95 % interval.

    They agree if the published figure, or any part of the published range, lies inside our interval widened by the
    tolerance; otherwise they differ. An interval that contains the figure but is wider than `scale.widest` agrees with
    nearly everything, so the verdict is "too wide to tell".
    """
    if ours is None:
        return "not measured"
    if published is None:
        return "no published value"
    if published.high < ours.low - scale.tolerance or published.low > ours.high + scale.tolerance:
        return "differs"
    return "agrees" if ours.high - ours.low <= scale.widest else "too wide to tell"


@dataclass(frozen=True)
class Finding:
    """One measured figure: `what` was measured `on` which networks, and what the paper says."""

    what: str
    on: str
    ours: Estimate | None
    published: Published | None = None
    scale: Scale = FIGURE
    note: str = ""

    @property
    def verdict(self) -> Verdict:
        """Whether the published figure and ours agree; see `judge`."""
        return judge(self.published, self.ours, self.scale)

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as JSON-compatible values."""
        ours, published = self.ours, self.published
        return {
            "what": self.what,
            "on": self.on,
            "published": None if published is None else [published.low, published.high],
            "source": None if published is None else published.source,
            "ours": None if ours is None else ours.value,
            "ours_ci": None if ours is None else [ours.low, ours.high],
            "tolerance": None if published is None else self.scale.tolerance,
            "verdict": self.verdict,
            "note": self.note,
        }


@dataclass(frozen=True)
class Findings:
    """The findings of an experiment, remarks needed to read them, and its charts as (title, SVG)."""

    lines: tuple[Finding, ...]
    remarks: tuple[str, ...] = ()
    charts: tuple[tuple[str, str], ...] = ()
