"""SiGeo (Zheng et al., 2023): what statistics after a short training predict of the loss after a long one."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from firstlight.core.errors import MissingFileError, ParseError
from firstlight.core.statistics import Numbers, spearman
from firstlight.data import InputSource
from firstlight.data.inputs import SYNTHETIC
from firstlight.data.shares import Share, load_share, load_test_share
from firstlight.papers.base import CORRELATION, Finding, Findings
from firstlight.papers.experiment import Experiment
from firstlight.papers.lab import Lab
from firstlight.papers.published import read_paper
from firstlight.papers.sigeo_warm import share_of, title_of
from firstlight.probe import Probe
from firstlight.proxies.base import Parts, Score
from firstlight.proxies.sigeo import fisher_rao
from firstlight.scoring.service import Setting
from firstlight.spaces.base import Architecture, Skeleton, Space
from firstlight.spaces.in_space import in_space
from firstlight.spaces.ops import Linear
from firstlight.training.loop import Batch
from firstlight.training.shared_warm_up import SharedWarmUp
from firstlight.training.warm_up import WarmUp
from firstlight.views.charts.description import Panels, Point, Scatter
from firstlight.views.charts.svg import draw_svg

PAPER = read_paper("sigeo")
FIGURE2 = PAPER["figure2"]
NARROWEST, WIDEST = 2, 48
BATCHES, BATCH_SIZE = 4, 128
# The learning rate of the paper's text; its appendix has 0.01
RATE = 0.02
# The paper makes three passes over 60,000 images; these are as many steps with 10,000
FINAL = WarmUp.parse(f"100%:epochs=18:learning_rate={RATE}:momentum=0")
# Six passes over 10 % of 10,000 images are 48 steps, and over 40 % 192, as in the paper
SHARES = ("10%", "40%", "60%", "80%", "100%")
WARM_UPS = ("0", *(f"{share}:epochs=6:learning_rate={RATE}:momentum=0" for share in SHARES))
LOSS, FISHER_RAO, GRADIENT, PER_WEIGHT = "loss", "fisher_rao", "gradient", "per_weight"
DEVIATION, DEVIATION_PER_WEIGHT = "deviation", "deviation_per_weight"
TITLES = {
    LOSS: "current loss",
    FISHER_RAO: "ln of the Fisher-Rao norm",
    GRADIENT: "mean |gradient|, summed over weights",
    PER_WEIGHT: "mean |gradient| of a weight",
    DEVIATION: "deviation of the gradient, summed over weights",
    DEVIATION_PER_WEIGHT: "deviation of the gradient of a weight",
}
PUBLISHED_AS = {
    LOSS: "current loss",
    FISHER_RAO: "Fisher-Rao norm",
    GRADIENT: "mean |gradient|",
    PER_WEIGHT: "mean |gradient|",
}
TRAIN, TEST = "final training loss", "final test loss"


@dataclass(frozen=True)
class Width(Architecture):
    """The number of hidden units."""

    units: int

    def __str__(self) -> str:
        return str(self.units)


# The store knows this space by a digest of its source: a change here leaves stored scores unused
class Perceptrons(Space[Width]):
    """One hidden layer between the pixels of a grey image and its class."""

    name = "two-layer-perceptrons"
    summary = "one hidden layer of 2 to 48 units"
    reference = "Zheng2023sigeo"

    def sample(self, rng: random.Random) -> Width:
        return Width(rng.randint(NARROWEST, WIDEST))

    def mutate(self, architecture: Width, rng: random.Random) -> Width:
        others = [units for units in (architecture.units - 1, architecture.units + 1) if NARROWEST <= units <= WIDEST]
        return Width(rng.choice(others))

    def parse(self, text: str) -> Width:
        if not text.isdecimal() or not NARROWEST <= int(text) <= WIDEST:
            raise ParseError(text, 0, f"a number of units from {NARROWEST} to {WIDEST}")
        return Width(int(text))

    def canonical(self, architecture: Width) -> Width:
        return architecture

    def network(self, architecture: Width, skeleton: Skeleton) -> nn.Module:
        _, height, width = skeleton.input_shape
        hidden = Linear(height * width, architecture.units)
        return nn.Sequential(Grey(), nn.Flatten(), hidden, nn.ReLU(), Linear(architecture.units, skeleton.classes))


class Grey(nn.Module):
    """Take one channel: gray images come as three equal ones."""

    def forward(self, x: Tensor) -> Tensor:
        return x[:, :1]


PERCEPTRONS = Perceptrons()


@dataclass(frozen=True)
class Now:
    """Statistics of a network after its warm-up, over the four batches that come next."""

    revision: ClassVar[int] = 3  # the batches that follow the warm-up

    def __call__(self, setting: Setting, architecture: str) -> Parts:
        probe = Probe(setting.network(architecture), following(setting), seed=setting.seed)
        gradients = probe.all_loss_gradients(BATCHES)
        loss = sum(entry.loss for entry in gradients) / len(gradients)
        by_layer = [torch.stack(layer) for layer in zip(*(entry.weights.values() for entry in gradients), strict=True)]
        size = sum(float(layer.abs().mean(0).sum()) for layer in by_layer)
        deviation = sum(float(layer.std(0).sum()) for layer in by_layer)
        weights = sum(weight.numel() for weight in probe.weights().values())
        return Parts(
            loss,
            loss=loss,
            fisher_rao=fisher_rao(probe, gradients),
            gradient=size,
            per_weight=size / weights,
            deviation=deviation,
            deviation_per_weight=deviation / weights,
        )


def following(setting: Setting) -> list[Batch]:
    """Return the four batches that come next: images that the warm-up has not seen, or the first ones again."""
    images = _for_training(setting.source, setting.seed)
    seen = 0
    if setting.warm_up is not None:
        assert isinstance(setting.learned_from, Share)
        seen = len(setting.learned_from)
    places = torch.arange(seen, seen + BATCHES * setting.source.batch_size) % len(images)
    return [(images.x[chosen], images.y[chosen]) for chosen in places.split(setting.source.batch_size)]


@lru_cache(maxsize=1)  # all networks of a seed share it
def _for_training(source: InputSource, seed: int) -> Share:
    return load_share(source, 1.0, seed=seed)


@dataclass(frozen=True)
class InTheEnd:
    """The loss after the training of the setting, on all training images and on the test images."""

    revision: ClassVar[int] = 1

    def __call__(self, setting: Setting, architecture: str) -> Parts:
        network = setting.network(architecture).eval()
        learned_from = setting.learned_from
        assert isinstance(learned_from, Share)
        train, test = (_loss(network, share) for share in (learned_from, _for_tests(setting.source)))
        return Parts(train, train=train, test=test)


@lru_cache(maxsize=1)  # all networks share it
def _for_tests(source: InputSource) -> Share:
    return load_test_share(source)


@torch.no_grad()
def _loss(network: nn.Module, share: Share) -> float:
    return float(F.cross_entropy(network(share.x), share.y))


def _figure2(lab: Lab) -> Findings:
    if lab.images == SYNTHETIC:
        raise MissingFileError(
            "sigeo-figure2 trains networks on handwritten digits: put mnist.npz or mnist_*.npz into the data folder, "
            "or name other images with --input, such as digits."
        )
    widths = sorted({round(width) for width in np.linspace(NARROWEST, WIDEST, lab.samples)})
    texts = [str(width) for width in widths]
    groups = np.tile(np.arange(len(texts), dtype=np.int64), len(lab.seeds))  # one width is resampled together
    ends = _measured(lab, FINAL, texts, InTheEnd())
    final = {TRAIN: ends["train"], TEST: ends["test"]}
    units = np.tile(np.array(widths, dtype=float), len(lab.seeds))
    findings, rows = [], []
    for target, reached in final.items():
        ours = lab.estimate(spearman, units, reached, groups=groups)
        findings.append(Finding(f"control: number of units and {target}", "any", ours, None, CORRELATION))
    for warm_up in lab.warm_ups:
        now = _measured(lab, warm_up, texts, Now())
        share = f"{100 * share_of(warm_up):g} %"
        for name in TITLES:
            for target, reached in final.items():
                published = FIGURE2.at(PUBLISHED_AS[name], share) if _printed(name, share) and target == TRAIN else None
                ours = lab.estimate(spearman, now[name], reached, groups=groups)
                findings.append(Finding(f"{TITLES[name]} and {target}", _level(warm_up), ours, published, CORRELATION))
        rows.append(
            [
                Scatter(
                    TITLES[name],
                    "final loss",
                    [
                        Point(x, y, series=number)
                        for number, reached in enumerate(final.values(), start=1)
                        for x, y in _points(now[name], reached)
                    ],
                    title=_level(warm_up),
                    series=tuple(final),
                    log_y=True,
                )
                for name in TITLES
            ]
        )
    remarks = (
        f"{len(texts)} widths from {widths[0]} to {widths[-1]} units, each with the weights of {len(lab.seeds)} seeds; "
        "intervals are over widths.",
        f"SGD at a constant learning rate of {RATE} (the paper's text; its appendix has 0.01) without momentum, in "
        f"batches of {FINAL.recipe.batch_size}. The final loss is that after {FINAL.recipe.epochs} epochs over all "
        "training images, starting again from the seeded weights. By default (--warmup), warm-ups pass six times over "
        "their share. With 10,000 images that makes as many steps as in the paper, before (48 and 192) and in the end.",
        f"Statistics are over the {BATCHES} batches of {BATCH_SIZE} images that come next: images that the warm-up has "
        "not seen, or, after 100 %, the first ones again. Without a warm-up they are the first four batches.",
    )
    chart = str(draw_svg(Panels(rows)))
    return Findings(tuple(findings), remarks, (("Final loss against statistics after a warm-up", chart),))


def _measured(
    lab: Lab, warm_up: WarmUp | SharedWarmUp | None, texts: list[str], measure: Now | InTheEnd
) -> dict[str, Numbers]:
    """Return the parts of each width, seed after seed; NaN where a training diverged."""
    scores: list[Score] = []
    for seed in lab.seeds:
        source = InputSource(lab.images, BATCH_SIZE, BATCHES)
        setting = Setting(**in_space(PERCEPTRONS), source=source, seed=seed, warm_up=warm_up)
        setting.check()
        scores += lab.measured(setting, texts, measure).values()
    names = {name for score in scores for name in score.parts}
    return {name: np.array([score.parts.get(name, np.nan) for score in scores]) for name in names}


def _printed(name: str, share: str) -> bool:
    return name in PUBLISHED_AS and share in FIGURE2.columns


def _level(warm_up: WarmUp | SharedWarmUp | None) -> str:
    """Return the title of a warm-up without the learning rate, which all of them share."""
    return title_of(warm_up).partition(", rate")[0]


def _points(xs: Numbers, ys: Numbers) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in zip(xs, ys, strict=True) if np.isfinite(x) and np.isfinite(y)]


sigeo_figure2 = Experiment(
    "sigeo-figure2",
    (FIGURE2, PAPER["figure5"], PAPER["figure6"], PAPER["figure7"]),
    "how well the loss, the Fisher-Rao norm and gradients after a short training predict the final loss",
    (),
    samples=24,
    run=_figure2,
    seeds=3,
    sampled=("widths",),
    images="mnist",
    warm_ups=WARM_UPS,
)
