"""Facts about proxies, ensembles, spaces and algorithms, for listings: from declarations and docstrings."""

from __future__ import annotations

import inspect
import re
import shlex
import textwrap
from dataclasses import asdict, dataclass
from typing import Any, Literal

from firstlight.core.references import REFERENCES
from firstlight.core.settings import choices, description, setting_help
from firstlight.proxies.base import Proxy
from firstlight.proxies.ensembles import AGGREGATIONS, NAMED, PREDICTED, Ensemble
from firstlight.search.algorithm import Algorithm
from firstlight.spaces.base import Space

# The end of a proxy's docstring: "Scale: ... Higher is better. Cost: ..."
ENDING = re.compile(r"Scale: (?P<scale>.+?) (?P<direction>(?:Higher|Lower) .+?) Cost: (?P<cost>.+)")


@dataclass(frozen=True)
class Facts:
    """A proxy. What its docstring does not say is empty."""

    name: str
    family: str
    summary: str
    formula: str
    remarks: tuple[str, ...]  # paragraphs
    direction: str
    scale: str
    cost: str
    higher_is_better: bool
    needs_data: bool
    needs_labels: bool
    batch_size: int
    batches: int
    settings: dict[str, Any]  # defaults by name
    choices: dict[str, tuple[str, ...]]  # allowed values of settings that have a fixed set
    setting_help: dict[str, str]  # what each setting means
    reference: str
    citation: str

    @property
    def better(self) -> Literal["higher", "lower"]:
        return "higher" if self.higher_is_better else "lower"

    @property
    def needs(self) -> Literal["nothing", "inputs", "labels"]:
        return "labels" if self.needs_labels else "inputs" if self.needs_data else "nothing"

    @property
    def needs_in_words(self) -> str:
        if self.needs == "nothing":
            noise = f"; it draws noise in the shape of {self.batch_size} inputs" if self.batch_size > 1 else ""
            return f"only the shape of an input{noise}."
        number = "one batch" if self.batches == 1 else f"{self.batches} batches"
        inputs = "one input" if self.batch_size == 1 else f"{self.batch_size} inputs"
        return f"{number} of {inputs}, {'with' if self.needs_labels else 'without'} labels."


def facts(proxy: Proxy) -> Facts:
    """Return the facts of a proxy. Indented paragraphs of the docstring are formulas; the module names the family."""
    paragraphs = [text for text in description(proxy.function).split("\n\n")[1:] if text.strip()]
    formulas = [textwrap.dedent(text) for text in paragraphs if text.startswith("    ")]
    prose = [" ".join(text.split()) for text in paragraphs if not text.startswith("    ")]
    ending = ENDING.fullmatch(prose[-1]) if prose else None
    reference = REFERENCES.get(proxy.reference)
    return Facts(
        name=proxy.name,
        family=family(proxy)[0],
        summary=proxy.summary,
        formula="\n".join(formulas),
        remarks=tuple(prose[:-1] if ending else prose),
        direction=ending["direction"] if ending else "",
        scale=ending["scale"] if ending else "",
        cost=ending["cost"] if ending else "",
        higher_is_better=proxy.higher_is_better,
        needs_data=proxy.needs_data,
        needs_labels=proxy.needs_labels,
        batch_size=proxy.batch_size,
        batches=proxy.num_batches,
        settings={name: setting.default for name, setting in proxy.settings.items()},
        choices={name: allowed for name, setting in proxy.settings.items() if (allowed := choices(setting))},
        setting_help=setting_help(proxy.function),
        reference=proxy.reference,
        citation=str(reference or proxy.reference),
    )


def family(proxy: Proxy) -> tuple[str, str]:
    """Return title and explanation of the family of a proxy, from the module's docstring `Title: explanation.`"""
    module = inspect.getmodule(proxy.function)
    title, _, explanation = ((module and module.__doc__) or "").strip().partition("\n")[0].partition(": ")
    return title.rstrip("."), explanation[:1].upper() + explanation[1:]


