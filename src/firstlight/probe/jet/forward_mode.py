"""Second derivatives of functions without a rule: nested forward-mode AD, checked against reverse mode."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._pytree import tree_leaves, tree_map_only

from firstlight.core.errors import UnsupportedError

# Calls (function and fixed arguments) whose forward-mode second derivative agreed with reverse mode in this process
_verified: set[tuple[Any, ...]] = set()


def taylor(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], jet_type: type) -> Any:
    """Return the stacked (value, velocity, acceleration) of `func` along t -> x + t x' + t^2/2 x'' for its jets x.

    The first call of a function with the same fixed arguments is checked in float64 against reverse mode.

    Raises:
        UnsupportedError: If the two modes disagree, or there is no second derivative.
    """
    name = getattr(func, "__name__", str(func))
    call = _Call(func, args, kwargs, jet_type)
    try:
        if call.kind() not in _verified:
            _verify(call.in_double_precision(), name)
            if call.moves():
                _verified.add(call.kind())
        return call.expand()
    except (RuntimeError, NotImplementedError, TypeError, ValueError) as error:
        raise UnsupportedError(f"the second derivative of {name} cannot be computed: {error}") from error


class _Call:
    """A function with its arguments, some of which are jets, as a function of the curve's parameter."""

    def __init__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], jet_type: type) -> None:
        self.func = func
        self.arguments = (args, kwargs)
        self.jet_type = jet_type
        self.jets = [leaf for leaf in tree_leaves(self.arguments, is_leaf=self._is_jet) if self._is_jet(leaf)]

    def _is_jet(self, node: Any) -> bool:
        return isinstance(node, self.jet_type)

    def _replace(self, kind: type, change: Any) -> Any:
        return tree_map_only(kind, change, self.arguments, is_leaf=self._is_jet)

    def kind(self) -> tuple[Any, ...]:
        leaves = tree_leaves(self.arguments, is_leaf=self._is_jet)
        return self.func, *("tensor" if isinstance(x, (Tensor, self.jet_type)) else repr(x) for x in leaves)

    def moves(self) -> bool:
        return any(bool(jet.parts[1].any()) for jet in self.jets)

    def _result(self, t: Tensor) -> Any:
        args, kwargs = self._replace(self.jet_type, lambda x: x.parts[0] + t * (x.parts[1] + t / 2 * x.parts[2]))
        return self.func(*args, **kwargs)

    def at(self, t: Tensor) -> tuple[Tensor, ...]:
        """Return the tensors of the result that can move."""
        return tuple(filter(_can_move, tree_leaves(self._result(t))))

    def zero(self) -> Tensor:
        return torch.zeros((), dtype=self.jets[0].dtype, device=self.jets[0].device)

    def expand(self) -> Any:
        zero = self.zero()
        one = torch.ones_like(zero)

        def velocity_and_value(t: Tensor) -> Any:
            value_and_velocity: Any = torch.func.jvp(self.at, (t,), (one,))
            return value_and_velocity[::-1]

        with sdpa_kernel(SDPBackend.MATH):  # fused kernels have no forward mode
            derivatives: Any = torch.func.jvp(velocity_and_value, (zero,), (one,))
        (velocity, value), (acceleration, _) = derivatives
        stacks = map(torch.stack, zip(value, velocity, acceleration, strict=True))
        # the structure of the result, and its constant leaves, such as the indices that sorting returns
        result = self._result(zero)
        return tree_map_only(Tensor, lambda leaf: next(stacks) if _can_move(leaf) else leaf, result)

    def in_double_precision(self) -> _Call:
        args, kwargs = self._replace(Tensor, lambda x: x.detach().double() if x.is_floating_point() else x)
        call = _Call(self.func, args, kwargs, self.jet_type)
        args, kwargs = call._replace(self.jet_type, lambda x: self.jet_type(x.parts.double()))
        return _Call(self.func, args, kwargs, self.jet_type)


def _can_move(leaf: Any) -> bool:
    return isinstance(leaf, Tensor) and leaf.is_floating_point()


def _verify(call: _Call, name: str) -> None:
    """Compare the acceleration, weighted at random, with two reverse passes that see the same random numbers."""
    generator = torch.Generator().manual_seed(0)
    with torch.random.fork_rng(devices=[]), torch.enable_grad(), sdpa_kernel(SDPBackend.MATH):
        state = torch.get_rng_state()
        t = call.zero().requires_grad_()
        outputs = call.at(t)
        torch.set_rng_state(state)
        expansions = filter(_can_move, tree_leaves(call.expand()))
        for output, parts in zip(outputs, expansions, strict=True):
            weights = torch.randn(output.shape, generator=generator, dtype=torch.float64).to(output.device)
            expected = torch.zeros_like(t)
            velocity = expected
            if output.requires_grad:
                (velocity,) = torch.autograd.grad((output * weights).sum(), t, create_graph=True)
            if velocity.requires_grad:
                (expected,) = torch.autograd.grad(velocity, t, retain_graph=True)
            terms = (parts[2] * weights).detach()
            if not torch.allclose(terms.sum(), expected, rtol=1e-6, atol=float(1e-6 * terms.abs().sum() + 1e-12)):
                raise UnsupportedError(f"forward and reverse mode disagree about the second derivative of {name}.")
