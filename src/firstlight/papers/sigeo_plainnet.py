"""SiGeo (Zheng et al., 2023): PlainNet networks that searches by proxies find, trained beside random ones (Table 4)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from firstlight.core.seeds import python_generator
from firstlight.options import Limits
from firstlight.papers.base import Finding, Findings
from firstlight.papers.experiment import Experiment
from firstlight.papers.from_scratch import Standings, incomplete, require_images, train_all
from firstlight.papers.lab import Lab
from firstlight.papers.published import read_paper
from firstlight.proxies.ensembles import members, parse_criterion
from firstlight.scoring.service import ScoreService, Setting, source_for
from firstlight.search.algorithm import AlgorithmRequest
from firstlight.search.objective import Objective, best_first
from firstlight.search.problem import Problem
from firstlight.spaces.base import Architecture

TABLE4 = read_paper("sigeo")["table4"]
SPACE = "plainnet-resnet"
MOST_PARAMETERS = 1_000_000
# Random networks come near the limit; short searches find smaller ones, for which the line is extrapolated
LEAST_PARAMETERS = 800_000
AT_RANDOM = 10
PROXIES = {"SiGeo": "sigeo", "ZiCo": "zico", "Zen": "zen"}
SKELETON = (("input_shape", (3, 16, 16)),)
RECIPE = "sigeo-cifar:epochs=5:batch_size=64"


def _table4(lab: Lab) -> Findings:
    require_images(lab, "sigeo-table4")
    setting = lab.setting(SPACE)
    setting.check()
    with lab.executor.staying():
        networks = {name: _search(lab, setting, proxy) for name, proxy in PROXIES.items()}
        networks |= at_random(setting, AT_RANDOM)
        trainings = train_all(lab, SPACE, [str(network) for network in networks.values()])
    params = [setting.space.cost(network, setting.skeleton).params for network in networks.values()]
    standings = Standings(networks, params, trainings, AT_RANDOM)
    lines = (*map(_with_published, standings.accuracies()), *standings.spreads(), *standings.excesses())
    remarks = (
        standings.answer(len(PROXIES), "what searches find"),
        *incomplete(trainings),
        f"Each search scores {lab.samples} networks of at most a million parameters; the paper's score 480,000. Random "
        f"networks have {LEAST_PARAMETERS:,} parameters or more.",
        *_costs(setting, networks),
    )
    return Findings(lines, remarks)


def _search(lab: Lab, setting: Setting, proxy: str) -> Architecture:
    """Return the best network by a proxy that the evolution of the paper finds."""
    by = parse_criterion(proxy)
    source = replace(source_for(members(by), lab.images), side=setting.source.side)
    service = ScoreService(replace(setting, source=source), members(by), lab.executor, lab.store, lab.callback)
    seen = dict[str, None]()
    problem = Problem(
        service,
        Objective(by, Limits(max_params=MOST_PARAMETERS)),
        random.Random(setting.seed),
        lab.samples,
        callback=lambda event: seen.setdefault(event.architecture),
    )
    AlgorithmRequest.parse(f"evolution-budget:population={max(4, lab.samples // 4)}:mutations=2").run(problem)
    found: Architecture = setting.space.parse(best_first(by, service.scores(list(seen)))[0].network.architecture)
    return found


def at_random(setting: Setting, count: int) -> dict[str, Architecture]:
    """Return different random networks of 0.8 to 1 million parameters. More of them include all of fewer."""
    rng, drawn = python_generator(setting.seed, "random PlainNet networks"), dict[Architecture, None]()
    while len(drawn) < count:
        network = setting.space.canonical(setting.space.sample(rng))
        if LEAST_PARAMETERS <= setting.space.cost(network, setting.skeleton).params <= MOST_PARAMETERS:
            drawn.setdefault(network)
    return {f"random {number}": network for number, network in enumerate(drawn, start=1)}


def _with_published(finding: Finding) -> Finding:
    """Add what the paper prints for the full training of such a network."""
    row = "random" if finding.on.startswith("random") else finding.on
    return replace(finding, note=f"{finding.note}; published after 1,440 epochs {TABLE4.at(row, 'CIFAR-10')} %")


def _costs(setting: Setting, networks: dict[str, Architecture]) -> Iterator[str]:
    for name in PROXIES:
        cost = setting.space.cost(networks[name], setting.skeleton)
        yield f"{name} found {networks[name]}, with {cost.params:,} parameters and {cost.macs:,} MACs."


sigeo_table4 = Experiment(
    "sigeo-table4",
    (TABLE4,),
    "PlainNet networks that searches by SiGeo, ZiCo and Zen find, trained beside random networks",
    (),
    samples=200,
    run=_table4,
    remarks=(
        "Networks take images of 16 x 16 pixels and are trained by the recipe of the paper (flips, crops, mix-up, "
        "random erasing and label smoothing, without its teacher and AutoAugment) for 5 epochs on 10,000 images in "
        "place of 1,440 on 50,000: accuracies cannot be compared with published ones, only with each other.",
        "Proxies are shown images of the same data, without a warm-up, as in the paper: SiGeo four batches of 64, and "
        "ZiCo two, as it was published. The paper takes four for both.",
        "Accuracy is regressed on the logarithm of the number of parameters over the random networks. A network is "
        "above or below random networks of equal size if the 95 % prediction interval excludes 0.",
    ),
    seeds=2,
    space=SPACE,
    skeletons={SPACE: SKELETON},
    recipe=RECIPE,
)
