"""NASI: an architecture is read off a one-shot network at initialisation; nothing is trained."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from firstlight.core.errors import LimitError, NothingScoredError, SettingError
from firstlight.scoring.costs import written
from firstlight.search.algorithm import algorithm
from firstlight.search.one_shot_steps import Floats, StepJudge, Steps
from firstlight.search.problem import Problem
from firstlight.spaces.base import Space

Variant = Literal["percentile", "fix", "ada"]
Normalisation = Literal["usual", "running", "unit"]
# Spaces with more architectures are large for the rule of mu
LARGE_SPACE = 10**7
# So many points of the way of each preference are kept for the report
SHOWN_STEPS = 50
# After so many steps it is put by what they lead to
KEPT_EVERY = 10
# From how many random architectures the paper takes the scale of T
SCALE_SAMPLES = 50
# How much the coefficients of the regression are held back: as much as one observation of each option would
RIDGE = 1.0


@algorithm(reference="Shu2022nasi", needs=("one_shot",), proxy="ntk_trace_batch")
def nasi(
    problem: Problem,
    *,
    steps: int = 100,
    batch: int = 16,
    variant: Variant = "percentile",
    mu: str = "rule",
    nu: float = 0.0,
    percentile: float = 75.0,
    normalise: Normalisation = "usual",
    temperature: float = 1.0,
    none: bool = False,
    seconds: float = 0.0,
) -> None:
    """NASI: push the trace norm of the tangent kernel through a one-shot network in one step.

        T_t   squared norm of the mean loss gradient of a random path, on a batch of its own
        R     = T - mu * max(0, T - nu)
        Delta = (1/steps) * sum over steps of G_t / max over s <= t of |G_s|,    G_t = dR/dalpha, straight-through

    The options with the largest Delta are taken. Weights are random and fixed, logits alpha are 0. Labels may be random
    (`--labels random`) and inputs noise (`--input synthetic`). Limits are held against the chosen network, and do not
    change which it is.

    nu keeps T from growing beyond what can be trained. `variant=percentile`: that of the search's own T, as T varies
    over orders of magnitude; `fix`: the number `nu`; `ada`: the running mean of T, begun with `nu`. Without a number
    both take the mean of the first 50 T. `mu=rule`, as in the paper, is 1 in small spaces and 2 in large ones; above
    nu the gradient is 1 - mu times that of T, and so nothing at all for 1.

    `normalise=running` is the sum above; `unit` gives every step the length 1, so that a single one with a huge
    gradient does not silence those after it, and is usual for the percentile. `none` lets `none` be chosen: its slope
    is always 0, so that it wins wherever the others do harm. When all of them took `seconds` together, no more are
    taken. A loss whose gradient is not bounded by a constant, as the paper's theory asks, is no hindrance here.
    """
    rule = Rule(variant, _read_mu(mu, problem), nu, percentile, normalise, temperature)
    judge = problem.one_shot(batch_size=batch, none=none, temperature=temperature)
    _search(problem, judge, steps, seconds, rule)
    taken = judge.steps()
    if not np.any(rule.gradients(taken)):
        problem.notes.append(
            f"All {len(taken)} steps have the gradient 0, as T was above nu in each and mu is 1: nothing speaks for "
            "this network. Take mu=2, a larger nu, or variant=percentile."
        )


@algorithm(reference="Shu2022nasi", needs=("one_shot",), proxy="ntk_trace_batch")
def nasi_ridge(
    problem: Problem, *, steps: int = 100, batch: int = 16, none: bool = False, seconds: float = 0.0
) -> None:
    """NASI's neighbour: ridge regression of ln T on the choices of random paths; the largest coefficients are taken.

    It sees the paths and batches of `nasi`, but asks for their trace norms only, which takes a fifth of the time, and
    nothing where `nasi` has been: give it the same folder.
    """
    judge = problem.one_shot(batch_size=batch, none=none, slopes=False)
    _search(problem, judge, steps, seconds)


@dataclass(frozen=True)
class Rule:
    """How preferences follow from steps; any other rule can be applied to the same steps."""

    variant: Variant = "percentile"
    mu: float = 1.0
    nu: float = 0.0
    percentile: float = 75.0
    normalise: Normalisation = "usual"
    temperature: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.percentile <= 100 or self.temperature <= 0 or self.nu < 0 or self.mu < 0:
            raise SettingError(
                f"nasi cannot go by percentile={self.percentile:g}, temperature={self.temperature:g}, nu={self.nu:g} "
                f"and mu={self.mu:g}: a percentile is between 0 and 100, the temperature above 0, nu and mu not below."
            )

    @property
    def gives_unit_length(self) -> bool:
        return self.normalise == "unit" or (self.normalise == "usual" and self.variant == "percentile")

    def thresholds(self, traces: Floats) -> Floats:
        """nu at every step."""
        if self.variant == "percentile":
            return np.full(len(traces), np.percentile(traces, self.percentile))
        start = self.nu or float(np.mean(traces[:SCALE_SAMPLES]))
        if self.variant == "fix":
            return np.full(len(traces), start)
        before = np.concatenate([[start], traces[:-1]])
        return np.cumsum(before) / np.arange(1, len(traces) + 1)

    def objective(self, traces: Floats) -> Floats:
        """R."""
        return traces - self.mu * np.maximum(0.0, traces - self.thresholds(traces))

    def gradients(self, steps: Steps) -> Floats:
        """G: that of R, through the hard sample to the slopes H, and through the soft one p to the logits.

        G = (1 - mu * [T > nu]) * p * (H - <p, H>) / temperature, where <p, H> is over the options of a choice.
        """
        direction = 1 - self.mu * (steps.traces > self.thresholds(steps.traces))
        centred = steps.slopes - steps.summed(steps.soft * steps.slopes)
        return direction[:, None] * steps.soft * centred / self.temperature

    def growth(self, steps: Steps) -> Floats:
        """Delta after each step, in parts of the whole number of steps; the last row is what counts."""
        gradients = self.gradients(steps)
        lengths = np.linalg.norm(gradients, axis=1)
        scale = lengths if self.gives_unit_length else np.maximum.accumulate(lengths)
        unit = np.divide(gradients, scale[:, None], out=np.zeros_like(gradients), where=scale[:, None] > 0)
        return np.cumsum(unit, axis=0) / len(steps)


def ridge(steps: Steps) -> Floats:
    """Coefficients of ln T = constant + sum of those of the options on the path."""
    centred = steps.taken - steps.taken.mean(0)
    logs = np.log(np.maximum(steps.traces, np.finfo(float).tiny))
    gram = centred.T @ centred + RIDGE * np.eye(centred.shape[1])
    coefficients: Floats = np.linalg.solve(gram, centred.T @ (logs - logs.mean()))
    return coefficients


def _read_mu(text: str, problem: Problem) -> float:
    if text == "rule":
        return 2.0 if _is_large(problem.space) else 1.0
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
    except (TypeError, OverflowError):  # it cannot be counted, or its number is no size
        return True


def _search(problem: Problem, judge: StepJudge, steps: int, seconds: float, rule: Rule | None = None) -> None:
    """Take the steps, and score what they lead to by the rule, or else by regression; if interrupted, those so far."""

    def watch() -> None:
        taken = judge.steps()
        if len(taken):
            objective = "" if rule is None else f", R {rule.objective(taken.traces)[-1]:.3g}"
            leading = judge.architecture(_growth(taken, rule)[-1])
            if judge.scored % KEPT_EVERY == 0:
                problem.findings["one_shot"] = _findings(taken, rule)
                problem.keep(problem.space.canonical(leading))
            problem.saw_states(steps, f"T {taken.traces[-1]:.3g}{objective}", str(leading))

    try:
        judge.take(steps, seconds or math.inf, watch)
    except KeyboardInterrupt:
        if len(judge.steps()):
            with contextlib.suppress(LimitError):  # what there is so far need not be within the limits
                _settle(problem, judge, rule)
        raise
    if judge.scored < steps:
        problem.notes.append(f"{judge.scored} of {steps} steps were taken: then {seconds:g} s were spent.")
    asked = judge.asked
    unheard = [name for name, value in asked.setting.skeleton_settings if getattr(asked.skeleton, name, None) != value]
    if unheard:
        problem.notes.append(
            f"Steps go through the one-shot network of {asked.skeleton}: {', '.join(unheard)} of the skeleton are for "
            "the chosen network only."
        )
    _settle(problem, judge, rule)


def _growth(steps: Steps, rule: Rule | None) -> Floats:
    """Preferences after each of the last steps; a regression says what they are in the end only."""
    return ridge(steps)[None] if rule is None else rule.growth(steps)


def _settle(problem: Problem, judge: StepJudge, rule: Rule | None) -> None:
    taken = judge.steps()
    if not len(taken):
        raise NothingScoredError("Not one step through the one-shot network could be taken. Allow for more seconds.")
    problem.findings["one_shot"] = _findings(taken, rule)
    if judge.failed:
        why = ", ".join(sorted({score.status for score in judge.failed}))
        problem.notes.append(f"{len(judge.failed)} of {judge.scored} steps came to nothing ({why}) and were left out.")
    chosen = problem.space.canonical(judge.architecture(_growth(taken, rule)[-1]))
    if not problem.allows(chosen):
        limits = problem.objective.limits
        has = " and ".join(
            written(name, amount) for name, amount in problem.costs.amounts(chosen, limits.bounds).items()
        )
        raise LimitError(
            f"The steps lead to {chosen}, which is beyond the limits ({limits}): it has {has}. No other one is looked "
            "at. Change the limits, or take an algorithm that searches within them, such as evolution."
        )
    problem.score_all([chosen])


def _findings(taken: Steps, rule: Rule | None) -> dict[str, Any]:
    """What the report shows."""
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
