"""What is unusual about models that people bring: layers that are odd, and what happens to finished networks."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import parametrizations
from torch.utils.checkpoint import checkpoint


class Apply(nn.Module):
    """Any function as a layer."""

    def __init__(self, function: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Any:
        return self.function(x)


class Unwilling(nn.Module):
    """Raises from a certain call on."""

    def __init__(self, calls: int, error: Exception) -> None:
        super().__init__()
        self.calls, self.error, self.seen = calls, error, [0]

    def forward(self, x: Tensor) -> Tensor:
        self.seen[0] += 1
        if self.seen[0] > self.calls:
            raise self.error
        return x


class _OneWay(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> Tensor:
        raise RuntimeError("no way back")


class Growing(nn.Module):
    """Changes itself in the forward pass, in one of several ways."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how
        self.weight = nn.Parameter(torch.ones(1))
        self.layer = nn.Identity()
        self.register_buffer("count", torch.zeros(1, dtype=torch.int64))
        self.attribute: Any = 0

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            if self.how == "weight in place":
                self.weight.mul_(1.5)
            elif self.how == "data in place":
                self.weight.data.mul_(1.5)
            elif self.how == "data replaced":
                self.weight.data = self.weight.data * 1.5
            elif self.how == "buffer in place":
                self.count += 1
        if self.how == "parameter added":
            self.register_parameter(f"added{len(self._parameters)}", nn.Parameter(torch.ones(2)))
        elif self.how == "parameter replaced":
            self.weight = nn.Parameter(self.weight.detach() * 1.5)
        elif self.how == "module added":
            self.add_module(f"added{len(self._modules)}", nn.Linear(1, 1))
        elif self.how == "module replaced":
            self.layer = nn.Tanh()
        elif self.how == "frozen":
            self.weight.requires_grad_(False)
        elif self.how == "mode":
            self.eval()
        elif self.how == "hook":
            self.layer.register_forward_hook(lambda module, inputs, output: output + 1)
        elif self.how == "backward hook":
            self.register_full_backward_hook(lambda module, grads, others: None)
        elif self.how == "gradient" and torch.is_grad_enabled():
            (self.weight * 2).sum().backward()
        elif self.how == "random state":
            torch.manual_seed(1)
            random.seed(1)
        elif self.how == "attribute":
            self.attribute = x
        return self.layer(x) * self.weight


CHANGES = (
    *("weight in place", "data in place", "data replaced", "buffer in place", "parameter added", "parameter replaced"),
    *("module added", "module replaced", "frozen", "mode", "hook", "backward hook", "gradient", "random state"),
    "attribute",
)


class Constrained(nn.Linear):
    """Keeps its weights short before it uses them, as some published layers do."""

    def forward(self, x: Tensor) -> Tensor:
        self.weight.data = torch.renorm(self.weight.data, 2, 0, maxnorm=0.1)
        return super().forward(x)


class Codebook(nn.Module):
    """Looks up vectors by whole numbers; the table is renormed as it is read, and its gradient may be sparse."""

    def __init__(self, sparse: bool, max_norm: float | None) -> None:
        super().__init__()
        self.table = nn.Embedding(7, 4, max_norm=max_norm, sparse=sparse)

    def forward(self, x: Tensor) -> Tensor:
        return self.table(x.detach().flatten(1).nan_to_num().mul(3).clamp(0, 6).long()).mean(1)


class Recurrent(nn.Module):
    def __init__(self, kind: type[nn.RNNBase], width: int, layers: int, both: bool) -> None:
        super().__init__()
        self.cell = kind(width, 4, layers, batch_first=True, bidirectional=both)

    def forward(self, x: Tensor) -> Tensor:
        return self.cell(x.flatten(2).transpose(1, 2) if x.ndim > 3 else x)[0]


