"""Synthetic click logs in the layout of Criteo or of the KDD Cup, in which clicks depend mostly on pairs of categories.

The logit of a click is a sum of

    a constant, weak effects of single categories and numbers,
    u_f(k) . u_g(l)     for all pairs of some fields f, g with categories k, l  (most of the variance),
    x_i v_i . u_f(k)    for some numbers x_i and these fields,

where x has mean 0 over the rows and u nearly so. A model of single effects, such as logistic regression, captures
little of it, and a model that multiplies embeddings can capture all of it. Clicks are drawn with their probability, so
that the best possible AUC is about .8. Categories follow a power law, and some values are missing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from firstlight.core.errors import SettingError, UnknownNameError
from firstlight.core.seeds import derive
from firstlight.data.clicks.errors import ClickLogError
from firstlight.data.clicks.layouts import LAYOUTS
from firstlight.data.clicks.parts import scattered
from firstlight.data.clicks.raw import Progress
from firstlight.data.samples import Array

# The layouts whose columns can all be drawn; Avazu's has times
SYNTHETIC_LAYOUTS = ("criteo", "kdd")
CHUNK = 1 << 16

LATENT = 1  # dimensions of u and v; with more, networks learn less from 200,000 rows
PAIRED_FIELDS, PAIRED_NUMBERS = 8, 3  # that interact
# The mean of u, in standard deviations: at 0, products have no gradient at first, and small networks miss them
TILT = 0.1
# Standard deviations of the terms of the logit
MAIN_SPREAD, PAIR_SPREAD, CROSS_SPREAD = 0.4, 1.3, 0.6
BASE = -1.4
# Numbers of categories: few, whose pairs can be learned from a hundred thousand rows, or many
FEW, MANY = (4, 20), (500, 50_000)


@dataclass(frozen=True)
class Field:
    """The texts of a field's categories, their cumulative frequencies, and their effects on the logit."""

    texts: Any
    cumulated: Array
    missing: float
    effect: Array
    latent: Array


