"""Fit the latency models of `src/firstlight/scoring/devices/models` on measured networks of NAS-Bench-201.

    python -m tools.device_models fit nb201_hardware.parquet nb201.parquet
    python -m tools.device_models check nb201_hardware.parquet nb201.parquet

The first writes a model for each device. The second prints how good models are that are fitted on 50, 200 and 1,000
networks, on others that they have not seen: Spearman, mean relative error, and the share of them in the 95% interval.
The tables are those of HW-NAS-Bench and HELP, as columns named SOURCE_DEVICE, and NAS-Bench-201 with `index` and
`arch_str`.
"""

from __future__ import annotations

import argparse
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from firstlight.probe.graph import Graph, Operation, simplify
from firstlight.scoring.devices import model as models
from firstlight.scoring.devices.features import features_of
from firstlight.scoring.devices.fitting import Array, fit_device, relative_error
from firstlight.spaces import SPACES
from firstlight.spaces.cells import EDGES

FOLDER = Path(models.__file__).parent / "models"
SPACE = SPACES["nasbench201"]
HW = "HW-NAS-Bench (Li et al. 2021, MIT license), CIFAR-10"
HELP = "HELP (Lee et al. 2021, MIT license), CIFAR-10, batches of one input"
# The column of each device, what it is, and the source of its measurements
DEVICES = {
    "edgegpu": ("hwnb_cifar10_edgegpu_latency", "NVIDIA Jetson TX2", HW),
    "raspi4": ("hwnb_cifar10_raspi4_latency", "Raspberry Pi 4", HW),
    "edgetpu": ("hwnb_cifar10_edgetpu_latency", "Google Edge TPU", HW),
    "pixel3": ("hwnb_cifar10_pixel3_latency", "Google Pixel 3", HW),
    "eyeriss": ("hwnb_cifar10_eyeriss_latency", "Eyeriss, an ASIC accelerator (simulated)", HW),
    "fpga": ("hwnb_cifar10_fpga_latency", "Xilinx ZC706, an FPGA", HW),
    "gtx1080ti": ("help_1080ti_1", "NVIDIA GTX 1080 Ti", HELP),
    "rtx2080ti": ("help_2080ti_1", "NVIDIA RTX 2080 Ti", HELP),
    "titanrtx": ("help_titan_rtx_1", "NVIDIA Titan RTX", HELP),
    "titanx": ("help_titanx_1", "NVIDIA Titan X", HELP),
    "titanxp": ("help_titanxp_1", "NVIDIA Titan Xp", HELP),
    "gold6226": ("help_gold_6226", "Intel Xeon Gold 6226", HELP),
    "gold6240": ("help_gold_6240", "Intel Xeon Gold 6240", HELP),
    "silver4114": ("help_silver_4114", "Intel Xeon Silver 4114", HELP),
    "silver4210r": ("help_silver_4210r", "Intel Xeon Silver 4210R", HELP),
    "pixel2": ("help_pixel2", "Google Pixel 2", HELP),
    "samsung-a50": ("help_samsung_a50", "Samsung A50", HELP),
    "samsung-s7": ("help_samsung_s7", "Samsung S7", HELP),
    "essential-ph1": ("help_essential_ph_1", "Essential PH-1", HELP),
}
SIZES = (50, 200, 1000)
FITTED, HELD_OUT = 1500, 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["fit", "check"])
    parser.add_argument("hardware", type=Path, help="the measured latencies")
    parser.add_argument("networks", type=Path, help="the networks")
    given = parser.parse_args()
    rows = pd.read_parquet(given.networks, columns=["index", "arch_str"])
    # formats replace a network without a path from input to output by its constant output
    rows = rows[[_has_path(dict(zip(EDGES, SPACE.parse(text).operations, strict=True))) for text in rows["arch_str"]]]
    places = random.Random(0).sample(range(len(rows)), FITTED)
    others = random.Random(1).sample(sorted(set(range(len(rows))) - set(places)), HELD_OUT)
    hardware = pd.read_parquet(given.hardware).set_index("index")
    networks = Networks(rows.iloc[places], hardware)
    if given.task == "fit":
        for name, (column, title, source) in DEVICES.items():
            fitted = fit_device(name, title, source, *networks.measured(column), kinds=networks.kinds)
            models.write_model(fitted, FOLDER / f"{name}.json")
            print(f"{name:14} Spearman {fitted.spearman:.3f}, relative error {fitted.error:.1%}")
        return
    unseen = Networks(rows.iloc[others], hardware)
    for name, (column, _, _) in DEVICES.items():
        judged = (_judged(networks.measured(column), unseen.measured(column), size) for size in SIZES)
        print(f"| `{name}` |", " | ".join(judged), "|")


class Networks:
    """Networks with their features, both simplified and as PyTorch runs them, and their latencies."""

    def __init__(self, rows: pd.DataFrame, hardware: pd.DataFrame) -> None:
        graphs = [Drawn(SPACE.parse(text)).graph for text in rows["arch_str"]]
        both = [simplify(graph) for graph in graphs], graphs
        self.simplified, self.as_run = (
            np.array([list(features_of(graph).values()) for graph in kind]) for kind in both
        )
        self.kinds = {operation.kind for kind in both for graph in kind for operation in graph.operations}
        self.latencies = hardware.loc[rows["index"]]

    def measured(self, column: str) -> tuple[Array, Array, Array]:
        """Return the features and the latencies of the networks that the device can run."""
        milliseconds = self.latencies[column].to_numpy(float)
        known = milliseconds > 0  # HW-NAS-Bench writes -1 for the others
        return self.simplified[known], self.as_run[known], milliseconds[known]


