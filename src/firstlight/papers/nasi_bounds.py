"""NASI (Shu et al., ICLR 2022): the bounds of its two propositions, beside what they bound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from firstlight.core.seeds import torch_generator
from firstlight.core.statistics import Numbers, spearman
from firstlight.papers.base import Finding, Findings
from firstlight.papers.benchmarks import ONE_SHOT, Benchmark
from firstlight.papers.experiment import Experiment
from firstlight.papers.lab import Lab
from firstlight.papers.nasi import narrow, width_remark
from firstlight.papers.published import read_paper
from firstlight.probe import Probe
from firstlight.probe.tangent import data_bound, linear_loss, loss_bound
from firstlight.proxies.base import Parts, Score
from firstlight.scoring.service import Setting

PROPOSITIONS = read_paper("nasi")["propositions"]
# Images whose logits the kernel is of
IMAGES = 4
TIMES = (0.25, 1.0, 10.0)
# Of the largest learning rate that Proposition 1 allows
RATE_SHARE = 0.9


@dataclass(frozen=True)
class Bounds:
    """The kernel of images of norm 1 in the NTK parameterization, the bounds on it, and what they bound.

    Parts: `largest` eigenvalue; `loss` and `bound` of Proposition 1 for each time; `difference` of the trace per sample
    and output between images and noise, and its `data_bound`. The value is the mean eigenvalue.

    Attributes:
        norms: Whether BatchNorm stays. The propositions are of networks without.
    """

    norms: bool
    revision: ClassVar[int] = 1

    def __call__(self, setting: Setting, architecture: str) -> Parts:
        network = setting.build(architecture)
        if not self.norms:
            remove_norms(network)
        x, labels = setting.inputs.batches[0]
        assert labels is not None
        noise = torch.randn(x.shape, generator=torch_generator(setting.seed, "noise")).to(x)
        kernel, other = (
            Probe(network, of_norm_one(images), seed=setting.seed).exact_kernel(samples=len(x), parameterization="ntk")
            for images in (x, noise)
        )
        outputs = len(kernel) // len(x)
        largest = float(torch.linalg.eigvalsh(kernel)[-1])
        rate = RATE_SHARE / largest
        targets = F.one_hot(labels, outputs)
        mean, mean_of_noise = (float(gram.trace()) / len(gram) for gram in (kernel, other))
        layers = sum(isinstance(module, (nn.Conv2d, nn.Linear)) for module in network.modules())
        parts: dict[str, Any] = {f"loss {time:g}": linear_loss(kernel, targets, rate, time) for time in TIMES}
        parts |= {f"bound {time:g}": loss_bound(kernel, outputs, rate, time) for time in TIMES}
        parts |= {"difference": abs(mean - mean_of_noise), "data_bound": data_bound(x[0].numel(), layers)}
        return Parts(mean, largest=largest, **parts)


def of_norm_one(x: Tensor) -> Tensor:
    """Return inputs divided by their norms."""
    divided: Tensor = x / x.flatten(1).norm(dim=1).view(-1, *[1] * (x.ndim - 1))
    return divided


def remove_norms(network: nn.Module) -> None:
    """Replace every BatchNorm by the identity."""
    for module in list(network.modules()):
        for name, child in module.named_children():
            if isinstance(child, nn.BatchNorm2d):
                setattr(module, name, nn.Identity())


def _run(lab: Lab) -> Findings:
    lines: list[Finding] = []
    for (benchmark,) in lab.data.by_table(ONE_SHOT):
        setting = lab.setting(benchmark.space, skeleton_settings=narrow(lab), initialization="ntk")
        setting = replace(setting, source=replace(setting.source, batch_size=IMAGES))
        rows = lab.sample([replace(benchmark, cost_factor=1)], setting).rows
        texts = rows["canonical"].tolist()
        accuracy = rows[lab.data.column(benchmark)].to_numpy(dtype=float)
        for title, norms in (("without BatchNorm", False), ("with BatchNorm", True)):
            scores = lab.measured(setting, texts, Bounds(norms))
            lines += _lines(lab, benchmark, title, [scores[text] for text in texts], accuracy)
    return Findings(tuple(lines), width_remark(lab))


def _lines(lab: Lab, benchmark: Benchmark, title: str, scores: list[Score], accuracy: Numbers) -> Iterator[Finding]:
    known = [score.ok for score in scores]
    parts = [score.parts for score in scores if score.ok]
    for time in TIMES:
        what = f"Proposition 1, {title}, t = {time:g}: loss / bound"
        yield _ratio(lab, what, benchmark, parts, f"loss {time:g}", f"bound {time:g}")
    what = f"Proposition 2, {title}: difference of traces / bound"
    yield _ratio(lab, what, benchmark, parts, "difference", "data_bound")
    if parts:
        rate = RATE_SHARE / max(part["largest"] for part in parts)
        means = np.array([score.value for score in scores if score.ok])
        ours = lab.estimate(spearman, -(1 - rate * means), accuracy[known])
        what = f"Spearman of the bound of Proposition 1 at one learning rate with accuracy, {title}"
        yield Finding(what, benchmark.name, ours, note=f"{len(means)} networks; lower bounds rank first")


def _ratio(
    lab: Lab, what: str, benchmark: Benchmark, parts: list[Mapping[str, float]], above: str, below: str
) -> Finding:
    ratios = np.array([part[above] / part[below] for part in parts])
    ours = lab.estimate(lambda column: float(np.median(column)), ratios)
    note = f"median of {len(ratios)} networks; {(ratios <= 1).sum()} keep the bound"
    return Finding(what, benchmark.name, ours, note=note)


nasi_bounds = Experiment(
    "nasi-bounds",
    (PROPOSITIONS,),
    "the bounds of Propositions 1 and 2 beside what they bound",
    ONE_SHOT,
    samples=20,
    run=_run,
    remarks=(
        f"Kernels are of all logits of {IMAGES} images of norm 1, in the NTK parameterization, with weights from "
        f"N(0, 1). The learning rate is {RATE_SHARE:g} of the largest that Proposition 1 allows.",
        "The loss is that of the linearized network (Eq. 4). The term of Proposition 1 that vanishes with the width is "
        "left out: its constant is unknown. For Proposition 2, Z is 2, its largest value, and L the number of layers.",
        "The propositions are of networks without BatchNorm, in the limit of infinite width.",
    ),
)
