"""What a reproduced table is made of: published figures, ours, and the one rule that compares them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from firstlight.core.references import REFERENCES
from firstlight.core.settings import Settings
from firstlight.core.statistics import Estimate

if TYPE_CHECKING:
    from firstlight.papers.benchmarks import Benchmark
    from firstlight.papers.lab import Lab

Verdict = Literal["agrees", "differs", "too wide to tell", "no published value", "not measured"]
# How networks are taken: the first of a table, at random, or by their accuracy
Choice = Literal["first", "random", "picked"]
# What samples are: networks; the steps of each search; the networks that searches choose among; the images of a batch;
# widths of networks that are alike otherwise.
# The same number of both where an experiment does two of these
Sampled = Literal["networks", "steps", "pool", "images", "widths"]
USUAL_IMAGES = "cifar10"


@dataclass(frozen=True)
class Scale:
    """A kind of figure. Two honest measurements may be `tolerance` apart; an interval above `widest` decides nothing.

    Other networks were drawn, other weights and other images: the tolerance is what these change.
    """

    name: str
    tolerance: float
    widest: float


CORRELATION = Scale("correlation", tolerance=0.06, widest=0.30)
SHARE = Scale("share", tolerance=0.05, widest=0.15)
SCORE = Scale("Dextr score", tolerance=0.15, widest=0.60)
ACCURACY = Scale("accuracy or error, %", tolerance=0.5, widest=2.0)
SPREAD = Scale("deviation of a score", tolerance=0.01, widest=0.10)
# Compared with nothing that was published
FIGURE = Scale("figure", tolerance=0.0, widest=float("inf"))


@dataclass(frozen=True)
class Published:
    """A figure, or the range that a paper gives, and where it stands."""

    source: str
    low: float
    high: float

    @classmethod
    def value(cls, source: str, value: float | None) -> Published | None:
        return None if value is None else cls(source, value, value)

    def __str__(self) -> str:
        return f"{self.low:.4g}" if self.low == self.high else f"{self.low:.4g} to {self.high:.4g}"


def judge(published: Published | None, ours: Estimate | None, scale: Scale) -> Verdict:
    """The rule: agrees if the published figure lies inside our 95 % interval widened by the tolerance, else differs.

    An interval that holds it only because it is wide agrees with nearly everything, and is said to be so.
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
    """One line: what was measured `on` which networks, and what a paper says of it."""

    what: str
    on: str
    ours: Estimate | None
    published: Published | None = None
    scale: Scale = FIGURE
    note: str = ""

    @property
    def verdict(self) -> Verdict:
        return judge(self.published, self.ours, self.scale)

    def to_dict(self) -> dict[str, Any]:
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
    """What an experiment found, what must be known to judge it, and its charts by title."""

    lines: tuple[Finding, ...]
    remarks: tuple[str, ...] = ()
    charts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Experiment:
    """Something a paper published, how it is measured here, and what that needs.

    `needs` are the benchmarks its parts are about, if any; one that is there is enough to run. `samples` is how many
    networks, or what else is `sampled`, are taken unless the user says otherwise, and `chosen` how; `seeds` is how many
    seeds, counted up from the user's, unless several are named. `images` is what networks are shown, `warm_ups` what
    they are trained with before, and `skeletons` are those of spaces whose networks would cost too much otherwise, all
    unless the user says otherwise. `space` is the one that a warm-up is read for.
    """

    name: str
    published_in: str  # "Dextr Table 1"
    reference: str
    shows: str
    needs: tuple[Benchmark, ...]
    samples: int
    run: Callable[[Lab], Findings]
    chosen: Choice = "random"
    seeds: int = 1
    sampled: tuple[Sampled, ...] = ("networks",)
    images: str = USUAL_IMAGES
    warm_ups: tuple[str, ...] = ()
    space: str = "nasbench201"
    skeletons: Mapping[str, Settings] = field(default_factory=dict, hash=False)

    @property
    def citation(self) -> str:
        return str(REFERENCES[self.reference])
