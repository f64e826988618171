"""What every proxy in the registry must keep: determinism, honest facts, and a model left as it was."""

from __future__ import annotations

import math

import pytest
import torch
from tests import nets
from tests.probe.test_probe import assert_unchanged, snapshot
from torch import Tensor, nn

import firstlight
from firstlight.execution.executor import make_executor
from firstlight.proxies import PROXIES
from firstlight.proxies.requests import ProxyRequest
from firstlight.scoring.service import ScoreService, Setting, source_for
from firstlight.storage.store import Store
from firstlight.testing import check_proxy

Batches = list[tuple[Tensor, Tensor]]
# What makes no sense for a network, by its kind; everything else must answer with a number
UNSUPPORTED = {
    "residual": {"dss", "zerolm"},
    "attention": {"naswot", "linear_regions", "swap", "swap_reg", "wrcor", "epsilon"}
    | {f"az_{part}" for part in ("expressivity", "progressivity", "trainability")},
    "mlp": {"dss", "zerolm", "wrcor", "zen", "swap", "swap_reg", "independence", "meco", "meco_opt"}
    | {f"az_{part}" for part in ("expressivity", "progressivity", "trainability")},
}


def model_and_batches(name: str = "residual") -> tuple[nn.Module, Batches]:
    generator = torch.Generator().manual_seed(1)
    batches = [
        (torch.randn(6, 3, 8, 8, generator=generator), torch.randint(5, (6,), generator=generator)) for _ in range(4)
    ]
    return nets.build(name).float(), batches


def suitable(proxy: str) -> tuple[nn.Module, Batches]:
    return model_and_batches("attention" if proxy in ("dss", "zerolm") else "residual")


@pytest.mark.parametrize("name", PROXIES)
def test_all_contracts_are_kept(name: str) -> None:
    """As authors of proxies check them."""
    check_proxy(name, lambda: suitable(name)[0], suitable(name)[1])


@pytest.mark.parametrize("name", PROXIES)
def test_the_model_comes_back_as_it_went_in(name: str) -> None:
    model, batches = suitable(name)
    model.eval()
    next(model.children()).train()
    model(batches[0][0]).sum().backward()
    next(model.parameters()).requires_grad_(False)
    before = snapshot(model)
    assert firstlight.score(model, batches, [name])[name].status == "ok"
    assert_unchanged(before, snapshot(model))


@pytest.mark.parametrize("kind", UNSUPPORTED)
def test_asking_together_or_alone_is_the_same(kind: str) -> None:
    model, batches = model_and_batches(kind)
    together = firstlight.score(model, batches, list(PROXIES))
    for name in PROXIES:
        alone = firstlight.score(model, batches, name)[name]
        assert together[name].status == alone.status
        # a backward pass that can be differentiated once more, as grasp needs it, rounds otherwise in transformers
        tolerance = 1e-6 if kind == "attention" else 0.0
        assert together[name].parts == pytest.approx(alone.parts, rel=tolerance, abs=0.0)
        assert together[name].value == pytest.approx(alone.value, rel=tolerance, abs=0.0, nan_ok=True)


@pytest.mark.parametrize("kind", UNSUPPORTED)
@pytest.mark.parametrize("name", PROXIES)
def test_unsupported_is_honest(kind: str, name: str) -> None:
    model, batches = model_and_batches(kind)
    score = firstlight.score(model, batches, [name])[name]
    assert score.status == ("unsupported" if name in UNSUPPORTED[kind] else "ok"), score.note
    assert score.ok or (math.isnan(score.value) and len(score.note) > 20)


@pytest.mark.parametrize(
    "name",
    "zico sigeo fr_norm grad_norm snip gradsign jacov epe_nas naswot linear_regions swap".split()
    + "ntk_trace ntk_trace_exact te_ntk".split(),
)
def test_what_overflows_has_no_value(name: str) -> None:
    model, batches = model_and_batches("plain")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1e25)
    assert firstlight.score(model, batches, [name])[name].status == "non_finite"


def test_targets_that_are_no_classes_need_a_loss() -> None:
    model, batches = model_and_batches("mlp")
    x = batches[0][0]
    for targets in (torch.randn(6, 5), torch.randn(6), torch.zeros(6, 1, dtype=torch.int64)):
        for name in ("grad_norm", "ntk_trace", "epe_nas"):
            assert firstlight.score(model, (x, targets), [name])[name].status == "unsupported"
    shares = nn.functional.one_hot(batches[0][1], 5).float()
    as_labels, as_shares = (firstlight.score(model, (x, y), "grad_norm")["grad_norm"] for y in (batches[0][1], shares))
    assert as_shares.value == pytest.approx(as_labels.value, rel=1e-5)
    small = firstlight.score(model, (x, batches[0][1].to(torch.uint8)), "grad_norm")["grad_norm"]
    assert small.value == as_labels.value


def test_workers_give_the_same_numbers() -> None:
    requests = [ProxyRequest(entry) for entry in PROXIES.values()]
    source = source_for(requests, batch_size=8)
    small = (("cells", 1), ("channels", 4), ("input_shape", (3, 16, 16)))
    setting = Setting("nasbench201", source, skeleton_settings=small)
    cells = ["|nor_conv_3x3~0|+|none~0|none~1|+|skip_connect~0|none~1|nor_conv_1x1~2|"]
    cells.append("|avg_pool_3x3~0|+|skip_connect~0|nor_conv_3x3~1|+|none~0|nor_conv_1x1~1|none~2|")
    services = [ScoreService(setting, requests, make_executor(workers), Store(":memory:")) for workers in (0, 2)]
    here, there = ({network.architecture: network.scores for network in s.scores(cells)} for s in services)
    for cell in cells:
        for name, score in here[cell].items():
            assert there[cell][name].status == score.status
            assert there[cell][name].value == score.value or math.isnan(score.value)
    assert sum(score.ok for score in here[cells[0]].values()) >= len(PROXIES) - 3


@pytest.mark.parametrize("name", PROXIES)
def test_facts_are_written_down(name: str) -> None:
    entry = PROXIES[name]
    document = entry.function.__doc__ or ""
    assert entry.summary.endswith(".")
    assert "Scale:" in document
    assert "better" in document
    assert "Cost:" in document
    assert ("Lower is better" in document) == (not entry.higher_is_better)
    assert str(ProxyRequest.parse(name)) == name