class PlantedClicks:
    """A random model of fields and effects, from which any number of rows can be drawn."""

    def __init__(self, seed: int = 0, layout: str = "criteo") -> None:
        if layout not in SYNTHETIC_LAYOUTS:
            raise UnknownNameError("layout of synthetic clicks", layout, SYNTHETIC_LAYOUTS)
        self.seed, self.layout = seed, LAYOUTS[layout]
        rng = np.random.default_rng(derive(seed, "planted clicks"))
        numbers, fields = len(self.layout.numbers), len(self.layout.categories)
        few = np.sort(rng.permutation(fields)[: fields // 2])
        self.fields = [_make_field(rng, place, FEW if place in few else MANY) for place in range(fields)]
        self.paired_fields = rng.permutation(few)[:PAIRED_FIELDS].tolist()
        self.paired_numbers = rng.permutation(numbers)[:PAIRED_NUMBERS].tolist()
        self._slopes = rng.normal(size=numbers)
        self._directions = rng.normal(size=(PAIRED_NUMBERS, LATENT))
        self._centers, self._widths = rng.uniform(0.5, 4, numbers), rng.uniform(0.5, 1.5, numbers)
        self._missing = rng.choice([0, 0, 0.05, 0.2, 0.4], numbers)

    def chunks(self, rows: int) -> Iterator[tuple[Any, Array]]:
        """Yield tables of the log and the true click probabilities. A larger number only adds rows."""
        for place, start in enumerate(range(0, rows, CHUNK)):
            count = min(CHUNK, rows - start)
            table, chances = self._chunk(np.random.default_rng(derive(self.seed, "rows of clicks", str(place))))
            yield table.slice(0, count), chances[:count]

    def _chunk(self, rng: np.random.Generator) -> tuple[Any, Array]:
        categories = [np.searchsorted(field.cumulated, rng.random(CHUNK)) for field in self.fields]
        for field, places in zip(self.fields, categories, strict=True):
            places[rng.random(CHUNK) < field.missing] = len(field.texts) - 1  # the last one, which is missing
        shape = (len(self.layout.numbers), CHUNK)
        normal = rng.normal(size=shape)
        counts = np.floor(np.exp(self._centers[:, None] + self._widths[:, None] * normal)).astype(np.int64)
        absent = rng.random(shape) < self._missing[:, None]
        known = np.where(absent, 0.0, normal)
        chances = 1 / (1 + np.exp(-self._logits(categories, known)))
        clicked = (rng.random(CHUNK) < chances).astype(np.int8)
        numbers = [pa.array(column, mask=mask) for column, mask in zip(counts, absent, strict=True)]
        texts = [field.texts.take(pa.array(places)) for field, places in zip(self.fields, categories, strict=True)]
        names = (self.layout.label, *self.layout.numbers, *self.layout.categories)
        columns = dict(zip(names, (pa.array(clicked), *numbers, *texts), strict=True))
        return pa.table([columns[name] for name in self.schema.names], schema=self.schema), chances

    @property
    def schema(self) -> Any:
        """The names and types of the columns, in the order of the layout."""
        kinds = {self.layout.label: pa.int8()} | dict.fromkeys(self.layout.numbers, pa.int64())
        return pa.schema([(name, kinds.get(name, pa.string())) for name in self.layout.columns])

    def _logits(self, categories: list[Array], numbers: Array) -> Array:
        singles = sum(field.effect[places] for field, places in zip(self.fields, categories, strict=True))
        main = (singles + self._slopes @ numbers) / np.sqrt(len(categories) + len(numbers))
        latent = [self.fields[place].latent[categories[place]] + TILT for place in self.paired_fields]
        pairs = sum((u * v).sum(1) for u, v in itertools.combinations(latent, 2))
        crossed = ((numbers[self.paired_numbers].T @ self._directions) * np.sum(latent, 0)).sum(1)
        together = pairs / np.sqrt(math.comb(len(latent), 2) * LATENT)
        crossed = crossed / np.sqrt(len(latent) * PAIRED_NUMBERS * LATENT)
        found: Array = BASE + MAIN_SPREAD * main + PAIR_SPREAD * together + CROSS_SPREAD * crossed
        return found


def _make_field(rng: np.random.Generator, place: int, sizes: tuple[int, int]) -> Field:
    count = round(float(np.exp(rng.uniform(*np.log(sizes)))))
    frequency = 1 / (np.arange(count) + 2.0)
    frequency /= frequency.sum()
    codes = scattered(np.arange(count), place, "texts of categories") >> np.uint64(32)
    return Field(
        pa.array([*(f"{code:08x}" for code in codes.tolist()), None], pa.string()),
        np.cumsum(frequency)[:-1],
        float(rng.choice([0, 0, 0.02, 0.1, 0.3])),
        _standard(rng.normal(size=(count, 1)), frequency)[:, 0],
        _standard(rng.normal(size=(count, LATENT)), frequency),
    )


def _standard(values: Array, frequency: Array) -> Array:
    """Normalize to mean 0 and deviation 1 over rows. A missing category, the last, has no effect."""
    centerd = values - frequency @ values
    scaled = centerd / np.sqrt(frequency @ centerd**2)
    return np.concatenate([scaled, np.zeros((1, values.shape[1]))])


def synthesize_clicks(
    path: str | Path, rows: int, *, layout: str = "criteo", seed: int = 0, progress: Progress | None = None
) -> None:
    """Write a synthetic log.

    Args:
        path: File to write: `.tsv` without a header, as logs are published, `.csv` with a header, or `.parquet`.
        rows: Number of rows.
        layout: The columns: "criteo" or "kdd".
        seed: Seed of the model and the rows.
        progress: Called with the number of rows written and the total.

    Raises:
        SettingError: If `rows` is below 1.
        UnknownNameError: If there is no such layout.
        ClickLogError: If the file has another ending or cannot be written.
    """
    path = Path(path).expanduser()
    if rows < 1:
        raise SettingError(f"rows is {rows}; it must be at least 1.")
    if path.suffix not in (".tsv", ".csv", ".parquet"):
        raise ClickLogError(f"{path} is not the name of a log. It must end in .tsv, .csv or .parquet.")
    planted, done = PlantedClicks(seed, layout), 0
    text = pa.csv.WriteOptions(
        include_header=path.suffix == ".csv", delimiter="\t" if path.suffix == ".tsv" else ",", quoting_style="none"
    )
    try:
        with (
            pq.ParquetWriter(path.absolute(), planted.schema)
            if path.suffix == ".parquet"
            else pa.csv.CSVWriter(path, planted.schema, write_options=text)
        ) as writer:
            for table, _ in planted.chunks(rows):
                writer.write_table(table)
                done += len(table)
                if progress is not None:
                    progress(done, rows)
    except OSError as error:
        raise ClickLogError(f"{path} cannot be written: {error}") from error