@dataclass(frozen=True)
class EnsembleFacts:
    """An ensemble."""

    name: str
    summary: str
    members: tuple[str, ...]  # empty if the user names them
    example: str  # how to write it
    reference: str
    citation: str

    @property
    def uses(self) -> tuple[str, ...]:
        written = shlex.quote(self.example)
        return (
            f"firstlight rank nasbench201 --samples 100 --by {written}",
            f"firstlight search nasbench201 --samples 100 --proxy {written}",
        )


def ensemble_facts() -> dict[str, EnsembleFacts]:
    """Return the facts of all ensembles, by name."""
    known = {}
    for name, text in NAMED.items():
        ensemble = Ensemble.parse(text)
        # the authors of an ensemble contributed its last member; that with fitted weights is ours
        references = [request.proxy.reference for request in ensemble.requests if request.proxy.reference]
        reference = "" if name == PREDICTED else references[-1]
        members = tuple(map(str, ensemble.requests))
        weighed = [
            member if weight == 1 else f"{member} (weight {weight:g})"
            for member, weight in zip(members, ensemble.weights, strict=True)
        ]
        parts = f"{', '.join(weighed[:-1])} and {weighed[-1]}"
        if name == PREDICTED:
            parts = f"{len(members)} proxies, with weights fitted on benchmarks of several spaces"
        summary = f"The {ensemble.aggregation} of {parts}."
        known[name] = EnsembleFacts(
            name, summary, members, name, reference, str(REFERENCES[reference]) if reference else ""
        )
    for name, aggregation in AGGREGATIONS.items():
        summary = inspect.getdoc(aggregation) or ""
        known[name] = EnsembleFacts(name, summary, (), f"{name}(dextr*2,params)", "", "")
    return known


@dataclass(frozen=True)
class SpaceFacts:
    """A space."""

    name: str
    summary: str
    architectures: int | None  # None if they cannot be counted
    skeleton: dict[str, Any]
    reference: str
    citation: str
    used_by: tuple[str, ...]
    benchmark: str
    proxy: str  # the default
    evidence: str  # what supports it


def space_facts(space: Space[Any]) -> SpaceFacts:
    """Return the facts of a space."""
    try:
        size: int | None = len(space)
    except (TypeError, OverflowError):  # not countable, or too many for Python's len
        size = None
    return SpaceFacts(
        name=space.name,
        summary=space.summary,
        architectures=size,
        skeleton=asdict(space.skeleton()),
        reference=space.reference,
        citation=str(REFERENCES.get(space.reference, space.reference)),
        used_by=tuple(REFERENCES[key].short if key in REFERENCES else key for key in space.used_by),
        benchmark=space.benchmark,
        proxy=space.proxy,
        evidence=space.evidence,
    )


@dataclass(frozen=True)
class AlgorithmFacts:
    """A search algorithm."""

    name: str
    summary: str
    remarks: tuple[str, ...]  # paragraphs; formulas keep their lines
    settings: dict[str, Any]
    setting_help: dict[str, str]  # what each setting means
    costs: tuple[str, ...]  # default objectives besides the score
    reference: str
    citation: str


def algorithm_facts(algorithm: Algorithm) -> AlgorithmFacts:
    """Return the facts of an algorithm."""
    paragraphs = description(algorithm.function).split("\n\n")[1:]
    return AlgorithmFacts(
        name=algorithm.name,
        summary=algorithm.summary,
        remarks=tuple(text if text.startswith("    ") else " ".join(text.split()) for text in paragraphs),
        settings={name: setting.default for name, setting in algorithm.settings.items()},
        setting_help=setting_help(algorithm.function),
        costs=algorithm.costs,
        reference=algorithm.reference,
        citation=str(REFERENCES.get(algorithm.reference, algorithm.reference)),
    )
