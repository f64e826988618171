"""NASI: an architecture is derived from a one-shot network at initialization; nothing is trained."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np

from firstlight.core.errors import LimitError, NothingScoredError, SettingError
from firstlight.core.events import Event
from firstlight.core.settings import AtLeast
from firstlight.probe.tangent import LossName, Parameterization
from firstlight.scoring.costs import written
from firstlight.search.algorithm import BatchSize, algorithm
from firstlight.search.one_shot_steps import Floats, StepJudge, Steps
from firstlight.search.problem import Problem
from firstlight.spaces.base import Space

Variant = Literal["fix", "ada", "percentile"]
Normalization = Literal["running", "unit"]
# Spaces with more architectures count as large in the rule for mu.
LARGE_SPACE = 10**7
# The number of points at which the report shows each preference.
SHOWN_STEPS = 50
# The leading architecture is stored every time after this many steps.
KEPT_EVERY = 10
# Regularization of the regression: that of one observation of each option.
RIDGE = 1.0


@algorithm(reference="Shu2022nasi", needs=("one_shot",), proxy="ntk_trace_batch", report="one_shot")
def nasi(
    problem: Problem,
    *,
    steps: int = 100,
    batch: Annotated[int, BatchSize()] = 64,
    variant: Variant = "fix",
    mu: str = "rule",
    nu: float = 0.0,
    nu_samples: int = 50,
    percentile: float = 75.0,
    normalize: Normalization = "running",
    temperature: float = 1.0,
    none: bool = False,
    channels: Annotated[int, AtLeast(0)] = 0,
    loss: LossName = "cross_entropy",
    parameterization: Parameterization = "standard",
    seconds: float = 0.0,
) -> None:
    """NASI: maximize the trace norm of the tangent kernel over a one-shot network in a single step.

        T_t   squared norm of the mean loss gradient of a random path, on a batch of its own
        R     = T - mu * max(0, T - nu)
        Delta = (1/steps) * sum over steps of G_t / max over s <= t of |G_s|,    G_t = dR/dalpha, straight-through

    The options with the largest Delta are chosen. Weights are random and fixed, and the logits alpha are 0. Labels may
    be random (`--labels random`) and inputs noise (`--input synthetic`). Limits are checked for the chosen network, and
    do not influence the choice. nu keeps T from growing beyond what can be trained; above nu, the gradient is 1 - mu
    times that of T, and so zero for mu = 1. The defaults are those of the paper; `variant=percentile` and
    `normalize=unit` are not part of it.

    Args:
        steps: Number of steps.
        batch: Inputs in the batch of a step.
        variant: How nu is chosen: `fix` keeps it (Eq. 40), `ada` is the running mean of T, starting with it (Eq. 41),
            and `percentile` takes a percentile of the T of this search instead.
        mu: Penalty above nu. `rule` is 1 in small spaces and 2 in large ones, as in the paper.
        nu: Threshold for the variants `fix` and `ada`. 0: the mean T of `nu_samples` random paths.
        nu_samples: Random paths, drawn before the first step, whose mean T is nu.
        percentile: Percentile of T for the variant `percentile`.
        normalize: `running` for the sum above; `unit` gives every step the length 1, so that one huge gradient does not
            dominate.
        temperature: Temperature of the softmax that paths are drawn from.
        none: Allow the option `none`. Its slope is always 0, so that it wins wherever the others do harm.
        channels: Width of the one-shot network; 0 for that of the skeleton, or 16 in NAS-Bench-1Shot1.
        loss: Loss whose gradient T measures: `cross_entropy`, or `mse` for the squared error against one-hot labels.
        parameterization: `ntk` draws weights from N(0, 1), divides them by the square root of the fan-in in the
            network, and leaves out biases, as the theory of the paper does.
        seconds: Stop when steps and random paths took this many seconds together; 0 for no limit.
    """
    rule = Rule(variant, read_mu(mu, problem.space), nu, percentile, normalize, temperature)
    judge = problem.one_shot(
        batch_size=batch,
        none=none,
        temperature=temperature,
        channels=channels,
        loss=loss,
        parameterization=parameterization,
    )
    if rule.needs_nu:
        rule = replace(rule, nu=_mean_before(problem, judge, nu_samples, steps))
    _search(problem, judge, steps, seconds, rule)
    taken = judge.steps()
    if not np.any(rule.gradients(taken)):
        problem.notes.append(
            f"All {len(taken)} steps have the gradient 0, as T was above nu in each and mu is 1: the choice of this "
            "network means nothing. Use mu=2, a larger nu, or variant=percentile."
        )


@algorithm(reference="Shu2022nasi", needs=("one_shot",), proxy="ntk_trace_batch", report="one_shot")
def nasi_ridge(
    problem: Problem,
    *,
    steps: int = 100,
    batch: Annotated[int, BatchSize()] = 64,
    none: bool = False,
    seconds: float = 0.0,
) -> None:
    """Ridge regression of NASI's ln T on the choices of random paths; the largest coefficients win.

    It uses the paths and batches of `nasi`, but only their trace norms, which takes a fifth of the time. In the folder
    of a `nasi` search, it reuses its steps.

    Args:
        steps: Number of steps.
        batch: Inputs in the batch of a step.
        none: Allow the option `none`.
        seconds: Stop when the steps took this many seconds together; 0 for no limit.
    """
    judge = problem.one_shot(batch_size=batch, none=none, slopes=False)
    _search(problem, judge, steps, seconds)


@dataclass(frozen=True)
class Rule:
    """How preferences follow from steps. Another rule can be applied to the same steps. Without nu, T has no bound."""

    variant: Variant = "fix"
    mu: float = 1.0
    nu: float = math.inf
    percentile: float = 75.0
    normalize: Normalization = "running"
    temperature: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.percentile <= 100 or self.temperature <= 0 or not self.nu >= 0 or self.mu < 0:
            raise SettingError(
                f"nasi does not take percentile={self.percentile:g}, temperature={self.temperature:g}, nu={self.nu:g}, "
                f"mu={self.mu:g}: a percentile is between 0 and 100, the temperature above 0, nu and mu 0 or more."
            )

    @property
    def needs_nu(self) -> bool:
        """Whether nu must be measured before the rule can be applied."""
        return self.nu == 0 and self.mu > 0 and self.variant != "percentile"

    def thresholds(self, traces: Floats) -> Floats:
        """Return nu at every step."""
        if self.variant == "percentile":
            return np.full(len(traces), np.percentile(traces, self.percentile))
        if self.variant == "fix":
            return np.full(len(traces), self.nu)
        before = np.concatenate([[self.nu], traces[:-1]])
        return np.cumsum(before) / np.arange(1, len(traces) + 1)

    def objective(self, traces: Floats) -> Floats:
        """Return R at every step."""
        return traces - self.mu * np.maximum(0.0, traces - self.thresholds(traces))

    def gradients(self, steps: Steps) -> Floats:
        """Return G, the gradient of R through the hard sample to the slopes H and through the soft one p to the logits.

        G = (1 - mu * [T > nu]) * p * (H - <p, H>) / temperature, where <p, H> is over the options of a choice.
        """
        direction = 1 - self.mu * (steps.traces > self.thresholds(steps.traces))
        centred = steps.slopes - steps.summed(steps.soft * steps.slopes)
        return direction[:, None] * steps.soft * centred / self.temperature

    def growth(self, steps: Steps) -> Floats:
        """Return Delta after each step, divided by the total number of steps; the last row decides."""
        gradients = self.gradients(steps)
        lengths = np.linalg.norm(gradients, axis=1)
        scale = lengths if self.normalize == "unit" else np.maximum.accumulate(lengths)
        unit = np.divide(gradients, scale[:, None], out=np.zeros_like(gradients), where=scale[:, None] > 0)
        return np.cumsum(unit, axis=0) / len(steps)


def ridge(steps: Steps) -> Floats:
    """Return the coefficients of ln T = constant + sum of the coefficients of the options on the path."""
    centred = steps.taken - steps.taken.mean(0)
    logs = np.log(np.maximum(steps.traces, np.finfo(float).tiny))
    gram = centred.T @ centred + RIDGE * np.eye(centred.shape[1])
    coefficients: Floats = np.linalg.solve(gram, centred.T @ (logs - logs.mean()))
    return coefficients


def read_mu(text: str, space: Space[Any]) -> float:
    """Return mu of a space, given as a number or as `rule`."""
    if text == "rule":
        return 2.0 if _is_large(space) else 1.0
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise SettingError(f"nasi:mu is {text!r}; write a number such as 2, or 'rule'.")
    return number


def _is_large(space: Space[Any]) -> bool:
    try:
        return len(space) > LARGE_SPACE
    except (TypeError, OverflowError):  # it cannot be counted, or its size is too large for `len`
        return True


def _mean_before(problem: Problem, judge: StepJudge, count: int, steps: int) -> float:
    """Return nu of Eq. 40: the mean T of random paths."""

    def report(event: Event) -> None:
        problem.report_states(steps, f"nu from {event.done} of {count} random paths")

    return float(judge.traces_before(count, report).mean())


def _search(problem: Problem, judge: StepJudge, steps: int, seconds: float, rule: Rule | None = None) -> None:
    """Take the steps, and score the network that the rule, or else the regression, leads to; also if interrupted."""

    def report(event: Event) -> None:
        taken = judge.steps()
        if len(taken):
            objective = "" if rule is None else f", R {rule.objective(taken.traces)[-1]:.3g}"
            leading = judge.architecture(_growth(taken, rule)[-1])
            if judge.scored % KEPT_EVERY == 0:
                problem.findings |= _findings(taken, rule)
                problem.keep(problem.space.canonical(leading))
            problem.report_states(steps, f"T {taken.traces[-1]:.3g}{objective}", str(leading))

    try:
        judge.take(steps, seconds - judge.seconds if seconds else math.inf, report)
    except KeyboardInterrupt:
        if len(judge.steps()):
            with contextlib.suppress(LimitError):  # the network so far may be beyond the limits
                _settle(problem, judge, rule)
        raise
    if judge.scored < steps:
        problem.notes.append(f"{judge.scored} of {steps} steps were taken within {seconds:g} s.")
    asked = judge.asked
    unheard = [name for name, value in asked.setting.skeleton_settings if getattr(asked.skeleton, name, None) != value]
    if unheard:
        problem.notes.append(
            f"Steps go through the one-shot network of {asked.skeleton}: {', '.join(unheard)} of the skeleton apply to "
            "the chosen network only."
        )
    _settle(problem, judge, rule)


def _growth(steps: Steps, rule: Rule | None) -> Floats:
    """Return the preferences after each step; a regression has only those after the last."""
    return ridge(steps)[None] if rule is None else rule.growth(steps)


def _settle(problem: Problem, judge: StepJudge, rule: Rule | None) -> None:
    taken = judge.steps()
    if not len(taken):
        raise NothingScoredError("No step through the one-shot network was taken. Allow more seconds.")
    problem.findings |= _findings(taken, rule)
    if judge.failed:
        why = ", ".join(sorted({score.status for score in judge.failed}))
        problem.notes.append(f"{len(judge.failed)} of {judge.scored} steps failed ({why}) and were left out.")
    chosen = problem.space.canonical(judge.architecture(_growth(taken, rule)[-1]))
    if not problem.fits(chosen):
        limits = problem.objective.limits
        has = " and ".join(
            written(name, amount) for name, amount in problem.costs.amounts(chosen, limits.bounds).items()
        )
        raise LimitError(
            f"The steps lead to {chosen}, which is beyond the limits ({limits}): it has {has}. No other network is "
            "considered. Change the limits, or use an algorithm that searches within them, such as evolution."
        )
    problem.score([chosen])


def _findings(taken: Steps, rule: Rule | None) -> dict[str, Any]:
    """Return what the report shows."""
    grown = _growth(taken, rule)
    preferences = taken.by_choice(grown[-1])
    shown = np.unique(np.linspace(0, len(grown) - 1, SHOWN_STEPS).round().astype(int))
    first = len(taken) - len(grown) + 1
    return {
        "options": {choice.name: list(choice.options) for choice in taken.choices},
        "preferences": preferences,
        "chosen": {choice.name: choice.best(preferences) for choice in taken.choices},
        "growth": [{"steps": first + int(row), **taken.by_choice(grown[row])} for row in shown],
        "traces": taken.traces.tolist(),
        **({} if rule is None else {"thresholds": rule.thresholds(taken.traces).tolist()}),
    }
