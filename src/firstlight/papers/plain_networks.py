"""The networks of the plain benchmark: their accuracies, costs and scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from firstlight.core.settings import Settings
from firstlight.core.statistics import Numbers, unscored_last
from firstlight.evaluation.correlate import Sample, study
from firstlight.evaluation.selection import mostly_scored
from firstlight.papers.lab import Lab
from firstlight.proxies.requests import parse_requests
from firstlight.scoring.service import source_for
from firstlight.spaces import SPACES
from firstlight.spaces.plain.space import PlainSpace
from firstlight.tables.table import ARCHITECTURE, SPACE, load_table

TABLE, TARGET, BAND = "plain", "cifar10_val_8", "band"
# The images that the networks of the table were trained on
SIDE = 16
FAMILIES = tuple(name for name, space in SPACES.items() if isinstance(space, PlainSpace))
SKELETONS: dict[str, Settings] = dict.fromkeys(FAMILIES, (("input_shape", (3, SIDE, SIDE)),))
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class PlainNetworks:
    """Networks of the table with their scores.

    Attributes:
        rows: The rows of the table.
        utilities: The utility of each network by proxy, for the first seed; NaN where there is no score.
    """

    rows: pd.DataFrame
    utilities: dict[str, Numbers]

    @cached_property
    def truth(self) -> Numbers:
        return self.rows[TARGET].to_numpy(dtype=float)

    @cached_property
    def costs(self) -> list[Numbers]:
        """Parameters and multiply-accumulates."""
        return [self.rows[name].to_numpy(dtype=float) for name in ("params", "macs")]

    def strata(self, *columns: str) -> Numbers:
        """Return the number of the group of each network, given the columns that are alike in a group."""
        if not columns:
            return np.zeros(len(self.rows))
        return np.asarray(self.rows.groupby(list(columns), sort=False).ngroup(), dtype=float)

    def scored(self, name: str) -> Mask:
        """Return the networks of the families of which a proxy scores more than half."""
        families, values = self.rows[SPACE].to_numpy(), self.utilities[name]
        return np.array([mostly_scored(values[families == family]) for family in families])

    def values(self, name: str) -> Numbers:
        """Return the utilities by a proxy. In families that it scores, networks without a score rank last."""
        values, scored = self.utilities[name].copy(), self.scored(name)
        values[scored] = unscored_last(values[scored])
        return values

    def without(self, name: str) -> list[str]:
        """Return the families that a proxy does not score."""
        return list(self.rows[SPACE][~self.scored(name)].unique())


def rows_of(lab: Lab) -> pd.DataFrame:
    """Return the first rows of the table, in which spaces and sizes take turns."""
    table = load_table(TABLE)
    known = table.values(TARGET).index
    return table.frame.loc[known].head(lab.samples).reset_index(drop=True)


def measured(lab: Lab, rows: pd.DataFrame, proxies: Sequence[str], side: int | None = None) -> PlainNetworks:
    """Score networks of the table.

    Args:
        lab: What to measure with.
        rows: The rows of the table.
        proxies: The proxies.
        side: The height and width of images, if networks are not shown those that they were trained on.
    """
    requests = parse_requests(list(proxies))
    source = source_for(requests, lab.images)
    found = {str(request): np.full(len(rows), np.nan) for request in requests}
    for space, members in rows.groupby(SPACE, sort=False):
        setting = lab.setting(str(space), source)
        if side is not None:
            shape = (setting.skeleton.input_shape[0], side, side)
            skeleton = tuple(sorted({**dict(setting.skeleton_settings), "input_shape": shape}.items()))
            setting = replace(setting, source=replace(setting.source, side=side), skeleton_settings=skeleton)
        sample = Sample(members[[ARCHITECTURE]].assign(canonical=members[ARCHITECTURE]), ())
        scores = study(sample, [setting], requests, lab.executor, lab.store, callback=lab.callback)
        for name, values in scores.utilities[0].items():
            found[name][members.index] = values
    return PlainNetworks(rows, found)