def _judged(seen: tuple[Array, Array, Array], unseen: tuple[Array, Array, Array], size: int) -> str:
    """Return how good a model of the first `size` networks is on networks that it has not seen."""
    simplified, as_run, milliseconds = (values[:size] for values in seen)
    fitted = fit_device("", "", "", simplified, as_run, milliseconds, kinds=())
    predicted = unseen[0 if fitted.simplified else 1] @ np.array(list(fitted.coefficients.values()))
    order = spearmanr(predicted, unseen[2]).statistic
    covered = np.mean((unseen[2] >= fitted.low * predicted) & (unseen[2] <= fitted.high * predicted))
    return f"{order:.3f}, {relative_error(predicted, unseen[2]):.1%}, {covered:.0%}"


def _has_path(edges: dict[tuple[int, int], str]) -> bool:
    reached = {0}
    for target in (1, 2, 3):
        if any(edges[target, source] != "none" for source in reached):
            reached.add(target)
    return 3 in reached


class Drawn:
    """The graph of a network of NAS-Bench-201 with the default skeleton, as PyTorch runs it, without running it.

    Recording thousands of networks takes too long.
    """

    def __init__(self, architecture: Any) -> None:
        self.sizes: dict[int, int] = {}
        self.operations: list[Operation] = []
        skeleton = SPACE.skeleton()
        channels, side = skeleton.input_shape[0], skeleton.input_shape[1]
        given = self._key(channels * side**2)
        x = self._conv(given, channels, skeleton.channels, 3, side)
        channels = skeleton.channels
        for stage in range(3):
            if stage:
                x = self._reduction(x, channels, side)
                channels, side = 2 * channels, side // 2
            for _ in range(skeleton.cells):
                x = self._cell(x, architecture, channels, side)
        x = self._same("relu", self._norm(x, channels))
        pooled = self._add_operation("pool", "mean", (x,), channels)
        kernel, bias = self._key(channels * skeleton.classes), self._key(skeleton.classes)
        macs, classes = channels * skeleton.classes, skeleton.classes
        out = self._add_operation("linear", "addmm", (pooled,), classes, kernel, (bias,), classes, macs=macs)
        self.graph = Graph(self.sizes, (given,), (out,), tuple(self.operations))

    def _cell(self, x: int, architecture: Any, channels: int, side: int) -> int:
        nodes = [x]
        edges = dict(zip(EDGES, architecture.operations, strict=True))
        for target in (1, 2, 3):
            terms = [
                self._edge(nodes[source], edges[target, source], channels, side)
                for source in range(target)
                if edges[target, source] != "none"
            ]
            nodes.append(self._sum(terms) if terms else self._same("multiply", x))
        return nodes[-1]

    def _edge(self, x: int, operation: str, channels: int, side: int) -> int:
        if operation == "skip_connect":
            return x
        if operation == "avg_pool_3x3":
            return self._same("pool", x)
        return self._conv(self._same("relu", x), channels, channels, int(operation[-1]), side)

    def _reduction(self, x: int, channels: int, side: int) -> int:
        half, wide = side // 2, 2 * channels
        first = self._conv(self._same("relu", x), channels, wide, 3, half, padded=channels * (side + 2) ** 2)
        second = self._conv(self._same("relu", first), wide, wide, 3, half)
        pooled = self._add_operation("pool", "avg_pool2d", (x,), channels * half**2)
        return self._sum([second, self._conv(pooled, channels, wide, 1, half, norm=False)])

    def _sum(self, terms: list[int]) -> int:
        total = terms[0]
        for term in terms[1:]:
            total = self._add_operation("add", "add", (total, term), self.sizes[term])
        return total

    def _conv(
        self, x: int, inputs: int, outputs: int, kernel: int, side: int, norm: bool = True, padded: int = 0
    ) -> int:
        weights, area = self._key(inputs * outputs * kernel**2), kernel**2
        macs = inputs * outputs * area * side**2
        made = self._add_operation("conv", "convolution", (x,), outputs * side**2, weights, (), outputs, area, macs)
        self.operations[-1] = replace(self.operations[-1], padded=padded)
        return self._norm(made, outputs) if norm else made

    def _norm(self, x: int, channels: int) -> int:
        constants = (self._key(channels), self._key(channels))
        return self._add_operation("norm", "native_batch_norm", (x,), self.sizes[x], None, constants)

    def _same(self, kind: str, x: int) -> int:
        return self._add_operation(kind, kind, (x,), self.sizes[x])

    def _add_operation(
        self,
        kind: str,
        name: str,
        reads: tuple[int, ...],
        size: int,
        kernel: int | None = None,
        constants: tuple[int, ...] = (),
        channels: int = 0,
        area: int = 1,
        macs: int = 0,
    ) -> int:
        written = self._key(size)
        unique = tuple(dict.fromkeys(reads))
        self.operations.append(Operation(kind, unique, (written,), kernel, constants, channels, area, macs, name))
        return written

    def _key(self, size: int) -> int:
        self.sizes[len(self.sizes)] = size
        return len(self.sizes) - 1


if __name__ == "__main__":
    main()
