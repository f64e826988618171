"""Experiments: which published tables they answer, what they measure, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from firstlight._version import __version__
from firstlight.core.references import REFERENCES
from firstlight.core.settings import Settings
from firstlight.papers.base import Findings
from firstlight.papers.benchmarks import Benchmark
from firstlight.papers.lab import USUAL_IMAGES, Choice, Lab
from firstlight.papers.published import PublishedTable
from firstlight.storage.environment import versions

# What `samples` counts: networks; the steps of each search; the networks that searches choose among; the images of a
# batch; widths of otherwise equal networks; classes of NAS-Bench-201 whose scores come with Firstlight; random
# genotypes; networks whose accuracy a predictor is told. An experiment that counts two of these takes the same number
Sampled = Literal["networks", "steps", "pool", "images", "widths", "classes", "genotypes", "labels"]
# What is computed from tables, without measuring networks
FROM_TABLES: frozenset[Sampled] = frozenset({"classes", "labels"})


@dataclass(frozen=True)
class Experiment:
    """A published table or figure, how to measure it, and what that needs.

    Attributes:
        name: The name on the command line, such as "dextr-table1".
        answers: The published tables that it measures again, all of one paper. None if it measures what nobody has
            published.
        shows: What the tables show.
        needs: The benchmarks that it uses, if any. It runs if one of them is available.
        samples: The default number of networks, or of what `sampled` says.
        run: Measures. Remarks of the tables in `answers` are added to its findings.
        remarks: What a reader must know about every run.
        chosen: How networks are chosen.
        seeds: The number of seeds, counted up from the user's, unless the user gives several.
        sampled: What `samples` counts.
        images: The images that networks are shown, unless the user names others.
        warm_ups: The default warm-ups. An experiment without any takes none.
        space: The space that warm-ups are for.
        skeletons: Smaller default skeletons by space, where the usual networks cost too much.
        recipe: The default recipe, as a text. An experiment without one does not train networks from scratch.
        needs_tables: Whether it needs one of `needs`. If not, it measures something else without them.
        algorithm: The default search with its settings, such as "nasi:batch=16". An experiment without one takes none.
        source: What its figures are of, if it answers no published table.
    """

    name: str
    answers: tuple[PublishedTable, ...]
    shows: str
    needs: tuple[Benchmark, ...]
    samples: int
    run: Callable[[Lab], Findings]
    remarks: tuple[str, ...] = ()
    chosen: Choice = "random"
    seeds: int = 1
    sampled: tuple[Sampled, ...] = ("networks",)
    images: str = USUAL_IMAGES
    warm_ups: tuple[str, ...] = ()
    space: str = "nasbench201"
    skeletons: Mapping[str, Settings] = field(default_factory=dict, hash=False)
    recipe: str = ""
    needs_tables: bool = True
    algorithm: str = ""
    source: str = ""

    @property
    def measures(self) -> bool:
        """Whether it measures networks; if not, everything comes from tables."""
        return not FROM_TABLES & set(self.sampled)

    @property
    def published_in(self) -> str:
        """Where the figures are printed, such as "HNAS Table 1, Table 5", or what they are of."""
        if not self.answers:
            return self.source
        first, *others = [table.source for table in self.answers]
        paper = first.partition(" ")[0]
        return ", ".join([first, *(source.removeprefix(f"{paper} ") for source in others)])

    @property
    def citation(self) -> str:
        """The paper: authors, title, venue and year; "" if there is none."""
        return "" if not self.answers else str(REFERENCES[self.answers[0].reference])


@dataclass(frozen=True)
class Outcome:
    """What an experiment found, with which settings, by which command and when.

    Attributes:
        experiment: The experiment.
        settings: What networks were measured with, by name.
        findings: The figures, remarks and charts.
        missing: The benchmarks that are not available, with what they need.
        command: The command that gives the same findings.
        date: The day of the run, in UTC.
    """

    experiment: Experiment
    settings: Mapping[str, str]
    findings: Findings
    missing: Mapping[str, str]
    command: str = ""
    date: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as JSON-compatible values."""
        return {
            "experiment": self.experiment.name,
            "published_in": self.experiment.published_in,
            "paper": self.experiment.citation,
            "shows": self.experiment.shows,
            "command": self.command,
            "date": self.date,
            "settings": dict(self.settings),
            "findings": [finding.to_dict() for finding in self.findings.lines],
            "remarks": list(self.findings.remarks),
            "missing": dict(self.missing),
            "version": __version__,
            "versions": versions(),
        }
