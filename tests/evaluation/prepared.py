"""A small file of made-up clicks, for tests of what is trained on clicks."""

from __future__ import annotations

from pathlib import Path

from firstlight.data.clicks.layouts import LAYOUTS
from firstlight.data.clicks.prepare import prepare_clicks
from firstlight.data.clicks.synthetic import synthesize_clicks


def made_up_clicks(folder: Path, rows: int = 600) -> str:
    """The name of the source; every field has 20 categories."""
    synthesize_clicks(folder / "log.tsv", rows)
    prepare_clicks(LAYOUTS["criteo"], folder / "log.tsv", folder / "clicks.parquet", hash_rows=20)
    return f"criteo:{folder / 'clicks.parquet'}"
