"""Labels: results of a few trained networks, from a table or from the store of a run."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from firstlight.core.errors import DataError, SettingError
from firstlight.predict.predictor import Observed
from firstlight.spaces.base import Space
from firstlight.storage.store import Store, find_store
from firstlight.tables.table import ARCHITECTURE, SPACE, Table, as_table, load_table
from firstlight.tables.targets import Target

# Trainings of fewer epochs count as short, unless the user says otherwise
FULL_EPOCHS = 50


@dataclass(frozen=True)
class Labels:
    """Results of trained networks of a space.

    Attributes:
        origin: Where they come from.
        values: A row for each network, by its canonical text, and a column for each target, fewest epochs first; NaN
            where a network has no value.
        full_epochs: Trainings of fewer epochs are short.
        remarks: What was left out.
    """

    origin: str
    values: pd.DataFrame
    full_epochs: int = FULL_EPOCHS
    remarks: tuple[str, ...] = ()

    @property
    def texts(self) -> list[str]:
        """The canonical texts of all networks."""
        return [str(text) for text in self.values.index]

    @property
    def targets(self) -> list[str]:
        """The names of the targets, fewest epochs first."""
        return [str(name) for name in self.values.columns]

    def is_short(self, target: str) -> bool:
        """Return whether a target is the result of a short training, by its name."""
        return _epochs(target) < self.full_epochs

    def observed(self, texts: Sequence[str]) -> list[Observed]:
        """Return what is known of the networks of a pool, fewest epochs first."""
        places = {text: place for place, text in enumerate(texts)}
        found = []
        for target in self.targets:
            known = self.values[target].dropna()
            known = known[[text in places for text in known.index]]
            rows = np.array([places[str(text)] for text in known.index], dtype=np.int64)
            order = np.argsort(rows)
            found.append(Observed(target, rows[order], known.to_numpy(dtype=float)[order], self.is_short(target)))
        return found


def read_labels(
    given: str | Path | Table, space: Space[Any], targets: Sequence[str] = (), full_epochs: int = FULL_EPOCHS
) -> Labels:
    """Read labels.

    Networks that compute the same function are one, with the mean of their values.

    Args:
        given: A table, its file, the folder of a run, or a store.
        space: The space of the networks.
        targets: Columns of the table. Default: the only one.
        full_epochs: Trainings of fewer epochs count as short: their results are noisy and biased.

    Raises:
        SettingError: If there are several columns, and none is named.
        TableError: If architectures are of another space, or an accuracy is not between 0 and 100.
        DataError: If there are no values.
    """
    table = _read(given, space)
    known = [target.name for target in table.targets()]
    names = list(dict.fromkeys(targets)) or known
    if not targets and len(known) != 1:
        raise SettingError(
            f"{table.origin} has {len(known)} columns of results. Name one, or several numbers of epochs, with "
            f"target=COLUMN (--target COLUMN): {', '.join(known) or 'none'}."
        )
    columns, remarks = {}, []
    for name in sorted(names, key=_epochs):
        values = table.values(name)
        if SPACE in table.frame:
            values = values[table.frame[SPACE][values.index] == space.name]
        missing = len(table) - len(values)
        if missing:
            remarks.append(f"{missing} of {len(table)} rows of {table.origin} have no {name}, and are left out.")
        if not len(values):
            raise DataError(f"{table.origin} has no values of {name} for networks of {space.name!r}.")
        canonical = table.placed(space, values.index)["canonical"]
        columns[name] = values.groupby(canonical).mean()
    return Labels(table.origin, pd.DataFrame(columns), full_epochs, tuple(remarks))


def _epochs(target: str) -> float:
    """Return the number of epochs by the name of a target; infinity if it does not state it."""
    epochs = Target.of_column(target).epochs
    return float(epochs) if isinstance(epochs, int) else math.inf


def _read(given: str | Path | Table, space: Space[Any]) -> Table:
    if isinstance(given, Table):
        return given
    path = Path(given).expanduser()
    if path.suffix in (".parquet", ".csv") or not path.exists():
        return load_table(given)
    return table_of_store(find_store(path), space)


def table_of_store(path: Path, space: Space[Any]) -> Table:
    """Return the finished trainings of a store: a column DATA_val_EPOCHS for each data set and number of epochs.

    Raises:
        DataError: If there are none of the space.
    """
    with Store(path) as store:
        found = store.accuracies(space.name)
    if not found:
        raise DataError(
            f"{path} has no trained networks of {space.name!r}. Train some: "
            f"`firstlight trust {space.name} --data ...`, or `firstlight search ... --data ...`."
        )
    rows = pd.DataFrame(found, columns=[ARCHITECTURE, "data", "epochs", "accuracy"])
    titles = [re.sub(r"\W+", "_", data.partition(":")[0]) for data in rows["data"]]
    rows["target"] = [f"{title}_val_{epochs}" for title, epochs in zip(titles, rows["epochs"], strict=True)]
    wide = rows.pivot_table(index=ARCHITECTURE, columns="target", values="accuracy", aggfunc="mean")
    return as_table(wide.reset_index().rename_axis(columns=None), str(path))
