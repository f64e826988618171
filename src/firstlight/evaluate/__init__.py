"""True performance of architectures: tables of benchmarks, and how the official files become such tables."""

from firstlight.evaluate.tables import Joined, Table, as_table, load_table, write_table
from firstlight.evaluate.targets import Target

__all__ = ["Joined", "Table", "Target", "as_table", "load_table", "write_table"]
