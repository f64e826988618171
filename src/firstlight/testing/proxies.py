"""Contracts of proxies."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from firstlight.core.importing import name_of
from firstlight.core.settings import choices
from firstlight.proxies.base import Proxy, Score
from firstlight.proxies.requests import ProxyRequest, find_proxy
from firstlight.scoring.models import ModelSetting, measure_model
from firstlight.testing.contract import Contract, expect, global_seed

Batch = tuple[Tensor, Tensor]


class SmallNetwork(nn.Module):
    """A small residual network for images of 3x8x8, with five classes."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.body = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.down = nn.Conv2d(8, 12, 3, stride=2, padding=1)
        self.head = nn.Linear(12, 5)

    def feature_blocks(self) -> list[nn.Module]:
        """Return the modules whose outputs are features."""
        return [self.stem, self.body, self.down]

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits."""
        x = self.stem(x)
        x = self.down(self.body(x) + x)
        logits: Tensor = self.head(x.mean((2, 3)))
        return logits


def small_batches() -> list[Batch]:
    """Return four batches of six random images of 3x8x8 with labels of five classes."""
    generator = torch.Generator().manual_seed(1)
    return [
        (torch.randn(6, 3, 8, 8, generator=generator), torch.randint(5, (6,), generator=generator)) for _ in range(4)
    ]


@dataclass(frozen=True)
class ProxyCase:
    """What a proxy is checked with.

    Attributes:
        request: The proxy with its settings.
        make_model: Makes the network; the weights must be the same each time.
        batches: Pairs of inputs and labels.
    """

    request: ProxyRequest
    make_model: Callable[[], nn.Module]
    batches: Sequence[Batch]

    def score(self, model: nn.Module | None = None, batches: Any = None, beside: Sequence[str] = ()) -> Score:
        """Score a network, by default a new one with all batches."""
        setting = ModelSetting(list(self.batches) if batches is None else batches, seed=5)
        requests = [self.request, *map(ProxyRequest.parse, beside)]
        scores, _ = measure_model("the model", model or self.make_model(), requests, setting)
        return scores[str(self.request)]


def check_proxy(
    proxy: str | Proxy,
    model: Callable[[], nn.Module] | None = None,
    batches: Sequence[Batch] | None = None,
) -> None:
    """Check that a proxy keeps its contracts.

    Args:
        proxy: The proxy: a name with its settings, `module:name`, or an object.
        model: Makes a network that the proxy supports, always with the same weights. Default: a small residual network
            for images.
        batches: Batches for this network, as pairs of inputs and labels: at least as many as the proxy looks at.

    Raises:
        ContractError: At the first contract that is broken, with its name and what was found.

    >>> from firstlight.testing import check_proxy
    >>> check_proxy("dextr")
    """
    for contract in proxy_checks(proxy, model, batches):
        contract()


def proxy_checks(
    proxy: str | Proxy,
    model: Callable[[], nn.Module] | None = None,
    batches: Sequence[Batch] | None = None,
) -> list[Contract[ProxyCase]]:
    """Return the contracts that `check_proxy` checks, each to be called, as for `pytest.mark.parametrize`."""
    request = ProxyRequest.parse(proxy) if isinstance(proxy, str) else ProxyRequest.of(find_proxy(proxy))
    case = ProxyCase(request, model or _seeded_network, batches or small_batches())
    return [Contract(f"The proxy {str(request)!r}", case, test) for test in CONTRACTS]


def _seeded_network() -> nn.Module:
    with global_seed(0):
        return SmallNetwork()


def scores_a_network(case: ProxyCase) -> None:
    """A proxy returns a finite number or `Parts` for a network that it supports."""
    score = case.score()
    expect(score.ok, f"its score has the status {score.status!r}: {score.note}")
    expect(math.isfinite(score.value), f"its value is {score.value}")
    for name, part in score.parts.items():
        expect(math.isfinite(part), f"its part {name!r} is {part}; leave out what has no value")


def is_deterministic(case: ProxyCase) -> None:
    """The same network, batches and seed give the same value. The global random numbers have no influence; use the
    quantities of the probe, or `probe.seed`."""
    found = []
    for seed in (1, 2):
        model = case.make_model()
        with global_seed(seed):
            found.append(case.score(model))
    first, second = found
    expect(
        _same(first.value, second.value) and dict(first.parts) == dict(second.parts),
        f"the same network, batches and seed give {_shown(first)} and {_shown(second)}",
    )


def leaves_the_model_alone(case: ProxyCase) -> None:
    """Weights, buffers, gradients, modes and hooks of the network are the same afterwards."""
    model = case.make_model().eval()
    next(model.children(), model).train()
    first = next(model.parameters(), None)
    if first is not None:
        first.grad = torch.ones_like(first)
        first.requires_grad_(False)
    before = _state(model)
    case.score(model)
    for what, old in before.items():
        new = _state(model).get(what)
        expect(_equal(old, new), f"{what} has changed")


def leaves_random_numbers_alone(case: ProxyCase) -> None:
    """The state of the global random numbers is the same afterwards."""
    model = case.make_model()
    before = torch.get_rng_state()
    case.score(model)
    expect(torch.equal(before, torch.get_rng_state()), "it draws from PyTorch's global random numbers")


def needs_labels_where_it_says(case: ProxyCase) -> None:
    """Without labels, a proxy that declares `needs="labels"` is unsupported, and any other one has a value."""
    score = case.score(batches=[x for x, _ in case.batches])
    if case.request.proxy.needs_labels:
        expect(score.status == "unsupported", f"without labels its status is {score.status!r}: {score.note}")
    else:
        expect(score.ok, f"without labels its status is {score.status!r} ({score.note}); declare needs='labels'")


def needs_data_where_it_says(case: ProxyCase) -> None:
    """A proxy that declares `needs="nothing"` does not look at the values of the inputs."""
    if not case.request.proxy.needs_data:
        others = [(torch.randn_like(x), y) for x, y in case.batches]
        values = case.score().value, case.score(batches=others).value
        expect(_same(*values), f"other inputs give {values[1]!r} instead of {values[0]!r}; declare needs='inputs'")


def has_enough_batches(case: ProxyCase) -> None:
    """The number and size of batches that a proxy declares are enough for it."""
    size = max(case.request.proxy.batch_size, case.request.samples)
    given = [(x[:size], y[:size]) for x, y in case.batches[: case.request.num_batches]]
    score = case.score(batches=given)
    expect(score.ok, f"with {len(given)} batches of {size} its status is {score.status!r}: {score.note}")


def is_independent_of_others(case: ProxyCase) -> None:
    """The value is the same whether or not other proxies are measured together with it."""
    alone = case.score()
    together = case.score(beside=[name for name in ("grad_norm", "synflow", "params") if name != str(case.request)])
    expect(
        _same(alone.value, together.value, 1e-6),
        f"its value is {alone.value!r} alone, but {together.value!r} together with others",
    )


def has_readable_settings(case: ProxyCase) -> None:
    """Each setting has a default that is a bool, int, float or text, so that users can write it after the name."""
    proxy = case.request.proxy
    for name, setting in proxy.settings.items():
        readable = isinstance(setting.default, (bool, int, float, str))
        expect(readable, f"the setting {name!r} has the default {setting.default!r}")
        allowed = choices(setting)
        expect(not allowed or setting.default in allowed, f"the default of {name!r} is not one of its choices")


def travels_to_workers(case: ProxyCase) -> None:
    """A proxy at the top level of a module is found again by worker processes."""
    proxy = case.request.proxy
    if name_of(proxy) is not None:
        expect(pickle.loads(pickle.dumps(proxy)) is proxy, "a copy is found instead of the proxy itself")


def is_documented(case: ProxyCase) -> None:
    """The docstring starts with a one-line summary."""
    expect(bool(case.request.proxy.summary), "it has no docstring")


CONTRACTS: tuple[Callable[[ProxyCase], None], ...] = (
    scores_a_network,
    is_deterministic,
    leaves_the_model_alone,
    leaves_random_numbers_alone,
    needs_labels_where_it_says,
    needs_data_where_it_says,
    has_enough_batches,
    is_independent_of_others,
    has_readable_settings,
    travels_to_workers,
    is_documented,
)


def _shown(score: Score) -> str:
    return f"{score.value!r} with the parts {dict(score.parts)}" if score.parts else repr(score.value)


def _same(first: float, second: float, tolerance: float = 0.0) -> bool:
    return math.isclose(first, second, rel_tol=tolerance) or (math.isnan(first) and math.isnan(second))


def _state(model: nn.Module) -> dict[str, Any]:
    """Return everything that must stay as it is, by what it is called in messages."""
    found: dict[str, Any] = {f"the tensor {name}": value.clone() for name, value in model.state_dict().items()}
    for name, parameter in model.named_parameters():
        found[f"the gradient of {name}"] = None if parameter.grad is None else parameter.grad.clone()
        found[f"requires_grad of {name}"] = parameter.requires_grad
    for name, module in model.named_modules():
        found[f"the mode of {name or 'the model'}"] = module.training
        hooks = [key for key, value in vars(module).items() if "hook" in key and isinstance(value, dict) and value]
        found[f"the hooks of {name or 'the model'}"] = hooks
    return found


def _equal(old: Any, new: Any) -> bool:
    if isinstance(old, Tensor) and isinstance(new, Tensor):
        return torch.equal(old, new)
    return not isinstance(new, Tensor) and bool(old == new)