class Attending(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(width, 1, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.attention(x, x, x, need_weights=bool(x.shape[1] % 2))[0]


class Branches(nn.Module):
    """The same input through several layers, added up, multiplied or put side by side."""

    def __init__(self, join: str, *branches: nn.Module) -> None:
        super().__init__()
        self.join, self.branches = join, nn.ModuleList(branches)

    def forward(self, x: Tensor) -> Tensor:
        parts = [branch(x) for branch in self.branches]
        if self.join == "concat":
            return torch.cat(parts, 1)
        if self.join == "product":
            return parts[0] * parts[-1]
        return torch.stack(parts).sum(0)


class Checkpointed(nn.Module):
    def __init__(self, layer: nn.Module, reentrant: bool) -> None:
        super().__init__()
        self.layer, self.reentrant = layer, reentrant

    def forward(self, x: Tensor) -> Tensor:
        return checkpoint(self.layer, x, use_reentrant=self.reentrant)


def _reparametrised(rng: random.Random, width: int) -> nn.Module:
    how = rng.choice((parametrizations.weight_norm, parametrizations.spectral_norm, parametrizations.orthogonal))
    return how(nn.Linear(width, 4))


FUNCTIONS: tuple[Callable[[Tensor], Any], ...] = (
    *(torch.sin, torch.abs, torch.sign, torch.round, torch.log, torch.sqrt, torch.exp, torch.reciprocal),
    lambda x: x.detach(),
    lambda x: x.detach().requires_grad_(),
    lambda x: x.mul_(2),
    lambda x: x.argmax(1),
    lambda x: x.argmax(1, keepdim=True).to(x.dtype),
    lambda x: x[:, :0],
    lambda x: x[:0],
    lambda x: x.sum(),
    lambda x: x / 0,
    lambda x: x + torch.randn_like(x),
    lambda x: x.flip(0).roll(1, 0),
    lambda x: x - x.mean(0, keepdim=True),
    lambda x: x.sort(1).values,
    lambda x: x.cumsum(1),
    lambda x: x.to(torch.float64),
    lambda x: x.to(torch.bfloat16),
    lambda x: torch.complex(x, x),
    lambda x: torch.view_as_real(torch.fft.fft(x.float())).flatten(-2),
    lambda x: x.expand(2, *x.shape).sum(0),
    lambda x: x.to_sparse(),
    lambda x: x.transpose(1, -1),
    lambda x: x.reshape(-1, x.shape[-1]),
    lambda x: F.interpolate(x, scale_factor=2) if x.ndim > 2 else x,
    lambda x: F.scaled_dot_product_attention(x, x, x),
    lambda x: torch.linalg.svdvals(x.flatten(1)),
    lambda x: x if x.sum() > 0 else -x,
    lambda x: x.unique(dim=0),
    lambda x: (x, x),
    lambda x: {"logits": x},
    lambda x: None,
    lambda x: 3.0,
    lambda x: [x],
    lambda x: x.numpy(),
    lambda x: _OneWay.apply(x),
)


def odd_layer(rng: random.Random, shape: tuple[int, ...]) -> nn.Module:
    width = shape[-1]
    kinds: list[Callable[[], nn.Module]] = [
        lambda: Apply(rng.choice(FUNCTIONS)),
        lambda: Apply(rng.choice(FUNCTIONS)),
        lambda: Growing(rng.choice(CHANGES)),
        lambda: Unwilling(rng.choice((0, 1, 2, 5)), rng.choice((RuntimeError("no"), KeyError("no"), ValueError()))),
        lambda: Constrained(width, 4),
        lambda: Codebook(rng.random() < 0.5, rng.choice((None, 0.1))),
        lambda: Recurrent(rng.choice((nn.RNN, nn.LSTM, nn.GRU)), width, rng.choice((1, 2)), rng.random() < 0.5),
        lambda: Attending(width),
        lambda: nn.TransformerEncoderLayer(width, 1, 8, batch_first=True, activation=rng.choice(("relu", "gelu"))),
        lambda: _reparametrised(rng, width),
        lambda: Checkpointed(nn.Linear(width, 4), rng.random() < 0.5),
        lambda: torch.jit.trace(nn.Linear(width, 4), torch.zeros(2, width)),
        lambda: torch.jit.script(nn.Sequential(nn.Linear(width, 4), nn.ReLU())),
    ]
    return rng.choice(kinds)()


def _fill(model: nn.Module, change: Callable[[Tensor], Any]) -> None:
    with torch.no_grad():
        for parameter in list(model.parameters())[:2]:
            change(parameter)


def _freeze(model: nn.Module, rng: random.Random) -> None:
    share = rng.choice((0.3, 1.0))
    for parameter in model.parameters():
        parameter.requires_grad_(rng.random() > share)


def _tie(model: nn.Module, rng: random.Random) -> None:
    """Two parameters of one shape become one."""
    places = [(module, name) for module in model.modules() for name, _ in module.named_parameters(recurse=False)]
    rng.shuffle(places)
    for place, other in itertools.pairwise(places):
        first, second = getattr(*place), getattr(*other)
        if first.shape == second.shape and not isinstance(place[0], torch.jit.ScriptModule):
            setattr(*other, first)
            return


def _hooked(model: nn.Module, rng: random.Random) -> None:
    for module in model.modules():
        if rng.random() < 0.3:
            module.register_forward_hook(lambda module, inputs, output: None)
        if rng.random() < 0.1:
            module.register_full_backward_hook(lambda module, before, behind: None)
    for parameter in model.parameters():
        if parameter.requires_grad and rng.random() < 0.2:
            parameter.register_hook(lambda gradient: None)


def _unused(model: nn.Module, rng: random.Random) -> None:
    model.unused = nn.Linear(3, 3)
    model.half = nn.Parameter(torch.zeros(3, dtype=rng.choice((torch.float16, torch.complex64, torch.float64))))
    model.whole = nn.Parameter(torch.zeros(2, dtype=torch.int64), requires_grad=False)
    model.register_buffer("flags", torch.tensor([True]))
    model.register_buffer("nothing", None)
    model.empty = nn.Parameter(torch.zeros(0, 4))


def _modes(model: nn.Module, rng: random.Random) -> None:
    for module in model.modules():
        module.training = rng.random() < 0.5


FATES: tuple[Callable[[nn.Module, random.Random], Any], ...] = (
    lambda model, rng: _fill(model, lambda p: p.fill_(rng.choice((float("nan"), float("inf"), 0.0, 1e30, 1e-30)))),
    lambda model, rng: _fill(model, lambda p: p.mul_(rng.choice((1e15, -1.0, 1e-15)))),
    lambda model, rng: model.to(rng.choice((torch.float16, torch.bfloat16, torch.float64, torch.complex64))),
    lambda model, rng: model.to(memory_format=torch.channels_last),
    lambda model, rng: model.share_memory(),
    *(_freeze, _tie, _hooked, _unused, _modes),
)
