"""Every text that Firstlight reads, damaged: a value or an error that helps; what has a text form reads it back."""

from __future__ import annotations

import random

import pytest
from tests.fuzz.cases import CASES
from tests.fuzz.checking import Target, reads_back
from tests.fuzz.strategies import damaged

from firstlight.core.amounts import parse_amount, parse_duration
from firstlight.core.importing import import_named
from firstlight.data.clicks.layouts import find_layout
from firstlight.data.images import split_side
from firstlight.data.inputs import InputSource
from firstlight.evaluation.methods import parse_methods
from firstlight.export.exporter import read_formats
from firstlight.export.runs import read_skeleton as read_written_skeleton
from firstlight.options import Limits, Model, Network, read_shape, read_skeleton
from firstlight.proxies import PROXIES
from firstlight.proxies.ensembles import AGGREGATIONS, NAMED, parse_criterion
from firstlight.proxies.requests import ProxyRequest, parse_requests
from firstlight.scoring.costs import read_costs
from firstlight.search.algorithm import AlgorithmRequest
from firstlight.search.algorithms import ALGORITHMS
from firstlight.spaces import SPACES
from firstlight.spaces.finding import find_space
from firstlight.tables.targets import Target as Column
from firstlight.training.clicks import click_recipe
from firstlight.training.recipes import RECIPES, RecipeRequest
from firstlight.training.shared_warm_up import SharedWarmUp
from firstlight.training.warm_up import WarmUp, read_warm_up

SETTINGS_OF_PROXIES = [f"{n}:{key}={p.default}" for n, entry in PROXIES.items() for key, p in entry.settings.items()]
SETTINGS_OF_ALGORITHMS = [
    f"{n}:{key}={p.default}" for n, entry in ALGORITHMS.items() for key, p in entry.settings.items()
]
WARM_UPS = ("10%", "0.1", "10%:epochs=3", "10%:recipe=official", "5%:learning_rate=0.1:momentum=0.9:batch_size=8")
SHARED = ("1%:weights=shared", "0%:weights=shared:batch_size=64", "1%:weights=shared:policy=any:frozen=true")
ENSEMBLES = (*(f"{name}(dextr*2,zico:batches=4,params*0.5)" for name in AGGREGATIONS), *NAMED)


def _recipe(text: str) -> None:
    request = RecipeRequest.parse(text)
    assert RecipeRequest.parse(str(request)).recipe == request.recipe


def _click_recipe(text: str) -> None:
    request = click_recipe(text)
    assert click_recipe(str(request)).recipe == request.recipe


def _skeleton(text: str) -> None:
    space = find_space("nasbench201")
    space.skeleton(**dict(read_skeleton(text)))


def _written_skeleton(text: str) -> None:
    space = find_space("nasbench201")
    found = str(read_written_skeleton(space, text))
    assert str(read_written_skeleton(space, found)) == found


TARGETS = {
    "amounts": Target(
        lambda text: (parse_amount(text), parse_amount(text, unit="B")), damaged("1.0M", "850000", "20MB", "1e6")
    ),
    "durations": Target(parse_duration, damaged("30m", "90s", "1.5h", "12.5")),
    "limits": Target(
        lambda text: Limits(max_params=text, max_memory=text, max_flash=text, max_latency=text),
        damaged("450k", "2.5ms", "1.2GB", "5", "64KiB"),
    ),
    "proxy requests": Target(reads_back(ProxyRequest.parse), damaged(*PROXIES, *SETTINGS_OF_PROXIES)),
    "lists of proxies": Target(parse_requests, damaged("dextr,params", "all", "zico:batches=4,dextr:variant=official")),
    "algorithm requests": Target(reads_back(AlgorithmRequest.parse), damaged(*ALGORITHMS, *SETTINGS_OF_ALGORITHMS)),
    "ensembles": Target(reads_back(parse_criterion), damaged(*ENSEMBLES)),
    "methods": Target(
        parse_methods, damaged("random,evolution:population=8", "evolution@dextr", "zico:batches=4,random")
    ),
    "warm-ups": Target(reads_back(WarmUp.parse), damaged(*WARM_UPS)),
    "shared warm-ups": Target(
        reads_back(lambda text: SharedWarmUp.parse(text, SPACES["nasrec-small"])), damaged(*SHARED, *WARM_UPS)
    ),
    "warm-ups of calls": Target(
        lambda text: (read_warm_up(text, SPACES["nasbench201"]), read_warm_up(text, SPACES["nasrec-small"])),
        damaged(*WARM_UPS, *SHARED),
    ),
    "training recipes": Target(_recipe, damaged(*RECIPES, "quick:epochs=10:batch_size=64:schedule=linear:crop=4")),
    "click recipes": Target(_click_recipe, damaged("clicks", "clicks:epochs=2:learning_rate=0.1")),
    "skeleton settings": Target(_skeleton, damaged("channels=8,cells=2", "input_shape=3x32x32,classes=10")),
    "written skeletons": Target(_written_skeleton, damaged("channels=8,cells=2,input_shape=3x32x32,classes=10")),
    "shapes": Target(read_shape, damaged("3,32,32", "3x32x32", "5")),
    "seeds": Target(lambda text: Network(seed=text).seeds, damaged("0", "0,1,2")),
    "logits": Target(lambda text: Model(logits=text), damaged("0", "-1", "logits")),
    "names of data": Target(split_side, damaged("digits@16", "npz:a.npz@32", "folder:photos@64", "cifar10")),
    "input sources": Target(
        lambda text: (InputSource(text), InputSource("synthetic", labels=text)),
        damaged("synthetic", "circle", "digits@8"),
    ),
    "layouts of clicks": Target(
        lambda text: find_layout("clicks", text, text.split(","), text.split(":")), damaged("label", "a,b:c")
    ),
    "columns of tables": Target(lambda text: str(Column.of_column(text)), damaged("cifar10_test_200", "val_loss_best")),
    "export formats": Target(read_formats, damaged("json,source", "safetensors,onnx")),
    "costs": Target(lambda text: read_costs(text.split(",")), damaged("params,macs", "latency")),
    "spaces by name": Target(find_space, damaged(*SPACES, "package.module:space", "os:path")),
    "models by name": Target(import_named, damaged("math:pi", "collections.abc:Mapping", "no.such:thing")),
    **{
        f"architectures of {name}": Target(
            reads_back(space.read), damaged(*(str(space.sample(random.Random(seed))) for seed in range(5)))
        )
        for name, space in SPACES.items()
    },
}


@pytest.mark.parametrize("name", TARGETS)
def test_damaged_texts(name: str) -> None:
    TARGETS[name].try_out(15)


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_many_damaged_texts(name: str) -> None:
    print(f"{name}: {TARGETS[name].try_out(CASES)} cases")
