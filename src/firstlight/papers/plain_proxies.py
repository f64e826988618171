"""The plain benchmark: how proxies rank networks as people build them, and whether the obvious remedies help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from firstlight.core.seeds import derive
from firstlight.core.statistics import Estimate, Numbers
from firstlight.papers.base import Finding, Findings
from firstlight.papers.equal_size import Trainings
from firstlight.papers.experiment import Experiment
from firstlight.papers.lab import Lab
from firstlight.papers.plain_networks import BAND, SIDE, SKELETONS, TARGET, Mask, PlainNetworks, measured, rows_of
from firstlight.papers.strata import spearman_within
from firstlight.proxies import PROXIES
from firstlight.tables.table import ARCHITECTURE, SPACE

SOURCE = "The plain benchmark"
FAMILY, FAMILY_AND_SIZE = (SPACE,), (SPACE, BAND)
# Height and width of the images at the fixed resolution
FIXED = 32
# Proxies that are sums over a network, and those that only the resolution may help
SUMS = ("grad_norm", "independence", "meco", "synflow", "zen", "zico")
OTHERS = ("az_expressivity", "dextr", "naswot", "swap")
PER = ("layer", "parameter", "mac")


@dataclass(frozen=True)
class View:
    """A way to compare networks.

    Attributes:
        title: What is compared.
        alike: The columns that are alike in networks that are compared with each other; all networks if empty.
        at_equal_cost: Whether parameters and multiply-accumulates are accounted for.
        band: The size of the networks; "" for all sizes.
    """

    title: str
    alike: tuple[str, ...]
    at_equal_cost: bool = False
    band: str = ""

    def rows(self, networks: PlainNetworks) -> Mask:
        """Return the networks that are compared."""
        bands = networks.rows[BAND].to_numpy()
        return np.array([self.band in ("", band) for band in bands])

    def estimate(self, lab: Lab, networks: PlainNetworks, name: str, among: Mask | None = None) -> Estimate | None:
        """Return the correlation of a proxy with accuracy, among some of the networks; None if it is undefined."""
        rows = self.rows(networks) & networks.scored(name) & (True if among is None else among)
        columns = networks.values(name), networks.truth, networks.strata(*self.alike), *self.given(networks)
        return lab.estimate(spearman_within, *(column[rows] for column in columns))

    def given(self, networks: PlainNetworks) -> list[Numbers]:
        """Return what is accounted for."""
        return networks.costs if self.at_equal_cost else []


WITHIN_FAMILIES = View("within families, all sizes", FAMILY)
AT_EQUAL_COST = View("within families, at equal cost", FAMILY, at_equal_cost=True)
VIEWS = (
    View("within families and sizes", FAMILY_AND_SIZE),
    *(View(f"within families, {band}", FAMILY, band=band) for band in ("20k", "100k", "300k")),
    WITHIN_FAMILIES,
    AT_EQUAL_COST,
    View("all networks", ()),
    View("all networks, at equal cost", (), at_equal_cost=True),
)


def _proxies(lab: Lab) -> Findings:
    rows = rows_of(lab)
    networks = measured(lab, rows, list(PROXIES))
    lines = [*_accuracies(networks), *_noise(networks)]
    for name in networks.utilities:
        without = networks.without(name)
        note = f"not defined for {', '.join(without)}" if without else ""
        if networks.scored(name).any():
            lines += [Finding(name, view.title, view.estimate(lab, networks, name), note=note) for view in VIEWS]
        else:
            lines.append(Finding(name, "all networks", None, note="not defined for these networks"))
    return Findings(tuple(lines), remarks=(_counted(networks),))


def _counted(networks: PlainNetworks) -> str:
    counts = networks.rows[BAND].value_counts(sort=False)
    return f"The table has {len(networks.rows)} networks so far: " + ", ".join(
        f"{count} of {band}" for band, count in counts.items()
    )


def _accuracies(networks: PlainNetworks) -> list[Finding]:
    """Return the best accuracy of each family and size, with those of its textbook network and of the worst."""
    lines = []
    for (family, band), group in networks.rows.groupby(list(FAMILY_AND_SIZE), sort=False):
        values = group[TARGET].to_numpy(dtype=float)  # the textbook network comes first
        note = f"{len(values)} networks; the textbook network has {values[0]:.2f}, the worst {values.min():.2f}"
        lines.append(Finding("best accuracy, %", f"{family}, {band}", _exactly(float(values.max())), note=note))
    return lines


def _noise(networks: PlainNetworks) -> list[Finding]:
    """Return the standard deviation between seeds, pooled over the networks that were trained several times."""
    columns = [name for name in networks.rows if str(name).startswith("cifar10_val_seed")]
    trainings = Trainings(networks.rows[columns].to_numpy(dtype=float))
    if not trainings.freedom:
        return []
    note = f"{trainings.freedom} degrees of freedom"
    return [Finding("deviation between seeds, %", "all networks", _exactly(trainings.deviation), note=note)]


def _exactly(value: float) -> Estimate:
    return Estimate(value, value, value)


def halves(networks: PlainNetworks, seed: int) -> tuple[Mask, Mask]:
    """Return the networks that remedies are chosen on, and those that they are judged on, by a hash of their texts."""
    texts = zip(networks.rows[SPACE], networks.rows[ARCHITECTURE], strict=True)
    first = np.array([derive(seed, "half of the plain benchmark", *text) % 2 == 0 for text in texts])
    return first, ~first


def remedies_of(name: str) -> list[tuple[str, int | None]]:
    """Return the forms of a proxy, the published one first: the request, and the resolution if it is a fixed one."""
    requests = [name, *(f"{name}:per={unit}" for unit in PER if name in SUMS)]
    return [(request, side) for side, request in product((None, FIXED), requests)]


def _remedies(lab: Lab) -> Findings:
    rows = rows_of(lab)
    asked = [request for name in (*SUMS, *OTHERS) for request, side in remedies_of(name) if side is None]
    own = measured(lab, rows, asked)
    fixed = measured(lab, rows, asked, FIXED).utilities
    both = PlainNetworks(rows, own.utilities | {_titled(name, FIXED): values for name, values in fixed.items()})
    chosen_on, judged_on = halves(both, lab.seeds[0])
    lines = [
        line
        for view in (WITHIN_FAMILIES, AT_EQUAL_COST)
        for name in (*SUMS, *OTHERS)
        for line in _remedy(lab, both, view, name, chosen_on, judged_on)
    ]
    remark = f"Remedies were chosen on {chosen_on.sum()} networks and judged on {judged_on.sum()} others."
    return Findings(tuple(lines), remarks=(_counted(both), remark))


def _titled(request: str, side: int | None) -> str:
    return request if side is None else f"{request} at {side}x{side}"


def _remedy(
    lab: Lab, networks: PlainNetworks, view: View, name: str, chosen_on: Mask, judged_on: Mask
) -> list[Finding]:
    """Choose the form of a proxy that does best on one half, and compare it with the published one on the other."""
    forms = [_titled(*form) for form in remedies_of(name)]
    found = {form: view.estimate(lab, networks, form, chosen_on) for form in forms}
    known = {form: estimate.value for form, estimate in found.items() if estimate is not None}
    published = forms[0]
    if published not in known:
        return [Finding(published, view.title, None, note="not defined for the networks that remedies are chosen on")]
    best = max(known, key=lambda form: known[form])
    before = view.estimate(lab, networks, published, judged_on)
    if best == published:
        return [Finding(published, view.title, before, note="as published, which was best where remedies were chosen")]
    after = view.estimate(lab, networks, best, judged_on)
    gain = _gain(lab, networks, view, best, published, judged_on)
    note = f"chosen with {known[best]:.3f}, where the published form has {known[published]:.3f}"
    return [
        Finding(published, view.title, before, note="as published"),
        Finding(best, view.title, after, note=note),
        Finding(f"{best}: gain", view.title, gain),
    ]


def _gain(lab: Lab, networks: PlainNetworks, view: View, best: str, published: str, judged_on: Mask) -> Estimate | None:
    """Return the difference of two correlations on the same networks."""

    def lead(first: Numbers, second: Numbers, *others: Numbers) -> float:
        return spearman_within(first, *others) - spearman_within(second, *others)

    rows = view.rows(networks) & networks.scored(best) & networks.scored(published) & judged_on
    columns: Sequence[Numbers] = (
        *(networks.values(form) for form in (best, published)),
        networks.truth,
        networks.strata(*view.alike),
        *view.given(networks),
    )
    return lab.estimate(lead, *(column[rows] for column in columns))


REMARKS = (
    f"Networks were trained on CIFAR-10 at {SIDE}x{SIDE} for 8 epochs (docs/tables.md). Within families, a network is "
    "only compared with others of its space; at equal cost, parameters and multiply-accumulates are accounted for.",
)
plain_proxies = Experiment(
    "plain-proxies",
    (),
    "how well all proxies rank plain networks within families and sizes, across sizes, and at equal cost",
    (),
    samples=405,
    run=_proxies,
    remarks=REMARKS,
    chosen="first",
    skeletons=SKELETONS,
    needs_tables=False,
    source=SOURCE,
)
plain_remedies = Experiment(
    "plain-remedies",
    (),
    "whether means instead of sums, normalization by size or a fixed resolution help proxies on plain networks",
    (),
    samples=405,
    run=_remedies,
    remarks=REMARKS,
    chosen="first",
    skeletons=SKELETONS,
    needs_tables=False,
    source=SOURCE,
)
