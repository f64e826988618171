"""The benchmarks that papers report on: their spaces, tables and columns, and whether they are available."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from firstlight.core.errors import DataError, MissingFileError
from firstlight.core.settings import Settings
from firstlight.data.images import DATA_FOLDER, find_images
from firstlight.data.inputs import SYNTHETIC
from firstlight.spaces import SPACES
from firstlight.spaces.nasbench1shot1.space import NASBench1Shot1
from firstlight.spaces.nasbench101.cell import read_cell
from firstlight.tables.table import ARCHITECTURE, Table, load_table


@dataclass(frozen=True)
class Benchmark:
    """Trained networks of a space.

    Attributes:
        name: The name that published tables have as a column.
        space: The space of the networks.
        files: The names that the table may have; the first one found is used.
        columns: The names that the column of accuracies may have.
        how_to_import: How to make the first of the files, with {path} and {column}.
        cost_factor: How much more its networks cost than others. Experiments take that many times fewer of them.
        part_of: The larger space that the files are tables of, if any.
        images: What networks are shown unless the user says otherwise, if the images of the experiment do not suit.
        skeleton: Settings of the skeleton that differ from those of the space, unless the user sets them.
        is_sorted: Whether the table is sorted by architecture, so that its first rows are no fair sample.
    """

    name: str
    space: str
    files: tuple[str, ...]
    columns: tuple[str, ...]
    how_to_import: str
    cost_factor: int = 1
    part_of: str = ""
    images: str = ""
    skeleton: Settings = ()
    is_sorted: bool = False


_NB201_FILES = ("nb201.parquet", "nb201.csv")
_NB201_IMPORT = "firstlight table import nats NATS-tss-v1_0-3ffb9-simple -o {path}"
_NB101_IMPORT = "firstlight table import nasbench101 nasbench_only108.tfrecord -o {path}"
_NB301_IMPORT = "firstlight table import suite_zero zc_nasbench301.json -o {path}"
_TRANSNAS_IMPORT = "firstlight table import transnas_micro transnas-bench_v10141024.pth -o {path}"
_TRANSNAS_FILES = ("transnas_micro.parquet", "tnb101_micro.parquet")
_SSS_IMPORT = "firstlight table import nats NATS-sss-v1_0-50262-simple -o {path}"


def _nb201(dataset: str, column: str) -> Benchmark:
    return Benchmark(f"NB201 {dataset}", "nasbench201", _NB201_FILES, (column,), _NB201_IMPORT)


NB201_TEST = (
    _nb201("CIFAR-10", "cifar10_test_200"),
    _nb201("CIFAR-100", "cifar100_test_200"),
    _nb201("ImageNet16-120", "imagenet16_test_200"),
)
NB201_C10 = NB201_TEST[0]
# The accuracy that searches query, as is usual on this benchmark
NB201_SHORT = _nb201("CIFAR-10 after 12 epochs", "cifar10_val_12")
NB201_VALIDATION = (_nb201("CIFAR-10", "cifar10_val_200"), *NB201_TEST[1:])
NB101 = Benchmark(
    "NB101",
    "nasbench101",
    ("nb101.parquet", "nb101.csv", "nb101_sample.parquet"),
    ("cifar10_val_108", "val_acc_108"),
    _NB101_IMPORT,
    cost_factor=10,
)
# Networks of NAS-Bench-101, whose accuracies are looked up in its table
ONE_SHOT = tuple(
    replace(NB101, name=f"NB-1Shot1 S{number}", space=f"nasbench1shot1-s{number}", part_of=NB101.space)
    for number in (1, 2, 3)
)
NB301 = Benchmark(
    "NB301", "darts", ("nb301.parquet", "nb301_sample.parquet"), ("cifar10_val_100",), _NB301_IMPORT, is_sorted=True
)
# Its networks were trained on photographs, which few users have: they are shown noise of 64x64 pixels
TRANSNAS = tuple(
    Benchmark(
        f"TransNAS {title}",
        "transnas-micro",
        _TRANSNAS_FILES,
        (column,),
        _TRANSNAS_IMPORT,
        images=SYNTHETIC,
        skeleton=skeleton,
        is_sorted=True,
    )
    for title, column, skeleton in (
        ("Object", "class_object_val_best", (("input_shape", (3, 64, 64)),)),
        ("Scene", "class_scene_val_best", (("input_shape", (3, 64, 64)),)),
        # Nine tiles cost nine times as much as one image, so its networks have half the channels
        ("Jigsaw", "jigsaw_val_best", (("channels", 32), ("classes", 1000), ("input_shape", (9, 3, 64, 64)))),
    )
)
# All tasks, for what is not about networks of the published size: the figure is always such that higher is better
TRANSNAS_TASKS = tuple(
    Benchmark(
        f"TransNAS {title}",
        "transnas-micro",
        _TRANSNAS_FILES,
        (column,),
        _TRANSNAS_IMPORT,
        images=SYNTHETIC,
        is_sorted=True,
    )
    for title, column in (
        ("Scene", "class_scene_val_best"),
        ("Object", "class_object_val_best"),
        ("Jigsaw", "jigsaw_val_best"),
        ("Layout", "room_layout_val_neg_loss_best"),
        ("Segmentation", "segmentsemantic_val_best"),
        ("Normal", "normal_val_ssim_best"),
        ("Autoencoder", "autoencoder_val_ssim_best"),
    )
)
SSS = tuple(
    Benchmark(f"SSS {title}", "nats-sss", ("nats_sss.parquet",), (f"{dataset}_test_90",), _SSS_IMPORT, is_sorted=True)
    for title, dataset in (("CIFAR-10", "cifar10"), ("CIFAR-100", "cifar100"), ("ImageNet16-120", "imagenet16"))
)


@dataclass(frozen=True)
class DataFolder:
    """The folder that holds tables of benchmarks, and images; None if the user has none."""

    path: Path | None

    def missing(self, benchmark: Benchmark) -> str:
        """Return what a benchmark still needs and how to get it; empty if it is available."""
        lacking = []
        if benchmark.space not in SPACES:
            lacking.append(f"the space {benchmark.space!r}, which this version does not have")
        path = self._file(benchmark)
        if self.path is None:
            lacking.append(f"a data folder: set {DATA_FOLDER}, or name one with --data")
        elif path is None:
            wanted = self.path / benchmark.files[0]
            lacking.append(f"{benchmark.files[0]} in {self.path}: {self._how_to_import(benchmark, wanted)}")
        elif self._column_in(_load(path), benchmark) is None:
            columns = " or ".join(benchmark.columns)
            lacking.append(f"a column {columns} in {path.name}: {self._how_to_import(benchmark, path)}")
        return ", and ".join(lacking)

    def available(self, benchmarks: tuple[Benchmark, ...]) -> list[Benchmark]:
        """Return the benchmarks that need nothing more."""
        return [benchmark for benchmark in benchmarks if not self.missing(benchmark)]

    def by_table(self, benchmarks: tuple[Benchmark, ...]) -> list[list[Benchmark]]:
        """Group the available benchmarks by the table that holds them, and by what their networks are built for."""
        groups: dict[tuple[object, ...], list[Benchmark]] = {}
        for benchmark in self.available(benchmarks):
            networks = (benchmark.space, benchmark.files, benchmark.images, benchmark.skeleton)
            groups.setdefault(networks, []).append(benchmark)
        return list(groups.values())

    def table(self, benchmark: Benchmark) -> Table:
        """Return the table of a benchmark.

        Raises:
            MissingFileError: If it is not in the folder.
        """
        path = self._file(benchmark)
        if path is None:
            raise MissingFileError(f"{benchmark.name} needs {self.missing(benchmark)}.")
        return _load_part(path, benchmark.space) if benchmark.part_of else _load(path)

    def column(self, benchmark: Benchmark) -> str:
        """Return the column that holds the accuracies.

        Raises:
            MissingFileError: If the table has none of the columns.
        """
        found = self._column_in(self.table(benchmark), benchmark)
        if found is None:
            raise MissingFileError(f"{benchmark.name} needs {self.missing(benchmark)}.")
        return found

    def images(self, name: str) -> str | None:
        """Return the input source of the images of a name, such as "cifar10"; None if the folder has none."""
        try:
            return f"npz:{find_images(name, self.path)}" if self.path else None
        except DataError:
            return None

    def _file(self, benchmark: Benchmark) -> Path | None:
        paths = [self.path / name for name in benchmark.files] if self.path else []
        return next((path for path in paths if path.is_file()), None)

    @staticmethod
    def _column_in(table: Table, benchmark: Benchmark) -> str | None:
        return next((name for name in benchmark.columns if name in table.frame.columns), None)

    @staticmethod
    def _how_to_import(benchmark: Benchmark, path: Path) -> str:
        return benchmark.how_to_import.format(path=path, column=benchmark.columns[0])


@cache
def _read(path: Path, _changed: int) -> Table:
    return load_table(path)


def _load(path: Path) -> Table:
    return _read(path, path.stat().st_mtime_ns)


@cache
def _read_part(path: Path, changed: int, name: str) -> Table:
    """Return the rows of a NAS-Bench-101 table whose cells are in a NAS-Bench-1Shot1 space, in its text form."""
    space = SPACES[name]
    assert isinstance(space, NASBench1Shot1)
    whole = _read(path, changed)
    cells = [space.standing_for(read_cell(text)[0]) for text in whole.frame[ARCHITECTURE]]
    rows = whole.frame[[cell is not None for cell in cells]].reset_index(drop=True)
    return Table(rows.assign(architecture=[str(cell) for cell in cells if cell is not None]), whole.origin)


def _load_part(path: Path, space: str) -> Table:
    return _read_part(path, path.stat().st_mtime_ns, space)
